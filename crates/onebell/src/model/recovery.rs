//! Recovery requests: what the Supervisor asks for, and the Scheduler grants or refuses.

use serde::{Deserialize, Serialize};

use super::transition::words;
use super::{Moment, ReplicaId};

words! {
    /// What a request is about.
    RequestKind {
        /// A replica whose beat stood still for a lease; `attempt` is the beat seen.
        Replica = "replica",
        /// A running step, overdue or abandoned.
        Step = "step",
        /// A claimed message, overdue or abandoned.
        Message = "message",
        /// A run that should have gone on; attempt 0.
        Run = "run",
    }
}

words! {
    /// Where a request stands. A refused one is deleted: it must not block the next.
    RequestStatus {
        /// Asked.
        Open = "open",
        /// Granted and done; kept as history.
        Granted = "granted",
    }
}

/// Something is overdue or abandoned; at most one per (kind, id, attempt).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryRequest {
    /// What it is about.
    pub kind: RequestKind,
    /// Which one.
    pub id: String,
    /// The fence seen: an attempt, a beat, or 0.
    pub attempt: u64,
    /// Who asked.
    pub requested_by: ReplicaId,
    /// When.
    pub requested_at: Moment,
    /// Why, for people.
    pub reason: String,
    /// Where it stands.
    pub status: RequestStatus,
    /// When it was granted.
    pub granted_at: Option<Moment>,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grant {
    /// The transition was made; how many steps and messages moved with it.
    Granted {
        /// Steps and messages recovered.
        moved: u32,
    },
    /// The row had moved on: nothing was changed and the request is gone.
    Refused,
}
