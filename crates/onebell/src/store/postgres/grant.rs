//! Granting recovery: the request is locked, then what it is about, and the row is compared with the fence in the request.

use super::columns::{int, stamp, values};
use super::endings::{Endings, Held};
use super::error::Outcome;
use super::messages::{self, LockedMessage, MessageEndings};
use super::run_graph::{self, Subject};
use super::statements as sql;
use super::transaction::Tx;
use crate::model::message::{InDoubtPolicy, MessageEnding, MessageEvent, MessageStatus};
use crate::model::recovery::{Grant, RecoveryRequest, RequestKind, RequestStatus};
use crate::model::run::RunStatus;
use crate::model::step::Loss;
use crate::model::{Moment, RunId};

/// Grants or refuses.
pub(super) async fn grant(tx: &Tx, request: &RecoveryRequest) -> Outcome<Grant> {
    let (kind, id, attempt) = (request.kind.as_str(), request.id.as_str(), int(request.attempt));
    let Some(row) = tx.first(&sql::LOCK_REQUEST, values![kind, id, attempt]).await? else {
        return Ok(Grant::Refused);
    };
    if row.word("status", RequestStatus::from_word)? == RequestStatus::Granted {
        return Ok(Grant::Granted { moved: 0 });
    }
    let now = tx.now().await?;
    let moved = match request.kind {
        RequestKind::Replica => replica(tx, now, request).await?,
        RequestKind::Step => step(tx, now, request).await?,
        RequestKind::Message => message(tx, now, request).await?,
        RequestKind::Run => run(tx, now, request).await?,
    };
    match moved {
        Some(moved) => {
            let at = stamp(now);
            tx.execute_all(&sql::GRANT_REQUEST, values![kind, id, attempt, at], 1).await?;
            Ok(Grant::Granted { moved })
        }
        None => {
            tx.execute_all(&sql::REFUSE_REQUEST, values![kind, id, attempt], 1).await?;
            Ok(Grant::Refused)
        }
    }
}

/// The loss is a transition of the replica's row; what it held is read only after that row is ours.
async fn replica(tx: &Tx, now: Moment, request: &RecoveryRequest) -> Outcome<Option<u32>> {
    let (id, beat, at) = (request.id.as_str(), int(request.attempt), stamp(now));
    if tx.execute(&sql::LOSE_REPLICA, values![id, beat, at]).await? == 0 {
        return Ok(None);
    }
    let rows = tx.rows(&sql::READ_LOST_RUNS, values![id]).await?;
    let runs: Vec<RunId> = rows.iter().map(|row| row.get::<&str>("run_id").map(RunId::from_text)).collect::<Outcome<_>>()?;
    let runs = run_graph::lock(tx, &runs).await?;
    let rows = tx.rows(&sql::READ_LOST_STEPS, values![id]).await?;
    let steps: Vec<Held> = rows.iter().map(Held::read).collect::<Outcome<_>>()?;
    // Locked in their order, and read once more when the runs have gone on: one that ends has marked its messages.
    tx.rows(&sql::READ_LOST_MESSAGES, values![id]).await?;
    recover(tx, now, runs.into_values().collect(), &steps, Loss::Lost).await?;
    let rows = tx.rows(&sql::READ_LOST_MESSAGES, values![id]).await?;
    let flying: Vec<LockedMessage> = rows.iter().map(LockedMessage::read).collect::<Outcome<_>>()?;
    let mut endings = MessageEndings::default();
    for message in &flying {
        if let Some(ending) = message.flying.recover(now) {
            endings.add(&message.flying, &ending, None);
        }
    }
    endings.write(tx, now).await?;
    Ok(Some(u32::try_from(steps.len() + endings.len()).unwrap_or(u32::MAX)))
}

/// Ends running steps whose runs are locked, and writes what follows.
async fn recover(tx: &Tx, now: Moment, runs: Vec<run_graph::LockedRun>, steps: &[Held], loss: Loss) -> Outcome<()> {
    let mut endings = Endings::default();
    for step in steps {
        let cancelling = runs.iter().any(|run| run.id == step.run && run.status == RunStatus::Cancelling);
        endings.add(step, &step.running(cancelling).recover(loss, now), None);
    }
    endings.write(tx, now).await?;
    let subjects: Vec<Subject> = runs.into_iter().map(Subject::as_it_stands).collect();
    run_graph::advance(tx, now, &subjects).await.map(|_| ())
}

async fn step(tx: &Tx, now: Moment, request: &RecoveryRequest) -> Outcome<Option<u32>> {
    let (id, attempt) = (request.id.as_str(), int(request.attempt));
    let Some(found) = tx.first(&sql::FIND_STEP, values![id, attempt]).await? else {
        return Ok(None);
    };
    let run = RunId::from_text(found.get::<&str>("run_id")?);
    let runs = run_graph::lock(tx, [&run]).await?;
    let Some(row) = tx.first(&sql::LOCK_STEP, values![id, attempt]).await? else {
        return Ok(None);
    };
    let step = Held::read(&row)?;
    let Some(loss) = loss(tx, now, step.replica.as_str(), row.moment("complete_by")?).await? else {
        return Ok(None);
    };
    recover(tx, now, runs.into_values().collect(), &[step], loss).await?;
    Ok(Some(1))
}

/// Why what `owner` holds until `complete_by` is to be recovered; none: it is not. One that is not live never comes
/// back, so its row need not be held.
async fn loss(tx: &Tx, now: Moment, owner: &str, complete_by: Moment) -> Outcome<Option<Loss>> {
    if !tx.one(&sql::IS_LIVE, values![owner]).await?.get::<bool>("live")? {
        return Ok(Some(Loss::Lost));
    }
    Ok((complete_by <= now).then_some(Loss::Overdue))
}

async fn message(tx: &Tx, now: Moment, request: &RecoveryRequest) -> Outcome<Option<u32>> {
    let locked = messages::lock(tx, &[request.id.as_str()]).await?;
    let Some(message) = locked.into_iter().find(|message| message.flying.attempt == request.attempt) else {
        return Ok(None);
    };
    let ending = match (&message.locked_by, message.complete_by) {
        (Some(owner), Some(complete_by)) => match loss(tx, now, owner.as_str(), complete_by).await? {
            Some(_) => message.flying.recover(now),
            None => None,
        },
        _ => resend(&message, now),
    };
    let Some(ending) = ending else {
        return Ok(None);
    };
    let mut endings = MessageEndings::default();
    endings.add(&message.flying, &ending, None);
    endings.write(tx, now).await?;
    Ok(Some(1))
}

/// One in doubt whose policy is to send it again.
fn resend(message: &LockedMessage, now: Moment) -> Option<MessageEnding> {
    let flying = &message.flying;
    if flying.status != MessageStatus::InDoubt || flying.on_in_doubt != InDoubtPolicy::Resend {
        return None;
    }
    let to = flying.status.on(MessageEvent::Resend)?;
    Some(MessageEnding { event: MessageEvent::Resend, to, ready_at: now, tries: flying.tries, note: None })
}

/// Parks what no live replica carries, takes up what one carries again, and decides readiness and end of the run anew.
/// Nothing follows, or it is left to admission: refused.
async fn run(tx: &Tx, now: Moment, request: &RecoveryRequest) -> Outcome<Option<u32>> {
    let (at, id) = (stamp(now), request.id.as_str());
    let runs = run_graph::lock(tx, [&RunId::from_text(id)]).await?;
    let held = tx.execute(&sql::HOLD_UNCARRIED_STEPS, values![at, id]).await?;
    let steps = held + tx.execute(&sql::TAKE_UP_STEPS, values![at, id]).await?;
    let subjects: Vec<Subject> = runs.into_values().map(Subject::as_it_stands).collect();
    let changes = run_graph::advance(tx, now, &subjects).await?;
    let moved = u32::try_from(steps).unwrap_or(u32::MAX);
    Ok((moved > 0 || changes > 0).then_some(moved))
}
