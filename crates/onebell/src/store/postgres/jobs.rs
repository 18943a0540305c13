//! Jobs: reading them for planning, registering definitions, pausing. Each write holds the job's lock.

use std::collections::BTreeMap;

use super::columns::{Record, int, json, stamp, values};
use super::error::{Failure, Outcome};
use super::transaction::{End, Tx};
use super::{many, operator, statements as sql, vigils};
use crate::model::zone_version::Planner;
use crate::model::{JobDefinition, JobId, Moment, ReplicaId};
use crate::store::{Defined, Definition, JobState, PauseChange, SkipRange};

/// A job under its lock.
#[derive(Debug)]
pub(super) struct LockedJob {
    pub(super) id: JobId,
    pub(super) definition: JobDefinition,
    pub(super) version: u64,
    pub(super) cursor: Moment,
    pub(super) pruned_before: Option<Moment>,
    pub(super) paused_at: Option<Moment>,
}

/// Locks a job, if there is one.
pub(super) async fn lock(tx: &Tx, job: &JobId) -> Outcome<Option<LockedJob>> {
    let id = job.as_str();
    tx.first(&sql::LOCK_JOB, values![id]).await?.as_ref().map(locked).transpose()
}

/// Locks those of some jobs that nobody else holds, sorted.
pub(super) async fn lock_free(tx: &Tx, jobs: impl IntoIterator<Item = &JobId>) -> Outcome<BTreeMap<JobId, LockedJob>> {
    let ids: Vec<&str> = jobs.into_iter().map(JobId::as_str).collect();
    let rows = tx.rows(&sql::LOCK_FREE_JOBS, values![ids]).await?;
    rows.iter().map(|row| locked(row).map(|job| (job.id.clone(), job))).collect()
}

fn locked(row: &Record) -> Outcome<LockedJob> {
    Ok(LockedJob {
        id: JobId::from_text(row.get::<&str>("job_id")?),
        definition: row.json("definition")?,
        version: row.number("version")?,
        cursor: row.moment("cursor")?,
        pruned_before: row.moment_opt("pruned_before")?,
        paused_at: row.moment_opt("paused_at")?,
    })
}

pub(super) async fn named(tx: &Tx, names: Option<&[String]>) -> Outcome<Vec<JobState>> {
    let all = names.is_none();
    let names: Vec<&str> = names.unwrap_or_default().iter().map(String::as_str).collect();
    states(&tx.rows(&sql::READ_JOBS, values![all, names]).await?)
}

pub(super) async fn due(tx: &Tx, carried: &[JobId], limit: u32) -> Outcome<Vec<JobState>> {
    if carried.len() > many::NAMED_MAX {
        return many::due(tx, carried, limit).await;
    }
    let (clock, limit) = (tx.clock(), int(limit));
    let jobs: Vec<&str> = carried.iter().map(JobId::as_str).collect();
    states(&tx.rows(&sql::READ_DUE_JOBS, values![clock, jobs, limit]).await?)
}

pub(super) async fn planners(tx: &Tx) -> Outcome<Vec<Planner>> {
    let planner =
        |row: &Record| Ok(Planner { replica: ReplicaId::from_text(row.get::<&str>("replica_id")?), tzdata: row.get("tzdata")? });
    tx.rows(&sql::READ_PLANNERS, &[]).await?.iter().map(planner).collect()
}

pub(super) async fn carried_by(tx: &Tx, replicas: &[ReplicaId], jobs: &[JobId]) -> Outcome<Vec<JobId>> {
    let replicas: Vec<&str> = replicas.iter().map(ReplicaId::as_str).collect();
    let jobs: Vec<&str> = jobs.iter().map(JobId::as_str).collect();
    let rows = tx.rows(&sql::READ_CARRIED, values![replicas, jobs]).await?;
    rows.iter().map(|row| row.get::<&str>("job_id").map(JobId::from_text)).collect()
}

pub(super) async fn next_slot(tx: &Tx, carried: &[JobId]) -> Outcome<Option<Moment>> {
    if carried.len() > many::NAMED_MAX {
        return many::next_slot(tx, carried).await;
    }
    let jobs: Vec<&str> = carried.iter().map(JobId::as_str).collect();
    tx.one(&sql::READ_NEXT_SLOT, values![jobs]).await?.moment_opt("next_slot")
}

pub(super) fn states(rows: &[Record]) -> Outcome<Vec<JobState>> {
    rows.iter().map(state).collect()
}

fn state(row: &Record) -> Outcome<JobState> {
    Ok(JobState {
        id: JobId::from_text(row.get::<&str>("job_id")?),
        definition: row.json("definition")?,
        version: row.number("version")?,
        hash: row.get("hash")?,
        cursor: row.moment("cursor")?,
        pruned_before: row.moment_opt("pruned_before")?,
        paused_at: row.moment_opt("paused_at")?,
        next_slot: row.moment_opt("next_slot")?,
        known_hashes: row.get("known_hashes")?,
        carried: row.get("carried")?,
    })
}

/// Registers a definition, compared with what was seen.
pub(super) async fn define(tx: &Tx, new: &Definition) -> Outcome<End<Defined>> {
    let version = match new.seen {
        None if !insert(tx, new).await? => return Ok(End::Rollback(Defined::Stale)),
        None => 1,
        Some((version, cursor)) => {
            let locked = lock(tx, &new.id).await?;
            let seen = locked.is_some_and(|job| job.version == version && job.cursor == cursor);
            if !seen || !update(tx, new, version, cursor).await? {
                return Ok(End::Rollback(Defined::Stale));
            }
            version + 1
        }
    };
    let (id, number, text) = (new.id.as_str(), int(version), json(&new.definition)?);
    tx.execute(&sql::INSERT_DEFINITION, values![id, number, new.hash, text]).await?;
    vigils::define(tx, new).await?;
    Ok(End::Commit(Defined::Registered(version)))
}

async fn insert(tx: &Tx, new: &Definition) -> Outcome<bool> {
    let (clock, id, name, by) = (tx.clock(), new.id.as_str(), new.definition.name.as_str(), new.by.as_str());
    let (text, cursor, next) = (json(&new.definition)?, stamp(new.cursor), new.next_slot.map(stamp));
    let paused = new.definition.begins_paused;
    Ok(tx.execute(&sql::INSERT_JOB, values![clock, id, name, text, new.hash, by, cursor, next, paused]).await? == 1)
}

async fn update(tx: &Tx, new: &Definition, version: u64, seen: Moment) -> Outcome<bool> {
    let (clock, id, name, by) = (tx.clock(), new.id.as_str(), new.definition.name.as_str(), new.by.as_str());
    let (text, cursor, next) = (json(&new.definition)?, stamp(new.cursor), new.next_slot.map(stamp));
    let (number, version, seen) = (int(version + 1), int(version), stamp(seen));
    let values = values![clock, id, name, text, number, new.hash, by, cursor, next, version, seen];
    Ok(tx.execute(&sql::UPDATE_JOB, values).await? == 1)
}

/// The name was taken by another job meanwhile: read again, decide again.
pub(super) fn taken(failure: Failure) -> Result<Defined, Failure> {
    if failure.code.as_deref() == Some("23505") { Ok(Defined::Stale) } else { Err(failure) }
}

/// Pauses or resumes; false when the definition or the cursor was another one meanwhile.
pub(super) async fn set_pause(tx: &Tx, change: &PauseChange) -> Outcome<bool> {
    let Some(job) = lock(tx, &change.job).await? else {
        return Ok(false);
    };
    if job.version != change.version_seen || job.cursor != change.cursor_seen {
        return Ok(false);
    }
    let now = tx.now().await?;
    let (id, paused, next) = (change.job.as_str(), change.paused_at.map(stamp), change.next_slot.map(stamp));
    let (cursor, version, seen) = (stamp(change.cursor), int(change.version_seen), stamp(change.cursor_seen));
    tx.execute_all(&sql::PAUSE_JOB, values![id, paused, cursor, next, version, seen], 1).await?;
    if change.paused_at.is_none() {
        vigils::resume(tx, now, &change.job).await?;
    }
    insert_skips(tx, now, change.skip.iter().map(|skip| (&change.job, skip))).await?;
    let action = if change.paused_at.is_some() { "pause" } else { "resume" };
    operator::audit(tx, now, &change.actor, action, id, None).await?;
    Ok(true)
}

/// Records skips of locked jobs; of two that begin at one slot for one reason the wider.
pub(super) async fn insert_skips<'s>(
    tx: &Tx,
    now: Moment,
    skips: impl IntoIterator<Item = (&'s JobId, &'s SkipRange)>,
) -> Outcome<()> {
    let mut widest: BTreeMap<(&str, Moment, &str), &SkipRange> = BTreeMap::new();
    for (job, skip) in skips {
        let kept = widest.entry((job.as_str(), skip.from, &skip.reason)).or_insert(skip);
        if skip.to > kept.to {
            *kept = skip;
        }
    }
    if widest.is_empty() {
        return Ok(());
    }
    let now = stamp(now);
    let job: Vec<&str> = widest.keys().map(|(job, ..)| *job).collect();
    let from: Vec<_> = widest.values().map(|skip| stamp(skip.from)).collect();
    let to: Vec<_> = widest.values().map(|skip| stamp(skip.to)).collect();
    let count: Vec<Option<i64>> = widest.values().map(|skip| skip.count.map(int)).collect();
    let reason: Vec<&str> = widest.values().map(|skip| skip.reason.as_str()).collect();
    tx.execute(&sql::INSERT_SKIPS, values![now, job, from, to, count, reason]).await.map(|_| ())
}
