//! Activates queued runs, under the job lock.

use super::alarms::tell;
use super::columns::to_json;
use super::job_row::lock_job;
use super::run_graph::RunGraph;
use super::slots::record_skip;
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use crate::model::alarm::Alarm;
use crate::model::job::Overlap;
use crate::model::lateness::BOUND_TO_SLOT;
use crate::model::overlap::SkipReason;
use crate::model::run::{RunEvent, RunStatus};
use crate::model::{JobId, Moment, RunId};
use crate::store::{JobState, SkipRange};

/// Admits what may start now, of all these jobs: how many.
pub(super) fn admit_runs(tx: &Tx<'_>, carried: &str, limit: u32) -> Outcome<u32> {
    let jobs = tx.rows(S::ReadQueuedJobs, &[("jobs", &carried)], |row| Ok(row.get::<_, JobId>("job_id")?))?;
    let mut admitted = 0;
    for job in jobs {
        if admitted >= limit {
            break;
        }
        if let Some(job) = lock_job(tx, &job)? {
            admitted += admit_job(tx, &job, limit - admitted)?;
        }
    }
    Ok(admitted)
}

/// Admits what may start now: a slot's run first, then the others, the oldest first; one at a time unless runs may
/// go side by side.
pub(super) fn admit_job(tx: &Tx<'_>, job: &JobState, limit: u32) -> Outcome<u32> {
    leave_late(tx, job)?;
    let (side_by_side, job) = (job.definition.overlap == Overlap::Allow, &job.id);
    let limit = if side_by_side { limit } else { limit.min(1) };
    if !side_by_side {
        let active = tx.first(S::ReadOverlap, &[("job", job)], |row| Ok(row.get::<_, bool>("active")?))?;
        if active.unwrap_or_default() {
            return Ok(0);
        }
    }
    let runs = tx.rows(S::ReadQueuedRuns, &[("job", job), ("limit", &limit)], |row| Ok(row.get::<_, RunId>("run_id")?))?;
    let mut admitted = 0;
    for run in runs {
        if let Some(mut graph) = RunGraph::locked(tx, &run)? {
            graph.row.go(tx, RunEvent::Admit, RunStatus::Running, None, None)?;
            graph.advance(tx)?;
            admitted += 1;
        }
    }
    Ok(admitted)
}

/// So many at once; the next pass finds the rest.
const LATE_AT_ONCE: u32 = 1_000;

/// Cancels runs that never started and whose slot is too old to start now, and records their slots as skipped. How many.
pub(super) fn leave_late(tx: &Tx<'_>, job: &JobState) -> Outcome<u32> {
    let Some(limit_slot) = job.definition.too_late_before(tx.now) else { return Ok(0) };
    let origins = to_json(&BOUND_TO_SLOT)?;
    let late = tx.rows(
        S::ReadLateStarts,
        &[("job", &job.id), ("origins", &origins), ("limit_slot", &limit_slot), ("limit", &LATE_AT_ONCE)],
        |row| Ok((row.get::<_, RunId>("run_id")?, row.get::<_, Moment>("scheduled_for")?)),
    )?;
    let mut slots = Vec::new();
    for (run, slot) in late {
        if let Some(mut graph) = RunGraph::locked(tx, &run)? {
            graph.cancel(tx, "it could not start within `start_within`")?;
            record_skip(tx, &job.id, &SkipRange::of_slot(slot, SkipReason::Late))?;
            slots.push(slot);
        }
    }
    tell(tx, &job.id, &job.definition, Alarm::late_starts(&slots).as_slice())?;
    Ok(u32::try_from(slots.len()).unwrap_or(u32::MAX))
}
