//! Opens runs, admits them, grants recovery, closes deliveries. Never claims.

use async_trait::async_trait;

use super::SqliteStore;
use super::admission::admit_runs;
use super::columns::to_json;
use super::define::{define_job, set_pause};
use super::deliveries::close_deliveries;
use super::engine::Verb;
use super::grant::{grant, request};
use super::job_row::job_state;
use super::slots::open_slots;
use super::statements::Statement as S;
use crate::model::recovery::{Grant, RecoveryRequest};
use crate::model::{JobId, Moment};
use crate::store::{Defined, Definition, JobState, Opened, PauseChange, Result, SchedulerStore, SlotPlan};

const SLOT: Verb = Verb::with_points("slot.before_commit", "slot.after_commit");
const GRANT: Verb = Verb::with_points("grant.before_commit", "grant.after_commit");

#[async_trait]
impl SchedulerStore for SqliteStore {
    async fn scheduler_now(&self) -> Result<Moment> {
        Ok(self.now())
    }

    async fn jobs_named(&self, names: Option<&[String]>) -> Result<Vec<JobState>> {
        let names = names.map(<[String]>::to_vec);
        let read = move |tx: &super::transaction::Tx<'_>| {
            let names = names.as_ref().map(to_json).transpose()?;
            tx.rows(S::ReadJobs, &[("names", &names)], job_state)
        };
        self.engine.read(read).await
    }

    async fn define_job(&self, definition: &Definition) -> Result<Defined> {
        let definition = definition.clone();
        self.engine.write(Verb::PLAIN, move |tx| define_job(tx, &definition)).await
    }

    async fn due_jobs(&self, carried: &[JobId], limit: u32) -> Result<Vec<JobState>> {
        let carried = carried.to_vec();
        let read = move |tx: &super::transaction::Tx<'_>| {
            tx.rows(S::ReadDueJobs, &[("jobs", &to_json(&carried)?), ("now", &tx.now), ("limit", &limit)], job_state)
        };
        self.engine.read(read).await
    }

    async fn open_slots(&self, plan: &SlotPlan) -> Result<Opened> {
        let plan = plan.clone();
        self.engine.write(SLOT, move |tx| open_slots(tx, &plan)).await
    }

    async fn admit_runs(&self, carried: &[JobId], limit: u32) -> Result<u32> {
        let carried = carried.to_vec();
        self.engine.write(Verb::PLAIN, move |tx| admit_runs(tx, &to_json(&carried)?, limit)).await
    }

    async fn open_requests(&self, limit: u32) -> Result<Vec<RecoveryRequest>> {
        self.engine.read(move |tx| tx.rows(S::ReadOpenRequests, &[("limit", &limit)], request)).await
    }

    async fn grant(&self, request: &RecoveryRequest) -> Result<Grant> {
        let request = request.clone();
        self.engine.write(GRANT, move |tx| grant(tx, &request)).await
    }

    async fn close_deliveries(&self, limit: u32) -> Result<u32> {
        self.engine.write(Verb::PLAIN, move |tx| close_deliveries(tx, limit)).await
    }

    async fn next_slot(&self, carried: &[JobId]) -> Result<Option<Moment>> {
        let carried = carried.to_vec();
        let read = move |tx: &super::transaction::Tx<'_>| {
            let next = tx.first(S::ReadNextSlot, &[("jobs", &to_json(&carried)?)], |row| Ok(row.get("next_slot")?))?;
            Ok(next.flatten())
        };
        self.engine.read(read).await
    }

    async fn set_pause(&self, change: &PauseChange) -> Result<bool> {
        let change = change.clone();
        self.engine.write(Verb::PLAIN, move |tx| set_pause(tx, &change)).await
    }
}
