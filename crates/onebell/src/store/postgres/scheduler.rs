//! The scheduler's verbs: slots, admission, grants, closing. It never claims.

use async_trait::async_trait;
use futures_util::future::{try_join3, try_join5};

use super::columns::{int, values};
use super::error::{Failure, Outcome};
use super::transaction::{Tx, Verb};
use super::{PostgresStore, admission, alarms, delivery, grant, jobs, slots, statements as sql, together, vigils};
use crate::model::recovery::{Grant, RecoveryRequest, RequestKind, RequestStatus};
use crate::model::zone_version::Planner;
use crate::model::{JobId, Moment, ReplicaId};
use crate::store::{Defined, Definition, JobState, Opened, PauseChange, Rest, Result, SchedulerStore, SlotPlan};

const SLOT: Verb = Verb::with_points("open_slots", "slot.before_commit", "slot.after_commit");
const SLOTS: Verb = Verb::with_points("open_slots_of_jobs", "slot.before_commit", "slot.after_commit");
const GRANT: Verb = Verb::with_points("grant", "grant.before_commit", "grant.after_commit");

#[async_trait]
impl SchedulerStore for PostgresStore {
    async fn scheduler_now(&self) -> Result<Moment> {
        self.now().await
    }

    async fn rest(&self, carried: &[JobId]) -> Result<Rest> {
        self.read("rest", |tx| async move { rest(&tx, carried).await }).await
    }

    async fn newest_renewal(&self) -> Result<Option<Moment>> {
        Ok(None)
    }

    async fn planners(&self) -> Result<Vec<Planner>> {
        self.read("planners", |tx| async move { jobs::planners(&tx).await }).await
    }

    async fn carried_by(&self, replicas: &[ReplicaId], jobs: &[JobId]) -> Result<Vec<JobId>> {
        self.read("carried_by", |tx| async move { jobs::carried_by(&tx, replicas, jobs).await }).await
    }

    async fn jobs_named(&self, names: Option<&[String]>) -> Result<Vec<JobState>> {
        self.read("jobs_named", |tx| async move { jobs::named(&tx, names).await }).await
    }

    async fn define_job(&self, definition: &Definition) -> Result<Defined> {
        let define = |tx: Tx| async move { jobs::define(&tx, definition).await };
        self.transact(Verb::named("define_job"), define).await.or_else(jobs::taken).map_err(Failure::judged)
    }

    async fn due_jobs(&self, carried: &[JobId], limit: u32) -> Result<Vec<JobState>> {
        self.read("due_jobs", |tx| async move { jobs::due(&tx, carried, limit).await }).await
    }

    async fn open_slots(&self, plan: &SlotPlan) -> Result<Opened> {
        self.transact(SLOT, |tx| async move { slots::open(&tx, plan).await }).await.map_err(Failure::judged)
    }

    async fn open_slots_of_jobs(&self, plans: &[SlotPlan]) -> Result<Vec<Opened>> {
        self.transact(SLOTS, |tx| async move { together::open(&tx, plans).await }).await.map_err(Failure::judged)
    }

    async fn admit_runs(&self, carried: &[JobId], limit: u32) -> Result<u32> {
        let mut admitted = 0;
        for job in self.read("queued_jobs", |tx| async move { admission::jobs(&tx, carried).await }).await? {
            let (job, left) = (&job, limit.saturating_sub(admitted));
            if left == 0 {
                break;
            }
            admitted +=
                self.write(Verb::named("admit_runs"), |tx| async move { admission::admit_job(&tx, job, left).await }).await?;
        }
        Ok(admitted)
    }

    async fn open_requests(&self, limit: u32) -> Result<Vec<RecoveryRequest>> {
        self.read("open_requests", |tx| async move { requests(&tx, limit).await }).await
    }

    async fn grant(&self, request: &RecoveryRequest) -> Result<Grant> {
        self.write(GRANT, |tx| async move { grant::grant(&tx, request).await }).await
    }

    async fn close_deliveries(&self, limit: u32) -> Result<u32> {
        let limit = int(limit);
        let mut closed = 0;
        for (run, steps) in &self.read("closable_steps", |tx| async move { delivery::closable(&tx, limit).await }).await? {
            let close = |tx: Tx| async move { delivery::close(&tx, run, steps).await };
            closed += self.write(Verb::named("close_deliveries"), close).await?;
        }
        Ok(closed)
    }

    async fn tell_late_finishes(&self, limit: u32) -> Result<u32> {
        let late = &self.read("late_finishes", |tx| async move { alarms::late_finishes(&tx, limit).await }).await?;
        if late.is_empty() {
            return Ok(0);
        }
        let tell = |tx: Tx| async move { alarms::tell_late_finishes(&tx, late).await };
        self.write(Verb::named("tell_late_finishes"), tell).await
    }

    async fn tell_silences(&self, limit: u32) -> Result<u32> {
        let due = &self.read("silences", |tx| async move { vigils::due(&tx, limit).await }).await?;
        if due.is_empty() {
            return Ok(0);
        }
        self.write(Verb::named("tell_silences"), |tx| async move { vigils::tell(&tx, due).await }).await
    }

    async fn next_slot(&self, carried: &[JobId]) -> Result<Option<Moment>> {
        self.read("next_slot", |tx| async move { jobs::next_slot(&tx, carried).await }).await
    }

    async fn set_pause(&self, change: &PauseChange) -> Result<bool> {
        self.write(Verb::named("set_pause"), |tx| async move { jobs::set_pause(&tx, change).await }).await
    }
}

/// All of it in one flight.
async fn rest(tx: &Tx, carried: &[JobId]) -> Outcome<Rest> {
    let (clock, late, silent) = (tx.now(), alarms::late_finishes(tx, 1), vigils::due(tx, 1));
    let (asked, closable, queued) = (requests(tx, 1), delivery::closable(tx, 1), admission::jobs(tx, carried));
    let work = try_join5(asked, closable, queued, late, silent);
    let (now, next_slot, (asked, closable, queued, late, silent)) = try_join3(clock, jobs::next_slot(tx, carried), work).await?;
    let has_work = !(asked.is_empty() && closable.is_empty() && queued.is_empty() && late.is_empty() && silent.is_empty());
    Ok(Rest { now, next_slot, has_work })
}

async fn requests(tx: &Tx, limit: u32) -> Outcome<Vec<RecoveryRequest>> {
    let limit = int(limit);
    tx.rows(&sql::READ_OPEN_REQUESTS, values![limit]).await?.iter().map(request).collect()
}

/// A request as it was written.
pub(super) fn request(row: &super::columns::Record) -> Outcome<RecoveryRequest> {
    Ok(RecoveryRequest {
        kind: row.word("kind", RequestKind::from_word)?,
        id: row.get("id")?,
        attempt: row.number("attempt")?,
        requested_by: ReplicaId::from_text(row.get::<&str>("requested_by")?),
        requested_at: row.moment("requested_at")?,
        reason: row.get("reason")?,
        status: row.word("status", RequestStatus::from_word)?,
        granted_at: row.moment_opt("granted_at")?,
    })
}
