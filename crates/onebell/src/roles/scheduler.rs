//! The Scheduler opens runs for due slots, decides recovery requests, admits queued runs and closes
//! deliveries. It never claims or runs a step.

mod plan;
mod register;

use jiff::tz::TimeZoneDatabase;

pub use plan::{pause, resume};
pub use register::{Carried, RegisterError, register};

use crate::model::recovery::Grant;
use crate::model::{JobId, Moment};
use crate::store::{Opened, Result, SchedulerStore};

/// Bounds of one pass.
const LIMIT: u32 = 200;

/// What one pass did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Runs opened.
    pub opened: u32,
    /// Slots recorded as skipped by overlap.
    pub skipped: u32,
    /// Plans that another scheduler had carried out first.
    pub stale: u32,
    /// Recovery requests granted.
    pub granted: u32,
    /// Runs admitted.
    pub admitted: u32,
    /// Delivering steps closed.
    pub closed: u32,
    /// The next known slot of the carried jobs.
    pub next_slot: Option<Moment>,
    /// The store's now, as the pass saw it.
    pub now: Moment,
}

impl Report {
    /// Whether something may have become claimable.
    pub fn moved(&self) -> bool {
        self.opened + self.granted + self.admitted + self.closed > 0
    }
}

/// One look at everything that the Scheduler decides. `opens`: whether the store's clock is believed enough to open
/// slots. A job that cannot be planned is logged and does not stop the others.
pub async fn pass(store: &dyn SchedulerStore, zones: &TimeZoneDatabase, carried: &[JobId], opens: bool) -> Result<Report> {
    let mut report = Report { granted: grant_requests(store).await?, ..Report::default() };
    report.now = store.scheduler_now().await?;
    if opens {
        open_due(store, zones, carried, &mut report).await?;
    }
    report.closed = store.close_deliveries(LIMIT).await?;
    report.admitted = store.admit_runs(carried, LIMIT).await?;
    report.next_slot = store.next_slot(carried).await?;
    Ok(report)
}

async fn grant_requests(store: &dyn SchedulerStore) -> Result<u32> {
    let mut granted = 0;
    for request in store.open_requests(LIMIT).await? {
        match store.grant(&request).await {
            Ok(Grant::Granted { moved }) => {
                tracing::info!(kind = %request.kind, id = request.id, attempt = request.attempt, moved, reason = request.reason, "recovery granted");
                granted += 1;
            }
            Ok(Grant::Refused) => tracing::debug!(kind = %request.kind, id = request.id, "recovery refused: it had moved on"),
            Err(error) if error.is_passing() => return Err(error),
            Err(error) => tracing::error!(kind = %request.kind, id = request.id, %error, "recovery could not be decided"),
        }
    }
    Ok(granted)
}

async fn open_due(store: &dyn SchedulerStore, zones: &TimeZoneDatabase, carried: &[JobId], report: &mut Report) -> Result<()> {
    for job in store.due_jobs(carried, LIMIT).await? {
        let plan = match plan::slots_until(&job, zones, report.now) {
            Ok(plan) => plan,
            Err(error) => {
                tracing::error!(job = job.definition.name, %error, "the job cannot be planned; the others go on");
                continue;
            }
        };
        match store.open_slots(&plan).await {
            Ok(Opened::Applied { opened, skipped }) => {
                report.opened += opened;
                report.skipped += skipped;
            }
            Ok(Opened::Stale) => report.stale += 1,
            Err(error) if error.is_passing() => return Err(error),
            Err(error) => tracing::error!(job = job.definition.name, %error, "slots could not be opened; the other jobs go on"),
        }
    }
    Ok(())
}
