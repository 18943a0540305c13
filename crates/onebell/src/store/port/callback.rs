use async_trait::async_trait;

use super::error::Result;
use crate::model::{Fingerprint, JobDefinition, RunId, StepId};

/// A step that somebody calls back.
#[derive(Debug, Clone, PartialEq)]
pub struct CalledStep {
    /// Its run.
    pub run: RunId,
    /// Its name; an undo's ends with `~undo`.
    pub name: String,
    /// What its run was opened with.
    pub definition: JobDefinition,
}

/// What came back for a step that had asked somebody outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewCallback {
    /// The step.
    pub step: StepId,
    /// The caller's own name for it: the same when it comes again.
    pub id: String,
    /// Of the body.
    pub fingerprint: Fingerprint,
    /// JSON text.
    pub body: String,
}

/// What became of a callback.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// It is kept for whoever holds the step.
    Kept,
    /// The same was kept before.
    Already,
    /// Something else was kept under its id, or waits for the step: that one stays.
    Conflict,
    /// The step is over, or was never begun: nobody waits for it.
    Over,
}

impl Received {
    /// What another one is beside the one that is kept.
    pub(crate) fn beside(kept: Fingerprint, other: Fingerprint) -> Self {
        if kept == other { Self::Already } else { Self::Conflict }
    }
}

/// Takes what comes back later than its request.
#[async_trait]
pub trait CallbackStore: Send + Sync {
    /// Whose callback it would be, open or over; none: no such step was ever begun, or its run was pruned.
    async fn called_step(&self, step: &StepId) -> Result<Option<CalledStep>>;

    /// Keeps a callback for a step that was begun and is not over. One waits at a time: another one is kept when an attempt has ended
    /// by the one before. Whoever calls has shown before that he may.
    async fn receive_callback(&self, callback: &NewCallback) -> Result<Received>;
}
