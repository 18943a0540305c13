//! `onebell bench`: what steps, records and starts cost here, beside what the database itself can do in the same run.
//!
//! What it never does: touch the tables of the database that is named. It works in a file beside it, or in a database of its own on its
//! server, and removes it.

mod facts;
mod limit;
mod load;
mod place;
mod player;
mod progress;
mod report;
mod starts;
mod steps;

use super::database_or_new;
use crate::answer::{Answer, Failure};
use crate::args::{Bench, Common};
use crate::signals::Asked;
use limit::Limit;
use place::Place;
use progress::Progress;
use report::{Report, Rounds};

/// The limit and what is measured take turns: machines are noisy.
const ROUNDS: usize = 3;

/// Measures, and clears away whatever happens, Ctrl-C too.
pub async fn bench(common: &Common, args: &Bench) -> Answer {
    let database = database_or_new(common)?;
    // Before anything is there that would have to be cleared away.
    let asked = Asked::listen().map_err(|error| Failure::usage(format!("signals cannot be followed: {error}")))?;
    let place = Place::make(&database).await?;
    let measured = tokio::select! {
        measured = measure(&place, args) => measured,
        _ = asked.next() => Err(Failure::Work("interrupted".to_owned())),
    };
    let cleared = place.clear().await;
    let report = measured?;
    cleared?;
    report.tell(common)
}

async fn measure(place: &Place, args: &Bench) -> Result<Report, Failure> {
    let progress = Progress::new();
    let limit = Limit::of(place, args);
    let facts = facts::of(place).await?;
    facts.warn();
    let file = load::write(place, args)?;
    let mut rounds = Rounds::default();
    for round in 1..=ROUNDS {
        let at = |what: &str| progress.at(&format!("round {round} of {ROUNDS}: {what}"));
        at("steps, the database alone");
        rounds.limit_steps.push(limit.steps(args.steps).await?);
        at("steps");
        rounds.steps.push(steps::per_second(place.database(), args, round).await?);
        at("records, the database alone");
        rounds.limit_items.push(limit.items(round, args.items).await?);
        at("records");
        rounds.items.push(load::per_second(place.database(), &file, args.items, round).await?);
    }
    let starts =
        starts::measure(place.database(), args, |done| progress.at(&format!("starts: {done} of {}", args.starts))).await?;
    Ok(Report::new(args, facts, &rounds, starts))
}
