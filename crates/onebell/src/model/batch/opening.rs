//! Who may read a source now: a new batch, one that goes on, or nobody yet.

use sha2::{Digest, Sha256};

use super::BatchStatus;
use crate::model::{Moment, StepId};

/// What all readings of one source in one scope have in common: part of their ids, plain ASCII.
pub fn series(scope: &str, source: &str) -> String {
    let mut hasher = Sha256::new();
    hasher.update(scope.as_bytes());
    // No key contains it.
    hasher.update([0]);
    hasher.update(source.as_bytes());
    hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The newest batch of a series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// How many readings there were, this one included.
    pub generation: u64,
    /// Where it stands.
    pub status: BatchStatus,
    /// When the claim of the process that has it lapses.
    pub complete_by: Option<Moment>,
    /// The process that has it.
    pub by: Option<String>,
    /// The step that has it, if a step has.
    pub step: Option<StepId>,
    /// How its rows become records, as JSON text.
    pub identity: String,
    /// Whether anything of it was committed.
    pub begun: bool,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Opening {
    /// A new batch of this generation; the one before, if it is open, is cancelled first.
    New {
        /// Its number in the series.
        generation: u64,
        /// The one before was unfinished.
        cancels: bool,
    },
    /// The unfinished one goes on from its checkpoint, under a new attempt.
    TakeUp,
    /// The step has read it to its end already; only its settlement was lost.
    Finished,
    /// Another process has it until then.
    Busy(Moment),
    /// It was begun with other identities: going on would mix them.
    Differs,
}

/// Who wants to read a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wish<'w> {
    /// The process.
    pub by: &'w str,
    /// The step that it does it for.
    pub step: Option<&'w StepId>,
    /// How rows become records, as JSON text.
    pub identity: &'w str,
    /// Whether an unfinished reading is given up and a new one begun.
    pub restart: bool,
}

/// Decides what a wish leads to.
pub fn opening(found: Option<&Found>, now: Moment, wish: Wish<'_>) -> Opening {
    let Some(found) = found else { return Opening::New { generation: 1, cancels: false } };
    let next = |cancels| Opening::New { generation: found.generation + 1, cancels };
    // A step's own earlier attempt has lost its fence already.
    let same_step = wish.step.is_some() && wish.step == found.step.as_ref();
    // Its own answer was lost.
    let is_ours = same_step || (wish.step.is_none() && found.step.is_none() && found.by.as_deref() == Some(wish.by));
    match found.status {
        BatchStatus::Done if same_step => Opening::Finished,
        BatchStatus::Done | BatchStatus::Cancelled => next(false),
        BatchStatus::Running if !is_ours && !has_lapsed(found, now) => Opening::Busy(found.complete_by.unwrap_or(now)),
        BatchStatus::Pending | BatchStatus::Running if wish.restart => next(true),
        // Nothing was read under the identities before: a slip of the pen binds nobody.
        BatchStatus::Pending | BatchStatus::Running if found.identity != wish.identity && !found.begun => next(true),
        BatchStatus::Pending | BatchStatus::Running if found.identity != wish.identity => Opening::Differs,
        BatchStatus::Pending | BatchStatus::Running => Opening::TakeUp,
    }
}

fn has_lapsed(found: &Found, now: Moment) -> bool {
    found.complete_by.is_none_or(|until| until <= now)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(status: BatchStatus) -> Found {
        let complete_by = (status == BatchStatus::Running).then(|| Moment::from_micros(100));
        Found {
            generation: 3,
            status,
            complete_by,
            by: Some("p".into()),
            step: Some(StepId::from_text("r.s")),
            identity: "a".into(),
            begun: true,
        }
    }

    fn decide(status: BatchStatus, now: i64, step: Option<&str>, identity: &str, restart: bool) -> Opening {
        let step = step.map(StepId::from_text);
        let wish = Wish { by: "q", step: step.as_ref(), identity, restart };
        opening(Some(&found(status)), Moment::from_micros(now), wish)
    }

    #[test]
    fn a_finished_reading_is_followed_by_a_new_one_and_an_unfinished_one_goes_on() {
        let new = |generation, cancels| Opening::New { generation, cancels };
        let wish = Wish { by: "p", step: None, identity: "a", restart: false };
        assert_eq!(opening(None, Moment::default(), wish), new(1, false));
        assert_eq!(decide(BatchStatus::Done, 0, None, "b", false), new(4, false));
        assert_eq!(decide(BatchStatus::Done, 0, Some("r.t"), "a", false), new(4, false));
        assert_eq!(decide(BatchStatus::Done, 0, Some("r.s"), "a", false), Opening::Finished);
        assert_eq!(decide(BatchStatus::Cancelled, 0, None, "a", true), new(4, false));
        assert_eq!(decide(BatchStatus::Pending, 0, None, "a", false), Opening::TakeUp);
        assert_eq!(decide(BatchStatus::Pending, 0, None, "a", true), new(4, true));
        assert_eq!(decide(BatchStatus::Pending, 0, None, "b", false), Opening::Differs);
        let nothing_read = Found { begun: false, ..found(BatchStatus::Pending) };
        let other = Wish { by: "q", step: None, identity: "b", restart: false };
        assert_eq!(opening(Some(&nothing_read), Moment::default(), other), new(4, true));
    }

    #[test]
    fn i2_a_running_batch_is_its_owners_until_its_claim_lapses() {
        let busy = Opening::Busy(Moment::from_micros(100));
        assert_eq!(decide(BatchStatus::Running, 99, None, "a", false), busy);
        assert_eq!(decide(BatchStatus::Running, 99, None, "a", true), busy, "not even to begin anew");
        assert_eq!(decide(BatchStatus::Running, 99, Some("r.t"), "a", false), busy);
        assert_eq!(decide(BatchStatus::Running, 99, Some("r.s"), "a", false), Opening::TakeUp, "its own earlier attempt");
        assert_eq!(decide(BatchStatus::Running, 100, None, "a", false), Opening::TakeUp);
        let by_itself = Found { step: None, ..found(BatchStatus::Running) };
        let wish = |by| Wish { by, step: None, identity: "a", restart: false };
        assert_eq!(opening(Some(&by_itself), Moment::default(), wish("p")), Opening::TakeUp, "the answer to it was lost");
        assert_eq!(opening(Some(&by_itself), Moment::default(), wish("q")), busy);
    }

    #[test]
    fn a_series_is_told_by_scope_and_source() {
        assert_eq!(series("a", "bc"), series("a", "bc"));
        assert_ne!(series("a", "bc"), series("ab", "c"));
        assert_eq!(series("", "").len(), 16);
    }
}
