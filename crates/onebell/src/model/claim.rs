//! Proofs of ownership. Only a store hands them out: a write without one does not compile.

use super::{ReplicaId, RunId, StepId};

/// One agent's claim on a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    step: StepId,
    run: RunId,
    attempt: u64,
    replica: ReplicaId,
}

impl Claim {
    pub(crate) fn issued(step: StepId, run: RunId, attempt: u64, replica: ReplicaId) -> Self {
        Self { step, run, attempt, replica }
    }

    /// The step.
    pub fn step(&self) -> &StepId {
        &self.step
    }

    /// Its run.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// The fence: it only grows for the life of the step.
    pub fn attempt(&self) -> u64 {
        self.attempt
    }

    /// The owner.
    pub fn replica(&self) -> &ReplicaId {
        &self.replica
    }
}

/// One relay's claim on a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageClaim {
    key: String,
    attempt: u64,
    replica: ReplicaId,
}

impl MessageClaim {
    pub(crate) fn issued(key: String, attempt: u64, replica: ReplicaId) -> Self {
        Self { key, attempt, replica }
    }

    /// The message.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The fence.
    pub fn attempt(&self) -> u64 {
        self.attempt
    }

    /// The owner.
    pub fn replica(&self) -> &ReplicaId {
        &self.replica
    }
}

/// One process's claim on a batch; with the step's own claim, when a step reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchClaim {
    batch: String,
    attempt: u64,
    step: Option<Claim>,
}

impl BatchClaim {
    pub(crate) fn issued(batch: String, attempt: u64, step: Option<Claim>) -> Self {
        Self { batch, attempt, step }
    }

    /// The batch.
    pub fn batch(&self) -> &str {
        &self.batch
    }

    /// The fence: it grows whenever somebody takes the batch up.
    pub fn attempt(&self) -> u64 {
        self.attempt
    }

    /// The step that reads it, which must still be ours as well.
    pub fn step(&self) -> Option<&Claim> {
        self.step.as_ref()
    }
}

/// One leader's period over a duty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Term {
    duty: String,
    holder: ReplicaId,
    epoch: u64,
}

impl Term {
    pub(crate) fn issued(duty: String, holder: ReplicaId, epoch: u64) -> Self {
        Self { duty, holder, epoch }
    }

    /// The duty.
    pub fn duty(&self) -> &str {
        &self.duty
    }

    /// The leader.
    pub fn holder(&self) -> &ReplicaId {
        &self.holder
    }

    /// The fence: it grows with every new period.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }
}
