//! I10: everything is bounded: tries, time, how much a claim takes, how much a pass removes.

use onebell::store::Guarded;

use super::{Check, Commit, must};
use crate::call::Detail;

#[derive(Default)]
pub(super) struct I10;

impl Check for I10 {
    fn name(&self) -> &'static str {
        "i10"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        for change in &commit.changes.steps {
            let Some(row) = change.after.as_ref().filter(|row| row.status == "running") else { continue };
            must(row.tries <= row.budget, || format!("{} spends try {} of {}", change.key, row.tries, row.budget))?;
            must(row.complete_by <= row.hard_complete_by, || format!("{} may go on beyond its hard limit", change.key))?;
            let claimed = change.before.as_ref().filter(|before| before.status != "running");
            let counted = claimed.is_none_or(|before| row.tries == before.tries + 1 && row.attempt == before.attempt + 1);
            must(counted, || format!("the claim on {} was not counted: {:?}", change.key, change.before))?;
        }
        spent(commit)?;
        for change in &commit.changes.messages {
            let Some(row) = change.after.as_ref().filter(|row| row.status == "claimed") else { continue };
            must(row.tries <= row.budget, || format!("message {} spends try {} of {}", change.key, row.tries, row.budget))?;
            let before = change.before.as_ref().filter(|before| before.status == "ready");
            let counted = before.is_none_or(|before| row.tries == before.tries + 1 && row.attempt == before.attempt + 1);
            must(counted, || format!("the claim on message {} was not counted", change.key))?;
        }
        claims(commit)
    }
}

/// What failed, or was lost after it had started, stays spent.
fn spent(commit: &Commit<'_>) -> Result<(), String> {
    for change in commit.changes.attempts.iter().filter(|change| change.before.is_none()) {
        let Some(attempt) = change.after.as_ref() else { continue };
        let costs = match attempt.outcome.as_str() {
            "retry" | "exhausted" | "failed" => attempt.replica.is_some(),
            "lost" | "overdue" => attempt.started_at.is_some(),
            _ => false,
        };
        let step = commit.changes.steps.iter().find(|step| step.key == attempt.step);
        let Some((before, after)) = step.and_then(|step| Some((step.before.as_ref()?, step.after.as_ref()?))) else { continue };
        let kept = before.tries == after.tries;
        must(!costs || kept, || {
            format!("{} was {} and its tries went from {} to {}", change.key, attempt.outcome, before.tries, after.tries)
        })?;
    }
    Ok(())
}

fn claims(commit: &Commit<'_>) -> Result<(), String> {
    let running = |key: &str| commit.now.steps.get(key).filter(|row| row.status == "running");
    match &commit.call.detail {
        Detail::Claimed { request, answer } => {
            let taken: Vec<_> = commit.changes.steps.iter().filter_map(|change| running(&change.key)).collect();
            let limit = usize::try_from(request.start + request.prefetch).unwrap_or(usize::MAX);
            must(taken.len() <= limit, || format!("a claim for {limit} took {}", taken.len()))?;
            let started = taken.iter().filter(|row| row.started_at.is_some()).count();
            let start = usize::try_from(request.start).unwrap_or(usize::MAX);
            must(started <= start, || format!("a claim that starts {start} started {started}"))?;
            let alone = taken.iter().any(|row| row.alone);
            must(!alone || (request.idle && taken.len() == 1), || {
                "a step that must run alone was taken beside others".to_owned()
            })?;
            must(answer.claimed.len() == taken.len(), || format!("{} claimed, {} answered", taken.len(), answer.claimed.len()))
        }
        Detail::MessagesClaimed { request, answer } => {
            let limit = usize::try_from(request.limit).unwrap_or(usize::MAX);
            let taken = commit.changes.messages.len();
            must(taken <= limit && answer.len() == taken, || format!("a claim for {limit} messages took {taken}"))
        }
        Detail::Pruned { retention, answer: Guarded::Done(pruned), .. } => {
            must(pruned.runs.max(pruned.messages).max(pruned.keys) <= retention.limit, || {
                format!("too much at once: {pruned:?}")
            })?;
            pruned_old_enough(commit, retention)
        }
        _ => Ok(()),
    }
}

fn pruned_old_enough(commit: &Commit<'_>, retention: &onebell::store::Retention) -> Result<(), String> {
    for change in commit.changes.runs.iter().filter(|change| change.after.is_none()) {
        let finished = change.before.as_ref().and_then(|row| row.finished_at);
        let before = (commit.at - retention.runs).micros();
        must(finished.is_some_and(|at| at <= before), || format!("run {} was pruned, finished at {finished:?}", change.key))?;
        let open = commit.now.messages.iter().find(|(_, row)| {
            row.run.as_deref() == Some(change.key.as_str())
                && matches!(row.status.as_str(), "ready" | "claimed" | "sending" | "in_doubt")
        });
        must(open.is_none(), || {
            format!("run {} was pruned, but its message {:?} is open", change.key, open.map(|(key, _)| key))
        })?;
    }
    for change in commit.changes.messages.iter().filter(|change| change.after.is_none()) {
        let finished = change.before.as_ref().and_then(|row| row.finished_at);
        let before = (commit.at - retention.keys).micros();
        must(finished.is_some_and(|at| at <= before), || format!("message {} was pruned, finished at {finished:?}", change.key))?;
    }
    Ok(())
}
