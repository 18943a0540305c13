//! I8: what makes no progress loses its claim or its term: nothing is extended by a renewal alone.

use super::{Check, Commit, must};

#[derive(Default)]
pub(super) struct I08;

impl Check for I08 {
    fn name(&self) -> &'static str {
        "i08"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        let verb = commit.call.verb;
        let at = commit.at.micros();
        for change in &commit.changes.steps {
            let (Some(before), Some(after)) = (&change.before, &change.after) else { continue };
            if before.status != "running" || after.status != "running" || before.complete_by == after.complete_by {
                continue;
            }
            let started = verb == "start_steps" && before.started_at.is_none();
            must(verb == "extend_step" || started, || format!("{verb} moved the end of the claim on {}", change.key))?;
            must(verb != "extend_step" || before.complete_by > Some(at), || {
                format!("the lapsed claim on {} was extended", change.key)
            })?;
            let owner = after.locked_by.as_deref().unwrap_or_default();
            let live = commit.now.replicas.get(owner).is_some_and(|row| row.is_live());
            must(verb != "extend_step" || live, || format!("{owner} is not live and extended {}", change.key))?;
        }
        for change in &commit.changes.batches {
            let Some(after) = change.after.as_ref().filter(|after| after.status == "running") else { continue };
            let until = Some(at + after.timeout_us);
            let moves = matches!(verb, "open_batch" | "apply_chunk");
            must(moves && after.complete_by == until, || {
                format!("{verb} moved the claim on batch {} to {:?} instead of {until:?}", change.key, after.complete_by)
            })?;
        }
        for change in &commit.changes.terms {
            let (Some(before), Some(after)) = (&change.before, &change.after) else { continue };
            let longer = before.epoch == after.epoch && after.expires_at > before.expires_at;
            must(!longer || verb == "report_duty", || format!("{verb} extended the term of {}", change.key))?;
        }
        Ok(())
    }
}
