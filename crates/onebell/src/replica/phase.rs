use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::shared::Shared;
use crate::handler::StopReason;
use crate::store::StoreError;

/// How long work in hand and its settlement may take after it was asked to end.
const STOP_LIMIT: Duration = Duration::from_secs(40);

/// Asked for from outside: once to drain, twice to stop at once.
#[derive(Debug, Clone, Default)]
pub struct Shutdown(Arc<watch::Sender<u8>>);

impl Shutdown {
    /// Nobody asked yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The first call lets the work in hand end within the drain; the second one ends it at once.
    pub fn ask(&self) {
        self.0.send_modify(|asked| *asked = asked.saturating_add(1));
    }

    /// Returns when it was asked for at least once.
    pub async fn asked_once(&self) {
        self.asked(1).await;
    }

    async fn asked(&self, times: u8) {
        let mut receiver = self.0.subscribe();
        // The sender lives in `self`: waiting cannot fail.
        drop(receiver.wait_for(|asked| *asked >= times).await);
    }
}

/// How far the end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Stage {
    /// Taking work.
    #[default]
    Working,
    /// Taking none; work in hand goes on.
    Draining,
    /// Work in hand is being ended.
    Stopping,
}

/// The replica's stage; it only moves forward.
#[derive(Debug, Default)]
pub(super) struct Phase(watch::Sender<Stage>);

impl Phase {
    pub(super) fn is_working(&self) -> bool {
        *self.0.borrow() == Stage::Working
    }

    /// Work in hand has been asked to end.
    pub(super) fn is_stopping(&self) -> bool {
        *self.0.borrow() >= Stage::Stopping
    }

    fn reach(&self, stage: Stage) {
        self.0.send_if_modified(|now| {
            let moved = stage > *now;
            *now = stage.max(*now);
            moved
        });
    }

    /// Returns when work in hand was asked to end and had its time: what is still open then is recovered by others.
    pub(super) async fn given_up(&self, timer: &dyn crate::time::Timer) {
        let mut receiver = self.0.subscribe();
        drop(receiver.wait_for(|stage| *stage >= Stage::Stopping).await);
        timer.sleep(STOP_LIMIT).await;
    }

    /// Returns when no new work is taken any longer.
    pub(super) async fn drained(&self) {
        let mut receiver = self.0.subscribe();
        drop(receiver.wait_for(|stage| *stage >= Stage::Draining).await);
    }
}

/// Moves the phase as the shutdown asks: draining, then, after the drain or a second wish, stopping.
pub(super) fn follow(shared: &Arc<Shared>, shutdown: Shutdown) {
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        shutdown.asked(1).await;
        tracing::info!(drain = ?shared.settings.drain, "draining: no new work is taken");
        shared.phase.reach(Stage::Draining);
        tokio::select! {
            () = shutdown.asked(2) => {}
            () = shared.timer.sleep(shared.settings.drain) => {}
        }
        shared.phase.reach(Stage::Stopping);
        shared.stop_all(StopReason::OwnStop);
    });
}

impl Shared {
    /// Asks every step in hand to end.
    pub(super) fn stop_all(&self, reason: StopReason) {
        for stopper in self.lock(&self.in_hand).values() {
            stopper.stop(reason);
        }
    }

    /// Nothing is in hand here.
    pub(super) fn is_empty_handed(&self) -> bool {
        self.lock(&self.in_hand).is_empty() && self.deliveries.load(std::sync::atomic::Ordering::SeqCst) == 0
    }
}

/// Ends the replica when the store says that nothing is left to do and nothing is due soon.
pub(super) async fn end_when_idle(shared: Arc<Shared>) -> Result<(), StoreError> {
    let mut idle_looks = 0;
    while idle_looks < 2 {
        shared.timer.sleep(shared.settings.poll.max(Duration::from_millis(100))).await;
        let planned = !shared.jobs.borrow().is_empty() || shared.carrying.borrow().jobs.is_empty();
        let idle = planned && shared.is_empty_handed() && shared.store.is_idle().await.unwrap_or(false);
        idle_looks = if idle { idle_looks + 1 } else { 0 };
    }
    tracing::info!("nothing is left to do");
    shared.phase.reach(Stage::Draining);
    std::future::pending().await
}
