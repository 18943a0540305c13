//! After a restore: what is open may have ended in what was lost, and is held for a person.

use super::columns::{Record, int, stamp, values};
use super::endings::{Endings, Held};
use super::error::Outcome;
use super::operator::audit;
use super::run_graph::{self, Subject};
use super::transaction::Tx;
use super::{alarms, statements as sql};
use crate::model::run::RunStatus;
use crate::model::step::StepStatus;
use crate::model::{Moment, RunId, restore};
use crate::store::{Question, Questioned};

/// Messages that may have gone out. Nothing while a replica lives.
pub(super) async fn doubt(tx: &Tx, question: &Question) -> Outcome<Questioned> {
    let now = tx.now().await?;
    if let Some(live) = heard(tx, now).await? {
        return Ok(live);
    }
    let (at, limit, note) = (stamp(now), int(question.limit), restore::of_message(question.since));
    let rows = tx.rows(&sql::QUESTION_MESSAGES, values![at, limit, note]).await?;
    let keys: Vec<&str> = rows.iter().map(|row| row.get("key")).collect::<Outcome<_>>()?;
    alarms::tell_of_doubts(tx, now, &keys).await?;
    said(tx, now, question, 0, keys.len()).await
}

/// Steps that may have run. Nothing while a replica lives.
pub(super) async fn hold(tx: &Tx, question: &Question) -> Outcome<Questioned> {
    let now = tx.now().await?;
    if let Some(live) = heard(tx, now).await? {
        return Ok(live);
    }
    let (limit, why) = (int(question.limit), restore::of_step(question.since));
    let rows = tx.rows(&sql::READ_OPEN_RUNS, values![limit, why]).await?;
    let jobs: Vec<&str> = rows.iter().map(|row| row.get("job_id")).collect::<Outcome<_>>()?;
    tx.rows(&sql::LOCK_JOBS, values![jobs]).await?;
    let runs: Vec<RunId> = rows.iter().map(|row| row.get::<&str>("run_id").map(RunId::from_text)).collect::<Outcome<_>>()?;
    // A queued run may have started: its first steps are asked about as well.
    let queued: Vec<Subject> = run_graph::lock(tx, &runs).await?.into_values().filter_map(Subject::admitted).collect();
    run_graph::advance(tx, now, &queued).await?;
    let steps = hold_steps(tx, now, &runs, &why).await?;
    let subjects: Vec<Subject> = run_graph::lock(tx, &runs).await?.into_values().map(Subject::as_it_stands).collect();
    run_graph::advance(tx, now, &subjects).await?;
    said(tx, now, question, steps, 0).await
}

async fn heard(tx: &Tx, now: Moment) -> Outcome<Option<Questioned>> {
    let at = stamp(now);
    let Some(row) = tx.first(&sql::READ_HEARD, values![at]).await? else { return Ok(None) };
    Ok(Some(Questioned::Live { label: row.get("label")?, heard_at: row.moment("beat_at")? }))
}

/// Holds what is pending or running in locked runs.
async fn hold_steps(tx: &Tx, now: Moment, runs: &[RunId], why: &str) -> Outcome<usize> {
    let (at, ids) = (stamp(now), runs.iter().map(RunId::as_str).collect::<Vec<_>>());
    let rows = tx.rows(&sql::LOCK_OPEN_STEPS, values![at, ids, why]).await?;
    let locked = run_graph::lock(tx, runs).await?;
    let is_cancelling = |run: &RunId| locked.get(run).is_some_and(|run| run.status == RunStatus::Cancelling);
    let (mut pending, mut endings, mut running) = (Vec::new(), Endings::default(), 0);
    for row in &rows {
        if status(row)? == StepStatus::Pending {
            pending.push(row.get::<&str>("step_id")?);
        } else if !row.get::<bool>("heard")? {
            let step = Held::read(row)?;
            endings.add(&step, &restore::ending(&step.running(is_cancelling(&step.run)), why, now), None);
            running += 1;
        }
    }
    endings.write(tx, now).await?;
    if !pending.is_empty() {
        tx.execute_all(&sql::QUESTION_STEPS, values![at, pending, why], pending.len()).await?;
    }
    Ok(pending.len() + running)
}

fn status(row: &Record) -> Outcome<StepStatus> {
    row.word("status", StepStatus::from_word)
}

async fn said(tx: &Tx, now: Moment, question: &Question, steps: usize, messages: usize) -> Outcome<Questioned> {
    let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let (steps, messages) = (small(steps), small(messages));
    if steps + messages > 0 {
        let detail = restore::detail(steps, messages);
        audit(tx, now, &question.actor, "question", &question.since.to_string(), Some(&detail)).await?;
    }
    Ok(Questioned::Asked { steps, messages })
}
