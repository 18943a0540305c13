//! I12: nothing is stuck: when faults have stopped and time has passed, everything is over, parked or in doubt.

use super::{Check, Commit, End, must};

#[derive(Default)]
pub(super) struct I12;

impl Check for I12 {
    fn name(&self) -> &'static str {
        "i12"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        for change in &commit.changes.runs {
            let Some(row) = change.after.as_ref().filter(|row| row.status == "parked") else { continue };
            let moving = commit.now.steps.iter().find(|(_, step)| {
                step.run == change.key
                    && matches!(step.status.as_str(), "pending" | "running" | "delivering")
                    && step.is_undo() == row.goal.is_some()
            });
            must(moving.is_none(), || format!("run {} is parked while {:?} moves", change.key, moving.map(|(key, _)| key)))?;
        }
        Ok(())
    }

    fn end(&mut self, end: &End<'_>) -> Result<(), String> {
        for (key, run) in end.now.runs.iter() {
            let rests = matches!(run.status.as_str(), "succeeded" | "failed" | "cancelled" | "parked");
            must(rests, || format!("run {key} is {} although nothing disturbs it", run.status))?;
            let mut steps = end.now.steps.iter().filter(|(_, step)| step.run == key);
            if run.status == "parked" {
                let waits = steps.any(|(_, step)| matches!(step.status.as_str(), "exhausted" | "held" | "failed"));
                must(waits, || format!("run {key} is parked, and no step of it waits for anybody"))?;
            } else {
                let open = steps.find(|(_, step)| !matches!(step.status.as_str(), "exhausted" | "held" | "failed"));
                must(open.is_none(), || format!("run {key} is {}, but {open:?} is open", run.status))?;
            }
        }
        for (key, row) in end.now.messages.iter() {
            let rests = matches!(row.status.as_str(), "sent" | "failed" | "dropped")
                || (row.status == "in_doubt" && row.on_in_doubt == "hold");
            must(rests, || format!("message {key} is {} although nothing disturbs it: {row:?}", row.status))?;
        }
        let open = end.now.batches.iter().find(|(_, row)| row.is_open());
        must(open.is_none(), || format!("{open:?} is open although its source was read to its end"))?;
        let open = end.now.requests.iter().find(|(_, row)| row.status == "open");
        must(open.is_none(), || format!("{open:?} was never decided"))
    }
}
