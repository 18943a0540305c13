//! Time as the keeper and its agent share it: one host, one clock, suspension counted. Nothing here sleeps.

use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};
use serde::{Deserialize, Serialize};

/// An instant of `CLOCK_BOOTTIME`: it goes on while the host is suspended and is never set. The same in every process of one
/// host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BootTime {
    nanos: u64,
}

impl BootTime {
    /// Reads the clock.
    #[must_use]
    pub fn now() -> Self {
        let now = clock_gettime(ClockId::Boottime);
        let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
        let nanos = u64::try_from(now.tv_nsec).unwrap_or(0);
        Self { nanos: seconds.saturating_mul(1_000_000_000).saturating_add(nanos) }
    }

    /// The instant `wait` later, or the last one there is.
    #[must_use]
    pub fn plus(self, wait: Duration) -> Self {
        let wait = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        // The kernel refuses timers beyond i64 nanoseconds.
        Self { nanos: self.nanos.saturating_add(wait).min(i64::MAX.unsigned_abs()) }
    }

    /// How long after `earlier` this is; zero if it is not.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.nanos.saturating_sub(earlier.nanos))
    }

    pub(super) fn timespec(self) -> Timespec {
        let seconds = i64::try_from(self.nanos / 1_000_000_000).unwrap_or(i64::MAX);
        let nanos = i64::try_from(self.nanos % 1_000_000_000).unwrap_or(0);
        // All zeros would disarm a timer instead of firing it.
        Timespec { tv_sec: seconds, tv_nsec: nanos.max(1) }
    }
}

/// How long the agent vouches for a command: TERM at the first instant, KILL at the second.
///
/// Instants, not durations: a frame that waited in the socket, or an agent that was stopped just before it sent it, then allows
/// nothing extra.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    /// The command gets TERM then.
    pub term_at: BootTime,
    /// Whatever is left gets KILL then.
    pub kill_at: BootTime,
}

impl Allowance {
    /// Default distance of TERM from the sending of the last renewal that succeeded.
    pub const TERM_IN: Duration = Duration::from_secs(7);
    /// Default distance of KILL from the same instant.
    pub const KILL_IN: Duration = Duration::from_secs(9);

    /// What a renewal allows that was *sent* to the store at `sent` and succeeded: read the clock before sending, not after the
    /// answer.
    #[must_use]
    pub fn since(sent: BootTime, term_in: Duration, kill_in: Duration) -> Self {
        Self { term_at: sent.plus(term_in), kill_at: sent.plus(kill_in.max(term_in)) }
    }

    /// The same with the default distances, 7 s and 9 s.
    #[must_use]
    pub fn after(sent: BootTime) -> Self {
        Self::since(sent, Self::TERM_IN, Self::KILL_IN)
    }

    /// A renewal only extends: one that arrives late or twice takes nothing back.
    pub(super) fn extend(&mut self, by: Self) {
        self.term_at = self.term_at.max(by.term_at);
        self.kill_at = self.kill_at.max(by.kill_at);
    }
}
