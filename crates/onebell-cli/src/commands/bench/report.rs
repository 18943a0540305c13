//! What was measured, for people and for programs.

use std::time::Duration;

use serde::Serialize;

use super::ROUNDS;
use super::facts::Facts;
use crate::answer::{Answer, Table, json, line};
use crate::args::{Bench, Common, Format};

/// Rates of each round.
#[derive(Default)]
pub(super) struct Rounds {
    pub(super) steps: Vec<f64>,
    pub(super) items: Vec<f64>,
    pub(super) limit_steps: Vec<f64>,
    pub(super) limit_items: Vec<f64>,
}

#[derive(Serialize)]
struct Spans {
    p50: f64,
    p99: f64,
}

/// The answer. Rates are medians over the rounds.
#[derive(Serialize)]
pub(super) struct Report {
    steps_per_s: f64,
    items_per_s: f64,
    limit_steps_per_s: f64,
    limit_items_per_s: f64,
    steps_ratio: f64,
    items_ratio: f64,
    start_ms: Spans,
    fsync: bool,
    database: Facts,
    steps: usize,
    items: usize,
    starts: usize,
    rounds: usize,
    replicas: u32,
    concurrency: u32,
}

impl Report {
    /// `starts` in the order of their length.
    pub(super) fn new(args: &Bench, database: Facts, rounds: &Rounds, starts: Vec<Duration>) -> Self {
        let (steps, items) = (median(&rounds.steps), median(&rounds.items));
        let (limit_steps, limit_items) = (median(&rounds.limit_steps), median(&rounds.limit_items));
        let milliseconds = |share| rounded(nearest_rank(&starts, share).as_secs_f64() * 1_000.0, 1_000.0);
        Self {
            steps_per_s: rounded(steps, 10.0),
            items_per_s: rounded(items, 10.0),
            limit_steps_per_s: rounded(limit_steps, 10.0),
            limit_items_per_s: rounded(limit_items, 10.0),
            steps_ratio: rounded(steps / limit_steps, 1_000.0),
            items_ratio: rounded(items / limit_items, 1_000.0),
            start_ms: Spans { p50: milliseconds(0.5), p99: milliseconds(0.99) },
            fsync: database.flattered.is_none(),
            database,
            steps: args.steps,
            items: args.items,
            starts: args.starts,
            rounds: ROUNDS,
            replicas: args.replicas,
            concurrency: args.concurrency,
        }
    }

    pub(super) fn tell(&self, common: &Common) -> Answer {
        if common.format == Format::Json {
            return json(self);
        }
        line(self.database.line());
        let replicas = if self.replicas == 1 { "1 replica".to_owned() } else { format!("{} replicas", self.replicas) };
        let Self { steps, items, starts, rounds, concurrency, .. } = self;
        line(format!(
            "{replicas} of {concurrency} steps at once; medians of {rounds} rounds of {steps} steps and {items} records; {starts} starts"
        ));
        line("");
        let mut table = Table::new(["what", "here", "limit", "ratio"]);
        let mut row = |what: &str, here: f64, limit: f64, ratio: f64| {
            table.row([what.to_owned(), format!("{here:.0}/s"), format!("{limit:.0}/s"), format!("{ratio:.2}")]);
        };
        row("steps", self.steps_per_s, self.limit_steps_per_s, self.steps_ratio);
        row("records", self.items_per_s, self.limit_items_per_s, self.items_ratio);
        table.print();
        line(format!(
            "start of a request: half within {:.1} ms, 99 of 100 within {:.1} ms",
            self.start_ms.p50, self.start_ms.p99
        ));
        line("");
        line(
            "The limit is what this database did in the same minutes when it was asked for nothing else: each step claimed and settled by",
        );
        line("one update each on a plain table, in sets as large as a replica's and as durable; each record inserted once.");
        Ok(())
    }
}

fn rounded(number: f64, parts: f64) -> f64 {
    (number * parts).round() / parts
}

/// Of an even number of rates: the middle of both in the middle.
fn median(rates: &[f64]) -> f64 {
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |index: usize| sorted.get(index).copied().unwrap_or_default();
    let (low, high) = (sorted.len().saturating_sub(1) / 2, sorted.len() / 2);
    f64::midpoint(at(low), at(high))
}

/// The smallest span that this share of all does not exceed.
fn nearest_rank(sorted: &[Duration], share: f64) -> Duration {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0]), median(&[7.0]), median(&[])), (2.0, 2.5, 7.0, 0.0));
    }

    #[test]
    fn a_rank_is_the_nearest_one() {
        let spans: Vec<Duration> = (1..=100).map(Duration::from_millis).collect();
        let of = |count: usize, share| nearest_rank(&spans[..count], share).as_millis();
        assert_eq!((of(100, 0.5), of(100, 0.99), of(1, 0.5), of(1, 0.99), of(4, 0.5), of(0, 0.5)), (50, 99, 1, 1, 2, 0));
    }
}
