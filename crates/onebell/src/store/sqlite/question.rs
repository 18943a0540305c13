//! After a restore: what is open may have ended in what was lost, and is held for a person.

use super::alarms::tell_of_doubt;
use super::columns::count;
use super::define::audit;
use super::job_row::lock_job;
use super::run_graph::{RunGraph, advance_run};
use super::statements::Statement as S;
use super::step_row::StepRow;
use super::transaction::{Outcome, Tx};
use crate::model::restore;
use crate::model::run::{RunEvent, RunStatus};
use crate::model::{JobId, RunId};
use crate::store::{Question, Questioned, StepOutput};

/// Nothing while a replica lives.
pub(super) fn question(tx: &Tx<'_>, question: &Question) -> Outcome<Questioned> {
    let live = |row: &rusqlite::Row<'_>| Ok(Questioned::Live { label: row.get("label")?, heard_at: row.get("beat_at")? });
    if let Some(live) = tx.first(S::ReadHeard, &[("now", &tx.now)], live)? {
        return Ok(live);
    }
    let messages = doubt(tx, question)?;
    let why = restore::of_step(question.since);
    let page: [(&str, &dyn rusqlite::ToSql); 2] = [("error", &why), ("limit", &question.limit)];
    let mut steps = 0;
    let runs = tx.rows(S::ReadOpenRuns, &page, |row| Ok((row.get("job_id")?, row.get("run_id")?)))?;
    for (job, run) in &runs {
        start(tx, job, run)?;
        steps += hold(tx, run, &why)?;
        advance_run(tx, run)?;
    }
    if steps + messages > 0 {
        audit(tx, &question.actor, "question", &question.since.to_string(), Some(&restore::detail(steps, messages)))?;
    }
    Ok(Questioned::Asked { steps, messages })
}

/// Messages that may have gone out.
fn doubt(tx: &Tx<'_>, question: &Question) -> Outcome<u32> {
    let note = restore::of_message(question.since);
    let values: [(&str, &dyn rusqlite::ToSql); 3] = [("now", &tx.now), ("limit", &question.limit), ("note", &note)];
    let doubts = tx.rows(S::QuestionMessages, &values, |row| Ok((row.get::<_, String>("key")?, count(row, "attempt")?)))?;
    for (key, attempt) in &doubts {
        tell_of_doubt(tx, key, *attempt)?;
    }
    Ok(small(doubts.len()))
}

/// A queued run may have started: its first steps are asked about as well.
fn start(tx: &Tx<'_>, job: &JobId, run: &RunId) -> Outcome<()> {
    lock_job(tx, job)?;
    if let Some(mut graph) = RunGraph::locked(tx, run)?.filter(|graph| graph.row.status == RunStatus::Queued) {
        graph.row.go(tx, RunEvent::Admit, RunStatus::Running, None, None)?;
        graph.advance(tx)?;
    }
    Ok(())
}

/// Holds what is pending or running in a run.
fn hold(tx: &Tx<'_>, run: &RunId, why: &str) -> Outcome<u32> {
    let cancelling = RunGraph::locked(tx, run)?.is_some_and(|graph| graph.row.status == RunStatus::Cancelling);
    let mut held = 0;
    for step in tx.rows(S::ReadAbandonedSteps, &[("run", run), ("now", &tx.now)], StepRow::read)? {
        let ending = restore::ending(&step.running(cancelling, tx.now), why, tx.now);
        held += usize::from(step.end(tx, &ending, &StepOutput::default())?);
    }
    held += tx.execute(S::QuestionSteps, &[("run", run), ("error", &why), ("now", &tx.now)])?;
    Ok(small(held))
}

fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
