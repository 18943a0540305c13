//! Planning one job, and the two changes that first account for every slot up to now.

use jiff::tz::TimeZoneDatabase;

use crate::model::Moment;
use crate::model::job::JobDefinition;
use crate::model::overlap::{Origin, SkipReason};
use crate::model::schedule::{Schedule, ScheduleError, SkippedRange, next_slot, plan, skipped_range};
use crate::store::{
    Acted, Actor, JobState, Opened, PauseChange, PlannedSlot, Result, SchedulerStore, SkipRange, SlotPlan, StoreError,
};

/// The parsed schedules of a definition.
pub(super) fn schedules(
    definition: &JobDefinition,
    zones: &TimeZoneDatabase,
) -> std::result::Result<Vec<Schedule>, ScheduleError> {
    Schedule::of_job(definition, zones)
}

/// Everything that is due until `now` under the registered definition.
pub(super) fn slots_until(job: &JobState, zones: &TimeZoneDatabase, now: Moment) -> std::result::Result<SlotPlan, ScheduleError> {
    let definition = &job.definition;
    let planned = plan(&schedules(definition, zones)?, job.cursor, now, definition.missed, definition.missed_window);
    let origin = |catch_up| if catch_up { Origin::CatchUp } else { Origin::Slot };
    Ok(SlotPlan {
        job: job.id.clone(),
        version: job.version,
        cursor_seen: job.cursor,
        cursor: planned.cursor,
        next_slot: planned.next,
        open: planned.open.iter().map(|due| PlannedSlot { at: due.at, origin: origin(due.catch_up) }).collect(),
        skips: planned.skip.iter().map(recorded).collect(),
        actor: None,
    })
}

pub(super) fn recorded(skip: &SkippedRange) -> SkipRange {
    SkipRange { from: skip.from, to: skip.to, count: skip.count, reason: skip.reason.as_str().to_owned() }
}

/// Opens or skips every slot up to now under the old definition: the cursor reached, or none if somebody was faster.
pub(super) async fn account(store: &dyn SchedulerStore, zones: &TimeZoneDatabase, job: &JobState) -> Result<Option<Moment>> {
    if job.paused_at.is_some() {
        return Ok(Some(job.cursor));
    }
    let now = store.scheduler_now().await?.max(job.cursor);
    // A definition that cannot be parsed any longer names no slots: there is nothing to account for.
    let Ok(plan) = slots_until(job, zones, now) else {
        return Ok(Some(job.cursor));
    };
    Ok(match store.open_slots(&plan).await? {
        Opened::Applied { .. } => Some(plan.cursor),
        Opened::Stale | Opened::Busy | Opened::Alone => None,
    })
}

/// Pauses a job: slots from now on are not opened, and recorded as one range when it is resumed.
pub async fn pause(store: &dyn SchedulerStore, zones: &TimeZoneDatabase, name: &str, actor: &Actor) -> Result<Acted> {
    for _ in 0..100 {
        let Some(job) = the_job(store, name).await? else {
            return Ok(Acted::NotFound);
        };
        if job.paused_at.is_some() {
            return Ok(Acted::Done);
        }
        let Some(cursor) = account(store, zones, &job).await? else { continue };
        let now = store.scheduler_now().await?;
        let change = PauseChange {
            job: job.id,
            version_seen: job.version,
            cursor_seen: cursor,
            paused_at: Some(now.max(cursor)),
            cursor,
            next_slot: None,
            skip: None,
            actor: actor.clone(),
        };
        if store.set_pause(&change).await? {
            return Ok(Acted::Done);
        }
    }
    Err(StoreError::contended(format!("job {name:?} changes all the time")))
}

/// Resumes a job: what came due meanwhile is recorded as skipped, reason `paused`, and does not run.
pub async fn resume(store: &dyn SchedulerStore, zones: &TimeZoneDatabase, name: &str, actor: &Actor) -> Result<Acted> {
    for _ in 0..100 {
        let Some(job) = the_job(store, name).await? else {
            return Ok(Acted::NotFound);
        };
        if job.paused_at.is_none() {
            return Ok(Acted::Done);
        }
        let now = store.scheduler_now().await?.max(job.cursor);
        let schedules = schedules(&job.definition, zones).map_err(|error| StoreError::broken(error.to_string()))?;
        let change = PauseChange {
            job: job.id,
            version_seen: job.version,
            cursor_seen: job.cursor,
            paused_at: None,
            cursor: now,
            next_slot: next_slot(&schedules, now).map(|slot| slot.at),
            skip: skipped_range(&schedules, job.cursor, now, SkipReason::Paused).as_ref().map(recorded),
            actor: actor.clone(),
        };
        if store.set_pause(&change).await? {
            return Ok(Acted::Done);
        }
    }
    Err(StoreError::contended(format!("job {name:?} changes all the time")))
}

pub(super) async fn the_job(store: &dyn SchedulerStore, name: &str) -> Result<Option<JobState>> {
    Ok(store.jobs_named(Some(&[name.to_owned()])).await?.into_iter().next())
}
