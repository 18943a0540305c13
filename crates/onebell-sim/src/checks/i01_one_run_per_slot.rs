//! I1: one slot opens at most one run, for ever, also after its row was pruned.

use std::collections::{BTreeMap, BTreeSet};

use super::{Check, Commit, must};

#[derive(Default)]
pub(super) struct I01 {
    opened: BTreeSet<(String, i64)>,
    pruned_before: BTreeMap<String, i64>,
}

impl Check for I01 {
    fn name(&self) -> &'static str {
        "i01"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        for change in commit.changes.runs.iter().filter(|change| change.before.is_none()) {
            let Some((row, slot)) = change.after.as_ref().and_then(|row| Some((row, row.slot?))) else { continue };
            let new = self.opened.insert((row.job.clone(), slot));
            must(new, || format!("slot {slot} of {} was opened twice ({})", row.job, change.key))?;
        }
        for change in commit.changes.runs.iter().filter(|change| change.after.is_none()) {
            let Some((row, slot)) = change.before.as_ref().and_then(|row| Some((row, row.slot?))) else { continue };
            let mark = commit.now.jobs.get(&row.job).and_then(|job| job.pruned_before);
            must(mark.is_some_and(|mark| slot <= mark), || format!("run {} was pruned and may be opened again", change.key))?;
        }
        for change in &commit.changes.jobs {
            let (before, after) =
                (self.pruned_before.get(&change.key).copied(), change.after.as_ref().and_then(|row| row.pruned_before));
            must(before <= after, || format!("pruned_before of {} moved back", change.key))?;
            if let Some(after) = after {
                self.pruned_before.insert(change.key.clone(), after);
            }
        }
        Ok(())
    }
}
