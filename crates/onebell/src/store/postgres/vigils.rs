//! What is kept of a job of which somebody wants to know whether it succeeds. When its silence is told, `model::vigil` decides.
//!
//! A vigil is locked after everything else: a run's end comes to it last.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::alarms::Alarms;
use super::columns::{int, micros, stamp, values};
use super::error::Outcome;
use super::transaction::Tx;
use super::{jobs, statements as sql};
use crate::model::alarm::Success;
use crate::model::vigil::{Look, Vigil};
use crate::model::{JobId, Moment, RunId};
use crate::store::Definition;

/// As the definition that is registered wants it.
pub(super) async fn define(tx: &Tx, new: &Definition) -> Outcome<()> {
    let (clock, id, within) = (tx.clock(), new.id.as_str(), new.definition.expects().map(micros));
    if new.definition.keeps_vigil() {
        tx.execute(&sql::KEEP_VIGIL, values![clock, id, within]).await?;
    } else if new.seen.is_some() {
        tx.execute(&sql::END_VIGIL, values![id]).await?;
    }
    Ok(())
}

/// A pause is over.
pub(super) async fn resume(tx: &Tx, now: Moment, job: &JobId) -> Outcome<()> {
    let (id, now) = (job.as_str(), stamp(now));
    tx.execute(&sql::RESUME_VIGIL, values![id, now]).await.map(drop)
}

/// Locks the vigils of these jobs, sorted: what a success of each ends.
pub(super) async fn lock(tx: &Tx, jobs: BTreeSet<&JobId>) -> Outcome<BTreeMap<JobId, Success>> {
    if jobs.is_empty() {
        return Ok(BTreeMap::new());
    }
    let ids: Vec<&str> = jobs.into_iter().map(JobId::as_str).collect();
    let mut ends = BTreeMap::new();
    for row in tx.rows(&sql::LOCK_VIGILS, values![ids]).await? {
        let ended = Success { worked: Duration::ZERO, failures: row.number("failures")?, was_silent: row.get("was_silent")? };
        ends.insert(JobId::from_text(row.get::<&str>("job_id")?), ended);
    }
    Ok(ends)
}

/// Jobs succeeded, under the locks of their vigils.
pub(super) async fn succeeded(tx: &Tx, now: Moment, jobs: BTreeSet<&JobId>) -> Outcome<()> {
    if jobs.is_empty() {
        return Ok(());
    }
    let (now, ids) = (stamp(now), jobs.into_iter().map(JobId::as_str).collect::<Vec<_>>());
    tx.execute(&sql::END_SILENCES, values![now, ids]).await.map(drop)
}

/// Failures of jobs were told, under the locks of their vigils.
pub(super) async fn failed(tx: &Tx, failures: &BTreeMap<&JobId, i64>) -> Outcome<()> {
    if failures.is_empty() {
        return Ok(());
    }
    let ids: Vec<&str> = failures.keys().map(|job| job.as_str()).collect();
    let counts: Vec<i64> = failures.values().copied().collect();
    tx.execute(&sql::COUNT_FAILURES, values![ids, counts]).await.map(drop)
}

/// How long the attempts of runs worked, all together.
pub(super) async fn worked(tx: &Tx, runs: &[&RunId]) -> Outcome<BTreeMap<RunId, Duration>> {
    if runs.is_empty() {
        return Ok(BTreeMap::new());
    }
    let ids: Vec<&str> = runs.iter().map(|run| run.as_str()).collect();
    let rows = tx.rows(&sql::READ_WORKED, values![ids]).await?;
    let one = |row: &super::columns::Record| {
        Ok((RunId::from_text(row.get::<&str>("run_id")?), Duration::from_micros(row.number("worked_us")?)))
    };
    rows.iter().map(one).collect()
}

/// Jobs whose silence may be due.
pub(super) async fn due(tx: &Tx, limit: u32) -> Outcome<Vec<JobId>> {
    let (clock, limit) = (tx.clock(), int(limit));
    let rows = tx.rows(&sql::READ_SILENCES, values![clock, limit]).await?;
    rows.iter().map(|row| row.get::<&str>("job_id").map(JobId::from_text)).collect()
}

/// Looks at those that nobody else holds: how many.
pub(super) async fn tell(tx: &Tx, due: &[JobId]) -> Outcome<u32> {
    let jobs = jobs::lock_free(tx, due).await?;
    let now = tx.now().await?;
    let (ids, at) = (jobs.keys().map(JobId::as_str).collect::<Vec<_>>(), stamp(now));
    let rows = tx.rows(&sql::LOCK_SILENCES, values![ids, at]).await?;
    let mut told = Alarms::default();
    let (mut id, mut next, mut newest) = (Vec::new(), Vec::new(), Vec::new());
    for row in &rows {
        let Some(job) = jobs.get(&JobId::from_text(row.get::<&str>("job_id")?)) else { continue };
        let vigil = Vigil {
            within: Duration::from_micros(row.number("within_us")?),
            since: row.moment("since")?,
            succeeded_at: row.moment_opt("succeeded_at")?,
        };
        next.push(match vigil.look(job.paused_at.is_some(), now) {
            Look::Quiet(until) => Some(stamp(until)),
            Look::Silent(alarm) => {
                told.add(now, &job.id, &job.definition, &[alarm]);
                None
            }
        });
        id.push(job.id.as_str());
        newest.push(vigil.succeeded_at.map(stamp));
    }
    told.put(tx, now).await?;
    let looked = id.len();
    if looked > 0 {
        tx.execute_all(&sql::MOVE_VIGILS, values![id, next, newest], looked).await?;
    }
    Ok(u32::try_from(looked).unwrap_or(u32::MAX))
}
