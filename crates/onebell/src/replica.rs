//! ROOM 5: the edge. A replica is one process that plays all roles, or some: it owns the loops, the tasks, the
//! sleeps, the wake-ups and the end. Wake-ups are hints: a lost one costs latency, never correctness.

pub mod batch;
mod builder;
mod carry;
mod coalesce;
mod health;
mod identity;
mod lead;
mod phase;
mod plan;
mod relay;
mod shared;
mod watch;
mod work;
mod zones;

use std::sync::Arc;

pub use builder::{BuildError, ReplicaBuilder, Roles, Settings, carried};
pub use carry::Carrier;
pub use health::{Health, Loop};
pub use phase::Shutdown;
pub use zones::ZoneData;

use crate::store::StoreError;
use shared::Shared;

/// A running process over a store.
pub struct Replica {
    shared: Arc<Shared>,
}

/// Why a replica ended otherwise than by its shutdown.
#[derive(Debug, thiserror::Error)]
pub enum ReplicaError {
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A role's loop ended by a panic.
    #[error("a role ended unexpectedly: {0}")]
    Role(String),
}

impl Replica {
    /// Begins one over `store`.
    pub fn builder(store: Arc<dyn crate::store::Store>) -> ReplicaBuilder {
        ReplicaBuilder::new(store)
    }

    /// How it is, from now on and while it runs.
    pub fn health(&self) -> Health {
        Health::of(&self.shared)
    }

    /// To change what it carries while it runs.
    pub fn carrier(&self) -> Carrier {
        Carrier::of(&self.shared)
    }

    /// Plays its roles until `shutdown` is asked for and the work in hand has ended, or until nothing is left to do
    /// when built with `until_idle`. While the store is away it waits and goes on when it returns.
    pub async fn run(self, shutdown: Shutdown) -> Result<(), ReplicaError> {
        let shared = self.shared;
        phase::follow(&shared, shutdown);
        // What changes while it arrives is said again after it.
        let changes = shared.carrying.subscribe();
        identity::arrive(&shared).await?;
        let mut loops = tokio::task::JoinSet::new();
        let roles = shared.settings.roles;
        loops.spawn(watch::renew(Arc::clone(&shared)));
        loops.spawn(watch::fence(Arc::clone(&shared)));
        loops.spawn(carry::follow(Arc::clone(&shared), changes));
        if roles.scheduler {
            loops.spawn(plan::schedule(Arc::clone(&shared)));
        }
        if roles.supervisor {
            loops.spawn(watch::supervise(Arc::clone(&shared)));
            loops.spawn(lead::retain(Arc::clone(&shared)));
        }
        let mut hands = tokio::task::JoinSet::new();
        if roles.agent {
            hands.spawn(work::take(Arc::clone(&shared)));
        }
        if roles.relay {
            hands.spawn(relay::deliver(Arc::clone(&shared)));
        }
        if shared.settings.until_idle {
            loops.spawn(phase::end_when_idle(Arc::clone(&shared)));
        }
        let ended = tokio::select! {
            ended = until_all(&mut hands), if !hands.is_empty() => ended,
            () = shared.phase.drained(), if !(roles.agent || roles.relay) => Ok(()),
            ended = first_failure(&mut loops) => ended,
            () = shared.phase.given_up(shared.timer.as_ref()) => Ok(()),
        };
        // A renewal that comes after the goodbye would hear that this replica is gone, and tell of a loss.
        loops.shutdown().await;
        identity::leave(&shared).await;
        ended
    }
}

/// The hands stop by themselves when the phase says so; their work in hand is settled by then.
async fn until_all(tasks: &mut tokio::task::JoinSet<()>) -> Result<(), ReplicaError> {
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(|error| ReplicaError::Role(error.to_string()))?;
    }
    Ok(())
}

/// The other loops never end by themselves: if one does, by panic or a broken store, the replica ends.
async fn first_failure(tasks: &mut tokio::task::JoinSet<Result<(), StoreError>>) -> Result<(), ReplicaError> {
    loop {
        match tasks.join_next().await {
            Some(Ok(Ok(()))) => {}
            Some(Ok(Err(error))) => return Err(error.into()),
            Some(Err(error)) => return Err(ReplicaError::Role(error.to_string())),
            None => std::future::pending().await,
        }
    }
}
