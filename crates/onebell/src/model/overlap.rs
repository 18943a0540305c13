//! Whether a run may start beside what its job already does. Only slots are subject to the overlap
//! policy: what a person or a program asked for is never skipped.
//!
//! It decides; it does not look anything up, cancel anything or choose which queued run goes next.

use super::job::Overlap;
use super::transition::words;

words! {
    /// Why a slot was recorded as skipped.
    SkipReason {
        /// Nobody was there when it was due, and the `missed` policy opens another slot or none.
        Missed = "missed",
        /// It is older than the job's `missed_window`.
        OutsideWindow = "outside-window",
        /// Its local time did not exist, under `dst = "skip"`.
        DstGap = "dst-gap",
        /// A run was active or a slot's run was waiting.
        Overlap = "overlap",
        /// The job was paused.
        Paused = "paused",
        /// It lay on a day that the job excludes.
        Excluded = "excluded",
        /// It came due after the point that the database was restored to, and may have run then.
        Restored = "restored",
        /// It could only have started later than the job's `start_within`.
        Late = "late",
    }
}

impl SkipReason {
    /// Something was in the way. What a person asked for (a pause, an excluded day, a `dst` policy) neither counts as a skip in a
    /// row nor ends one.
    pub const fn is_trouble(self) -> bool {
        matches!(self, Self::Missed | Self::OutsideWindow | Self::Overlap | Self::Late)
    }
}

words! {
    /// Where a run comes from.
    Origin {
        /// A slot that has just come due.
        Slot = "slot",
        /// A request with a key.
        Request = "request",
        /// A missed slot, under `missed = { all = N }`.
        CatchUp = "catch_up",
        /// A slot of the past that a person asked for.
        Backfill = "backfill",
    }
}

/// What becomes of a run that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It is opened and may start at once.
    Open,
    /// It is opened and waits.
    Queue,
    /// It is not opened; the skip is recorded with this reason.
    Skip(SkipReason),
    /// What is active, and a slot's run that waits, are cancelled; it is opened and waits for their end.
    Replace,
}

/// Decides for one run of `origin` under `policy`.
///
/// `active`: a run of the job is running, cancelling, failing or undoing. `slot_waits`: a run opened
/// for a slot is queued; queued requests, catch-up and backfill runs do not count.
///
/// ```
/// use onebell::model::job::Overlap;
/// use onebell::model::overlap::{Admission, Origin, SkipReason, admit};
/// assert_eq!(admit(Overlap::Skip, true, false, Origin::Slot), Admission::Skip(SkipReason::Overlap));
/// assert_eq!(admit(Overlap::Skip, true, false, Origin::Request), Admission::Queue);
/// ```
pub const fn admit(policy: Overlap, active: bool, slot_waits: bool, origin: Origin) -> Admission {
    let busy = active || slot_waits;
    if !busy || matches!(policy, Overlap::Allow) {
        return Admission::Open;
    }
    match (origin, policy) {
        (Origin::Request | Origin::CatchUp | Origin::Backfill, _) => Admission::Queue,
        (Origin::Slot, Overlap::Queue) if !slot_waits => Admission::Queue,
        (Origin::Slot, Overlap::Replace) => Admission::Replace,
        (Origin::Slot, _) => Admission::Skip(SkipReason::Overlap),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SKIPPED: Admission = Admission::Skip(SkipReason::Overlap);

    fn slot(policy: Overlap) -> [Admission; 4] {
        [(false, false), (true, false), (false, true), (true, true)]
            .map(|(active, waits)| admit(policy, active, waits, Origin::Slot))
    }

    #[test]
    fn each_policy_decides_over_a_slot_as_its_name_says() {
        use Admission::{Open, Queue, Replace};
        assert_eq!(slot(Overlap::Skip), [Open, SKIPPED, SKIPPED, SKIPPED]);
        assert_eq!(slot(Overlap::Queue), [Open, Queue, SKIPPED, SKIPPED]);
        assert_eq!(slot(Overlap::Allow), [Open; 4]);
        assert_eq!(slot(Overlap::Replace), [Open, Replace, Replace, Replace]);
    }

    #[test]
    fn what_was_asked_for_is_never_skipped_and_replaces_nothing() {
        for &policy in Overlap::ALL {
            for origin in [Origin::Request, Origin::CatchUp, Origin::Backfill] {
                for (active, waits) in [(false, false), (true, false), (false, true), (true, true)] {
                    let admission = admit(policy, active, waits, origin);
                    assert!(matches!(admission, Admission::Open | Admission::Queue), "{policy} {origin}: {admission:?}");
                }
            }
        }
    }

    #[test]
    fn nothing_waits_for_an_idle_job() {
        for &policy in Overlap::ALL {
            for &origin in Origin::ALL {
                assert_eq!(admit(policy, false, false, origin), Admission::Open);
            }
        }
    }
}
