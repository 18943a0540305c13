//! Terms: one holder of a duty at a time, each period with a number that grows.

use std::time::Duration;

use async_trait::async_trait;

use super::columns::{int, micros, stamp, values};
use super::error::{Failure, Outcome};
use super::transaction::{End, Tx, Verb};
use super::{PostgresStore, statements as sql};
use crate::model::{ReplicaId, Term};
use crate::store::{LeaderStore, Result};

#[async_trait]
impl LeaderStore for PostgresStore {
    async fn campaign(&self, duty: &str, replica: &ReplicaId, lease: Duration) -> Result<Option<Term>> {
        let campaign = |tx: Tx| async move { campaign(&tx, duty, replica, lease).await };
        self.transact(Verb::named("campaign"), campaign).await.map_err(Failure::judged)
    }

    async fn report_duty(&self, term: &Term, lease: Duration) -> Result<bool> {
        let report = |tx: Tx| async move {
            let (clock, duty, holder) = (tx.clock(), term.duty(), term.holder().as_str());
            let (epoch, lease) = (int(term.epoch()), micros(lease));
            Ok(tx.execute(&sql::EXTEND_TERM, values![clock, duty, holder, epoch, lease]).await? == 1)
        };
        self.write(Verb::named("report_duty"), report).await
    }

    async fn resign(&self, term: &Term) -> Result<()> {
        let resign = |tx: Tx| async move {
            let (clock, duty, holder, epoch) = (tx.clock(), term.duty(), term.holder().as_str(), int(term.epoch()));
            tx.execute(&sql::RESIGN_TERM, values![clock, duty, holder, epoch]).await.map(|_| ())
        };
        self.write(Verb::named("resign"), resign).await
    }
}

async fn campaign(tx: &Tx, duty: &str, replica: &ReplicaId, lease: Duration) -> Outcome<End<Option<Term>>> {
    let now = tx.now().await?;
    let at = stamp(now);
    tx.execute(&sql::OPEN_TERM, values![duty, at]).await?;
    let row = tx.one(&sql::LOCK_TERM, values![duty]).await?;
    let id = replica.as_str();
    if !tx.any(&sql::LOCK_LIVE_REPLICA, values![id]).await? {
        return Ok(End::Rollback(None));
    }
    let (holder, epoch): (&str, u64) = (row.get("holder")?, row.number("epoch")?);
    if row.moment("expires_at")? > now {
        let ours = holder == id;
        return Ok(End::Rollback(ours.then(|| Term::issued(duty.to_owned(), replica.clone(), epoch))));
    }
    let (next, until) = (epoch + 1, stamp(now + lease));
    let number = int(next);
    tx.execute_all(&sql::TAKE_TERM, values![duty, id, number, until], 1).await?;
    Ok(End::Commit(Some(Term::issued(duty.to_owned(), replica.clone(), next))))
}
