use std::sync::Arc;

use super::identity;
use super::shared::Shared;
use crate::handler::StopReason;
use crate::model::jump::JumpGuard;
use crate::model::watch::Watch;
use crate::model::{ReplicaId, StepId};
use crate::roles::supervisor;
use crate::store::{Renewal, StoreError};

/// Renews the beat, watches the others in the same transaction, and fences this replica's own work when it can no
/// longer vouch for it.
pub(super) async fn renew(shared: Arc<Shared>) -> Result<(), StoreError> {
    let mut watch = Watch::new(shared.settings.lease);
    loop {
        let id = shared.identity.borrow().clone();
        match id {
            Some(id) => renew_once(&shared, &id, &mut watch).await?,
            None => {
                watch.failed();
                identity::arrive(&shared).await?;
            }
        }
        let vouch = *shared.vouch.borrow();
        if shared.timer.elapsed() >= vouch.renewed_at + vouch.term_after {
            shared.stop_all(StopReason::OwnStop);
        }
        shared.timer.sleep(shared.settings.renewal).await;
    }
}

async fn renew_once(shared: &Arc<Shared>, id: &ReplicaId, watch: &mut Watch) -> Result<(), StoreError> {
    let asked = shared.timer.elapsed();
    let prevented = shared.prevented.take();
    let fence = shared.timer.sleep((shared.vouch.borrow().renewed_at + shared.settings.term_after).saturating_sub(asked));
    let renewal = shared.store.renew(id, &prevented);
    let answer = tokio::select! {
        answer = renewal => answer,
        // The work is fenced in time also when the store gives no answer at all.
        () = fence => Err(StoreError::away("the renewal was not answered in time")),
    };
    match answer {
        Ok(Renewal::Renewed { beats, cancelling, .. }) => {
            shared.vouch.send_modify(|vouch| vouch.renewed_at = asked);
            let lost = watch.renewed(asked, &beats);
            *shared.lock(&shared.lost) = lost;
            cancel(shared, &cancelling);
            Ok(())
        }
        Ok(Renewal::Lost) => {
            tracing::warn!(replica = %id, "found lost by the others: all work is abandoned, a new id is taken");
            shared.identity.send_replace(None);
            shared.stop_all(StopReason::OwnStop);
            watch.failed();
            Ok(())
        }
        Err(error) => {
            shared.prevented.give_back(&prevented);
            watch.failed();
            shared.lock(&shared.lost).clear();
            if error.is_passing() {
                tracing::warn!(%error, "the beat could not be renewed");
                return Ok(());
            }
            Err(error)
        }
    }
}

fn cancel(shared: &Shared, cancelling: &[StepId]) {
    let in_hand = shared.lock(&shared.in_hand);
    for stopper in cancelling.iter().filter_map(|step| in_hand.get(step)) {
        stopper.stop(StopReason::Cancelled);
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
        match look.await {
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
