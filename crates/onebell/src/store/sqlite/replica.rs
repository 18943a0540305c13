//! A replica's own sign of life.

use async_trait::async_trait;

use super::SqliteStore;
use super::columns::{count, int, micros, span, to_json};
use super::engine::Verb;
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use crate::model::ReplicaId;
use crate::model::watch::Beat;
use crate::store::{Prevented, Renewal, ReplicaInfo, ReplicaStore, Result};

#[async_trait]
impl ReplicaStore for SqliteStore {
    async fn enlist(&self, info: &ReplicaInfo) -> Result<()> {
        let info = info.clone();
        self.engine.write(Verb::PLAIN, move |tx| enlist(tx, &info)).await
    }

    async fn renew(&self, id: &ReplicaId, prevented: &Prevented) -> Result<Renewal> {
        let (id, prevented) = (id.clone(), *prevented);
        self.engine.write(Verb::PLAIN, move |tx| renew(tx, &id, &prevented)).await
    }

    async fn leave(&self, id: &ReplicaId) -> Result<()> {
        let id = id.clone();
        let leave = move |tx: &Tx<'_>| tx.execute(S::LeaveReplica, &[("replica", &id), ("now", &tx.now)]).map(drop);
        self.engine.write(Verb::PLAIN, leave).await
    }
}

fn enlist(tx: &Tx<'_>, info: &ReplicaInfo) -> Outcome<()> {
    let (jobs, handlers) = (to_json(&info.jobs)?, to_json(&info.handlers)?);
    let (queues, channels) = (to_json(&info.queues)?, to_json(&info.channels)?);
    tx.execute(
        S::EnlistReplica,
        &[
            ("replica", &info.id),
            ("label", &info.label),
            ("version", &info.version),
            ("tzdata", &info.tzdata),
            ("jobs", &jobs),
            ("handlers", &handlers),
            ("queues", &queues),
            ("channels", &channels),
            ("lease_us", &micros(info.lease)),
            ("now", &tx.now),
        ],
    )?;
    Ok(())
}

fn renew(tx: &Tx<'_>, id: &ReplicaId, prevented: &Prevented) -> Outcome<Renewal> {
    let renewed = tx.execute(
        S::RenewReplica,
        &[
            ("replica", id),
            ("slots", &int(prevented.slots)),
            ("effects", &int(prevented.effects)),
            ("messages", &int(prevented.messages)),
            ("superseded", &int(prevented.superseded)),
            ("now", &tx.now),
        ],
    )?;
    if renewed == 0 {
        return Ok(Renewal::Lost);
    }
    tx.execute(S::KeepClock, &[("now", &tx.now)])?;
    let beats = tx.rows(S::ReadBeats, &[("replica", id)], |row| {
        let lease = span(row, "lease_us")?;
        Ok(Beat { replica: row.get("replica_id")?, beat: count(row, "beat")?, lease })
    })?;
    let cancelling = tx.rows(S::ReadCancellingSteps, &[("replica", id)], |row| Ok(row.get("step_id")?))?;
    Ok(Renewal::Renewed { beats, cancelling, now: tx.now })
}
