use std::sync::Arc;
use std::time::Duration;

use super::carry;
use super::shared::Shared;
use crate::model::ReplicaId;
use crate::store::{ReplicaInfo, StoreError};

/// Between two tries while the store is away.
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// Enlists under a new random id and registers what is carried; waits for a store that is away.
pub(super) async fn arrive(shared: &Arc<Shared>) -> Result<(), StoreError> {
    loop {
        match enlist(shared).await {
            Ok(()) => return Ok(()),
            Err(error) if error.is_passing() => {
                tracing::warn!(%error, "the store is away; waiting for it");
                shared.timer.sleep(STORE_PAUSE).await;
            }
            Err(error) => return Err(error),
        }
    }
}

async fn enlist(shared: &Arc<Shared>) -> Result<(), StoreError> {
    let mut said = shared.said.lock().await;
    let id = random_id()?;
    let info = info(shared, &id);
    let asked = shared.timer.elapsed();
    shared.store.enlist(&info).await?;
    *said = carry::announce(shared, info).await?;
    shared.vouch.send_modify(|vouch| {
        vouch.renewed_at = asked;
        vouch.term_after = shared.settings.term_after;
        vouch.kill_after = shared.settings.kill_after;
    });
    shared.identity.send_replace(Some(id));
    Ok(())
}

/// What it says of itself, as yet without jobs.
pub(super) fn info(shared: &Shared, id: &ReplicaId) -> ReplicaInfo {
    let roles = shared.settings.roles;
    let carrying = shared.carrying.borrow();
    ReplicaInfo {
        id: id.clone(),
        label: shared.settings.label.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        tzdata: if roles.scheduler { shared.zones.version().to_owned() } else { String::new() },
        jobs: std::collections::BTreeMap::new(),
        handlers: if roles.agent { carrying.handlers.keys().cloned().collect() } else { Vec::new() },
        queues: if roles.agent { shared.settings.queues.clone() } else { Vec::new() },
        channels: if roles.relay { carrying.channels.keys().cloned().collect() } else { Vec::new() },
        lease: shared.settings.lease,
    }
}

/// Leaves, as far as the store answers: a replica that cannot say so is found lost by the others.
pub(super) async fn leave(shared: &Shared) {
    let id = shared.identity.borrow().clone();
    if let Some(id) = id
        && let Err(error) = shared.store.leave(&id).await
    {
        tracing::warn!(%error, "could not say goodbye; the others will find out within a lease");
    }
}

/// 128 bits from the system, so that a restart inherits nothing.
fn random_id() -> Result<ReplicaId, StoreError> {
    let mut bytes = [0_u8; 16];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut bytes))
        .map_err(|error| StoreError::broken(format!("no randomness for a replica id (/dev/urandom): {error}")))?;
    Ok(ReplicaId::from_text(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}
