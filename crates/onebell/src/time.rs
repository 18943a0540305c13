//! Clocks and timers, handed in. The only file of the library that asks the system for the time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::oneshot;

use crate::model::Moment;

/// Which clock a store goes by.
#[derive(Debug, Clone, Default)]
pub enum StoreClock {
    /// The database's own; on SQLite the host's.
    #[default]
    Own,
    /// One that a test or the simulator moves.
    Manual(ManualClock),
}

impl StoreClock {
    /// The instant to use instead of the database's own, if any.
    pub fn given(&self) -> Option<Moment> {
        match self {
            Self::Own => None,
            Self::Manual(clock) => Some(clock.now()),
        }
    }
}

/// A clock that stands still until it is moved.
#[derive(Debug, Clone)]
pub struct ManualClock(Arc<AtomicI64>);

impl ManualClock {
    /// A clock that shows `at`.
    pub fn at(at: Moment) -> Self {
        Self(Arc::new(AtomicI64::new(at.micros())))
    }

    /// What it shows.
    pub fn now(&self) -> Moment {
        Moment::from_micros(self.0.load(Ordering::SeqCst))
    }

    /// Sets it, also backwards.
    pub fn set(&self, at: Moment) {
        self.0.store(at.micros(), Ordering::SeqCst);
    }

    /// Moves it forward.
    pub fn advance(&self, span: Duration) {
        self.set(self.now() + span);
    }
}

/// The host's wall clock.
#[expect(clippy::disallowed_methods, reason = "this is the edge where the clock is read")]
pub fn host_now() -> Moment {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Moment::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

/// Blocks this thread: for a database's own thread, which waits for another process where no timer can be handed in.
#[cfg(feature = "sqlite")]
#[expect(clippy::disallowed_methods, reason = "this is the edge where waiting happens")]
pub(crate) fn block_for(span: Duration) {
    std::thread::sleep(span);
}

/// Waiting, and a monotonic clock that counts suspension.
#[async_trait]
pub trait Timer: Send + Sync {
    /// Time since some fixed point; it never goes back and it counts time asleep.
    fn elapsed(&self) -> Duration;
    /// Returns after `span`.
    async fn sleep(&self, span: Duration);
}

/// The system's timer.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemTimer;

#[async_trait]
impl Timer for SystemTimer {
    fn elapsed(&self) -> Duration {
        let at = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Duration::new(u64::try_from(at.tv_sec).unwrap_or(0), u32::try_from(at.tv_nsec).unwrap_or(0))
    }

    #[expect(clippy::disallowed_methods, reason = "this is the edge where waiting happens")]
    async fn sleep(&self, span: Duration) {
        tokio::time::sleep(span).await;
    }
}

/// A timer that a test or the simulator moves.
#[derive(Debug, Clone, Default)]
pub struct ManualTimer {
    now_us: Arc<AtomicU64>,
    asked: Arc<AtomicU64>,
    sleepers: Arc<Mutex<Sleepers>>,
}

type Sleepers = BTreeMap<(Duration, u64), oneshot::Sender<()>>;

impl ManualTimer {
    /// Moves time forward and wakes whoever is due, the earliest first.
    pub fn advance(&self, span: Duration) {
        let micros = u64::try_from(span.as_micros()).unwrap_or(u64::MAX);
        self.now_us.fetch_add(micros, Ordering::SeqCst);
        let mut sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
        let later = sleepers.split_off(&(self.elapsed(), u64::MAX));
        for (_, sleeper) in std::mem::replace(&mut *sleepers, later) {
            // A sleeper that gave up waiting is nobody to wake.
            sleeper.send(()).unwrap_or_default();
        }
    }

    /// How many wait.
    pub fn sleeping(&self) -> usize {
        self.sleepers.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

#[async_trait]
impl Timer for ManualTimer {
    fn elapsed(&self) -> Duration {
        Duration::from_micros(self.now_us.load(Ordering::SeqCst))
    }

    async fn sleep(&self, span: Duration) {
        let (sender, woken) = oneshot::channel();
        {
            let mut sleepers = self.sleepers.lock().unwrap_or_else(PoisonError::into_inner);
            let order = self.asked.fetch_add(1, Ordering::SeqCst);
            sleepers.insert((self.elapsed() + span, order), sender);
        }
        drop(woken.await);
    }
}
