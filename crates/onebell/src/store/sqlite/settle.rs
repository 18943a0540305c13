//! Ends attempts under their claims: runs first, then the fence, the user's statements, effects and messages, the step
//! and its history, and last, in later statements, what follows for the runs.

use std::collections::BTreeMap;

use super::columns::int;
use super::error::Failure;
use super::group::{Memory, Remembered};
use super::ledger::put_effects;
use super::outbox::{PutMessages, put_messages};
use super::run_graph::{RunRow, advance_run};
use super::statements::Statement as S;
use super::step_row::StepRow;
use super::transaction::{Outcome, Tx};
use super::user_work::run_work;
use crate::model::run::RunStatus;
use crate::model::step::{AttemptOutcome, Verdict};
use crate::model::{ReplicaId, RunId};
use crate::store::{Settled, Settlement};

/// What a settlement put.
#[derive(Default)]
struct Brought {
    effects_already: u32,
    messages: PutMessages,
    rows: Option<String>,
}

/// Settles a set in one transaction, in the order given.
pub(super) fn settle_set(tx: &Tx<'_>, settlements: &[Settlement], memory: &Memory) -> Outcome<Vec<Settled>> {
    let mut runs: BTreeMap<&RunId, Option<RunRow>> =
        settlements.iter().map(|settlement| (settlement.claim.run(), None)).collect();
    for (run, row) in &mut runs {
        *row = RunRow::locked(tx, run)?;
    }
    let mut settled = Vec::with_capacity(settlements.len());
    for settlement in settlements {
        let run = runs.get(settlement.claim.run()).and_then(Option::as_ref);
        settled.push(settle_one(tx, settlement, run, memory)?);
    }
    for run in runs.keys() {
        let is_of = |settlement: &Settlement| settlement.claim.run() == *run;
        if settlements.iter().zip(&settled).any(|(settlement, s)| is_of(settlement) && matches!(s, Settled::Applied { .. })) {
            advance_run(tx, run)?;
        }
    }
    Ok(settled)
}

fn settle_one(tx: &Tx<'_>, settlement: &Settlement, run: Option<&RunRow>, memory: &Memory) -> Outcome<Settled> {
    let (Some(step), Some(run)) = (StepRow::fenced(tx, &settlement.claim)?, run) else {
        return read_back(tx, settlement);
    };
    let running = step.running(run.status == RunStatus::Cancelling, tx.now);
    let mut refused = None;
    let mut verdict = settlement.verdict.clone();
    let mut brought = Brought::default();
    if verdict == Verdict::Succeeded {
        match bring(tx, settlement, &step, memory) {
            Ok(done) => brought = done,
            Err(Failure::Refused(error)) => {
                verdict = Verdict::Failed { error: error.clone() };
                refused = Some(error);
            }
            Err(Failure::Late(error)) => {
                verdict = Verdict::Retry { error: error.clone(), after: None };
                refused = Some(error);
            }
            Err(failure) => return Err(failure),
        }
    }
    let ending = running.settle(&verdict, brought.messages.open > 0, tx.now);
    let mut output = settlement.output.clone();
    output.rows = brought.rows.or(output.rows);
    if !step.end(tx, &ending, &output)? {
        return Err(step.moved_on());
    }
    Ok(Settled::Applied {
        status: ending.to,
        effects_already: brought.effects_already,
        messages_already: brought.messages.already,
        refused,
    })
}

/// Everything that commits together with the step: all of it, or none when a part is refused.
fn bring(tx: &Tx<'_>, settlement: &Settlement, step: &StepRow, memory: &Memory) -> Outcome<Brought> {
    if settlement.effects.is_empty() && settlement.messages.is_empty() && settlement.work.is_none() {
        return Ok(Brought::default());
    }
    match memory.recall() {
        Some(Remembered::Refused(error)) => return Err(Failure::Refused(error)),
        Some(Remembered::Late(error)) => return Err(Failure::Late(error)),
        None => {}
    }
    let brought = tx.savepoint("onebell_settle", || {
        let left = step.complete_by.unwrap_or(tx.now).since(tx.now);
        let rows = settlement.work.as_ref().map(|work| run_work(tx, work, left)).transpose()?.flatten();
        let effects_already = put_effects(tx, &settlement.effects, &step.id)?;
        let messages = put_messages(tx, &settlement.messages, step)?;
        Ok(Brought { effects_already, messages, rows })
    });
    // Some errors roll back everything: the step is settled with them in a repeated transaction.
    match brought {
        Err(Failure::Refused(error)) if tx.connection.is_autocommit() => {
            memory.keep(Remembered::Refused(error.clone()));
            Err(Failure::Again(error))
        }
        Err(Failure::Late(error)) if tx.connection.is_autocommit() => {
            memory.keep(Remembered::Late(error.clone()));
            Err(Failure::Again(error))
        }
        brought => brought,
    }
}

/// The claim does not hold the step: whether this very attempt was settled by this replica before.
fn read_back(tx: &Tx<'_>, settlement: &Settlement) -> Outcome<Settled> {
    let claim = &settlement.claim;
    let attempt = int(claim.attempt());
    let before = tx.first(S::ReadAttempt, &[("step", claim.step()), ("attempt", &attempt)], |row| {
        Ok((row.get::<_, Option<ReplicaId>>("replica")?, row.get::<_, AttemptOutcome>("outcome")?))
    })?;
    if before.is_some_and(|(replica, outcome)| replica.as_ref() == Some(claim.replica()) && outcome.is_settlement()) {
        return Ok(Settled::Already);
    }
    tx.execute(
        S::InsertSuperseded,
        &[
            ("step", claim.step()),
            ("attempt", &attempt),
            ("run", claim.run()),
            ("replica", claim.replica()),
            ("now", &tx.now),
            ("verdict", &word(&settlement.verdict)),
        ],
    )?;
    Ok(Settled::Superseded)
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Succeeded => AttemptOutcome::Succeeded,
        Verdict::Retry { .. } => AttemptOutcome::Retry,
        Verdict::Failed { .. } => AttemptOutcome::Failed,
        Verdict::GivenBack => AttemptOutcome::GivenBack,
        Verdict::Stopped { .. } => AttemptOutcome::Stopped,
        Verdict::Cancelled => AttemptOutcome::Cancelled,
    }
    .as_str()
}
