//! The run's machine. What follows inside a run from one change is in [`advance`].

mod advance;

pub use advance::{Change, RunView, StepView, advance, undo_steps};

use super::transition::{By, Transition, next, words};

words! {
    /// Where a run stands.
    RunStatus {
        /// Opened, not admitted yet.
        Queued = "queued",
        /// Its steps may be claimed.
        Running = "running",
        /// Nothing of it moves and a step waits for a person.
        Parked = "parked",
        /// A step failed; what is running ends first.
        Failing = "failing",
        /// A person cancelled it; what is running ends first.
        Cancelling = "cancelling",
        /// Finished steps are being undone.
        Undoing = "undoing",
        /// All steps succeeded.
        Succeeded = "succeeded",
        /// Failed, and undone where declared.
        Failed = "failed",
        /// Cancelled, and undone where declared.
        Cancelled = "cancelled",
    }
}

words! {
    /// What happens to a run.
    RunEvent {
        /// The Scheduler lets it start.
        Admit = "admit",
        /// The last step succeeded.
        Succeed = "succeed",
        /// Nothing moves and a step is exhausted or held.
        Park = "park",
        /// A step failed for good.
        Fail = "fail",
        /// A person, or `overlap = "replace"`.
        Cancel = "cancel",
        /// No step runs any longer: finished steps are undone.
        Undo = "undo",
        /// Everything declared is undone after a failure, or nothing was to be.
        EndFailed = "end-failed",
        /// Everything declared is undone after a cancellation, or nothing was to be.
        EndCancelled = "end-cancelled",
        /// A parked run may go on: it waits for admission again.
        Requeue = "requeue",
        /// A parked undo goes on.
        ResumeUndo = "resume-undo",
        /// A person retries a failed run.
        Retry = "retry",
    }
}

use RunEvent as E;
use RunStatus as S;

/// The run's machine.
pub const RUN: &[Transition<RunStatus, RunEvent>] = &[
    Transition { from: &[S::Queued], event: E::Admit, to: S::Running, by: &[By::Scheduler] },
    Transition { from: &[S::Running], event: E::Succeed, to: S::Succeeded, by: &[By::Consequence] },
    Transition { from: &[S::Running, S::Undoing], event: E::Park, to: S::Parked, by: &[By::Consequence] },
    Transition { from: &[S::Running, S::Parked], event: E::Fail, to: S::Failing, by: &[By::Consequence] },
    Transition {
        from: &[S::Queued, S::Running, S::Parked],
        event: E::Cancel,
        to: S::Cancelling,
        by: &[By::Operator, By::Scheduler],
    },
    Transition { from: &[S::Failing, S::Cancelling], event: E::Undo, to: S::Undoing, by: &[By::Consequence] },
    Transition { from: &[S::Undoing], event: E::EndFailed, to: S::Failed, by: &[By::Consequence] },
    Transition { from: &[S::Undoing], event: E::EndCancelled, to: S::Cancelled, by: &[By::Consequence] },
    Transition { from: &[S::Parked], event: E::Requeue, to: S::Queued, by: &[By::Consequence] },
    Transition { from: &[S::Parked], event: E::ResumeUndo, to: S::Undoing, by: &[By::Consequence] },
    Transition { from: &[S::Failed], event: E::Retry, to: S::Queued, by: &[By::Operator] },
];

impl RunStatus {
    /// The state that `event` leads to, or nothing if the table has no such line.
    pub fn on(self, event: RunEvent) -> Option<Self> {
        next(RUN, self, event)
    }

    /// Counts for overlap.
    pub fn is_active(self) -> bool {
        matches!(self, S::Running | S::Cancelling | S::Failing | S::Undoing)
    }

    /// Nothing happens to it by itself any longer.
    pub fn is_over(self) -> bool {
        matches!(self, S::Succeeded | S::Failed | S::Cancelled)
    }
}

words! {
    /// Which end an undoing run goes to.
    RunGoal {
        /// A step failed.
        Failed = "failed",
        /// It was cancelled.
        Cancelled = "cancelled",
    }
}
