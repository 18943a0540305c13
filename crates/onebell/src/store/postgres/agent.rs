//! The agent's verbs. Claims are in `claim.rs`, settlements in `settle.rs` and `work.rs`.

use async_trait::async_trait;

use super::columns::values;
use super::error::{Class, Failure, Outcome, Phase};
use super::pool::Purpose;
use super::rows::{NoRows, Rows};
use super::transaction::{End, Tx, Verb, milliseconds};
use super::{PostgresStore, callbacks, claim, settle, statements as sql, work};
use crate::model::job::UNDO_MARK;
use crate::model::{Claim, ReplicaId, RunId, StepId};
use crate::store::{AgentStore, ClaimAnswer, ClaimSteps, ClaimedStep, Extension, Result, Settled, Settlement};

const CLAIM: Verb = Verb::with_points("claim_steps", "claim.before_commit", "claim.after_commit");

#[async_trait]
impl AgentStore for PostgresStore {
    async fn claim_steps(&self, request: &ClaimSteps) -> Result<ClaimAnswer> {
        let claim = |tx: Tx| async move {
            let answer = claim::claim_steps(&tx, request).await?;
            Ok(if answer.claimed.is_empty() { End::Rollback(answer) } else { End::Commit(answer) })
        };
        self.transact(CLAIM, claim).await.map_err(Failure::judged)
    }

    async fn held_steps(&self, replica: &ReplicaId) -> Result<Vec<ClaimedStep>> {
        self.read("held_steps", |tx| async move { claim::held_steps(&tx, replica).await }).await
    }

    async fn start_steps(&self, claims: &[Claim]) -> Result<Vec<bool>> {
        self.write(Verb::named("start_steps"), |tx| async move { claim::start_steps(&tx, claims).await }).await
    }

    async fn extend_step(&self, claim: &Claim) -> Result<Extension> {
        self.write(Verb::named("extend_step"), |tx| async move { claim::extend_step(&tx, claim).await }).await
    }

    async fn settle_steps(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>> {
        settle::settle_steps(self, &settlements).await
    }

    async fn step_rows(&self, run: &RunId, step: &str) -> Result<Option<String>> {
        let step = match step.strip_suffix(UNDO_MARK) {
            Some(undone) => StepId::of_undo(run, undone),
            None => StepId::of(run, step),
        };
        let step = step.as_str();
        let rows = |tx: Tx| async move {
            let row = tx.first(&sql::READ_STEP_ROWS, values![step]).await?;
            row.map(|row| row.get("rows")).transpose()
        };
        self.read("step_rows", rows).await
    }

    async fn take_callback(&self, claim: &Claim) -> Result<Option<String>> {
        callbacks::take(self, claim).await
    }

    async fn query_rows(&self, sql: &str) -> Result<String> {
        query_rows(self, sql).await.map_err(Failure::judged)
    }
}

/// Rows fetched from a cursor at a time.
const FETCH: usize = 1_000;

/// A cursor takes one query and nothing that writes; the transaction around it is read-only besides.
async fn query_rows(store: &PostgresStore, query: &str) -> Outcome<String> {
    let lent = store.pool.lend(Purpose::Work).await?;
    let mut tx = store.tx(&lent)?;
    tx.call_limit = store.query_limit + std::time::Duration::from_secs(2);
    let limit = milliseconds(store.query_limit);
    let role = store.sql_role.as_deref().map(|role| format!("; SET LOCAL ROLE {}", work::quoted(role))).unwrap_or_default();
    let begin = format!("{}; SET LOCAL statement_timeout = {limit}; SET LOCAL lock_timeout = {limit}{role}", store.begin_look);
    tx.batch("BEGIN", &begin).await?;
    let answer = fetch(&tx, query).await;
    drop(tx);
    store.rollback(lent, answer.as_ref().err()).await;
    answer
}

async fn fetch(tx: &Tx, query: &str) -> Outcome<String> {
    let what = "the query of the step";
    let client = &tx.connection.client;
    let query = query.trim_end_matches(|c: char| c == ';' || c.is_whitespace());
    // A line of its own for what follows: the query may end in a comment.
    let declare = format!("DECLARE onebell_rows NO SCROLL CURSOR FOR SELECT row_to_json(q)::text FROM (\n{query}\n) q");
    // Typed: in this protocol a text is one statement, whatever it contains.
    tx.bounded(what, client.execute_typed(&declare, &[])).await?;
    let fetch = format!("FETCH FORWARD {FETCH} FROM onebell_rows");
    let mut rows = Rows::default();
    loop {
        let stream = tx.bounded(what, client.simple_query_raw(&fetch)).await?;
        let read = tokio::time::timeout(tx.call_limit, rows.read(stream)).await;
        match read {
            Ok(Ok(read)) if read < FETCH => return Ok(rows.finish()),
            Ok(Ok(_)) => {}
            Ok(Err(NoRows::Driver(error))) => return Err(Failure::seen(what, &error, Phase::Statement)),
            Ok(Err(NoRows::TooMany(problem))) => return Err(Failure::broken(problem)),
            Err(_) => return Err(Failure { class: Class::Away, ..Failure::silent(what, tx.call_limit) }),
        }
    }
}
