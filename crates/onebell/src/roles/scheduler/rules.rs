//! By what a scheduler plans, and what it leaves to one that has newer time-zone rules.

use std::time::Duration;

use jiff::tz::TimeZoneDatabase;

use crate::model::zone_version::{Left, Planner, newer};
use crate::model::{JobId, Moment, ReplicaId};
use crate::store::{JobState, Result, SchedulerStore};

/// Who plans, by which time-zone rules.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// To look zones up in.
    pub zones: &'a TimeZoneDatabase,
    /// Such as `2026f`.
    pub version: &'a str,
    /// How long a due job is left to a replica with newer rules.
    pub patience: Duration,
    /// The replica that plans: where it begins when several plan at once (`model::turn`). None begins at the front.
    pub replica: Option<&'a ReplicaId>,
}

/// What is left to others in one pass.
#[derive(Debug, Default)]
pub(super) struct Elsewhere {
    /// The newest version of a live replica, when it is newer than ours.
    pub(super) newest: Option<String>,
    /// These jobs are planned by it.
    pub(super) jobs: Vec<JobId>,
    /// All live replicas that plan.
    pub(super) planners: Vec<Planner>,
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
    let planners = if due.is_empty() { Vec::new() } else { store.planners().await? };
    let (newest, carried) = carried_by_newer(store, rules, &planners, &due).await?;
    Ok(Elsewhere { newest, jobs: left.of(&due, &carried, now, rules.patience), planners })
}

/// The newest version of a live replica with newer rules, and which of `jobs` such ones carry.
pub(super) async fn carried_by_newer(
    store: &dyn SchedulerStore,
    rules: &Rules<'_>,
    planners: &[Planner],
    jobs: &[JobId],
) -> Result<(Option<String>, Vec<JobId>)> {
    let (newer, newest) = newer(rules.version, planners);
    if newer.is_empty() {
        return Ok((None, Vec::new()));
    }
    let replicas: Vec<_> = newer.iter().map(|planner| planner.replica.clone()).collect();
    let carried = store.carried_by(&replicas, jobs).await?;
    Ok((newest.map(str::to_owned), carried))
}
