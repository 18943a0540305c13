//! I11: nothing due is lost: every slot that planning passes over is a run, or a skip with its reason.

use std::collections::{BTreeMap, BTreeSet};

use onebell::model::schedule::{Schedule, next_slot};
use onebell::model::{JobDefinition, Moment};

use super::{Check, Commit, must};
use crate::call::Port;
use crate::snapshot::JobRow;

#[derive(Default)]
pub(super) struct I11 {
    runs: BTreeSet<(String, i64)>,
    skips: BTreeMap<String, Vec<(i64, i64)>>,
}

impl Check for I11 {
    fn name(&self) -> &'static str {
        "i11"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        for change in &commit.changes.runs {
            if let Some((row, slot)) = change.after.as_ref().and_then(|row| Some((row, row.slot?))) {
                self.runs.insert((row.job.clone(), slot));
            }
            let gone = change.before.is_some() && change.after.is_none();
            must(!gone || commit.call.port == Port::Janitor, || format!("run {} is gone", change.key))?;
        }
        for change in &commit.changes.skips {
            let Some(row) = &change.after else { continue };
            self.skips.entry(row.job.clone()).or_default().push((row.from, row.to));
        }
        for change in &commit.changes.jobs {
            let (Some(before), Some(after)) = (&change.before, &change.after) else { continue };
            must(after.cursor >= before.cursor, || format!("the cursor of {} went back", change.key))?;
            if after.cursor > before.cursor {
                self.accounted(commit, &change.key, before, after.cursor)?;
            }
        }
        Ok(())
    }
}

impl I11 {
    fn accounted(&self, commit: &Commit<'_>, job: &str, before: &JobRow, upto: i64) -> Result<(), String> {
        let definition = commit.shadow.definitions.get(&before.hash).ok_or_else(|| format!("{job} has an unknown definition"))?;
        // The row's own, not the one of whoever registered last: several may have tried.
        let anchor = Some(Moment::from_micros(before.anchor_s * 1_000_000));
        let definition = JobDefinition { anchor, ..definition.clone() };
        let schedules = Schedule::of_job(&definition, jiff::tz::db()).map_err(|error| error.to_string())?;
        let mut after = Moment::from_micros(before.cursor);
        while let Some(slot) = next_slot(&schedules, after).filter(|slot| slot.at.micros() <= upto) {
            let at = slot.at.micros();
            let is_run = self.runs.contains(&(job.to_owned(), at));
            let is_skip = self.skips.get(job).is_some_and(|ranges| ranges.iter().any(|(from, to)| *from <= at && at <= *to));
            must(is_run || is_skip, || {
                format!("slot {} of {job} is neither a run nor a skip after {}", slot.at, commit.call.verb)
            })?;
            after = slot.at;
        }
        Ok(())
    }
}
