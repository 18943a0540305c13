//! Activates queued runs, under the job lock.

use super::job_row::lock_job;
use super::run_graph::RunGraph;
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use crate::model::job::Overlap;
use crate::model::run::{RunEvent, RunStatus};
use crate::model::{JobId, RunId};

/// Admits what may start now, of all these jobs: how many.
pub(super) fn admit_runs(tx: &Tx<'_>, carried: &str, limit: u32) -> Outcome<u32> {
    let jobs = tx.rows(S::ReadQueuedJobs, &[("jobs", &carried)], |row| Ok(row.get::<_, JobId>("job_id")?))?;
    let mut admitted = 0;
    for job in jobs {
        if admitted >= limit {
            break;
        }
        if let Some(job) = lock_job(tx, &job)? {
            admitted += admit_job(tx, &job.id, job.definition.overlap, limit - admitted)?;
        }
    }
    Ok(admitted)
}

/// Admits what may start now: a slot's run first, then the others, the oldest first; one at a time unless runs may
/// go side by side.
pub(super) fn admit_job(tx: &Tx<'_>, job: &JobId, overlap: Overlap, limit: u32) -> Outcome<u32> {
    let side_by_side = overlap == Overlap::Allow;
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
