//! Steps per second: runs of one step that does nothing, asked for beforehand, by real replicas.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use onebell::model::run::RunStatus;
use onebell::time::{SystemTimer, Timer};

use super::player::{Player, ask_for_many, open};
use crate::answer::Failure;
use crate::args::Bench;
use crate::database::Database;
use crate::limit::rate;

/// Between two looks at the replicas' own counts.
const LOOK: Duration = Duration::from_millis(1);
/// No step is settled for so long: something is wrong.
const PATIENCE: Duration = Duration::from_secs(60);

/// From the first line of the first step to the last settlement.
pub(super) async fn per_second(database: &Database, args: &Bench, round: usize) -> Result<f64, Failure> {
    let store = open(database).await?;
    ask_for_many(store.as_ref(), &format!("steps/{round}"), args.steps).await?;
    let first = Arc::new(OnceLock::new());
    let mut players = Vec::new();
    for _ in 0..args.replicas {
        let first = Arc::clone(&first);
        let begun = move || {
            first.get_or_init(|| SystemTimer.elapsed());
        };
        players.push(Player::start(database, args.concurrency, begun).await?);
    }
    let last = until_settled(&players, args.steps as u64).await?;
    for player in players {
        player.stop().await?;
    }
    all_succeeded(&store.status().await?.runs, args.steps as u64 * round as u64)?;
    let begun = first.get().copied().unwrap_or(last);
    Ok(rate(args.steps, last.saturating_sub(begun)))
}

async fn until_settled(players: &[Player], steps: u64) -> Result<Duration, Failure> {
    let (mut settled, mut since) = (0, SystemTimer.elapsed());
    loop {
        let now = SystemTimer.elapsed();
        let sum = players.iter().map(Player::settled).sum::<Result<u64, Failure>>()?;
        if sum >= steps {
            return Ok(now);
        }
        if sum > settled {
            (settled, since) = (sum, now);
        }
        if now.saturating_sub(since) > PATIENCE {
            return Err(Failure::Work(format!("{settled} of {steps} steps were done, and for {} s none", PATIENCE.as_secs())));
        }
        SystemTimer.sleep(LOOK).await;
    }
}

/// The store's own word on every run that was asked for so far.
fn all_succeeded(runs: &std::collections::BTreeMap<String, u64>, asked: u64) -> Result<(), Failure> {
    let done = runs.get(RunStatus::Succeeded.as_str()).copied().unwrap_or_default();
    if done == asked && runs.values().sum::<u64>() == asked {
        return Ok(());
    }
    Err(Failure::Work(format!("{done} of {asked} runs succeeded; all of them: {runs:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_did_not_succeed_or_was_not_asked_for_is_a_failure() {
        let runs = |pairs: &[(&str, u64)]| pairs.iter().map(|(word, count)| ((*word).to_owned(), *count)).collect();
        assert!(all_succeeded(&runs(&[("succeeded", 4), ("failed", 0)]), 4).is_ok());
        for wrong in [&[("succeeded", 3), ("failed", 1)][..], &[("succeeded", 3)], &[("succeeded", 4), ("queued", 1)], &[]] {
            assert!(all_succeeded(&runs(wrong), 4).is_err(), "{wrong:?}");
        }
    }
}
