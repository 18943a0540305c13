//! I14: a run succeeds or fails as a unit: what had finished is undone in reverse order, once, only after a failure or a
//! cancellation.

use std::collections::BTreeSet;

use super::{Check, Commit, must};
use crate::shadow::is_of;
use crate::snapshot::{AttemptRow, Snapshot, StepRow};

const MARK: &str = "~undo";

#[derive(Default)]
pub(super) struct I14 {
    opened: BTreeSet<String>,
}

impl Check for I14 {
    fn name(&self) -> &'static str {
        "i14"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        for change in commit.changes.runs.iter().filter(|change| change.after.is_none()) {
            self.opened.retain(|step| !is_of(step, &change.key));
        }
        for change in &commit.changes.steps {
            let Some(after) = change.after.as_deref().filter(|row| row.is_undo()) else { continue };
            if change.before.is_none() {
                must(self.opened.insert(change.key.clone()), || format!("{} was opened twice", change.key))?;
                opened(commit, &change.key, after)?;
            }
            let claimed = after.status == "running" && change.before.as_ref().is_none_or(|row| row.status != "running");
            if claimed {
                in_order(commit.now, &change.key, after)?;
            }
        }
        for change in &commit.changes.runs {
            let goes = change.after.as_ref().is_some_and(|run| run.goal.is_some());
            if goes && change.before.as_ref().is_some_and(|before| before.goal.is_none()) {
                unsent_are_dropped(commit.now, &change.key)?;
            }
        }
        for change in &commit.changes.runs {
            let Some(run) = change.after.as_ref().filter(|run| run.finished_at.is_some()) else { continue };
            if change.before.as_ref().is_some_and(|before| before.status != run.status) {
                ended(commit.now, &change.key, &run.status)?;
            }
        }
        Ok(())
    }
}

fn done<'a>(now: &'a Snapshot, run: &'a str) -> impl Iterator<Item = &'a AttemptRow> {
    now.attempts.iter().map(|(_, row)| row.as_ref()).filter(move |row| row.run == run && row.last.as_deref() == Some("succeeded"))
}

/// Also what is held for a message in doubt: its effects stand.
fn committed<'a>(now: &'a Snapshot, run: &'a str) -> impl Iterator<Item = &'a AttemptRow> {
    let stands = |row: &&AttemptRow| row.last.as_deref() == Some("succeeded") || row.outcome == "delivering";
    now.attempts.iter().map(|(_, row)| row.as_ref()).filter(move |row| row.run == run).filter(stands)
}

fn opened(commit: &Commit<'_>, key: &str, undo: &StepRow) -> Result<(), String> {
    let run = commit.now.runs.get(&undo.run);
    must(run.is_some_and(|run| run.goal.is_some()), || {
        format!("{key} was opened, but its run neither failed nor was cancelled")
    })?;
    let name = undo.name.trim_end_matches(MARK);
    let finished = committed(commit.now, &undo.run).any(|row| row.name == name && row.undoable);
    must(finished, || format!("{key} was opened, but {name} had not succeeded"))
}

/// Everything else of the run has ended, and so has every undo before this one.
fn in_order(now: &Snapshot, key: &str, undo: &StepRow) -> Result<(), String> {
    let of_run = || now.steps.iter().filter(|(_, row)| row.run == undo.run);
    let moving = of_run().find(|(_, row)| !row.is_undo() && matches!(row.status.as_str(), "pending" | "running" | "delivering"));
    must(moving.is_none(), || format!("{key} began while {:?} was going on", moving.map(|(key, _)| key)))?;
    let place = |name: &str| committed(now, &undo.run).find(|row| row.name == name).map(|row| (row.rank, row.name.clone()));
    let mine = place(undo.name.trim_end_matches(MARK));
    let later = of_run()
        .filter(|(_, row)| row.is_undo() && row.name != undo.name)
        .find(|(_, row)| place(row.name.trim_end_matches(MARK)) > mine);
    must(later.is_none(), || format!("{key} began before {:?}", later.map(|(key, _)| key)))
}

/// A run that begins to fail takes with it what never was on its way.
fn unsent_are_dropped(now: &Snapshot, run: &str) -> Result<(), String> {
    let of_run = now.messages.iter().filter(|(_, row)| row.run.as_deref() == Some(run) && row.sending_at.is_none());
    let mut kept = of_run.filter(|(_, row)| row.status == "ready" || (row.status == "claimed" && !row.run_gone));
    let kept = kept.next();
    must(kept.is_none(), || format!("run {run} fails or is cancelled, and {kept:?} would still be sent"))
}

fn ended(now: &Snapshot, run: &str, status: &str) -> Result<(), String> {
    let undone = |name: &str| done(now, run).any(|row| row.name == format!("{name}{MARK}"));
    if status == "succeeded" {
        let undo = done(now, run).find(|row| row.name.ends_with(MARK));
        return must(undo.is_none(), || format!("run {run} succeeded, and {undo:?} was undone"));
    }
    let kept = done(now, run).find(|row| row.undoable && !row.name.ends_with(MARK) && !undone(&row.name));
    must(kept.is_none(), || format!("run {run} is {status}, but {:?} was not undone", kept.map(|row| &row.name)))
}
