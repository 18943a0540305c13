//! Overlap: unless runs may go side by side, one is admitted only while no other of its job is active.

use onebell::model::job::Overlap;
use onebell::model::run::RunStatus;

use super::{Check, Commit, must};

#[derive(Default)]
pub(super) struct Admission;

impl Check for Admission {
    fn name(&self) -> &'static str {
        "admission"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        for change in &commit.changes.runs {
            let admitted = change.after.as_ref().filter(|run| run.status == RunStatus::Running.as_str());
            let Some(run) = admitted.filter(|_| change.before.as_ref().is_none_or(|before| before.status == "queued")) else {
                continue;
            };
            let definition = commit.now.jobs.get(&run.job).and_then(|job| commit.shadow.definitions.get(&job.hash));
            if definition.is_none_or(|job| job.overlap == Overlap::Allow) {
                continue;
            }
            let active = |status: &str| RunStatus::from_word(status).is_some_and(RunStatus::is_active);
            let other = commit.now.runs.iter().find(|(key, row)| *key != change.key && row.job == run.job && active(&row.status));
            must(other.is_none(), || format!("{} was admitted beside {other:?}", change.key))?;
        }
        Ok(())
    }
}
