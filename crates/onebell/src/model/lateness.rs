//! When a run is too late to start, and by when it should be over. It decides; the store looks up what waits and what is open.

use std::time::Duration;

use super::alarm::{AlarmKind, Notify};
use super::job::Overlap;
use super::overlap::Origin;
use super::{JobDefinition, Moment};

/// Origins whose runs are bound to their slot. What a person asked for starts when it can.
pub const BOUND_TO_SLOT: [Origin; 2] = [Origin::Slot, Origin::CatchUp];

impl JobDefinition {
    /// Whether its slots may be opened in one transaction with those of other jobs: opening them moves no run that was there
    /// before, other than by admitting it, and counts nothing of the past.
    pub fn opens_with_others(&self) -> bool {
        let counts = self.notify.as_ref().is_some_and(Notify::counts_skips);
        self.overlap != Overlap::Replace && self.start_within.is_none() && !counts
    }

    /// Slots before this are too late to start now; none: no slot ever is.
    pub fn too_late_before(&self, now: Moment) -> Option<Moment> {
        self.start_within.map(|span| now - span)
    }

    /// Whether a run of `origin` for `slot` may not start any longer.
    pub fn is_too_late(&self, slot: Moment, origin: Origin, now: Moment) -> bool {
        BOUND_TO_SLOT.contains(&origin) && self.too_late_before(now).is_some_and(|limit| slot < limit)
    }

    /// By when a run that is opened now should be over; none: nobody wants to know. A slot's run counts from its slot, one that was
    /// asked for from the request.
    pub fn finish_by(&self, slot: Option<Moment>, origin: Origin, now: Moment) -> Option<Moment> {
        let wanted = self.notify.as_ref().is_some_and(|notify| notify.on.contains(&AlarmKind::LateFinish));
        let due = slot.filter(|_| BOUND_TO_SLOT.contains(&origin)).unwrap_or(now);
        self.finish_within.filter(|_| wanted).map(|span| due + span)
    }

    /// What is wrong with the spans.
    pub(super) fn lateness_problem(&self) -> Option<String> {
        let zero = |span: Option<Duration>| span.is_some_and(|span| span.is_zero());
        if zero(self.start_within) {
            return Some("`start_within` must be longer than zero; leave it out to start however late".to_owned());
        }
        zero(self.finish_within).then(|| "`finish_within` must be longer than zero; leave it out".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::alarm::Notify;

    const SLOT: Moment = Moment::from_micros(1_000_000_000);
    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_slot_is_too_late_only_after_its_span_and_a_request_never() {
        let job = JobDefinition { start_within: Some(MINUTE), ..JobDefinition::new("j") };
        let late = |origin, now| job.is_too_late(SLOT, origin, now);
        assert!(!late(Origin::Slot, SLOT + MINUTE), "within means within");
        assert!(late(Origin::Slot, SLOT + MINUTE * 2) && late(Origin::CatchUp, SLOT + MINUTE * 2));
        assert!(!late(Origin::Backfill, SLOT + MINUTE * 2) && !late(Origin::Request, SLOT + MINUTE * 2));
        assert!(!JobDefinition::new("j").is_too_late(SLOT, Origin::Slot, SLOT + MINUTE * 999));
    }

    #[test]
    fn a_run_is_to_be_over_a_span_after_its_slot_or_its_request_if_somebody_wants_to_know() {
        let quiet = JobDefinition { finish_within: Some(MINUTE), ..JobDefinition::new("j") };
        let mut job = quiet.clone();
        job.notify = Some(Notify::new("ops", [AlarmKind::LateFinish]));
        let now = SLOT + MINUTE * 9;
        assert_eq!(job.finish_by(Some(SLOT), Origin::CatchUp, now), Some(SLOT + MINUTE));
        assert_eq!(job.finish_by(None, Origin::Request, now), Some(now + MINUTE));
        assert_eq!(job.finish_by(Some(SLOT), Origin::Backfill, now), Some(now + MINUTE));
        assert_eq!(quiet.finish_by(Some(SLOT), Origin::Slot, now), None);
    }

    #[test]
    fn a_definition_without_these_keys_is_written_as_before_and_with_them_as_given() {
        let plain = serde_json::to_string(&JobDefinition::new("j")).unwrap();
        assert!(["start_within", "finish_within", "notify"].iter().all(|key| !plain.contains(key)), "{plain}");
        let mut job = JobDefinition { start_within: Some(MINUTE), finish_within: Some(MINUTE), ..JobDefinition::new("j") };
        job.notify = Some(Notify::new("ops", AlarmKind::ALL.iter().copied()));
        let written = serde_json::to_string(&job).unwrap();
        assert_eq!(serde_json::from_str::<JobDefinition>(&written).unwrap(), job);
    }
}
