//! Admission: which queued runs start. Only a transaction that holds the job's lock comes here.

use std::collections::{BTreeMap, BTreeSet};

use super::columns::{int, stamp, values};
use super::error::Outcome;
use super::jobs::{self, LockedJob};
use super::run_graph::{self, Subject};
use super::transaction::Tx;
use super::{alarms, many, statements as sql};
use crate::model::alarm::Alarm;
use crate::model::job::Overlap;
use crate::model::overlap::SkipReason;
use crate::model::{JobId, Moment, RunId};
use crate::store::SkipRange;

/// So many of one job at once, when nothing else limits them.
pub(super) const ALL: u32 = 1_000;

/// Carried jobs that may have something to admit.
pub(super) async fn jobs(tx: &Tx, carried: &[JobId]) -> Outcome<Vec<JobId>> {
    if carried.len() > many::NAMED_MAX {
        return many::queued(tx, carried).await;
    }
    let carried: Vec<&str> = carried.iter().map(JobId::as_str).collect();
    let rows = tx.rows(&sql::READ_QUEUED_JOBS, values![carried]).await?;
    rows.iter().map(|row| row.get::<&str>("job_id").map(JobId::from_text)).collect()
}

/// Waits for the job's lock, then admits. How many started.
pub(super) async fn admit_job(tx: &Tx, job: &JobId, limit: u32) -> Outcome<u32> {
    match jobs::lock(tx, job).await? {
        Some(job) => admit(tx, tx.now().await?, &job, limit).await,
        None => Ok(0),
    }
}

/// Admits under the lock that is held: the waiting slot first, then the oldest; one at a time unless runs may overlap.
pub(super) async fn admit(tx: &Tx, now: Moment, job: &LockedJob, limit: u32) -> Outcome<u32> {
    leave_late(tx, now, job).await?;
    start(tx, now, &[job], limit).await
}

/// The same for jobs that have nothing to leave, up to `limit` of each.
pub(super) async fn start(tx: &Tx, now: Moment, jobs: &[&LockedJob], limit: u32) -> Outcome<u32> {
    let is_alone = |job: &&&LockedJob| job.definition.overlap != Overlap::Allow;
    let alone: Vec<&str> = jobs.iter().filter(is_alone).map(|job| job.id.as_str()).collect();
    let mut active = BTreeSet::new();
    if !alone.is_empty() {
        for row in tx.rows(&sql::READ_OVERLAP, values![alone]).await? {
            if row.get("active")? {
                active.insert(JobId::from_text(row.get::<&str>("job_id")?));
            }
        }
    }
    let free: Vec<&&LockedJob> = jobs.iter().filter(|job| !active.contains(&job.id)).collect();
    let ids: Vec<&str> = free.iter().map(|job| job.id.as_str()).collect();
    let most: Vec<i64> = free.iter().map(|job| int(if is_alone(job) { limit.min(1) } else { limit })).collect();
    if ids.is_empty() {
        return Ok(0);
    }
    let rows = tx.rows(&sql::READ_QUEUED_RUNS, values![ids, most]).await?;
    let runs: Vec<RunId> = rows.iter().map(|row| row.get::<&str>("run_id").map(RunId::from_text)).collect::<Outcome<_>>()?;
    let locked = run_graph::lock(tx, &runs).await?;
    // One that was cancelled meanwhile is no longer queued: the next pass looks for another.
    let subjects: Vec<Subject> = locked.into_values().filter_map(Subject::admitted).collect();
    run_graph::advance(tx, now, &subjects).await?;
    Ok(u32::try_from(subjects.len()).unwrap_or(u32::MAX))
}

/// Cancels runs that never started and whose slot is too old to start now, and records their slots as skipped.
pub(super) async fn leave_late(tx: &Tx, now: Moment, job: &LockedJob) -> Outcome<()> {
    let Some(limit_slot) = job.definition.too_late_before(now) else { return Ok(()) };
    let (id, origins, limit_slot, limit) = (job.id.as_str(), alarms::bound_to_slot(), stamp(limit_slot), int(ALL));
    let mut slots = BTreeMap::new();
    for row in tx.rows(&sql::READ_LATE_STARTS, values![id, origins, limit_slot, limit]).await? {
        slots.insert(RunId::from_text(row.get::<&str>("run_id")?), row.moment("scheduled_for")?);
    }
    let (mut subjects, mut late) = (Vec::new(), Vec::new());
    for (id, run) in run_graph::lock(tx, slots.keys()).await? {
        // One that a person cancelled meanwhile is theirs.
        let subject = Subject::cancelled(run, "it could not start within `start_within`".to_owned());
        late.extend(subject.as_ref().and(slots.get(&id)).copied());
        subjects.extend(subject);
    }
    run_graph::advance(tx, now, &subjects).await?;
    let skips: Vec<SkipRange> = late.iter().map(|slot| SkipRange::of_slot(*slot, SkipReason::Late)).collect();
    jobs::insert_skips(tx, now, skips.iter().map(|skip| (&job.id, skip))).await?;
    alarms::tell(tx, now, job, Alarm::late_starts(&late).as_slice()).await
}
