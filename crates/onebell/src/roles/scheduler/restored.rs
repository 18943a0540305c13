//! After a restore: slots that came due after the point that was restored may have run.

use jiff::tz::TimeZoneDatabase;

use super::plan::{recorded, schedules, the_job};
use crate::model::overlap::SkipReason;
use crate::model::schedule::{next_slot, skipped_range};
use crate::store::{JobState, Opened, Result, SchedulerStore, SkipRange, SlotPlan, StoreError};

/// Records what came due and was not opened as skipped, reason `restored`: whoever knows that it did not run asks for it with a
/// backfill. Nothing of a job that is paused: what came due in a pause is skipped anyway. Returns what was skipped, job by job.
pub async fn skip_restored(store: &dyn SchedulerStore, zones: &TimeZoneDatabase) -> Result<Vec<(String, SkipRange)>> {
    let mut skipped = Vec::new();
    for job in store.jobs_named(None).await? {
        let name = job.definition.name.clone();
        skipped.extend(skip(store, zones, job).await?.map(|range| (name, range)));
    }
    Ok(skipped)
}

async fn skip(store: &dyn SchedulerStore, zones: &TimeZoneDatabase, job: JobState) -> Result<Option<SkipRange>> {
    let name = job.definition.name.clone();
    let mut seen = Some(job);
    for _ in 0..100 {
        let Some(job) = seen.filter(|job| job.paused_at.is_none()) else { return Ok(None) };
        // A definition that cannot be parsed any longer names no slots.
        let Ok(schedules) = schedules(&job.definition, zones) else { return Ok(None) };
        let now = store.scheduler_now().await?.max(job.cursor);
        let Some(range) = skipped_range(&schedules, job.cursor, now, SkipReason::Restored) else { return Ok(None) };
        let range = recorded(&range);
        let plan = SlotPlan {
            job: job.id,
            version: job.version,
            cursor_seen: job.cursor,
            cursor: now,
            next_slot: next_slot(&schedules, now).map(|slot| slot.at),
            open: Vec::new(),
            skips: vec![range.clone()],
            actor: None,
        };
        if matches!(store.open_slots(&plan).await?, Opened::Applied { .. }) {
            return Ok(Some(range));
        }
        seen = the_job(store, &name).await?;
    }
    Err(StoreError::contended(format!("job {name:?} changes all the time")))
}
