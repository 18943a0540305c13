//! What the history says of the jobs' limits, for `check` and `doctor`.

use std::time::Duration;

use onebell::model::schedule::{Schedule, next_slot};
use onebell::model::times::{TimeAdvice, advice};
use onebell::model::{JobDefinition, Moment};
use onebell::replica::ZoneData;
use onebell::store::{SEEN_JOBS_MAX, Store, StoreError};

/// So many slots are looked at for the shortest time between two.
const SLOTS: usize = 100;

/// What should be changed in these jobs, by name; of the first of them when there are very many.
pub(super) async fn advise(store: &dyn Store, jobs: &[JobDefinition]) -> Result<Vec<(String, TimeAdvice)>, StoreError> {
    let names: Vec<String> = jobs.iter().take(SEEN_JOBS_MAX).map(|job| job.name.clone()).collect();
    let seen = store.seen_times(&names).await?;
    let now = onebell::time::host_now();
    let of_job = |job: &JobDefinition| {
        let advice = advice(job, &seen, period(job, now));
        advice.into_iter().map(|advice| (job.name.clone(), advice)).collect::<Vec<_>>()
    };
    Ok(jobs.iter().take(SEEN_JOBS_MAX).flat_map(of_job).collect())
}

/// The shortest time between two of its next slots.
fn period(job: &JobDefinition, now: Moment) -> Option<Duration> {
    let schedules = Schedule::of_job(job, ZoneData::newest().zones()).ok()?;
    let slots = std::iter::successors(next_slot(&schedules, now), |slot| next_slot(&schedules, slot.at));
    let slots: Vec<Moment> = slots.take(SLOTS).filter(|slot| slot.opens()).map(|slot| slot.at).collect();
    slots.windows(2).map(|pair| pair[1].since(pair[0])).min()
}
