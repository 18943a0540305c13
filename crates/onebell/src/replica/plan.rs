use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::health::Loop;
use super::shared::Shared;
use crate::model::behind::behind;
use crate::model::jump::JumpGuard;
use crate::model::zone_version::Left;
use crate::model::{Moment, ReplicaId};
use crate::roles::scheduler::{self, Report, Rules};
use crate::store::StoreError;

/// Between two passes at least.
const PACE: Duration = Duration::from_millis(5);

/// What one pass remembers for the next one.
struct Memory {
    guard: JumpGuard,
    left: Left,
    /// The clock was behind in the last pass.
    behind: bool,
    /// Said of this version that it is newer than ours.
    newer_zones: Option<String>,
}

/// The Scheduler's loop: it sleeps until the next known slot, a hint, or the poll.
pub(super) async fn schedule(shared: Arc<Shared>) -> Result<(), StoreError> {
    let guard = JumpGuard::new(shared.settings.lease);
    let mut memory = Memory { guard, left: Left::default(), behind: false, newer_zones: None };
    loop {
        let pause = match shared.vouched() {
            Some(own) if shared.phase.is_working() => once(&shared, &own, &mut memory).await,
            _ => shared.settings.poll,
        };
        shared.wait(&shared.hints.scheduler, pause).await;
        // Many settlements hint at once: one pass answers them all.
        shared.timer.sleep(PACE.min(pause)).await;
    }
}

async fn once(shared: &Shared, own: &ReplicaId, memory: &mut Memory) -> Duration {
    let store = shared.store.as_ref();
    let jobs = shared.jobs.borrow().clone();
    let pass = async {
        let now = store.scheduler_now().await?;
        let newest = store.newest_renewal().await?;
        let opens = is_believed(shared, memory, now, newest);
        let rules = Rules { replica: Some(own), ..shared.rules() };
        scheduler::pass(store, &rules, &mut memory.left, &jobs, opens).await
    };
    match pass.await {
        Ok(report) => {
            shared.finished(Loop::Scheduler);
            shared.pulse.count("slots", "opened", u64::from(report.opened));
            shared.pulse.count("slots", "skipped", u64::from(report.skipped));
            shared.pulse.count("recoveries", "granted", u64::from(report.granted));
            shared.prevented.slots.fetch_add(u64::from(report.stale), Ordering::SeqCst);
            if report.moved() {
                shared.hints.agent.notify_one();
                shared.hints.relay.notify_one();
                shared.hints.scheduler.notify_one();
            }
            tell_of_newer_zones(shared, memory, &report);
            report.until_next(shared.settings.poll)
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

/// Whether the store's clock may open slots: it did not just jump ahead, and it was not set back. Said once per change.
fn is_believed(shared: &Shared, memory: &mut Memory, now: Moment, newest: Option<Moment>) -> bool {
    let steady = memory.guard.believes(now, shared.timer.elapsed());
    let span = newest.and_then(|newest| behind(now, newest, shared.settings.lease));
    match (span, std::mem::replace(&mut memory.behind, span.is_some())) {
        (Some(span), false) => tracing::error!(
            %now, newest = newest.map(|newest| newest.to_string()),
            "this host's clock lies {} s behind what was written in the database before: nothing is planned. Set the clock right; \
             if it is right, end replicas whose clock is ahead and run: onebell doctor --accept-clock",
            span.as_secs()
        ),
        (None, true) => tracing::info!("the clock is no longer behind: planning goes on"),
        _ => {}
    }
    steady && span.is_none()
}

/// Said once per version.
fn tell_of_newer_zones(shared: &Shared, memory: &mut Memory, report: &Report) {
    if report.newer_zones.is_none() || report.newer_zones == memory.newer_zones {
        return;
    }
    tracing::warn!(
        own = shared.zones.version(),
        newest = report.newer_zones,
        "another replica has newer time-zone data and plans the jobs that both carry; bring this one's up to date"
    );
    memory.newer_zones.clone_from(&report.newer_zones);
}
