//! Grants or refuses one recovery request: the request first, then what it is about, compared with the fence it names.
//! How a lost attempt ends, the model decides.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::Row;

use super::agent::is_live;
use super::columns::{count, int};
use super::outbox::MessageRow;
use super::relay::end_message;
use super::run_graph::{RunRow, advance_run};
use super::statements::Statement as S;
use super::step_row::StepRow;
use super::transaction::{Outcome, Tx};
use crate::model::message::{InDoubtPolicy, MessageStatus};
use crate::model::recovery::{Grant, RecoveryRequest, RequestKind, RequestStatus};
use crate::model::run::RunStatus;
use crate::model::step::{Loss, StepStatus};
use crate::model::{Moment, ReplicaId, RunId, StepId};
use crate::store::StepOutput;

/// Reads the columns of `read_open_requests` and `list_recoveries`.
pub(super) fn request(row: &Row<'_>) -> Outcome<RecoveryRequest> {
    Ok(RecoveryRequest {
        kind: row.get("kind")?,
        id: row.get("id")?,
        attempt: count(row, "attempt")?,
        requested_by: row.get("requested_by")?,
        requested_at: row.get("requested_at")?,
        reason: row.get("reason")?,
        status: row.get("status")?,
        granted_at: row.get("granted_at")?,
    })
}

/// Grants or refuses.
pub(super) fn grant(tx: &Tx<'_>, request: &RecoveryRequest) -> Outcome<Grant> {
    let attempt = int(request.attempt);
    let key: [(&str, &dyn rusqlite::ToSql); 4] =
        [("kind", &request.kind), ("id", &request.id), ("attempt", &attempt), ("now", &tx.now)];
    match tx.first(S::LockRequest, &key, |row| Ok(row.get("status")?))? {
        None => return Ok(Grant::Refused),
        // A lost answer: the first one did it.
        Some(RequestStatus::Granted) => return Ok(Grant::Granted { moved: 0 }),
        Some(RequestStatus::Open) => {}
    }
    let moved = match request.kind {
        RequestKind::Replica => lose_replica(tx, &ReplicaId::from_text(&request.id), request.attempt)?,
        RequestKind::Step => recover_step(tx, &StepId::from_text(&request.id), request.attempt)?,
        RequestKind::Message => recover_message(tx, &request.id, request.attempt)?,
        RequestKind::Run => go_on(tx, &RunId::from_text(&request.id))?,
    };
    match moved {
        Some(moved) => {
            tx.execute(S::GrantRequest, &key)?;
            Ok(Grant::Granted { moved })
        }
        None => {
            tx.execute(S::RefuseRequest, &key)?;
            Ok(Grant::Refused)
        }
    }
}

/// The replica is lost, and all it held is recovered.
fn lose_replica(tx: &Tx<'_>, replica: &ReplicaId, beat: u64) -> Outcome<Option<u32>> {
    if tx.execute(S::LoseReplica, &[("replica", replica), ("beat", &int(beat)), ("now", &tx.now)])? == 0 {
        return Ok(None);
    }
    let steps = tx.rows(S::ReadLostSteps, &[("replica", replica)], StepRow::read)?;
    let mut runs = BTreeMap::new();
    let mut moved = 0;
    for step in &steps {
        if !runs.contains_key(&step.run) {
            runs.insert(step.run.clone(), RunRow::locked(tx, &step.run)?);
        }
        let cancelling = runs.get(&step.run).and_then(Option::as_ref).is_some_and(|run| run.status == RunStatus::Cancelling);
        moved += u32::from(recover(tx, step, Loss::Lost, cancelling)?);
    }
    for run in runs.keys().collect::<BTreeSet<_>>() {
        advance_run(tx, run)?;
    }
    // Only now: a run that ends with its step has marked its messages.
    for message in &tx.rows(S::ReadLostMessages, &[("replica", replica)], MessageRow::read)? {
        moved += u32::from(recover_in_flight(tx, message)?);
    }
    Ok(Some(moved))
}

/// A running step, overdue or abandoned.
fn recover_step(tx: &Tx<'_>, step: &StepId, attempt: u64) -> Outcome<Option<u32>> {
    let row = tx.first(S::ReadOpenStep, &[("step", step)], StepRow::read)?;
    let Some(row) = row.filter(|row| row.status == StepStatus::Running && row.attempt == attempt) else { return Ok(None) };
    let Some(loss) = lost(tx, row.locked_by.as_ref(), row.complete_by)? else { return Ok(None) };
    let run = RunRow::locked(tx, &row.run)?;
    let cancelling = run.is_some_and(|run| run.status == RunStatus::Cancelling);
    if !recover(tx, &row, loss, cancelling)? {
        return Ok(None);
    }
    advance_run(tx, &row.run)?;
    Ok(Some(1))
}

fn recover(tx: &Tx<'_>, step: &StepRow, loss: Loss, cancelling: bool) -> Outcome<bool> {
    let ending = step.running(cancelling, tx.now).recover(loss, tx.now);
    step.end(tx, &ending, &StepOutput::default())
}

/// Why a claim is recovered; nothing while its owner lives and it has not lapsed.
fn lost(tx: &Tx<'_>, owner: Option<&ReplicaId>, complete_by: Option<Moment>) -> Outcome<Option<Loss>> {
    let live = owner.map_or(Ok(false), |owner| is_live(tx, owner))?;
    let lapsed = complete_by.is_some_and(|at| at <= tx.now);
    Ok(if live { lapsed.then_some(Loss::Overdue) } else { Some(Loss::Lost) })
}

/// A message on its way, overdue or abandoned, or one in doubt that may be sent again.
fn recover_message(tx: &Tx<'_>, key: &str, attempt: u64) -> Outcome<Option<u32>> {
    let Some(row) = MessageRow::locked(tx, key)?.filter(|row| row.attempt == attempt) else { return Ok(None) };
    if row.status == MessageStatus::InDoubt && row.on_in_doubt == InDoubtPolicy::Resend {
        tx.execute(S::ResendMessages, &[("key", &key), ("now", &tx.now), ("anew", &false)])?;
        return Ok(Some(1));
    }
    if !matches!(row.status, MessageStatus::Claimed | MessageStatus::Sending)
        || lost(tx, row.locked_by.as_ref(), row.complete_by)?.is_none()
    {
        return Ok(None);
    }
    Ok(recover_in_flight(tx, &row)?.then_some(1))
}

fn recover_in_flight(tx: &Tx<'_>, message: &MessageRow) -> Outcome<bool> {
    message.in_flight(tx.now).recover(tx.now).map_or(Ok(false), |ending| end_message(tx, message, &ending, None))
}

/// A run that should have gone on: first what no live replica carries is parked, and what one carries again taken up. A
/// queued one is left to admission.
fn go_on(tx: &Tx<'_>, run: &RunId) -> Outcome<Option<u32>> {
    let run_of: [(&str, &dyn rusqlite::ToSql); 2] = [("run", run), ("now", &tx.now)];
    let steps = tx.execute(S::HoldUncarriedSteps, &run_of)? + tx.execute(S::TakeUpSteps, &run_of)?;
    let changes = steps + advance_run(tx, run)?;
    Ok((changes > 0).then(|| u32::try_from(changes).unwrap_or(u32::MAX)))
}
