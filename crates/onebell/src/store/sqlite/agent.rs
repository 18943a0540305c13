//! Claims steps and settles them under their claims.

use async_trait::async_trait;
use rusqlite::Row;

use super::columns::{count, from_json, int, small, span, to_json};
use super::engine::Verb;
use super::group::Memory;
use super::settle::settle_set;
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use super::user_work::run_query;
use super::{SqliteStore, callbacks};
use crate::model::job::UNDO_MARK;
use crate::model::step::Verdict;
use crate::model::{Claim, Moment, ReplicaId, RunId, StepId};
use crate::store::{AgentStore, ClaimAnswer, ClaimSteps, ClaimedStep, Extension, Result, Settled, Settlement};

const CLAIM: Verb = Verb::with_points("claim.before_commit", "claim.after_commit");
const SETTLE: Verb = Verb::with_points("settle.before_commit", "settle.after_commit");

#[async_trait]
impl AgentStore for SqliteStore {
    async fn claim_steps(&self, request: &ClaimSteps) -> Result<ClaimAnswer> {
        let request = request.clone();
        self.engine.write(CLAIM, move |tx| claim(tx, &request)).await
    }

    async fn held_steps(&self, replica: &ReplicaId) -> Result<Vec<ClaimedStep>> {
        let replica = replica.clone();
        // Through the writer: a claim whose answer was lost may still wait in its queue.
        self.engine.write(Verb::PLAIN, move |tx| tx.rows(S::ReadHeldSteps, &[("replica", &replica)], claimed)).await
    }

    async fn start_steps(&self, claims: &[Claim]) -> Result<Vec<bool>> {
        let claims = claims.to_vec();
        self.engine.write(Verb::PLAIN, move |tx| claims.iter().map(|claim| start(tx, claim)).collect()).await
    }

    async fn extend_step(&self, claim: &Claim) -> Result<Extension> {
        let claim = claim.clone();
        self.engine.write(Verb::PLAIN, move |tx| extend(tx, &claim)).await
    }

    async fn settle_steps(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>> {
        let mut settled = Vec::with_capacity(settlements.len());
        let runs_statements = |settlement: &Settlement| settlement.work.is_some() && settlement.verdict == Verdict::Succeeded;
        // Consecutive ones without a user's statements share a transaction; one with them has its own.
        for set in settlements.chunk_by(|a, b| !runs_statements(a) && !runs_statements(b)) {
            let verb = if runs_statements(&set[0]) { SETTLE.alone() } else { SETTLE };
            let (set, memory) = (set.to_vec(), Memory::default());
            let kept = memory.clone();
            settled.extend(self.engine.write_remembering(verb, kept, move |tx| settle_set(tx, &set, &memory)).await?);
        }
        Ok(settled)
    }

    async fn step_rows(&self, run: &RunId, step: &str) -> Result<Option<String>> {
        let step = step_of(run, step);
        self.engine.read(move |tx| tx.first(S::ReadStepRows, &[("step", &step)], |row| Ok(row.get("rows")?))).await
    }

    async fn take_callback(&self, claim: &Claim) -> Result<Option<String>> {
        callbacks::take(&self.engine, claim.clone()).await
    }

    async fn query_rows(&self, sql: &str) -> Result<String> {
        let sql = sql.to_owned();
        self.engine.query(move |tx| run_query(tx, &sql)).await
    }
}

/// The id of a step by its name, also of one that undoes another.
fn step_of(run: &RunId, name: &str) -> StepId {
    name.strip_suffix(UNDO_MARK).map_or_else(|| StepId::of(run, name), |undone| StepId::of_undo(run, undone))
}

/// Whether a replica may still be given anything.
pub(super) fn is_live(tx: &Tx<'_>, replica: &ReplicaId) -> Outcome<bool> {
    tx.any(S::IsLive, &[("replica", replica)])
}

fn claim(tx: &Tx<'_>, request: &ClaimSteps) -> Outcome<ClaimAnswer> {
    let limit = i64::from(request.start) + i64::from(request.prefetch);
    if limit == 0 || !is_live(tx, &request.replica)? {
        return Ok(ClaimAnswer::default());
    }
    let (jobs, handlers, queues) = (to_json(&request.jobs)?, to_json(&request.handlers)?, to_json(&request.queues)?);
    let carried: [(&str, &dyn rusqlite::ToSql); 5] =
        [("jobs", &jobs), ("handlers", &handlers), ("queues", &queues), ("run", &request.run), ("now", &tx.now)];
    let alone = tx.first(S::FindAloneStep, &carried, |row| Ok(row.get::<_, StepId>("step_id")?))?;
    if alone.is_some() && !request.idle {
        return Ok(ClaimAnswer { claimed: Vec::new(), drain: true });
    }
    let mut values = carried.to_vec();
    values.extend([("replica", &request.replica as &dyn rusqlite::ToSql), ("start", &request.start), ("limit", &limit)]);
    let statement = if alone.is_some() { S::ClaimAloneStep } else { S::ClaimSteps };
    values.push(("step", &alone));
    let picked = tx.rows(statement, &values, |row| Ok(row.get::<_, String>("step_id")?))?;
    let steps = to_json(&picked)?;
    let claimed = tx.rows(S::ReadClaimedSteps, &[("steps", &steps), ("replica", &request.replica)], claimed)?;
    Ok(ClaimAnswer { claimed, drain: false })
}

fn claimed(row: &Row<'_>) -> Outcome<ClaimedStep> {
    let after = row.get_ref("after")?.as_str().map_err(rusqlite::Error::from)?;
    Ok(ClaimedStep {
        claim: Claim::issued(row.get("step_id")?, row.get("run_id")?, count(row, "attempt")?, row.get("locked_by")?),
        job: row.get("job")?,
        scheduled_for: row.get("scheduled_for")?,
        origin: row.get("origin")?,
        input: row.get("input")?,
        name: row.get("name")?,
        handler: row.get("handler")?,
        spec: row.get("spec")?,
        after: from_json(after, "list of steps")?,
        tries: small(row, "tries")?,
        timeout: span(row, "timeout_us")?,
        complete_by: row.get("complete_by")?,
        hard_complete_by: row.get("hard_complete_by")?,
        claimed_at: row.get("claimed_at")?,
        started: row.get::<_, Option<Moment>>("started_at")?.is_some(),
        alone: row.get("alone")?,
    })
}

fn start(tx: &Tx<'_>, claim: &Claim) -> Outcome<bool> {
    let attempt = int(claim.attempt());
    let fence: [(&str, &dyn rusqlite::ToSql); 4] =
        [("step", claim.step()), ("attempt", &attempt), ("replica", claim.replica()), ("now", &tx.now)];
    Ok(tx.execute(S::StartSteps, &fence)? > 0)
}

/// Moves a claim's end, if it holds.
pub(super) fn extend(tx: &Tx<'_>, claim: &Claim) -> Outcome<Extension> {
    let attempt = int(claim.attempt());
    let fence: [(&str, &dyn rusqlite::ToSql); 4] =
        [("step", claim.step()), ("attempt", &attempt), ("replica", claim.replica()), ("now", &tx.now)];
    let until = tx.first(S::ExtendSteps, &fence, |row| Ok(row.get("complete_by")?))?;
    Ok(until.map_or(Extension::Superseded, Extension::Extended))
}
