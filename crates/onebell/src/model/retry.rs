//! Retries: classified, bounded by tries and by time, spread by jitter.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Moment;
use super::job::micros;

/// Budget of a step or message: how often, how far apart, how long in all.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// Tries in all; the first one counts.
    pub attempts: u32,
    /// Wait after the first failed try; doubled after each further one.
    #[serde(with = "micros")]
    pub backoff_min: Duration,
    /// The wait never grows beyond this.
    #[serde(with = "micros")]
    pub backoff_max: Duration,
    /// Total time from the first claim to the last; none: only tries are counted.
    #[serde(default)]
    pub within_us: Option<u64>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { attempts: 3, backoff_min: Duration::from_secs(1), backoff_max: Duration::from_secs(60), within_us: None }
    }
}

impl RetryPolicy {
    /// One try, no retry.
    pub fn once() -> Self {
        Self { attempts: 1, ..Self::default() }
    }

    /// Total time, if bounded.
    pub fn within(&self) -> Option<Duration> {
        self.within_us.map(Duration::from_micros)
    }

    /// The wait after `tries` tries without jitter: min, 2·min, 4·min … max.
    pub fn nominal(&self, tries: u32) -> Duration {
        let doublings = tries.saturating_sub(1).min(62);
        self.backoff_min
            .checked_mul(1_u32.checked_shl(doublings).unwrap_or(u32::MAX))
            .unwrap_or(Duration::MAX)
            .min(self.backoff_max)
    }

    /// The wait after `tries` tries, between half the nominal one and the whole. `salt` (step and attempt)
    /// spreads work that failed at the same instant, and is the same when the decision is made again.
    pub fn backoff(&self, tries: u32, salt: &str) -> Duration {
        let nominal = self.nominal(tries);
        nominal / 2 + (nominal / 2).mul_f64(unit(salt))
    }

    /// Whether another try fits: tries left, and `at` within the total time since `first`.
    pub fn allows(&self, tries: u32, first: Moment, at: Moment) -> bool {
        tries < self.attempts && self.within().is_none_or(|within| at.since(first) <= within)
    }
}

/// A stable number in [0, 1) from text (FNV-1a, mixed): spread is needed here, not secrecy.
fn unit(salt: &str) -> f64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in salt.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    f64::from((hash >> 32) as u32) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k09_05_backoff_doubles_to_its_cap_and_never_overflows() {
        let policy = RetryPolicy { attempts: 100, ..RetryPolicy::default() };
        let seconds: Vec<u64> = (1..=8).map(|n| policy.nominal(n).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(policy.nominal(65).as_secs(), 60);
        assert_eq!(policy.nominal(u32::MAX).as_secs(), 60);
    }

    #[test]
    fn k09_05_a_hundred_jobs_that_fail_together_come_back_apart_also_at_the_cap() {
        let policy = RetryPolicy { attempts: 100, ..RetryPolicy::default() };
        let tenths: std::collections::BTreeSet<u128> =
            (0..100).map(|n| policy.backoff(70, &format!("step-{n}")).as_millis() / 100).collect();
        assert!(tenths.len() > 50, "{}", tenths.len());
        assert!(tenths.iter().all(|t| (300..=600).contains(t)));
    }

    #[test]
    fn i10_a_budget_ends_by_tries_and_by_total_time() {
        let policy = RetryPolicy { within_us: Some(10_000_000), ..RetryPolicy::default() };
        let first = Moment::from_micros(0);
        assert!(policy.allows(2, first, first + Duration::from_secs(10)));
        assert!(!policy.allows(3, first, first));
        assert!(!policy.allows(1, first, first + Duration::from_secs(11)));
    }
}
