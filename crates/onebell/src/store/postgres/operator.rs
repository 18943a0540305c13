//! What people do. Each act is in the audit log, written in its transaction. What an act may do is in `decide.rs`.

use async_trait::async_trait;

use super::columns::{json, stamp, text, values};
use super::error::{Failure, Outcome};
use super::slots::{NewRun, open_runs};
use super::transaction::{End, Tx, Verb, milliseconds};
use super::{PostgresStore, admission, decide, jobs, question, statements as sql};
use crate::model::overlap::Origin;
use crate::model::{Conflict, Fingerprint, JobId, Moment, RunId};
use crate::store::{Acted, Actor, MessageVerdict, OperatorStore, Question, Questioned, Resolution, Result, Trigger, Triggered};

#[async_trait]
impl OperatorStore for PostgresStore {
    async fn trigger(&self, trigger: &Trigger) -> Result<Triggered> {
        let open = |tx: Tx| async move { open(&tx, trigger).await };
        self.transact(Verb::named("trigger"), open).await.map_err(Failure::judged)
    }

    async fn cancel_run(&self, run: &RunId, actor: &Actor) -> Result<Acted> {
        self.write(Verb::named("cancel_run"), |tx| async move { decide::cancel_run(&tx, run, actor).await }).await
    }

    async fn retry_run(&self, run: &RunId, actor: &Actor) -> Result<Acted> {
        self.write(Verb::named("retry_run"), |tx| async move { decide::retry_run(&tx, run, actor).await }).await
    }

    async fn resolve_step(&self, run: &RunId, step: &str, resolution: Resolution, actor: &Actor) -> Result<Acted> {
        let resolve = |tx: Tx| async move { decide::resolve_step(&tx, run, step, resolution, actor).await };
        self.write(Verb::named("resolve_step"), resolve).await
    }

    async fn resolve_message(&self, key: &str, verdict: MessageVerdict, actor: &Actor) -> Result<Acted> {
        let resolve = |tx: Tx| async move { decide::resolve_message(&tx, key, verdict, actor).await };
        self.write(Verb::named("resolve_message"), resolve).await
    }

    async fn question(&self, question: &Question) -> Result<Questioned> {
        // Two transactions: what a run that parks tells is a message, and messages are locked last.
        let doubt = |tx: Tx| async move { question::doubt(&tx, question).await };
        let messages = match self.write(Verb::named("question"), doubt).await? {
            Questioned::Asked { messages, .. } => messages,
            live @ Questioned::Live { .. } => return Ok(live),
        };
        match self.write(Verb::named("question"), |tx| async move { question::hold(&tx, question).await }).await? {
            Questioned::Asked { steps, .. } => Ok(Questioned::Asked { steps, messages }),
            live @ Questioned::Live { .. } => Ok(live),
        }
    }

    async fn accept_clock(&self, _: &Actor) -> Result<Acted> {
        Ok(Acted::NotNow("is the database server's own, and replicas' clocks do not count".to_owned()))
    }

    async fn erase_job(&self, job: &JobId) -> Result<bool> {
        self.write(Verb::named("erase_job"), |tx| async move { erase(tx, job).await }).await
    }
}

/// Who did what, to what and why.
pub(super) async fn audit(tx: &Tx, now: Moment, actor: &Actor, action: &str, target: &str, detail: Option<&str>) -> Outcome<()> {
    let (at, name, reason) = (stamp(now), text(&actor.name), actor.reason.as_deref().map(text));
    tx.execute(&sql::INSERT_AUDIT, values![at, name, action, target, reason, detail]).await.map(|_| ())
}

/// Opens the run that a request asks for, or finds the one that it opened before.
async fn open(tx: &Tx, trigger: &Trigger) -> Outcome<End<Triggered>> {
    let name = trigger.job.as_str();
    let Some(found) = tx.first(&sql::READ_JOB_OF_NAME, values![name]).await? else {
        return Ok(End::Rollback(Triggered::NoSuchJob));
    };
    let Some(job) = jobs::lock(tx, &JobId::from_text(found.get::<&str>("job_id")?)).await? else {
        return Ok(End::Rollback(Triggered::NoSuchJob));
    };
    let now = tx.now().await?;
    let fingerprint = identity(&job.id, trigger.input.as_deref())?;
    let run = RunId::of_request(&job.id, trigger.key.as_str());
    let (at, key, print, job_id, run_id) =
        (stamp(now), trigger.key.as_str(), fingerprint.to_string(), job.id.as_str(), run.as_str());
    if !tx.any(&sql::INSERT_REQUEST_KEYS, values![at, key, print, job_id, run_id]).await? {
        let answer = kept(tx, key, fingerprint).await?;
        return Ok(End::Rollback(
            answer.ok_or_else(|| Failure::again(format!("request key {key:?} was neither inserted nor found")))?,
        ));
    }
    let new = NewRun { job: &job, id: run.clone(), scheduled_for: None, origin: Origin::Request, input: trigger.input.clone() };
    if open_runs(tx, now, &[new]).await?.is_empty() {
        // The key may have been forgotten while its run is still kept: it is the run of this request all the same.
        return Ok(End::Commit(Triggered::Already(run)));
    }
    audit(tx, now, &trigger.actor, "trigger", run.as_str(), Some(key)).await?;
    admission::admit(tx, now, &job, admission::ALL).await?;
    Ok(End::Commit(Triggered::Opened(run)))
}

/// What asking would find.
pub(super) async fn before(tx: &Tx, trigger: &Trigger) -> Outcome<Option<Triggered>> {
    let name = trigger.job.as_str();
    let Some(found) = tx.first(&sql::READ_JOB_OF_NAME, values![name]).await? else { return Ok(Some(Triggered::NoSuchJob)) };
    let job = JobId::from_text(found.get::<&str>("job_id")?);
    if let Some(asked) = kept(tx, trigger.key.as_str(), identity(&job, trigger.input.as_deref())?).await? {
        return Ok(Some(asked));
    }
    // A key that was forgotten: its run may still be kept.
    let run = RunId::of_request(&job, trigger.key.as_str());
    let id = run.as_str();
    Ok(tx.any(&sql::SHOW_RUN, values![id]).await?.then_some(Triggered::Already(run)))
}

/// What was asked for with this key before. The fingerprint is compared before any state.
async fn kept(tx: &Tx, key: &str, fingerprint: Fingerprint) -> Outcome<Option<Triggered>> {
    let Some(row) = tx.first(&sql::READ_REQUEST_KEYS, values![key]).await? else { return Ok(None) };
    let kept: Fingerprint = row.word("fingerprint", |text| text.parse().ok())?;
    if kept == fingerprint {
        return Ok(Some(Triggered::Already(RunId::from_text(row.get::<&str>("run_id")?))));
    }
    Ok(Some(Triggered::Conflict(Conflict { what: "request".to_owned(), key: key.to_owned(), kept, refused: fingerprint })))
}

/// Of (job, input): what a request key stands for.
fn identity(job: &JobId, input: Option<&str>) -> Outcome<Fingerprint> {
    let job = json(job)?;
    let text = format!("{{\"job\":{job},\"input\":{}}}", input.unwrap_or("null"));
    Fingerprint::of_json(&text).map_err(|error| Failure::broken(format!("the input is not usable: {error}")))
}

/// What belongs to a job, before the rows that say so.
const ERASED: [&sql::Statement; 11] = [
    &sql::ERASE_EFFECTS,
    &sql::ERASE_SUPERSEDED,
    &sql::ERASE_CALLBACKS,
    &sql::ERASE_MESSAGES,
    &sql::ERASE_ATTEMPTS,
    &sql::ERASE_STEPS,
    &sql::ERASE_KEYS,
    &sql::ERASE_RUNS,
    &sql::ERASE_SKIPS,
    &sql::ERASE_VIGILS,
    &sql::ERASE_DEFINITIONS,
];

const ERASE_LIMIT: std::time::Duration = std::time::Duration::from_secs(60);

async fn erase(mut tx: Tx, job: &JobId) -> Outcome<bool> {
    // No index leads from a step to its effects: on a large ledger this takes longer than a verb may.
    tx.call_limit = tx.call_limit.max(ERASE_LIMIT);
    tx.batch("erase_job", &format!("SET LOCAL statement_timeout = {}", milliseconds(ERASE_LIMIT))).await?;
    let id = job.as_str();
    tx.execute(&sql::ERASE_REQUESTS, values![id]).await?;
    tx.rows(&sql::LOCK_JOB_FOR_ERASURE, values![id]).await?;
    tx.rows(&sql::LOCK_JOB_RUNS, values![id]).await?;
    for statement in ERASED {
        tx.execute(statement, values![id]).await?;
    }
    Ok(tx.execute(&sql::ERASE_JOB, values![id]).await? > 0)
}
