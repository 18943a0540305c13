//! Opens runs, admits them, grants recovery, closes deliveries. Never claims.

use async_trait::async_trait;

use super::admission::admit_runs;
use super::alarms::{tell_late_finishes, tell_silences};
use super::columns::to_json;
use super::define::{define_job, set_pause};
use super::deliveries::close_deliveries;
use super::engine::Verb;
use super::grant::{grant, request};
use super::job_row::job_state;
use super::slots::{open_of_jobs, open_slots};
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use super::{SqliteStore, clock};
use crate::model::recovery::{Grant, RecoveryRequest};
use crate::model::zone_version::Planner;
use crate::model::{JobId, Moment, ReplicaId};
use crate::store::{Defined, Definition, JobState, Opened, PauseChange, Rest, Result, SchedulerStore, SlotPlan};

const SLOT: Verb = Verb::with_points("slot.before_commit", "slot.after_commit");
const GRANT: Verb = Verb::with_points("grant.before_commit", "grant.after_commit");

#[async_trait]
impl SchedulerStore for SqliteStore {
    async fn scheduler_now(&self) -> Result<Moment> {
        Ok(self.now())
    }

    async fn rest(&self, carried: &[JobId]) -> Result<Rest> {
        let carried = carried.to_vec();
        self.engine.read(move |tx| rest(tx, &to_json(&carried)?)).await
    }

    async fn newest_renewal(&self) -> Result<Option<Moment>> {
        self.engine.read(|tx| clock::newest(tx).map(Some)).await
    }

    async fn planners(&self) -> Result<Vec<Planner>> {
        let planner = |row: &rusqlite::Row<'_>| Ok(Planner { replica: row.get("replica_id")?, tzdata: row.get("tzdata")? });
        self.engine.read(move |tx| tx.rows(S::ReadPlanners, &[], planner)).await
    }

    async fn carried_by(&self, replicas: &[ReplicaId], jobs: &[JobId]) -> Result<Vec<JobId>> {
        let (replicas, jobs) = (replicas.to_vec(), jobs.to_vec());
        let read = move |tx: &Tx<'_>| {
            let values = [("replicas", &to_json(&replicas)? as &dyn rusqlite::ToSql), ("jobs", &to_json(&jobs)?)];
            tx.rows(S::ReadCarried, &values, |row| Ok(row.get("job_id")?))
        };
        self.engine.read(read).await
    }

    async fn jobs_named(&self, names: Option<&[String]>) -> Result<Vec<JobState>> {
        let names = names.map(<[String]>::to_vec);
        let read = move |tx: &Tx<'_>| {
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
        let read = move |tx: &Tx<'_>| {
            tx.rows(S::ReadDueJobs, &[("jobs", &to_json(&carried)?), ("now", &tx.now), ("limit", &limit)], job_state)
        };
        self.engine.read(read).await
    }

    async fn open_slots(&self, plan: &SlotPlan) -> Result<Opened> {
        let plan = plan.clone();
        self.engine.write(SLOT, move |tx| open_slots(tx, &plan)).await
    }

    async fn open_slots_of_jobs(&self, plans: &[SlotPlan]) -> Result<Vec<Opened>> {
        let plans = plans.to_vec();
        self.engine.write(SLOT, move |tx| open_of_jobs(tx, &plans)).await
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

    async fn tell_late_finishes(&self, limit: u32) -> Result<u32> {
        let now = self.now();
        let late = move |tx: &Tx<'_>| tx.any(S::ReadLateFinishes, &[("limit", &1), ("now", &now)]);
        // Asked with every pass, and hardly ever true: only then a write.
        if !self.engine.read(late).await? {
            return Ok(0);
        }
        self.engine.write(Verb::PLAIN, move |tx| tell_late_finishes(tx, limit)).await
    }

    async fn tell_silences(&self, limit: u32) -> Result<u32> {
        let now = self.now();
        if !self.engine.read(move |tx| tx.any(S::ReadSilences, &[("limit", &1), ("now", &now)])).await? {
            return Ok(0);
        }
        self.engine.write(Verb::PLAIN, move |tx| tell_silences(tx, limit)).await
    }

    async fn next_slot(&self, carried: &[JobId]) -> Result<Option<Moment>> {
        let carried = carried.to_vec();
        let read = move |tx: &Tx<'_>| {
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

fn rest(tx: &Tx<'_>, carried: &str) -> Outcome<Rest> {
    let next = tx.first(S::ReadNextSlot, &[("jobs", &carried)], |row| Ok(row.get("next_slot")?))?;
    let has_work = tx.any(S::ReadOpenRequests, &[("limit", &1)])?
        || tx.any(S::ReadQueuedJobs, &[("jobs", &carried)])?
        || tx.any(S::ReadClosableSteps, &[("limit", &1)])?
        || tx.any(S::ReadLateFinishes, &[("limit", &1), ("now", &tx.now)])?
        || tx.any(S::ReadSilences, &[("limit", &1), ("now", &tx.now)])?;
    Ok(Rest { now: tx.now, next_slot: next.flatten(), has_work })
}
