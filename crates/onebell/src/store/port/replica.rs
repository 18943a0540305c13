use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;

use super::error::Result;
use crate::model::watch::Beat;
use crate::model::{JobId, Moment, ReplicaId, StepId};

/// What a replica says of itself when it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaInfo {
    /// Random at every start.
    pub id: ReplicaId,
    /// For people: host and process id.
    pub label: String,
    /// Program version.
    pub version: String,
    /// Time-zone data version that it plans by; empty: it does not plan.
    pub tzdata: String,
    /// Jobs it carries, with the hash of the definition it carries.
    pub jobs: BTreeMap<JobId, String>,
    /// Handlers it carries.
    pub handlers: Vec<String>,
    /// Queues it serves.
    pub queues: Vec<String>,
    /// Channels it carries.
    pub channels: Vec<String>,
    /// How long its beat may stand still before others may call it lost.
    pub lease: Duration,
}

/// Counted since the last renewal; never of record.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Prevented {
    /// Slots that another scheduler had opened.
    pub slots: u64,
    /// Effects answered Already.
    pub effects: u64,
    /// Messages answered Already.
    pub messages: u64,
    /// Writes refused as superseded.
    pub superseded: u64,
}

/// What a renewal found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Renewal {
    /// The beat was written.
    Renewed {
        /// Everybody else's beat, read in the same transaction: live replicas only (neither lost nor left).
        beats: Vec<Beat>,
        /// Steps claimed by this replica whose run is `cancelling`: to be ended and settled as cancelled.
        cancelling: Vec<StepId>,
        /// The store's now.
        now: Moment,
    },
    /// This replica was declared lost, or its row is gone: abandon all work, take a new id.
    Lost,
}

/// A replica's own sign of life. The lease says that the process lives, never that its work does.
#[async_trait]
pub trait ReplicaStore: Send + Sync {
    /// Writes the replica's row with beat 1; the same id again updates what it carries.
    async fn enlist(&self, info: &ReplicaInfo) -> Result<()>;

    /// `beat + 1 WHERE lost_at IS NULL AND left_at IS NULL`, adds `prevented` to the row's counters, and reads
    /// everybody's beat and this replica's cancellations in the same transaction.
    async fn renew(&self, id: &ReplicaId, prevented: &Prevented) -> Result<Renewal>;

    /// The replica left by itself: it is not live any longer (`left_at`).
    async fn leave(&self, id: &ReplicaId) -> Result<()>;
}
