//! Watching other replicas: renewal is the watch. A replica is lost when its beat stood still over a
//! whole lease (its own or the observer's, whichever is longer) of the observer's own monotonic time, during which the observer's renewals committed.

use std::collections::BTreeMap;
use std::time::Duration;

use super::ReplicaId;

/// A replica's beat as read in the transaction that renewed the observer's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beat {
    /// Whose.
    pub replica: ReplicaId,
    /// Grows with every renewal.
    pub beat: u64,
    /// How long it may stand still, as its replica said when it started.
    pub lease: Duration,
}

/// What one observer has seen. Times are its own monotonic clock, one that counts suspension.
#[derive(Debug, Clone)]
pub struct Watch {
    lease: Duration,
    renewed_at: Option<Duration>,
    seen: BTreeMap<ReplicaId, (u64, Duration)>,
}

impl Watch {
    /// A watch that has seen nothing.
    pub fn new(lease: Duration) -> Self {
        Self { lease, renewed_at: None, seen: BTreeMap::new() }
    }

    /// A renewal committed at `now` and read `beats`: who is lost, with the beat seen.
    pub fn renewed(&mut self, now: Duration, beats: &[Beat]) -> Vec<Beat> {
        if self.renewed_at.is_some_and(|last| now.saturating_sub(last) >= self.lease) {
            self.seen.clear();
        }
        self.renewed_at = Some(now);
        let mut seen = BTreeMap::new();
        for beat in beats {
            let since = match self.seen.get(&beat.replica) {
                Some((before, since)) if *before == beat.beat => *since,
                _ => now,
            };
            seen.insert(beat.replica.clone(), (beat.beat, since));
        }
        self.seen = seen;
        // Replicas may be configured apart: nobody is judged by a shorter lease than it renews by.
        let stood_still = |beat: &&Beat| {
            let lease = self.lease.max(beat.lease);
            self.seen.get(&beat.replica).is_some_and(|(_, since)| now.saturating_sub(*since) >= lease)
        };
        beats.iter().filter(stood_still).cloned().collect()
    }

    /// A renewal failed or its outcome is unknown: the watch begins anew.
    pub fn failed(&mut self) {
        self.seen.clear();
        self.renewed_at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn beat(n: u64) -> Vec<Beat> {
        vec![Beat { replica: ReplicaId::from_text("other"), beat: n, lease: at(10) }]
    }

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn watch() -> Watch {
        Watch::new(at(10))
    }

    #[test]
    fn a_replica_is_lost_after_a_whole_lease_without_a_beat() {
        let mut watch = watch();
        for second in 0..10 {
            assert_eq!(watch.renewed(at(second), &beat(5)), []);
        }
        assert_eq!(watch.renewed(at(10), &beat(5)), beat(5));
    }

    #[test]
    fn replicas_of_different_leases_are_judged_by_the_longer_one() {
        let of = |lease: u64| vec![Beat { lease: at(lease), ..beat(5).remove(0) }];
        let lost_after = |own: u64, theirs: u64| {
            let mut watch = Watch::new(at(own));
            (0..100).find(|second| !watch.renewed(at(*second), &of(theirs)).is_empty())
        };
        assert_eq!((lost_after(10, 30), lost_after(10, 2), lost_after(10, 10)), (Some(30), Some(10), Some(10)));
    }

    #[test]
    fn one_beat_in_time_begins_its_lease_anew() {
        let mut watch = watch();
        (0..9).for_each(|second| drop(watch.renewed(at(second), &beat(5))));
        (9..19).for_each(|second| assert_eq!(watch.renewed(at(second), &beat(6)), []));
        assert_eq!(watch.renewed(at(19), &beat(6)), beat(6));
    }

    #[test]
    fn a_store_that_refuses_writes_kills_nobody() {
        let mut watch = watch();
        for second in 0..100 {
            assert_eq!(watch.renewed(at(second), &beat(5)).len(), usize::from(second == 10), "{second}");
            if second >= 10 {
                watch.failed();
            }
        }
    }

    #[test]
    fn an_observer_that_was_frozen_for_a_lease_sees_nobody_dead() {
        let mut watch = watch();
        (0..5).for_each(|second| drop(watch.renewed(at(second), &beat(5))));
        assert_eq!(watch.renewed(at(60), &beat(5)), []);
        (61..70).for_each(|second| assert_eq!(watch.renewed(at(second), &beat(5)), []));
        assert_eq!(watch.renewed(at(70), &beat(5)), beat(5));
    }
}
