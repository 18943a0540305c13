//! A replica's own row: enlisting, renewing, leaving. Renewal is the watch: one transaction writes the beat and reads all others'.

use std::time::Duration;

use async_trait::async_trait;

use super::columns::{Record, int, json, micros, values};
use super::error::Outcome;
use super::pool::Purpose;
use super::transaction::{Tx, Verb};
use super::{PostgresStore, statements as sql};
use crate::model::watch::Beat;
use crate::model::{ReplicaId, StepId};
use crate::store::{Prevented, Renewal, ReplicaInfo, ReplicaStore, Result};

const RENEW: Verb = Verb { purpose: Purpose::Vital, ..Verb::named("renew") };

#[async_trait]
impl ReplicaStore for PostgresStore {
    async fn enlist(&self, info: &ReplicaInfo) -> Result<()> {
        self.write(Verb::named("enlist"), |tx| async move { enlist(&tx, info).await }).await
    }

    async fn renew(&self, id: &ReplicaId, prevented: &Prevented) -> Result<Renewal> {
        self.write(RENEW, |tx| async move { renew(&tx, id, prevented).await }).await
    }

    async fn leave(&self, id: &ReplicaId) -> Result<()> {
        let id = id.as_str();
        let leave = |tx: Tx| async move {
            let clock = tx.clock();
            tx.execute(&sql::LEAVE_REPLICA, values![clock, id]).await.map(|_| ())
        };
        self.write(Verb::named("leave"), leave).await
    }
}

async fn enlist(tx: &Tx, info: &ReplicaInfo) -> Outcome<()> {
    let (clock, id) = (tx.clock(), info.id.as_str());
    let (jobs, handlers, lease) = (json(&info.jobs)?, json(&info.handlers)?, micros(info.lease));
    let (queues, channels) = (json(&info.queues)?, json(&info.channels)?);
    let values = values![clock, id, info.label, info.version, info.tzdata, jobs, handlers, queues, channels, lease];
    tx.execute(&sql::ENLIST_REPLICA, values).await.map(|_| ())
}

fn beat(row: &Record) -> Outcome<Beat> {
    let replica = ReplicaId::from_text(row.get::<&str>("replica_id")?);
    Ok(Beat { replica, beat: row.number("beat")?, lease: Duration::from_micros(row.number("lease_us")?) })
}

async fn renew(tx: &Tx, id: &ReplicaId, prevented: &Prevented) -> Outcome<Renewal> {
    let (clock, id) = (tx.clock(), id.as_str());
    let Prevented { slots, effects, messages, superseded } = *prevented;
    let (slots, effects, messages, superseded) = (int(slots), int(effects), int(messages), int(superseded));
    let values = values![clock, id, slots, effects, messages, superseded];
    let Some(renewed) = tx.first(&sql::RENEW_REPLICA, values).await? else {
        return Ok(Renewal::Lost);
    };
    let rows = tx.rows(&sql::READ_BEATS, values![id]).await?;
    let beats = rows.iter().map(beat).collect::<Outcome<_>>()?;
    let rows = tx.rows(&sql::READ_CANCELLING_STEPS, values![id]).await?;
    let cancelling = rows.iter().map(|row| row.get::<&str>("step_id").map(StepId::from_text)).collect::<Outcome<_>>()?;
    Ok(Renewal::Renewed { beats, cancelling, now: renewed.moment("now")? })
}
