//! Retention. One transaction under a term that is held until its end; locks in the one order of the store.

use async_trait::async_trait;

use super::columns::{int, stamp, values};
use super::error::Outcome;
use super::transaction::{End, Tx, Verb};
use super::{PostgresStore, statements as sql};
use crate::model::{JobId, Moment, Term};
use crate::store::{Guarded, JanitorStore, Pruned, Result, Retention};

#[async_trait]
impl JanitorStore for PostgresStore {
    async fn janitor_now(&self) -> Result<Moment> {
        self.now().await
    }

    async fn prune(&self, term: &Term, retention: &Retention) -> Result<Guarded<Pruned>> {
        let prune = |tx: Tx| async move { prune(&tx, term, retention).await };
        self.transact(Verb::named("prune"), prune).await.map_err(super::error::Failure::judged)
    }
}

async fn prune(tx: &Tx, term: &Term, retention: &Retention) -> Outcome<End<Guarded<Pruned>>> {
    let (duty, holder, epoch) = (term.duty(), term.holder().as_str(), int(term.epoch()));
    if !tx.any(&sql::HOLD_TERM, values![duty, holder, epoch]).await? {
        return Ok(End::Rollback(Guarded::Superseded));
    }
    let now = tx.now().await?;
    let (runs_before, keys_before) = (stamp(now - retention.runs), stamp(now - retention.keys));
    let limit = int(retention.limit);
    let jobs: Vec<&str> = retention.jobs.iter().map(JobId::as_str).collect();
    let mut records = tx.execute(&sql::PRUNE_REQUESTS, values![runs_before, limit]).await?;
    let replicas = replicas(tx, now, retention).await?;
    let gone = lock_runs(tx, now, retention).await?;
    let keys = tx.execute(&sql::PRUNE_KEYS, values![keys_before, limit]).await?;
    prune_runs(tx, &gone).await?;
    let messages = tx.execute(&sql::PRUNE_MESSAGES, values![keys_before, limit]).await?;
    records += tx.execute(&sql::PRUNE_SKIPS, values![runs_before, limit, jobs]).await?;
    records += tx.execute(&sql::PRUNE_STAGED, values![limit]).await?;
    records += tx.execute(&sql::PRUNE_REJECTIONS, values![keys_before, limit]).await?;
    records += tx.execute(&sql::PRUNE_BATCHES, values![keys_before, limit]).await?;
    let count = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
    Ok(End::Commit(Guarded::Done(Pruned {
        runs: u32::try_from(gone.len()).unwrap_or(u32::MAX),
        messages: count(messages),
        keys: count(keys),
        replicas,
        records: count(records),
    })))
}

async fn replicas(tx: &Tx, now: Moment, retention: &Retention) -> Outcome<u32> {
    let (before, limit) = (stamp(now - retention.replicas), int(retention.limit));
    let rows = tx.rows(&sql::READ_PRUNABLE_REPLICAS, values![before, limit]).await?;
    let gone: Vec<String> = rows.iter().map(|row| row.get("replica_id")).collect::<Outcome<_>>()?;
    if gone.is_empty() {
        return Ok(0);
    }
    tx.execute(&sql::KEEP_PREVENTED, values![gone]).await?;
    tx.execute_all(&sql::PRUNE_REPLICAS, values![gone], gone.len()).await?;
    Ok(u32::try_from(gone.len()).unwrap_or(u32::MAX))
}

/// Locks the jobs of what will go, then the runs themselves: one that a person retried meanwhile stays.
async fn lock_runs(tx: &Tx, now: Moment, retention: &Retention) -> Outcome<Vec<String>> {
    let (before, limit) = (stamp(now - retention.runs), int(retention.limit));
    let jobs: Vec<&str> = retention.jobs.iter().map(JobId::as_str).collect();
    let found = tx.rows(&sql::READ_PRUNABLE_RUNS, values![before, jobs, limit]).await?;
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let mut jobs: Vec<&str> = found.iter().map(|row| row.get("job_id")).collect::<Outcome<_>>()?;
    jobs.sort_unstable();
    jobs.dedup();
    tx.rows(&sql::LOCK_JOBS, values![jobs]).await?;
    let runs: Vec<&str> = found.iter().map(|row| row.get("run_id")).collect::<Outcome<_>>()?;
    tx.rows(&sql::LOCK_PRUNABLE_RUNS, values![runs, before]).await?.iter().map(|row| row.get("run_id")).collect()
}

async fn prune_runs(tx: &Tx, gone: &[String]) -> Outcome<()> {
    if gone.is_empty() {
        return Ok(());
    }
    let gone = gone.to_vec();
    tx.execute(&sql::RAISE_PRUNED, values![gone]).await?;
    for statement in [&sql::PRUNE_STEPS, &sql::PRUNE_ATTEMPTS, &sql::PRUNE_SUPERSEDED, &sql::PRUNE_CALLBACKS] {
        tx.execute(statement, values![gone]).await?;
    }
    tx.execute_all(&sql::PRUNE_RUNS, values![gone], gone.len()).await
}
