use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::shared::Shared;
use crate::model::jump::JumpGuard;
use crate::roles::scheduler;
use crate::store::StoreError;

/// Between two passes at least.
const PACE: Duration = Duration::from_millis(5);

/// The Scheduler's loop: it sleeps until the next known slot, a hint, or the poll.
pub(super) async fn schedule(shared: Arc<Shared>) -> Result<(), StoreError> {
    let mut guard = JumpGuard::new(shared.settings.lease);
    loop {
        let pause = match shared.vouched() {
            Some(_) if shared.phase.is_working() => once(&shared, &mut guard).await,
            _ => shared.settings.poll,
        };
        shared.wait(&shared.hints.scheduler, pause).await;
        // Many settlements hint at once: one pass answers them all.
        shared.timer.sleep(PACE.min(pause)).await;
    }
}

async fn once(shared: &Shared, guard: &mut JumpGuard) -> Duration {
    let store = shared.store.as_ref();
    let jobs = shared.jobs.borrow().clone();
    let pass = async {
        let now = store.scheduler_now().await?;
        let believed = guard.believes(now, shared.timer.elapsed());
        scheduler::pass(store, &shared.zones, &jobs, believed).await
    };
    match pass.await {
        Ok(report) => {
            shared.prevented.slots.fetch_add(u64::from(report.stale), Ordering::SeqCst);
            if report.moved() {
                shared.hints.agent.notify_one();
                shared.hints.relay.notify_one();
                shared.hints.scheduler.notify_one();
            }
            let until_slot = report.next_slot.map_or(Duration::MAX, |slot| slot.since(report.now));
            until_slot.min(shared.settings.poll)
        }
        Err(error) => {
            if error.is_passing() {
                tracing::debug!(%error, "planning waits for the store");
            } else {
                tracing::error!(%error, "planning failed; it goes on");
            }
            shared.settings.poll
        }
    }
}
