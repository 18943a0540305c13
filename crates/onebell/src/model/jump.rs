//! A store clock that jumps ahead is not believed at once: it must hold for a lease first.

use std::time::Duration;

use super::Moment;

/// A jump larger than this is doubted.
const TOLERANCE: Duration = Duration::from_secs(60);

/// Compares the store's clock with a monotonic one that counts suspension.
#[derive(Debug, Clone)]
pub struct JumpGuard {
    lease: Duration,
    last: Option<(Moment, Duration)>,
    doubted_since: Option<Duration>,
}

impl JumpGuard {
    /// Knows nothing yet: the first look is believed.
    pub fn new(lease: Duration) -> Self {
        Self { lease, last: None, doubted_since: None }
    }

    /// Whether the store's `now` may open slots and judge deadlines, seen at `elapsed` of the monotonic clock.
    pub fn believes(&mut self, now: Moment, elapsed: Duration) -> bool {
        if let Some((before, at)) = self.last.replace((now, elapsed)) {
            let ran = now.since(before);
            let passed = elapsed.saturating_sub(at);
            if ran > passed + TOLERANCE {
                self.doubted_since = Some(elapsed);
            } else if now < before {
                self.doubted_since = None;
            }
        }
        match self.doubted_since {
            Some(since) if elapsed.saturating_sub(since) < self.lease => false,
            _ => {
                self.doubted_since = None;
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> (Moment, Duration) {
        (Moment::from_micros(1_800_000_000_000_000) + Duration::from_secs(seconds), Duration::from_secs(seconds))
    }

    #[test]
    fn a_clock_that_keeps_time_is_believed_also_over_a_suspension() {
        let mut guard = JumpGuard::new(Duration::from_secs(10));
        for seconds in [0, 1, 2, 4000] {
            let (now, elapsed) = at(seconds);
            assert!(guard.believes(now, elapsed));
        }
    }

    #[test]
    fn a_jump_ahead_is_believed_only_after_it_held_for_a_lease() {
        let mut guard = JumpGuard::new(Duration::from_secs(10));
        assert!(guard.believes(at(0).0, at(0).1));
        for seconds in 1..11 {
            assert!(!guard.believes(at(seconds).0 + Duration::from_secs(3600), at(seconds).1), "{seconds}");
        }
        assert!(guard.believes(at(11).0 + Duration::from_secs(3600), at(11).1));
    }

    #[test]
    fn a_jump_that_is_taken_back_is_forgotten() {
        let mut guard = JumpGuard::new(Duration::from_secs(10));
        assert!(guard.believes(at(0).0, at(0).1));
        assert!(!guard.believes(at(1).0 + Duration::from_secs(3600), at(1).1));
        assert!(guard.believes(at(2).0, at(2).1));
    }
}
