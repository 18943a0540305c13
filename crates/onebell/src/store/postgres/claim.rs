//! Claims: one conditional update, by a replica that is held live while it is made.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::columns::{Record, int, values};
use super::error::{Failure, Outcome};
use super::statements as sql;
use super::transaction::Tx;
use crate::model::overlap::Origin;
use crate::model::run::RunStatus;
use crate::model::{Claim, Moment, ReplicaId, RunId, StepId};
use crate::store::{ClaimAnswer, ClaimSteps, ClaimedStep, Extension};

/// Claims within one transaction.
pub(super) async fn claim_steps(tx: &Tx, request: &ClaimSteps) -> Outcome<ClaimAnswer> {
    let carried = Carried::of(request);
    let replica = request.replica.as_str();
    let clock = tx.clock();
    let values = values![clock, replica, carried.jobs, carried.handlers, carried.queues, carried.run];
    let Some(claimant) = tx.first(&sql::LOCK_CLAIMANT, values).await? else {
        return Ok(ClaimAnswer::default());
    };
    if claimant.get("alone")? {
        if !request.idle {
            return Ok(ClaimAnswer { claimed: Vec::new(), drain: true });
        }
        let start = u32::from(request.start > 0);
        let rows = carried.claim(tx, replica, 1, start, true).await?;
        if !rows.is_empty() {
            return Ok(ClaimAnswer { claimed: claimed(tx, rows).await?, drain: false });
        }
        // Somebody else just took it.
    }
    let limit = request.start.saturating_add(request.prefetch);
    let rows = carried.claim(tx, replica, limit, request.start, false).await?;
    Ok(ClaimAnswer { claimed: claimed(tx, rows).await?, drain: false })
}

/// What an agent carries, sorted.
struct Carried<'r> {
    jobs: Vec<&'r str>,
    handlers: Vec<&'r str>,
    queues: Vec<&'r str>,
    run: Option<&'r str>,
}

impl<'r> Carried<'r> {
    fn of(request: &'r ClaimSteps) -> Self {
        Self {
            jobs: request.jobs.iter().map(|job| job.as_str()).collect(),
            handlers: request.handlers.iter().map(String::as_str).collect(),
            queues: request.queues.iter().map(String::as_str).collect(),
            run: request.run.as_ref().map(RunId::as_str),
        }
    }

    async fn claim(&self, tx: &Tx, replica: &str, limit: u32, start: u32, alone: bool) -> Outcome<Vec<Record>> {
        let (clock, limit, start) = (tx.clock(), int(limit), int(start));
        let values = values![clock, replica, self.jobs, self.handlers, self.queues, limit, start, alone, self.run];
        tx.rows(&sql::CLAIM_STEPS, values).await
    }
}

/// What a replica holds.
pub(super) async fn held_steps(tx: &Tx, replica: &ReplicaId) -> Outcome<Vec<ClaimedStep>> {
    let replica = replica.as_str();
    let rows = tx.rows(&sql::READ_HELD_STEPS, values![replica]).await?;
    let runs = runs_of(tx, &rows).await?;
    ordered(&rows, &runs)
}

/// The claims as proofs. A run that went on to another state between the two statements: the transaction is repeated.
async fn claimed(tx: &Tx, rows: Vec<Record>) -> Outcome<Vec<ClaimedStep>> {
    let runs = runs_of(tx, &rows).await?;
    for (id, run) in &runs {
        if !matches!(run.status, RunStatus::Running | RunStatus::Undoing) {
            return Err(Failure::again(format!("run {id} became {} while its steps were claimed", run.status)));
        }
    }
    ordered(&rows, &runs)
}

/// What a handler needs of its run.
struct RunOfStep {
    status: RunStatus,
    job: String,
    scheduled_for: Option<Moment>,
    origin: Origin,
    input: Option<String>,
}

async fn runs_of(tx: &Tx, rows: &[Record]) -> Outcome<BTreeMap<String, RunOfStep>> {
    let ids: BTreeSet<&str> = rows.iter().map(|row| row.get("run_id")).collect::<Outcome<_>>()?;
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let ids: Vec<&str> = ids.into_iter().collect();
    let mut runs = BTreeMap::new();
    for row in tx.rows(&sql::READ_CLAIMED_STEPS, values![ids]).await? {
        let run = RunOfStep {
            status: row.word("status", RunStatus::from_word)?,
            job: row.get("job")?,
            scheduled_for: row.moment_opt("scheduled_for")?,
            origin: row.word("origin", Origin::from_word)?,
            input: row.get("input")?,
        };
        runs.insert(row.get("run_id")?, run);
    }
    Ok(runs)
}

/// In claim order: by priority, then `ready_at`, then id.
fn ordered(rows: &[Record], runs: &BTreeMap<String, RunOfStep>) -> Outcome<Vec<ClaimedStep>> {
    let mut steps = Vec::with_capacity(rows.len());
    for row in rows {
        let order = (std::cmp::Reverse(row.get::<i32>("priority")?), row.moment("ready_at")?, row.get::<String>("step_id")?);
        steps.push((order, claimed_step(row, runs)?));
    }
    steps.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(steps.into_iter().map(|(_, step)| step).collect())
}

fn claimed_step(row: &Record, runs: &BTreeMap<String, RunOfStep>) -> Outcome<ClaimedStep> {
    let run_id: &str = row.get("run_id")?;
    let run = runs.get(run_id).ok_or_else(|| Failure::broken(format!("run {run_id} of a claimed step is missing")))?;
    let claim = Claim::issued(
        StepId::from_text(row.get::<&str>("step_id")?),
        RunId::from_text(run_id),
        row.number("attempt")?,
        ReplicaId::from_text(row.get::<&str>("locked_by")?),
    );
    Ok(ClaimedStep {
        claim,
        job: run.job.clone(),
        scheduled_for: run.scheduled_for,
        origin: run.origin,
        input: run.input.clone(),
        name: row.get("name")?,
        handler: row.get("handler")?,
        spec: row.get("spec")?,
        after: row.json("after")?,
        tries: row.number("tries")?,
        timeout: Duration::from_micros(row.number("timeout_us")?),
        complete_by: row.moment("complete_by")?,
        hard_complete_by: row.moment("hard_complete_by")?,
        claimed_at: row.moment("claimed_at")?,
        started: row.moment_opt("started_at")?.is_some(),
        alone: row.get("alone")?,
    })
}

/// Begins work; in the order given, whether each claim still held.
pub(super) async fn start_steps(tx: &Tx, claims: &[Claim]) -> Outcome<Vec<bool>> {
    let clock = tx.clock();
    let fences = Fences::of(claims);
    let values = values![clock, fences.step, fences.attempt, fences.replica];
    let mut started = BTreeSet::new();
    for row in tx.rows(&sql::START_STEPS, values).await? {
        started.insert((row.get::<String>("step_id")?, row.get::<i64>("attempt")?, row.get::<String>("locked_by")?));
    }
    let key = |claim: &Claim| (claim.step().to_string(), int(claim.attempt()), claim.replica().to_string());
    Ok(claims.iter().map(|claim| started.contains(&key(claim))).collect())
}

/// Progress, by a replica that is held live.
pub(super) async fn extend_step(tx: &Tx, claim: &Claim) -> Outcome<Extension> {
    let (step, replica, attempt) = (claim.step().as_str(), claim.replica().as_str(), int(claim.attempt()));
    if !tx.any(&sql::LOCK_LIVE_REPLICA, values![replica]).await? {
        return Ok(Extension::Superseded);
    }
    let clock = tx.clock();
    match tx.first(&sql::EXTEND_STEPS, values![clock, step, attempt, replica]).await? {
        Some(row) => Ok(Extension::Extended(row.moment("complete_by")?)),
        None => Ok(Extension::Superseded),
    }
}

/// Fences of claims, column by column.
#[derive(Debug, Default)]
pub(super) struct Fences<'c> {
    pub(super) step: Vec<&'c str>,
    pub(super) attempt: Vec<i64>,
    pub(super) replica: Vec<&'c str>,
}

impl<'c> Fences<'c> {
    pub(super) fn of(claims: impl IntoIterator<Item = &'c Claim>) -> Self {
        let mut fences = Self::default();
        for claim in claims {
            fences.step.push(claim.step().as_str());
            fences.attempt.push(int(claim.attempt()));
            fences.replica.push(claim.replica().as_str());
        }
        fences
    }
}
