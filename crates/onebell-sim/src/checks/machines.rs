//! Every row moves along the lines of its transition table, and each line is drawn by who may draw it.

use onebell::model::batch::{BATCH, BatchStatus};
use onebell::model::message::{MESSAGE, MessageStatus};
use onebell::model::run::{RUN, RunStatus};
use onebell::model::step::{STEP, StepStatus};
use onebell::model::transition::{By, Transition};

use super::{Check, Commit, must};
use crate::call::Port;
use crate::snapshot::{AttemptRow, BatchRow, Change, StepRow};

#[derive(Default)]
pub(super) struct Machines;

impl Check for Machines {
    fn name(&self) -> &'static str {
        "machines"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        let by = hands(commit.call.port);
        for change in &commit.changes.runs {
            let status = |status: &str| RunStatus::from_word(status);
            let from = change.before.as_ref().map_or(Some(RunStatus::Queued), |row| status(&row.status));
            let Some(after) = &change.after else { continue };
            reachable(RUN, by, from, status(&after.status)).map_err(|why| format!("run {}: {why}", change.key))?;
        }
        for change in &commit.changes.messages {
            let status = |status: &str| MessageStatus::from_word(status);
            let Some(after) = &change.after else { continue };
            let from = change.before.as_ref().map_or(Some(MessageStatus::Ready), |row| status(&row.status));
            reachable(MESSAGE, by, from, status(&after.status)).map_err(|why| format!("message {}: {why}", change.key))?;
        }
        for change in &commit.changes.batches {
            let status = |status: &str| BatchStatus::from_word(status);
            let from = change.before.as_ref().map_or(Some(BatchStatus::Pending), |row| status(&row.status));
            let Some(after) = &change.after else {
                let last = change.before.as_ref().is_some_and(|gone| {
                    let newer = |other: &BatchRow| other.series == gone.series && other.generation > gone.generation;
                    gone.is_open() || !commit.now.batches.iter().any(|(_, other)| newer(other))
                });
                let retention = commit.call.verb == "prune" && !last;
                must(retention, || format!("batch {} is gone: {:?}", change.key, change.before))?;
                continue;
            };
            let by = readers(commit.call.verb);
            reachable(BATCH, by, from, status(&after.status)).map_err(|why| format!("batch {}: {why}", change.key))?;
        }
        for change in &commit.changes.steps {
            self.step(commit, by, change)?;
        }
        Ok(())
    }
}

impl Machines {
    fn step(&self, commit: &Commit<'_>, by: &[By], change: &Change<StepRow>) -> Result<(), String> {
        let done = |key: &str| {
            let last = commit.changes.attempts.iter().filter_map(|found| found.after.as_ref());
            let mut last = last.filter(|row| row.step == key && row.last.is_some());
            last.next_back().and_then(|row: &std::sync::Arc<AttemptRow>| StepStatus::from_word(row.last.as_deref()?))
        };
        let from = match &change.before {
            Some(row) => StepStatus::from_word(&row.status),
            None if commit.call.verb == "retry_run" => {
                let delivers = change.after.as_ref().is_some_and(|row| row.status == "delivering");
                Some(if delivers { StepStatus::Succeeded } else { StepStatus::Cancelled })
            }
            None => Some(StepStatus::Waiting),
        };
        let to = match &change.after {
            Some(row) => StepStatus::from_word(&row.status),
            None if commit.call.port == Port::Janitor => return Ok(()),
            None => done(&change.key),
        };
        must(to.is_some(), || format!("step {} is gone without a place in the history", change.key))?;
        reachable(STEP, by, from, to).map_err(|why| format!("step {}: {why}", change.key))
    }
}

/// Who moves something through these verbs.
fn hands(port: Port) -> &'static [By] {
    match port {
        Port::Scheduler => &[By::Scheduler, By::Consequence],
        Port::Agent => &[By::Agent, By::Consequence],
        Port::Relay => &[By::Relay, By::Consequence],
        Port::Operator => &[By::Operator, By::Scheduler, By::Consequence],
        Port::Replica | Port::Supervisor | Port::Leader | Port::Janitor | Port::Batch | Port::Read => &[],
    }
}

/// Who moves a batch through this verb; whoever begins anew ends the reading before, as a person does.
fn readers(verb: &str) -> &'static [By] {
    match verb {
        "open_batch" => &[By::Agent, By::Consequence, By::Operator],
        "apply_chunk" | "withhold_batch" | "release_batch" => &[By::Agent],
        "cancel_batch" | "resume_batch" => &[By::Operator],
        _ => &[],
    }
}

/// Whether lines drawn by `by` lead from one state to the other, in at most four steps of one commit.
fn reachable<S: Copy + PartialEq + std::fmt::Display, E>(
    table: &[Transition<S, E>],
    by: &[By],
    from: Option<S>,
    to: Option<S>,
) -> Result<(), String> {
    let (Some(from), Some(to)) = (from, to) else { return Err("a state that no table knows".to_owned()) };
    let mut reached = vec![from];
    for _ in 0..4 {
        if reached.contains(&to) {
            return Ok(());
        }
        let more: Vec<S> = table
            .iter()
            .filter(|line| line.by.iter().any(|hand| by.contains(hand)) && line.from.iter().any(|state| reached.contains(state)))
            .map(|line| line.to)
            .collect();
        reached.extend(more);
    }
    must(reached.contains(&to), || format!("no line of the table leads from {from} to {to} by {by:?}"))
}
