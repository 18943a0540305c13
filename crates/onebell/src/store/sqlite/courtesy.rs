//! Leaves the lock to other processes for a moment. SQLite's lock knows no queue: whoever asks again at once gets it again.

use std::time::Duration;

use super::connection::Session;
use crate::time::{SystemTimer, Timer, block_for};

/// Commits that follow each other this closely leave nobody else a chance.
const CLOSE: Duration = Duration::from_millis(1);
/// After so many of them the lock is left alone for a moment.
const IN_A_ROW: u32 = 3;
/// Somebody who wrote within this time is taken to be still there: every replica renews its beat once a second.
const NEIGHBOURS: Duration = Duration::from_secs(5);

/// What the writing thread knows of its neighbours.
#[derive(Debug, Default)]
pub(super) struct Courtesy {
    version: i64,
    seen_at: Option<Duration>,
    ended_at: Duration,
    in_a_row: u32,
}

impl Courtesy {
    /// A transaction is about to begin: pauses when others had no chance for too long.
    pub(super) fn before(&mut self) {
        let now = SystemTimer.elapsed();
        let close = now.saturating_sub(self.ended_at) < CLOSE;
        self.in_a_row = if close { self.in_a_row + 1 } else { 0 };
        if self.in_a_row >= IN_A_ROW && self.seen_at.is_some_and(|at| now.saturating_sub(at) < NEIGHBOURS) {
            // Longer than the millisecond or two between two questions of one who waits; uneven, so that nobody falls into step.
            block_for(Duration::from_micros(1_200 + u64::from(now.subsec_nanos()) % 1_000));
            self.in_a_row = 0;
        }
    }

    /// A transaction has ended: whether somebody else has written meanwhile.
    pub(super) fn after(&mut self, session: &Session) {
        self.ended_at = SystemTimer.elapsed();
        // An answer that cannot be had now is had next time.
        let version = session.data_version().unwrap_or(self.version);
        if version != self.version {
            self.seen_at = (self.version != 0).then_some(self.ended_at);
            self.version = version;
        }
    }
}
