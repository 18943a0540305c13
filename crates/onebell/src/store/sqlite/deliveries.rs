//! Closes steps whose messages are all decided. The Relay never touches steps; this is where they meet.

use super::run_graph::advance_run;
use super::statements::Statement as S;
use super::step_row::StepRow;
use super::transaction::{Outcome, Tx};
use crate::model::RunId;
use crate::model::job::OnMessageFailed;
use crate::model::step::{AttemptOutcome, StepEvent};

/// A delivering step none of whose messages is open.
struct Closable {
    step: StepRow,
    in_doubt: bool,
    failed: i64,
}

/// Closes up to `limit` steps: how many moved.
pub(super) fn close_deliveries(tx: &Tx<'_>, limit: u32) -> Outcome<u32> {
    let mut closable = tx.rows(S::ReadClosableSteps, &[("limit", &limit)], |row| {
        Ok(Closable { step: StepRow::read(row)?, in_doubt: row.get("in_doubt")?, failed: row.get("failed")? })
    })?;
    closable.sort_by(|a, b| (&a.step.run, &a.step.id).cmp(&(&b.step.run, &b.step.id)));
    let mut closed = 0;
    for of_run in closable.chunk_by(|a, b| a.step.run == b.step.run) {
        for one in of_run {
            closed += u32::from(close(tx, one)?);
        }
        let run: &RunId = &of_run[0].step.run;
        advance_run(tx, run)?;
    }
    Ok(closed)
}

fn close(tx: &Tx<'_>, closable: &Closable) -> Outcome<bool> {
    let Closable { step, in_doubt, failed } = closable;
    if *in_doubt {
        return step.hold(tx, "a message of it is in doubt: decide it with `onebell outbox resolve`");
    }
    if *failed > 0 && step.on_message_failed == OnMessageFailed::Fail {
        let error = format!("{failed} of its messages failed");
        return step.close(tx, StepEvent::DeliveryFailed, AttemptOutcome::Failed, Some(&error));
    }
    step.close(tx, StepEvent::Delivered, AttemptOutcome::Succeeded, None)
}
