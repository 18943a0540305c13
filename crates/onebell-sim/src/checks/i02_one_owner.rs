//! I2: a step, a message and a batch have one owner at a time, and their attempts only grow.

use std::collections::BTreeMap;

use super::{Check, Commit, must};
use crate::call::Detail;
use crate::shadow::is_of;
use crate::snapshot::{BatchRow, Change, StepRow};

#[derive(Default)]
pub(super) struct I02 {
    owners: BTreeMap<(String, i64), String>,
    highest: BTreeMap<String, i64>,
    relays: BTreeMap<(String, i64), String>,
    readers: BTreeMap<(String, i64), String>,
}

impl Check for I02 {
    fn name(&self) -> &'static str {
        "i02"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        let judged = self.judge(commit);
        self.forget(commit);
        judged
    }
}

impl I02 {
    /// What was pruned begins anew.
    fn forget(&mut self, commit: &Commit<'_>) {
        for change in commit.changes.runs.iter().filter(|change| change.after.is_none()) {
            self.owners.retain(|(step, _), _| !is_of(step, &change.key));
            self.highest.retain(|step, _| !is_of(step, &change.key));
        }
        for change in commit.changes.messages.iter().filter(|change| change.after.is_none()) {
            self.relays.retain(|(key, _), _| *key != change.key);
        }
    }

    fn judge(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        for change in &commit.changes.steps {
            let Some(after) = &change.after else { continue };
            self.step(&change.key, change.before.as_deref(), after)?;
            if after.status == "running" && change.before.as_ref().is_none_or(|before| before.status != "running") {
                may_be_claimed(commit, &change.key, after)?;
            }
        }
        for change in &commit.changes.attempts {
            let Some((row, replica)) = change.after.as_ref().and_then(|row| Some((row, row.replica.clone()?))) else { continue };
            let owner = self.owners.get(&(row.step.clone(), row.attempt));
            must(owner == Some(&replica), || format!("{} is in the history of {replica}, but {owner:?} owned it", change.key))?;
        }
        for change in &commit.changes.messages {
            let Some((row, owner)) = change.after.as_ref().and_then(|row| Some((row, row.locked_by.clone()?))) else { continue };
            let known = self.relays.entry((change.key.clone(), row.attempt)).or_insert_with(|| owner.clone());
            must(*known == owner, || {
                format!("attempt {} of message {} has two relays: {known}, {owner}", row.attempt, change.key)
            })?;
            let back = change.before.as_ref().is_some_and(|before| before.attempt > row.attempt);
            must(!back, || format!("the attempt of message {} went back", change.key))?;
        }
        commit.changes.batches.iter().try_for_each(|change| self.batch(commit, change))
    }
}

impl I02 {
    /// A batch is taken when nobody has it, its claim has lapsed, or by who has it; each time under a new attempt.
    fn batch(&mut self, commit: &Commit<'_>, change: &Change<BatchRow>) -> Result<(), String> {
        let (Some(after), key) = (&change.after, &change.key) else { return Ok(()) };
        let newer =
            commit.now.batches.iter().any(|(_, other)| other.series == after.series && other.generation > after.generation);
        must(!after.is_open() || !newer, || format!("batch {key} is open, and a newer one of its source is there"))?;
        if let Some(owner) = &after.locked_by {
            let known = self.readers.entry((key.clone(), after.attempt)).or_insert_with(|| owner.clone());
            must(known == owner, || format!("attempt {} of batch {key} has two readers: {known} and {owner}", after.attempt))?;
        }
        let Some(before) = &change.before else { return Ok(()) };
        let taken = commit.call.verb == "open_batch";
        let grows = if taken && after.is_open() { before.attempt + 1 } else { before.attempt };
        must(after.attempt == grows, || {
            format!("{} led batch {key} from attempt {} to {}", commit.call.verb, before.attempt, after.attempt)
        })?;
        let Detail::BatchOpened { open, .. } = &commit.call.detail else { return Ok(()) };
        let free = before.status == "pending" || before.complete_by <= Some(commit.at.micros());
        let own =
            matches!(&open.reader, onebell::store::Reader::Alone(reader) if before.locked_by.as_deref() == Some(reader.as_str()));
        must(free || own, || format!("batch {key} was taken from {:?} before its claim lapsed", before.locked_by))?;
        // Of which nothing was read under other identities binds nobody.
        let slip = before.byte.is_none() && before.identity != open.identity;
        must(after.is_open() || open.restart || slip, || format!("batch {key} was ended by somebody who wanted to go on"))
    }

    fn step(&mut self, key: &str, before: Option<&StepRow>, after: &StepRow) -> Result<(), String> {
        let highest = self.highest.entry(key.to_owned()).or_default();
        must(after.attempt >= *highest, || format!("the attempt of {key} went back from {highest} to {}", after.attempt))?;
        *highest = after.attempt;
        let Some(owner) = &after.locked_by else { return Ok(()) };
        let known = self.owners.entry((key.to_owned(), after.attempt)).or_insert_with(|| owner.clone());
        must(known == owner, || format!("attempt {} of {key} has two owners: {known} and {owner}", after.attempt))?;
        if let Some(before) = before.filter(|before| before.status == "running") {
            must(before.attempt == after.attempt, || {
                format!("{key} was claimed from {:?} while it was running", before.locked_by)
            })?;
        }
        Ok(())
    }
}

/// A claim takes a pending step, that is ready, of an active run, after its predecessors, for a live replica.
fn may_be_claimed(commit: &Commit<'_>, key: &str, step: &StepRow) -> Result<(), String> {
    let at = commit.at.micros();
    must(step.ready_at <= at, || format!("{key} was claimed {} us before it was ready", step.ready_at - at))?;
    let run = commit.now.runs.get(&step.run);
    let active = run.is_some_and(|run| matches!(run.status.as_str(), "running" | "undoing"));
    must(active, || format!("{key} was claimed, but its run is {:?}", run.map(|run| &run.status)))?;
    let owner = step.locked_by.as_deref().unwrap_or_default();
    must(commit.now.replicas.get(owner).is_some_and(|row| row.is_live()), || {
        format!("{key} was claimed by {owner}, which is not live")
    })?;
    let after: Vec<String> = serde_json::from_str(&step.after).unwrap_or_default();
    for name in after {
        let succeeded = commit
            .now
            .attempts
            .iter()
            .any(|(_, row)| row.run == step.run && row.name == name && row.last.as_deref() == Some("succeeded"));
        must(succeeded, || format!("{key} was claimed before {name} had succeeded"))?;
    }
    Ok(())
}
