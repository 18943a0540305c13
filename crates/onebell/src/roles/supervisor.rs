//! The Supervisor finds what is overdue or abandoned and asks for its recovery. It cannot recover anything
//! itself: its store trait has no such verb.

use std::time::Duration;

use crate::model::ReplicaId;
use crate::model::watch::Beat;
use crate::store::{Result, SupervisorStore, Sweep};

/// At most so many requests of each kind in one pass.
const SWEEP_LIMIT: u32 = 500;
/// A run in which nothing moves for this long is asked for.
const STUCK_AFTER: Duration = Duration::from_secs(10);
/// A ready step that nobody could claim for this long is parked: time enough for a restart or a deployment.
const ABSENT_AFTER: Duration = Duration::from_secs(60);

/// Asks for everything that is overdue or abandoned: how many requests were new.
///
/// `lost`: replicas that the caller's watch found lost. `judge_time`: whether the store's clock is believed.
pub async fn pass(store: &dyn SupervisorStore, by: &ReplicaId, lost: Vec<Beat>, judge_time: bool) -> Result<u32> {
    let (stuck_after, absent_after) = (STUCK_AFTER, ABSENT_AFTER);
    store.request_recovery(&Sweep { by: by.clone(), lost, judge_time, stuck_after, absent_after, limit: SWEEP_LIMIT }).await
}
