//! Retention: removes what is over and old enough, a bounded amount at a time, guarded by a term. Never effects.

use async_trait::async_trait;

use super::SqliteStore;
use super::columns::to_json;
use super::engine::Verb;
use super::leader::holds;
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use crate::model::{JobId, Moment, Term};
use crate::store::{Guarded, JanitorStore, Pruned, Result, Retention};

#[async_trait]
impl JanitorStore for SqliteStore {
    async fn janitor_now(&self) -> Result<Moment> {
        Ok(self.now())
    }

    async fn prune(&self, term: &Term, retention: &Retention) -> Result<Guarded<Pruned>> {
        let (term, retention) = (term.clone(), retention.clone());
        self.engine.write(Verb::PLAIN, move |tx| prune(tx, &term, &retention)).await
    }
}

fn prune(tx: &Tx<'_>, term: &Term, retention: &Retention) -> Outcome<Guarded<Pruned>> {
    if !holds(tx, term)? {
        return Ok(Guarded::Superseded);
    }
    let jobs = to_json(&retention.jobs)?;
    let of_runs = tx.now - retention.runs;
    let of_keys = tx.now - retention.keys;
    let limit = retention.limit;
    let records: [(&str, &dyn rusqlite::ToSql); 3] = [("jobs", &jobs), ("before", &of_runs), ("limit", &limit)];
    let keys: [(&str, &dyn rusqlite::ToSql); 2] = [("before", &of_keys), ("limit", &limit)];
    Ok(Guarded::Done(Pruned {
        runs: prune_runs(tx, &records)?,
        messages: small(tx.execute(S::PruneMessages, &keys)?),
        keys: small(tx.execute(S::PruneKeys, &keys)?),
        replicas: prune_replicas(tx, tx.now - retention.replicas, limit)?,
        records: small(
            tx.execute(S::PruneSkips, &records)?
                + tx.execute(S::PruneRequests, &records)?
                + tx.execute(S::PruneStaged, &records)?
                + tx.execute(S::PruneRejections, &keys)?
                + tx.execute(S::PruneBatches, &keys)?,
        ),
    }))
}

/// A slot whose run goes is never opened again: its mark moves in the same transaction.
fn prune_runs(tx: &Tx<'_>, which: super::transaction::Values<'_>) -> Outcome<u32> {
    let runs = tx.rows(S::ReadPrunableRuns, which, |row| {
        Ok((row.get::<_, String>("run_id")?, row.get::<_, JobId>("job_id")?, row.get::<_, Option<Moment>>("scheduled_for")?))
    })?;
    for (_, job, slot) in &runs {
        if let Some(slot) = slot {
            tx.execute(S::RaisePruned, &[("job", job), ("slot", slot)])?;
        }
    }
    let ids: Vec<&String> = runs.iter().map(|(run, _, _)| run).collect();
    let ids = to_json(&ids)?;
    for statement in [S::PruneAttempts, S::PruneSteps, S::PruneSuperseded, S::PruneCallbacks] {
        tx.execute(statement, &[("runs", &ids)])?;
    }
    Ok(small(tx.execute(S::PruneRuns, &[("runs", &ids)])?))
}

/// Their counters stay: what was prevented is told for all replicas that ever were.
fn prune_replicas(tx: &Tx<'_>, before: Moment, limit: u32) -> Outcome<u32> {
    let which: [(&str, &dyn rusqlite::ToSql); 2] = [("before", &before), ("limit", &limit)];
    let replicas = tx.rows(S::ReadPrunableReplicas, &which, |row| Ok(row.get::<_, String>("replica_id")?))?;
    let replicas = to_json(&replicas)?;
    tx.execute(S::KeepPrevented, &[("replicas", &replicas)])?;
    Ok(small(tx.execute(S::PruneReplicas, &[("replicas", &replicas)])?))
}

fn small(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
