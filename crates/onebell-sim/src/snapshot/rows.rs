//! Rows with the columns that the checks look at.

use super::table::{Cells, Row};

macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty = $read:ident),+ $(,)? })+) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the fields are the columns of the table")]
        pub struct $name { $(pub $field: $type),+ }

        impl Row for $name {
            fn of(cells: &Cells) -> Self {
                let mut at = 0;
                let mut next = || { at += 1; at - 1 };
                Self { $($field: cells.$read(next())),+ }
            }
        }
    )+};
}

rows! {
    /// A run.
    RunRow {
        job: String = text, version: i64 = int, slot: Option<i64> = opt_int, origin: String = text, status: String = text,
        goal: Option<String> = opt_text, created_at: i64 = int, finished_at: Option<i64> = opt_int, changed_at: i64 = int,
        finish_by: Option<i64> = opt_int,
    }
    /// A step that is not done.
    StepRow {
        run: String = text, job: String = text, name: String = text, after: String = text, rank: i64 = int,
        undoable: bool = yes, status: String = text, ready_at: i64 = int, attempt: i64 = int, tries: i64 = int,
        budget: i64 = int, within_us: Option<i64> = opt_int, alone: bool = yes, first_claimed_at: Option<i64> = opt_int,
        locked_by: Option<String> = opt_text, claimed_at: Option<i64> = opt_int, started_at: Option<i64> = opt_int,
        complete_by: Option<i64> = opt_int, hard_complete_by: Option<i64> = opt_int, on_lost: String = text,
        timeout_us: i64 = int, priority: i64 = int, changed_at: i64 = int, handler: String = text, queue: String = text,
        uncarried: bool = yes,
    }
    /// A finished attempt.
    AttemptRow {
        step: String = text, attempt: i64 = int, run: String = text, name: String = text, last: Option<String> = opt_text,
        outcome: String = text, replica: Option<String> = opt_text, started_at: Option<i64> = opt_int, tries: i64 = int,
        rank: i64 = int, undoable: bool = yes, ended_at: i64 = int, began_at: Option<i64> = opt_int,
    }
    /// A message.
    MessageRow {
        channel: String = text, fingerprint: String = text, on_in_doubt: String = text, run: Option<String> = opt_text,
        step: Option<String> = opt_text, status: String = text, ready_at: i64 = int, attempt: i64 = int, tries: i64 = int,
        budget: i64 = int, locked_by: Option<String> = opt_text, complete_by: Option<i64> = opt_int,
        sending_at: Option<i64> = opt_int, resent: bool = yes, run_gone: bool = yes, settled_by: Option<String> = opt_text,
        dropped_by: Option<String> = opt_text, finished_at: Option<i64> = opt_int, changed_at: i64 = int,
    }
    /// An effect.
    EffectRow {
        scope: String = text, key: String = text, fingerprint: String = text, amount: Option<i64> = opt_int,
        payload: String = text, step: Option<String> = opt_text, batch: Option<String> = opt_text,
        failed: Option<String> = opt_text,
    }
    /// A reading of a source.
    BatchRow {
        series: String = text, generation: i64 = int, scope: String = text, source: String = text, identity: String = text,
        status: String = text, atomic: i64 = int, attempt: i64 = int, locked_by: Option<String> = opt_text,
        complete_by: Option<i64> = opt_int, timeout_us: i64 = int, byte: Option<i64> = opt_int, line: Option<i64> = opt_int, prefix: Option<String> = opt_text,
        applied: i64 = int, already: i64 = int, conflicts: i64 = int, rejected: i64 = int, failed: i64 = int,
    }
    /// What a reading found.
    FindingRow { batch: String = text, byte: i64 = int, outcome: String = text, identity: Option<String> = opt_text }
    /// A row that the statements over a chunk wrote.
    LoadRow { scope: String = text, key: String = text, amount: i64 = int, times: i64 = int }
    /// A row that a step's own statement wrote.
    WorkRow { step: String = text, attempt: i64 = int, times: i64 = int }
    /// A recovery request.
    RequestRow {
        kind: String = text, id: String = text, attempt: i64 = int, status: String = text, requested_at: i64 = int,
    }
    /// A job.
    JobRow {
        version: i64 = int, hash: String = text, cursor: i64 = int, next_slot: Option<i64> = opt_int,
        pruned_before: Option<i64> = opt_int, paused_at: Option<i64> = opt_int, anchor_s: i64 = int,
    }
    /// Slots that did not run.
    SkipRow { job: String = text, from: i64 = int, to: i64 = int, count: Option<i64> = opt_int, reason: String = text, recorded_at: i64 = int }
    /// What is kept of a job that somebody watches.
    VigilRow {
        within_us: Option<i64> = opt_int, since: i64 = int, succeeded_at: Option<i64> = opt_int, expect_by: Option<i64> = opt_int,
        failures: i64 = int,
    }
    /// A request key.
    KeyRow { fingerprint: String = text, job: String = text, run: String = text, created_at: i64 = int }
    /// A result that came too late.
    LateRow { step: String = text, attempt: i64 = int, replica: String = text }
    /// A replica.
    ReplicaRow { beat: i64 = int, lost_at: Option<i64> = opt_int, left_at: Option<i64> = opt_int, jobs: String = text }
    /// A term.
    TermRow { holder: String = text, epoch: i64 = int, expires_at: i64 = int }
}

impl ReplicaRow {
    /// Neither lost nor left.
    pub fn is_live(&self) -> bool {
        self.lost_at.is_none() && self.left_at.is_none()
    }
}

impl VigilRow {
    /// Its silence was told.
    pub fn is_silent(&self) -> bool {
        self.within_us.is_some() && self.expect_by.is_none()
    }
}

impl BatchRow {
    /// For a trace.
    pub fn stands(&self) -> String {
        let by = self.locked_by.as_deref().unwrap_or("nobody");
        format!("{} #{} by {by} at {} {:?}", self.status, self.attempt, self.byte.unwrap_or(-1), self.counts())
    }

    /// Applied, already, conflicts, rejected, failed.
    pub fn counts(&self) -> [i64; 5] {
        [self.applied, self.already, self.conflicts, self.rejected, self.failed]
    }

    /// It is not over.
    pub fn is_open(&self) -> bool {
        matches!(self.status.as_str(), "pending" | "running")
    }
}

impl StepRow {
    /// It undoes another step.
    pub fn is_undo(&self) -> bool {
        self.name.ends_with("~undo")
    }
}
