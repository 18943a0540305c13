use std::time::Duration;

use async_trait::async_trait;

use super::error::Result;
use crate::model::{JobId, Moment, ReplicaId, Term};

/// Leadership over the one duty that cannot be split by row. Safety never depends on it.
#[async_trait]
pub trait LeaderStore: Send + Sync {
    /// Takes the duty if nobody holds it or the holder's term expired: `epoch + 1`. The present holder gets its own term
    /// again, unextended. None: somebody else holds it. Nothing if the replica is not live.
    async fn campaign(&self, duty: &str, replica: &ReplicaId, lease: Duration) -> Result<Option<Term>>;

    /// A duty pass completed: the term now expires after `lease`. False: it is somebody else's.
    async fn report_duty(&self, term: &Term, lease: Duration) -> Result<bool>;

    /// Lets go: expires the term at once, keeping its epoch.
    async fn resign(&self, term: &Term) -> Result<()>;
}

/// What may be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// Jobs whose runs may be pruned.
    pub jobs: Vec<JobId>,
    /// Finished runs, their history and skips older than this.
    pub runs: Duration,
    /// Message and request keys older than this (only of finished messages and runs).
    pub keys: Duration,
    /// Replicas lost or left for longer than this.
    pub replicas: Duration,
    /// Rows of each kind in one transaction.
    pub limit: u32,
}

/// How much was removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Runs with all that belongs to them.
    pub runs: u32,
    /// Messages.
    pub messages: u32,
    /// Request keys.
    pub keys: u32,
    /// Replicas.
    pub replicas: u32,
    /// Skips and granted requests.
    pub records: u32,
}

/// The answer to a write that a term guards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guarded<T> {
    /// Written while the term was ours.
    Done(T),
    /// The term is somebody else's: nothing was written.
    Superseded,
}

/// Retention. Every write is guarded by a term, locked FOR SHARE in the same transaction.
#[async_trait]
pub trait JanitorStore: Send + Sync {
    /// The store's clock.
    async fn janitor_now(&self) -> Result<Moment>;

    /// Prunes a bounded amount. `pruned_before` moves forward in the same transaction that removes a slot's run. A run
    /// whose messages are unfinished stays. Effects are never pruned.
    async fn prune(&self, term: &Term, retention: &Retention) -> Result<Guarded<Pruned>>;
}
