use std::sync::Arc;

use super::health::Loop;
use super::identity;
use super::shared::Shared;
use crate::handler::StopReason;
use crate::model::jump::JumpGuard;
use crate::model::watch::Watch;
use crate::model::{ReplicaId, StepId};
use crate::roles::supervisor;
use crate::store::{Renewal, StoreError};

/// Renews the beat, and watches the others in the same transaction.
pub(super) async fn renew(shared: Arc<Shared>) -> Result<(), StoreError> {
    let mut watch = Watch::new(shared.settings.lease);
    let mut away = false;
    loop {
        let id = shared.identity.borrow().clone();
        match id {
            Some(id) => renew_once(&shared, &id, &mut watch, &mut away).await?,
            None => {
                watch.failed();
                identity::arrive(&shared).await?;
            }
        }
        shared.timer.sleep(shared.settings.renewal).await;
    }
}

async fn renew_once(shared: &Arc<Shared>, id: &ReplicaId, watch: &mut Watch, away: &mut bool) -> Result<(), StoreError> {
    let asked = shared.timer.elapsed();
    let prevented = shared.prevented.take();
    match shared.store.renew(id, &prevented).await {
        Ok(Renewal::Renewed { beats, cancelling, .. }) => {
            shared.finished(Loop::Renewal);
            shared.vouch.send_modify(|vouch| vouch.renewed_at = asked);
            if std::mem::take(away) {
                tracing::info!("the store answers again");
            }
            *shared.lock(&shared.lost) = watch.renewed(asked, &beats);
            cancel(shared, &cancelling);
            Ok(())
        }
        Ok(Renewal::Lost) => {
            tracing::warn!(replica = %id, "found lost by the others: all work is abandoned, a new id is taken");
            shared.prevented.give_back(&prevented);
            shared.identity.send_replace(None);
            shared.stop_all(StopReason::OwnStop);
            watch.failed();
            Ok(())
        }
        Err(error) => {
            shared.prevented.give_back(&prevented);
            watch.failed();
            shared.lock(&shared.lost).clear();
            if !error.is_passing() {
                return Err(error);
            }
            // Said once per absence: what cannot be renewed is tried again every moment.
            if !std::mem::replace(away, true) {
                tracing::warn!(%error, "the beat could not be renewed; trying on");
            }
            Ok(())
        }
    }
}

/// Ends this replica's own work in time when no renewal succeeds, whatever the store does meanwhile.
pub(super) async fn fence(shared: Arc<Shared>) -> Result<(), StoreError> {
    let mut renewed = shared.vouch.subscribe();
    loop {
        let vouch = *renewed.borrow_and_update();
        let left = (vouch.renewed_at + vouch.term_after).saturating_sub(shared.timer.elapsed());
        if left.is_zero() {
            shared.stop_all(StopReason::OwnStop);
            // The sender lives in `shared`: waiting cannot fail.
            drop(renewed.changed().await);
        } else {
            tokio::select! {
                changed = renewed.changed() => drop(changed),
                () = shared.timer.sleep(left) => {}
            }
        }
    }
}

fn cancel(shared: &Shared, cancelling: &[StepId]) {
    let in_hand = shared.lock(&shared.in_hand);
    for ((step, _), stopper) in in_hand.iter() {
        if cancelling.contains(step) {
            stopper.stop(StopReason::Cancelled);
        }
    }
}

/// The Supervisor's loop.
pub(super) async fn supervise(shared: Arc<Shared>) -> Result<(), StoreError> {
    let mut guard = JumpGuard::new(shared.settings.lease);
    loop {
        shared.timer.sleep(shared.settings.supervision).await;
        let Some(id) = shared.vouched() else { continue };
        let store = shared.store.as_ref();
        let lost = shared.lock(&shared.lost).clone();
        let look = async {
            let now = store.supervisor_now().await?;
            let believed = guard.believes(now, shared.timer.elapsed());
            supervisor::pass(store, &id, lost, believed).await
        };
        let asked = look.await;
        if let Ok(asked) = &asked {
            shared.finished(Loop::Supervisor);
            shared.pulse.count("recoveries", "asked", u64::from(*asked));
        }
        match asked {
            Ok(0) => {}
            Ok(asked) => {
                tracing::info!(asked, "recovery asked for");
                shared.hints.scheduler.notify_one();
            }
            Err(error) if error.is_passing() => tracing::debug!(%error, "supervision waits for the store"),
            Err(error) => tracing::error!(%error, "supervision failed; it goes on"),
        }
    }
}
