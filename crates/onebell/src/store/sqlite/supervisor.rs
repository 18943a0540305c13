//! Only asks. It has no statement that moves a step, a message or a run.

use async_trait::async_trait;

use super::SqliteStore;
use super::columns::int;
use super::engine::Verb;
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use crate::model::Moment;
use crate::store::{Result, SupervisorStore, Sweep};

#[async_trait]
impl SupervisorStore for SqliteStore {
    async fn supervisor_now(&self) -> Result<Moment> {
        Ok(self.now())
    }

    async fn request_recovery(&self, sweep: &Sweep) -> Result<u32> {
        let sweep = sweep.clone();
        self.engine.write(Verb::PLAIN, move |tx| request(tx, &sweep)).await
    }
}

fn request(tx: &Tx<'_>, sweep: &Sweep) -> Outcome<u32> {
    let limit = usize::try_from(sweep.limit).unwrap_or(usize::MAX);
    let mut asked = 0;
    for lost in sweep.lost.iter().take(limit) {
        let values: [(&str, &dyn rusqlite::ToSql); 4] =
            [("replica", &lost.replica), ("beat", &int(lost.beat)), ("by", &sweep.by), ("now", &tx.now)];
        asked += tx.execute(S::RequestReplicas, &values)?;
    }
    let (stuck_since, absent_since) = (tx.now - sweep.stuck_after, tx.now - sweep.absent_after);
    let values: [(&str, &dyn rusqlite::ToSql); 6] = [
        ("by", &sweep.by),
        ("now", &tx.now),
        ("judge_time", &sweep.judge_time),
        ("stuck_since", &stuck_since),
        ("absent_since", &absent_since),
        ("limit", &sweep.limit),
    ];
    for statement in [S::RequestSteps, S::RequestMessages, S::RequestRuns, S::RequestCarriers] {
        asked += tx.execute(statement, &values)?;
    }
    Ok(u32::try_from(asked).unwrap_or(u32::MAX))
}
