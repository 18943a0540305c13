//! Opens a run for a request key, once.

use super::admission::admit_job;
use super::define::audit;
use super::job_row::lock_job;
use super::ledger::same_or_conflict;
use super::slots::open;
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use crate::model::overlap::Origin;
use crate::model::{Fingerprint, JobId, RunId};
use crate::store::{StoreError, Trigger, Triggered};

/// Opens the run that the request asks for, or finds the one that it opened before.
pub(super) fn trigger(tx: &Tx<'_>, trigger: &Trigger) -> Outcome<Triggered> {
    let job = tx.first(S::ReadJobOfName, &[("name", &trigger.job)], |row| Ok(row.get::<_, JobId>("job_id")?))?;
    let Some(job) = job.map(|job| lock_job(tx, &job)).transpose()?.flatten() else { return Ok(Triggered::NoSuchJob) };
    let fingerprint = identity(&job.id, trigger.input.as_deref())?;
    let run = RunId::of_request(&job.id, trigger.key.as_str());
    let inserted = tx.execute(
        S::InsertRequestKeys,
        &[("key", &trigger.key), ("fingerprint", &fingerprint), ("job", &job.id), ("run", &run), ("now", &tx.now)],
    )?;
    if inserted == 0 {
        let (kept, run) = kept(tx, trigger)?.map_or((None, run), |(kept, run)| (Some(kept), run));
        return compared(trigger, kept, fingerprint, run);
    }
    // The key may have been forgotten while its run is still kept: it is the run of this request all the same.
    if !open(tx, &job, &run, None, Origin::Request, trigger.input.as_deref())? {
        return Ok(Triggered::Already(run));
    }
    audit(tx, &trigger.actor, "trigger", run.as_str(), Some(trigger.key.as_str()))?;
    admit_job(tx, &job, 1_000)?;
    Ok(Triggered::Opened(run))
}

/// What asking would find.
pub(super) fn before(tx: &Tx<'_>, trigger: &Trigger) -> Outcome<Option<Triggered>> {
    let job = tx.first(S::ReadJobOfName, &[("name", &trigger.job)], |row| Ok(row.get::<_, JobId>("job_id")?))?;
    let Some(job) = job else { return Ok(Some(Triggered::NoSuchJob)) };
    let fingerprint = identity(&job, trigger.input.as_deref())?;
    if let Some((kept, run)) = kept(tx, trigger)? {
        return compared(trigger, Some(kept), fingerprint, run).map(Some);
    }
    // A key that was forgotten: its run may still be kept.
    let run = RunId::of_request(&job, trigger.key.as_str());
    Ok(tx.any(S::ShowRun, &[("run", &run)])?.then_some(Triggered::Already(run)))
}

/// What was asked for with this key, and the run of it.
fn kept(tx: &Tx<'_>, trigger: &Trigger) -> Outcome<Option<(Fingerprint, RunId)>> {
    tx.first(S::ReadRequestKeys, &[("key", &trigger.key)], |row| Ok((row.get("fingerprint")?, row.get("run_id")?)))
}

fn compared(trigger: &Trigger, kept: Option<Fingerprint>, asked: Fingerprint, run: RunId) -> Outcome<Triggered> {
    let conflict = same_or_conflict("request", trigger.key.as_str(), kept, asked)?;
    Ok(conflict.map_or(Triggered::Already(run), Triggered::Conflict))
}

/// Of (job, input): what a request key stands for.
fn identity(job: &JobId, input: Option<&str>) -> Outcome<Fingerprint> {
    let job = serde_json::Value::from(job.as_str());
    let text = format!("{{\"job\":{job},\"input\":{}}}", input.unwrap_or("null"));
    Fingerprint::of_json(&text).map_err(|error| StoreError::broken(format!("the input is not usable: {error}")).into())
}
