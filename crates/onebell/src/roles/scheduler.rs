//! The Scheduler opens runs for due slots, decides recovery requests, admits queued runs and closes
//! deliveries. It never claims or runs a step.

mod backfill;
mod open;
mod plan;
mod register;
mod restored;
mod rules;

use std::time::Duration;

pub use backfill::{BACKFILL_MAX, Backfilled, backfill};
pub use plan::{pause, resume};
pub use register::{Carried, RegisterError, register};
pub use restored::skip_restored;
pub use rules::Rules;

use crate::model::recovery::Grant;
use crate::model::zone_version::Left;
use crate::model::{JobId, Moment};
use crate::store::{Result, SchedulerStore};

/// Bounds of one pass.
const LIMIT: u32 = 200;

/// What one pass did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Jobs planned.
    pub planned: u32,
    /// Runs opened.
    pub opened: u32,
    /// Slots recorded as skipped by overlap.
    pub skipped: u32,
    /// Plans that another scheduler had carried out first.
    pub stale: u32,
    /// Due jobs that were left to a replica with newer time-zone data.
    pub left: u32,
    /// The newest version of a live replica, when it is newer than ours; looked up when something is due.
    pub newer_zones: Option<String>,
    /// Recovery requests granted.
    pub granted: u32,
    /// Runs admitted.
    pub admitted: u32,
    /// Delivering steps closed.
    pub closed: u32,
    /// Runs found that are not over in time.
    pub late: u32,
    /// Jobs looked at, whose silence was due.
    pub silent: u32,
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

    /// How long there is nothing to plan, at most `poll`. What is due and was not planned now is looked at again after `poll`.
    pub fn until_next(&self, poll: Duration) -> Duration {
        match self.next_slot {
            Some(slot) if slot > self.now => slot.since(self.now).min(poll),
            Some(_) if self.planned + self.stale > 0 => Duration::ZERO,
            _ => poll,
        }
    }
}

/// One look at everything that the Scheduler decides. `opens`: whether the store's clock is believed enough to open
/// slots. A job that cannot be planned is logged and does not stop the others. `left` is what earlier passes left to others.
pub async fn pass(
    store: &dyn SchedulerStore,
    rules: &Rules<'_>,
    left: &mut Left,
    carried: &[JobId],
    opens: bool,
) -> Result<Report> {
    let rest = store.rest(carried).await?;
    if rest.is_quiet() {
        // Nothing is due: nothing is left to anybody.
        *left = Left::default();
        return Ok(Report { next_slot: rest.next_slot, now: rest.now, ..Report::default() });
    }
    let mut report = Report { granted: grant_requests(store).await?, ..Report::default() };
    report.now = store.scheduler_now().await?;
    if opens {
        open::due(store, rules, left, carried, &mut report).await?;
        // By a clock that is not believed, everything would be overdue.
        report.silent = store.tell_silences(LIMIT).await?;
    }
    report.closed = store.close_deliveries(LIMIT).await?;
    report.admitted = store.admit_runs(carried, LIMIT).await?;
    report.late = store.tell_late_finishes(LIMIT).await?;
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
