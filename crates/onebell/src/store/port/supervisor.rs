use async_trait::async_trait;

use super::error::Result;
use crate::model::watch::Beat;
use crate::model::{Moment, ReplicaId};

/// One look over every non-terminal state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sweep {
    /// Who looks.
    pub by: ReplicaId,
    /// Replicas that the watch found lost, with the beat seen.
    pub lost: Vec<Beat>,
    /// Whether the store's clock is trusted to judge `complete_by` (false just after it jumped).
    pub judge_time: bool,
    /// A run in which nothing moves is asked for when it stood so for this long.
    pub stuck_after: std::time::Duration,
    /// A step that no live replica carried for this long is asked for.
    pub absent_after: std::time::Duration,
    /// At most so many requests of each kind.
    pub limit: u32,
}

/// Only asks. It has no verb that executes or resets anything.
#[async_trait]
pub trait SupervisorStore: Send + Sync {
    /// The store's clock.
    async fn supervisor_now(&self) -> Result<Moment>;

    /// Writes recovery requests (`ON CONFLICT DO NOTHING`) for: the lost replicas; running steps and claimed or sending
    /// messages past `complete_by` (if time is judged) or whose owner is not live; messages `in_doubt` under policy
    /// `resend`; runs running, failing, cancelling or undoing in which no step is pending, running, delivering, and queued
    /// runs of jobs without an active run, unchanged for `stuck_after`; runs with a ready step whose job, handler or queue
    /// no live replica has carried for `absent_after`, or with one held for that which is carried again. Returns how many
    /// were new.
    async fn request_recovery(&self, sweep: &Sweep) -> Result<u32>;
}
