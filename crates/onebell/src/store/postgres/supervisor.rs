//! The supervisor's verbs: it only asks.

use async_trait::async_trait;

use super::columns::{int, micros, values};
use super::error::Outcome;
use super::transaction::{Tx, Verb};
use super::{PostgresStore, statements as sql};
use crate::model::Moment;
use crate::store::{Result, SupervisorStore, Sweep};

#[async_trait]
impl SupervisorStore for PostgresStore {
    async fn supervisor_now(&self) -> Result<Moment> {
        self.now().await
    }

    async fn request_recovery(&self, sweep: &Sweep) -> Result<u32> {
        self.write(Verb::named("request_recovery"), |tx| async move { request(&tx, sweep).await }).await
    }
}

async fn request(tx: &Tx, sweep: &Sweep) -> Outcome<u32> {
    let (clock, by, limit) = (tx.clock(), sweep.by.as_str(), int(sweep.limit));
    let mut new = 0;
    if !sweep.lost.is_empty() {
        let replica: Vec<&str> = sweep.lost.iter().map(|beat| beat.replica.as_str()).collect();
        let beat: Vec<i64> = sweep.lost.iter().map(|beat| int(beat.beat)).collect();
        new += tx.execute(&sql::REQUEST_REPLICAS, values![clock, by, replica, beat, limit]).await?;
    }
    let (judge, stuck) = (sweep.judge_time, micros(sweep.stuck_after));
    new += tx.execute(&sql::REQUEST_STEPS, values![clock, by, judge, limit]).await?;
    new += tx.execute(&sql::REQUEST_MESSAGES, values![clock, by, judge, limit]).await?;
    new += tx.execute(&sql::REQUEST_RUNS, values![clock, by, stuck, limit]).await?;
    let absent = micros(sweep.absent_after);
    new += tx.execute(&sql::REQUEST_CARRIERS, values![clock, by, judge, absent, limit]).await?;
    Ok(u32::try_from(new).unwrap_or(u32::MAX))
}
