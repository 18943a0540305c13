//! A person's word on a run, a step or a message. The tables of the model say what it may do.

use super::columns::{Record, stamp, text, values};
use super::error::Outcome;
use super::new_steps::{NewSteps, Place};
use super::operator::audit;
use super::run_graph::{self, LockedRun, Subject};
use super::transaction::Tx;
use super::{messages, statements as sql};
use crate::model::job::UNDO_MARK;
use crate::model::message::MessageEvent;
use crate::model::run::{RunEvent, RunStatus};
use crate::model::step::{AttemptOutcome, StepEvent, StepStatus};
use crate::model::{Moment, RunId};
use crate::store::{Acted, Actor, MessageVerdict, Resolution};

/// `queued, running, parked → cancelling` and what follows.
pub(super) async fn cancel_run(tx: &Tx, id: &RunId, actor: &Actor) -> Outcome<Acted> {
    let Some(run) = run_graph::lock(tx, [id]).await?.remove(id) else {
        return Ok(Acted::NotFound);
    };
    if run.status.on(RunEvent::Cancel).is_none() {
        return Ok(not_now(format!("the run is {}; a queued, running or parked one can be cancelled", run.status)));
    }
    if run.goal.is_some() {
        return Ok(not_now("the run is already being undone; decide its parked undo step instead"));
    }
    let now = tx.now().await?;
    let why = actor.reason.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    let subject = Subject::cancelled(run, text(&format!("cancelled by {}{why}", actor.name)));
    run_graph::advance(tx, now, subject.as_slice()).await?;
    audit(tx, now, actor, "cancel", id.as_str(), None).await?;
    Ok(Acted::Done)
}

/// New budgets for a parked run; a failed one is queued again, if no undo began.
pub(super) async fn retry_run(tx: &Tx, id: &RunId, actor: &Actor) -> Outcome<Acted> {
    let Some(run) = run_graph::lock(tx, [id]).await?.remove(id) else {
        return Ok(Acted::NotFound);
    };
    let now = tx.now().await?;
    let subject = match run.status {
        RunStatus::Parked => {
            // Of a run that is being undone only the undo goes on.
            let undoing = run.goal.is_some();
            budget(tx, now, id, |name| name.ends_with(UNDO_MARK) == undoing).await?;
            Some(Subject::as_it_stands(run))
        }
        RunStatus::Failed if undo_began(tx, id).await? => {
            return Ok(not_now("its finished steps were undone; trigger a new run instead"));
        }
        RunStatus::Failed => {
            budget(tx, now, id, |_| true).await?;
            reopen(tx, now, &run).await?;
            let (at, run_id) = (stamp(now), id.as_str());
            tx.execute(&sql::REVIVE_RUN_MESSAGES, values![at, run_id]).await?;
            redeliver(tx, now, &run).await?;
            Subject::retried(run)
        }
        other => return Ok(not_now(format!("the run is {other}; a parked or failed one can be retried"))),
    };
    run_graph::advance(tx, now, subject.as_slice()).await?;
    audit(tx, now, actor, "retry", id.as_str(), None).await?;
    Ok(Acted::Done)
}

/// Steps of a locked run that wait for a person.
async fn stopped(tx: &Tx, run: &RunId) -> Outcome<Vec<Record>> {
    let run = run.as_str();
    tx.rows(&sql::LOCK_STOPPED_STEPS, values![run]).await
}

/// A new budget for those that wait for a person and whose name is meant.
async fn budget(tx: &Tx, now: Moment, run: &RunId, meant: impl Fn(&str) -> bool) -> Outcome<()> {
    let mut steps: Vec<String> = Vec::new();
    for row in stopped(tx, run).await? {
        let allowed = row.word("status", StepStatus::from_word)?.on(StepEvent::Budget).is_some();
        if allowed && meant(row.get("name")?) {
            steps.push(row.get("step_id")?);
        }
    }
    if steps.is_empty() {
        return Ok(());
    }
    let now = stamp(now);
    tx.execute_all(&sql::BUDGET_STEPS, values![now, steps], steps.len()).await
}

async fn undo_began(tx: &Tx, run: &RunId) -> Outcome<bool> {
    let run = run.as_str();
    tx.one(&sql::FIND_UNDO, values![run]).await?.get("began")
}

/// Cancelled steps come back from the history and wait, each under the attempt it ended with.
async fn reopen(tx: &Tx, now: Moment, run: &LockedRun) -> Outcome<()> {
    let id = run.id.as_str();
    let cancelled = tx.rows(&sql::REOPEN_STEPS, values![id]).await?;
    take_back(tx, now, run, StepStatus::Waiting, &cancelled).await
}

/// Steps that were done deliver again: of their messages some were dropped with the run, and are ready now.
async fn redeliver(tx: &Tx, now: Moment, run: &LockedRun) -> Outcome<()> {
    let (at, id) = (stamp(now), run.id.as_str());
    let done = tx.rows(&sql::REDELIVER_STEPS, values![id]).await?;
    take_back(tx, now, run, StepStatus::Delivering, &done).await?;
    tx.execute_all(&sql::RECORD_REDELIVERED_STEPS, values![at, id], done.len()).await
}

/// Steps of the history are open once more.
async fn take_back(tx: &Tx, now: Moment, run: &LockedRun, status: StepStatus, rows: &[Record]) -> Outcome<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let definitions = run_graph::definitions(tx, &[&run.id]).await?;
    let definition = run_graph::definition_of(&definitions, &run.id)?;
    let ranks = definition.ranks();
    let mut steps = NewSteps::default();
    for row in rows {
        // A step that delivers again takes a number of its own, as an end without an owner does.
        let attempt = row.number::<u64>("attempt")? + u64::from(status == StepStatus::Delivering);
        let place = Place { run: &run.id, job: &run.job, status, attempt };
        if let Some(step) = definition.step(row.get("name")?) {
            steps.add(place, step, &ranks)?;
        }
    }
    steps.insert(tx, now).await
}

/// Decides an exhausted, held or failed step of an open run.
pub(super) async fn resolve_step(tx: &Tx, run_id: &RunId, name: &str, resolution: Resolution, actor: &Actor) -> Outcome<Acted> {
    let Some(run) = run_graph::lock(tx, [run_id]).await?.remove(run_id) else {
        return Ok(Acted::NotFound);
    };
    let row = stopped(tx, run_id).await?.into_iter().find(|row| row.get::<&str>("name").is_ok_and(|found| found == name));
    let Some(row) = row else {
        return undecidable(tx, &run, name).await;
    };
    let status = row.word("status", StepStatus::from_word)?;
    if let Some(reason) = why_not(&run, name, status, resolution) {
        return Ok(not_now(reason));
    }
    let now = tx.now().await?;
    let (at, step, was) = (stamp(now), vec![row.get::<String>("step_id")?], vec![status.as_str()]);
    let outcome = AttemptOutcome::Resolved.as_str();
    match resolution {
        Resolution::Retry => tx.execute_all(&sql::BUDGET_STEPS, values![at, step], 1).await?,
        Resolution::Succeeded => {
            let summary = "a person says that it succeeded";
            tx.execute_all(&sql::CLOSE_STEPS, values![at, step, was, outcome, summary], 1).await?;
        }
        Resolution::Failed => {
            let error = text(actor.reason.as_deref().unwrap_or("a person says that it failed"));
            tx.execute_all(&sql::FAIL_STEPS, values![at, step, was, outcome, error], 1).await?;
        }
    }
    run_graph::advance(tx, now, &[Subject::as_it_stands(run)]).await?;
    audit(tx, now, actor, "resolve-step", row.get("step_id")?, Some(resolution.as_str())).await?;
    Ok(Acted::Done)
}

/// Why a step that does not wait for a person cannot be decided; or there is none of that name.
async fn undecidable(tx: &Tx, run: &LockedRun, name: &str) -> Outcome<Acted> {
    let ids = vec![run.id.as_str()];
    for row in tx.rows(&sql::READ_RUN_STEPS, values![ids]).await? {
        if row.get::<&str>("name")? == name {
            let status = row.word("status", StepStatus::from_word)?;
            return Ok(not_now(format!("the step is {status}; an exhausted, held or failed one can be decided")));
        }
    }
    Ok(Acted::NotFound)
}

fn why_not(run: &LockedRun, name: &str, step: StepStatus, resolution: Resolution) -> Option<String> {
    let event = match resolution {
        Resolution::Succeeded => StepEvent::ResolveSucceeded,
        Resolution::Failed => StepEvent::ResolveFailed,
        Resolution::Retry => StepEvent::Budget,
    };
    if run.status.is_over() {
        return Some(format!("the run is {}; only steps of an open run can be decided", run.status));
    }
    if step.on(event).is_none() {
        return Some(format!("the step is {step}; an exhausted, held or failed one can be decided"));
    }
    if step == StepStatus::Failed && run.status != RunStatus::Parked {
        let run = run.status;
        return Some(format!(
            "the step is failed and its run is {run}; a failed step can be decided only while its run is parked"
        ));
    }
    (resolution != Resolution::Failed && name.ends_with(UNDO_MARK) != run.goal.is_some())
        .then(|| "the run is already ending; only its undo steps can be decided so".to_owned())
}

/// Decides a message.
pub(super) async fn resolve_message(tx: &Tx, key: &str, verdict: MessageVerdict, actor: &Actor) -> Outcome<Acted> {
    let Some(message) = messages::lock(tx, &[key]).await?.into_iter().next() else {
        return Ok(Acted::NotFound);
    };
    let (event, statement, allowed) = match verdict {
        MessageVerdict::Sent => (MessageEvent::ResolveSent, &sql::RESOLVE_MESSAGES, "one in doubt can be called sent"),
        MessageVerdict::Resend => (MessageEvent::Resend, &sql::RESEND_MESSAGES, "one in doubt or failed can be sent again"),
        MessageVerdict::Drop => (MessageEvent::Drop, &sql::DROP_MESSAGES, "one that is ready, failed or in doubt can be dropped"),
    };
    let status = message.flying.status;
    if status.on(event).is_none() {
        return Ok(not_now(format!("the message is {status}; {allowed}")));
    }
    let now = tx.now().await?;
    let (at, note) = (stamp(now), actor.reason.as_deref().map(text));
    tx.execute_all(statement, values![at, key, note], 1).await?;
    audit(tx, now, actor, "resolve-message", key, Some(verdict.as_str())).await?;
    Ok(Acted::Done)
}

fn not_now(reason: impl Into<String>) -> Acted {
    Acted::NotNow(reason.into())
}
