//! What is kept of a job of which somebody wants to know whether it succeeds. When its silence is told, `model::vigil` decides.

use std::time::Duration;

use super::columns::{count, micros, span};
use super::run_graph::RunRow;
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use crate::model::alarm::Success;
use crate::model::vigil::Vigil;
use crate::model::{JobDefinition, JobId, Moment};
use crate::store::Definition;

/// As the definition that is registered wants it.
pub(super) fn define(tx: &Tx<'_>, new: &Definition) -> Outcome<()> {
    let within_us = new.definition.expects().map(micros);
    if new.definition.keeps_vigil() {
        tx.execute(S::KeepVigil, &[("job", &new.id), ("within_us", &within_us), ("now", &tx.now)])?;
    } else if new.seen.is_some() {
        tx.execute(S::EndVigil, &[("job", &new.id)])?;
    }
    Ok(())
}

/// A pause is over.
pub(super) fn resume(tx: &Tx<'_>, job: &JobId) -> Outcome<()> {
    tx.execute(S::ResumeVigil, &[("job", job), ("now", &tx.now)]).map(drop)
}

/// A run of the job succeeded: what that ends.
pub(super) fn succeeded(tx: &Tx<'_>, run: &RunRow, definition: Option<&JobDefinition>) -> Outcome<Success> {
    let ended = tx.first(S::LockVigils, &[("job", &run.job)], |row| {
        Ok(Success { worked: Duration::ZERO, failures: count(row, "failures")?, was_silent: row.get("was_silent")? })
    })?;
    tx.execute(S::EndSilences, &[("job", &run.job), ("now", &tx.now)])?;
    let asks = definition.is_some_and(|definition| definition.runs_at_least.is_some());
    let worked = if asks { tx.first(S::ReadWorked, &[("run", &run.id)], |row| Ok(span(row, "worked_us")?))? } else { None };
    Ok(Success { worked: worked.unwrap_or_default(), ..ended.unwrap_or_default() })
}

/// A failure of the job was told.
pub(super) fn failed(tx: &Tx<'_>, job: &JobId) -> Outcome<()> {
    tx.execute(S::CountFailures, &[("job", job)]).map(drop)
}

/// A vigil whose next look is due.
pub(super) fn due(tx: &Tx<'_>, job: &JobId) -> Outcome<Option<Vigil>> {
    tx.first(S::LockSilences, &[("job", job), ("now", &tx.now)], |row| {
        Ok(Vigil { within: span(row, "within_us")?, since: row.get("since")?, succeeded_at: row.get("succeeded_at")? })
    })
}

/// It was looked at. No next look: it was told.
pub(super) fn looked(tx: &Tx<'_>, job: &JobId, next: Option<Moment>, succeeded_at: Option<Moment>) -> Outcome<()> {
    tx.execute(S::MoveVigils, &[("job", job), ("expect_by", &next), ("succeeded_at", &succeeded_at)]).map(drop)
}
