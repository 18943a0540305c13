//! Which time-zone rules a scheduler plans by, and what it leaves to one that has newer ones.

use std::time::Duration;

use jiff::tz::TimeZoneDatabase;

use crate::model::zone_version::{Left, newer};
use crate::model::{JobId, Moment};
use crate::store::{JobState, Result, SchedulerStore};

/// Time-zone rules, and their version.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// To look zones up in.
    pub zones: &'a TimeZoneDatabase,
    /// Such as `2026f`.
    pub version: &'a str,
    /// How long a due job is left to a replica with newer rules.
    pub patience: Duration,
}

/// What is left to others in one pass.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    /// The newest version of a live replica, when it is newer than ours.
    pub(super) newest: Option<String>,
    /// These jobs are planned by it.
    pub(super) jobs: Vec<JobId>,
}

/// Due jobs that a live replica with newer rules carries, as long as it is given the time.
pub(super) async fn elsewhere(
    store: &dyn SchedulerStore,
    rules: &Rules<'_>,
    left: &mut Left,
    due: &[JobState],
    now: Moment,
) -> Result<Elsewhere> {
    let due: Vec<JobId> = due.iter().map(|job| job.id.clone()).collect();
    let (newest, carried) = if due.is_empty() { (None, Vec::new()) } else { carried_by_newer(store, rules, &due).await? };
    Ok(Elsewhere { newest, jobs: left.of(&due, &carried, now, rules.patience) })
}

/// The newest version of a live replica with newer rules, and which of `jobs` such ones carry.
pub(super) async fn carried_by_newer(
    store: &dyn SchedulerStore,
    rules: &Rules<'_>,
    jobs: &[JobId],
) -> Result<(Option<String>, Vec<JobId>)> {
    let planners = store.planners().await?;
    let (newer, newest) = newer(rules.version, &planners);
    if newer.is_empty() {
        return Ok((None, Vec::new()));
    }
    let replicas: Vec<_> = newer.iter().map(|planner| planner.replica.clone()).collect();
    let carried = store.carried_by(&replicas, jobs).await?;
    Ok((newest.map(str::to_owned), carried))
}
