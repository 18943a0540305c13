//! The batch's machine: one reading of one source, from its start to its end, over as many processes as it takes.

mod opening;
mod sorting;
mod turn;

use serde::{Deserialize, Serialize};

use super::transition::{By, Transition, next, words};

pub use opening::{Found, Opening, Wish, opening, series};
pub use sorting::{Conflict, Finding, Met, Sorted, Sorting};
pub use turn::{Span, Turn, turn};

words! {
    /// Where a batch stands.
    BatchStatus {
        /// Nobody reads it; it goes on from its checkpoint.
        Pending = "pending",
        /// A process has it until `complete_by`.
        Running = "running",
        /// Read to its end.
        Done = "done",
        /// Will not be read further, unless a person says so.
        Cancelled = "cancelled",
    }
}

words! {
    /// What happens to a batch.
    BatchEvent {
        /// A process took it.
        Claim = "claim",
        /// Its process stopped on purpose.
        GiveBack = "give-back",
        /// Its claim lapsed: whoever comes next takes it.
        Lapse = "lapse",
        /// The last chunk was committed.
        Finish = "finish",
        /// All or nothing was asked for, and all was not possible.
        Withhold = "withhold",
        /// A person ended it.
        Cancel = "cancel",
        /// A person wants it to go on.
        Resume = "resume",
    }
}

use BatchEvent as E;
use BatchStatus as S;

/// The batch's machine.
pub const BATCH: &[Transition<BatchStatus, BatchEvent>] = &[
    Transition { from: &[S::Pending], event: E::Claim, to: S::Running, by: &[By::Agent] },
    Transition { from: &[S::Running], event: E::GiveBack, to: S::Pending, by: &[By::Agent] },
    Transition { from: &[S::Running], event: E::Lapse, to: S::Pending, by: &[By::Consequence] },
    Transition { from: &[S::Running], event: E::Finish, to: S::Done, by: &[By::Agent] },
    Transition { from: &[S::Running], event: E::Withhold, to: S::Cancelled, by: &[By::Agent] },
    Transition { from: &[S::Pending, S::Running], event: E::Cancel, to: S::Cancelled, by: &[By::Operator] },
    Transition { from: &[S::Cancelled], event: E::Resume, to: S::Pending, by: &[By::Operator] },
];

impl BatchStatus {
    /// Where `event` leads, if the machine allows it.
    pub fn after(self, event: BatchEvent) -> Option<Self> {
        next(BATCH, self, event)
    }
}

words! {
    /// What became of a record.
    RecordOutcome {
        /// Its effect was written now.
        Applied = "applied",
        /// Its effect was there, with the same payload.
        Already = "already",
        /// Its identity was there with another payload: nothing changed.
        Conflict = "conflict",
        /// It could not be read, is not valid, or the user's statements refused it: no identity kept.
        Rejected = "rejected",
        /// A rule of the business said no: identity kept, never tried again.
        Failed = "failed",
    }
}

/// How many records of a batch ended how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Written now.
    pub applied: u64,
    /// Written before, with the same payload.
    pub already: u64,
    /// Refused: the same identity with another payload.
    pub conflicts: u64,
    /// Not readable or not valid.
    pub rejected: u64,
    /// The business said no.
    pub failed: u64,
}

impl Counts {
    /// So many that ended so.
    pub fn of(outcome: RecordOutcome, number: u64) -> Self {
        let mut counts = Self::default();
        *counts.ended(outcome) = number;
        counts
    }

    /// One more.
    pub fn add(&mut self, outcome: RecordOutcome) {
        *self.ended(outcome) += 1;
    }

    fn ended(&mut self, outcome: RecordOutcome) -> &mut u64 {
        match outcome {
            RecordOutcome::Applied => &mut self.applied,
            RecordOutcome::Already => &mut self.already,
            RecordOutcome::Conflict => &mut self.conflicts,
            RecordOutcome::Rejected => &mut self.rejected,
            RecordOutcome::Failed => &mut self.failed,
        }
    }

    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            applied: self.applied + other.applied,
            already: self.already + other.already,
            conflicts: self.conflicts + other.conflicts,
            rejected: self.rejected + other.rejected,
            failed: self.failed + other.failed,
        }
    }

    /// Records that want somebody's attention.
    pub fn findings(self) -> u64 {
        self.conflicts + self.rejected + self.failed
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { applied, already, conflicts, rejected, failed } = self;
        write!(f, "{applied} applied, {already} already, {conflicts} conflicts, {rejected} rejected, {failed} failed")
    }
}
