use async_trait::async_trait;
use onebell::model::recovery::{Grant, RecoveryRequest};
use onebell::model::zone_version::Planner;
use onebell::model::{JobId, Moment, ReplicaId};
use onebell::store::{Defined, Definition, JobState, Opened, PauseChange, Rest, Result, SchedulerStore, SlotPlan};

use super::{FaultyStore, other};
use crate::call::{Detail, Port};

#[async_trait]
impl SchedulerStore for FaultyStore {
    async fn scheduler_now(&self) -> Result<Moment> {
        self.reading("scheduler_now", self.ground.store().scheduler_now()).await
    }

    async fn rest(&self, carried: &[JobId]) -> Result<Rest> {
        self.reading("rest", self.ground.store().rest(carried)).await
    }

    async fn newest_renewal(&self) -> Result<Option<Moment>> {
        self.reading("newest_renewal", self.ground.store().newest_renewal()).await
    }

    async fn planners(&self) -> Result<Vec<Planner>> {
        self.reading("planners", self.ground.store().planners()).await
    }

    async fn carried_by(&self, replicas: &[ReplicaId], jobs: &[JobId]) -> Result<Vec<JobId>> {
        self.reading("carried_by", self.ground.store().carried_by(replicas, jobs)).await
    }

    async fn jobs_named(&self, names: Option<&[String]>) -> Result<Vec<JobState>> {
        self.reading("jobs_named", self.ground.store().jobs_named(names)).await
    }

    async fn define_job(&self, definition: &Definition) -> Result<Defined> {
        self.ground.inner().shadow.definitions.insert(definition.hash.clone(), definition.definition.clone());
        self.through("define_job", Port::Scheduler, self.ground.store().define_job(definition), other).await
    }

    async fn due_jobs(&self, carried: &[JobId], limit: u32) -> Result<Vec<JobState>> {
        self.reading("due_jobs", self.ground.store().due_jobs(carried, limit)).await
    }

    async fn open_slots(&self, plan: &SlotPlan) -> Result<Opened> {
        let detail = |answer: &Opened| Detail::SlotsOpened { plan: plan.clone(), answer: *answer };
        self.through("open_slots", Port::Scheduler, self.ground.store().open_slots(plan), detail).await
    }

    async fn open_slots_of_jobs(&self, plans: &[SlotPlan]) -> Result<Vec<Opened>> {
        self.through("open_slots_of_jobs", Port::Scheduler, self.ground.store().open_slots_of_jobs(plans), other).await
    }

    async fn admit_runs(&self, carried: &[JobId], limit: u32) -> Result<u32> {
        self.through("admit_runs", Port::Scheduler, self.ground.store().admit_runs(carried, limit), other).await
    }

    async fn tell_late_finishes(&self, limit: u32) -> Result<u32> {
        self.through("tell_late_finishes", Port::Scheduler, self.ground.store().tell_late_finishes(limit), other).await
    }

    async fn tell_silences(&self, limit: u32) -> Result<u32> {
        self.through("tell_silences", Port::Scheduler, self.ground.store().tell_silences(limit), other).await
    }

    async fn open_requests(&self, limit: u32) -> Result<Vec<RecoveryRequest>> {
        self.reading("open_requests", self.ground.store().open_requests(limit)).await
    }

    async fn grant(&self, request: &RecoveryRequest) -> Result<Grant> {
        let detail = |answer: &Grant| Detail::Granted { request: request.clone(), answer: *answer };
        self.through("grant", Port::Scheduler, self.ground.store().grant(request), detail).await
    }

    async fn close_deliveries(&self, limit: u32) -> Result<u32> {
        self.through("close_deliveries", Port::Scheduler, self.ground.store().close_deliveries(limit), other).await
    }

    async fn next_slot(&self, carried: &[JobId]) -> Result<Option<Moment>> {
        self.reading("next_slot", self.ground.store().next_slot(carried)).await
    }

    async fn set_pause(&self, change: &PauseChange) -> Result<bool> {
        self.through("set_pause", Port::Scheduler, self.ground.store().set_pause(change), other).await
    }
}
