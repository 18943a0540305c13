use std::time::Duration;

use async_trait::async_trait;

use super::error::Result;
use crate::model::message::{Delivery, InDoubtPolicy, MessageStatus};
use crate::model::{MessageClaim, Moment, ReplicaId};

/// Which messages a relay would take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimMessages {
    /// The new owner; it must be live.
    pub replica: ReplicaId,
    /// Channels it carries.
    pub channels: Vec<String>,
    /// How many.
    pub limit: u32,
    /// `complete_by = now + this`.
    pub timeout: Duration,
}

/// A claimed message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedMessage {
    /// The proof.
    pub claim: MessageClaim,
    /// Which channel.
    pub channel: String,
    /// For the channel, JSON text.
    pub payload: String,
    /// What an unknown outcome means.
    pub on_in_doubt: InDoubtPolicy,
    /// Tries, this one included.
    pub tries: u32,
    /// It was in `sending` before: from now on at least once.
    pub resent: bool,
    /// When the claim lapses.
    pub complete_by: Moment,
    /// The store's now at the claim.
    pub claimed_at: Moment,
}

/// Whether the content may go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marked {
    /// `sending` is committed: it may.
    Go,
    /// Not ours any longer: it must not.
    Superseded,
    /// Its run failed or was cancelled meanwhile: it was dropped and must not.
    Dropped,
}

/// What became of a message's settlement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageSettled {
    /// Written now.
    Applied(MessageStatus),
    /// Written before by this attempt.
    Already,
    /// Not ours any longer: no state changed.
    Superseded,
}

/// Delivers the outbox. Never touches steps or runs.
#[async_trait]
pub trait RelayStore: Send + Sync {
    /// Claims ready messages of the carried channels by `ready_at`, then key: `attempt + 1`, `tries + 1`. Nothing if the
    /// replica is not live.
    async fn claim_messages(&self, request: &ClaimMessages) -> Result<Vec<ClaimedMessage>>;

    /// What the store says this replica holds as `claimed`: read after a claim whose answer was lost.
    async fn held_messages(&self, replica: &ReplicaId) -> Result<Vec<ClaimedMessage>>;

    /// `claimed → sending` under the fence, `sending_at = now`, `complete_by = now + window`; refused when the claim
    /// lapsed or the replica is not live. Safe to repeat.
    async fn mark_sending(&self, claim: &MessageClaim, window: Duration) -> Result<Marked>;

    /// Ends attempts under their fences, in the order given (`model::message::InFlight::settle`); a late yes turns a
    /// message in doubt to `sent` under the unchanged attempt. Safe to repeat.
    async fn settle_messages(&self, deliveries: &[(MessageClaim, Delivery)]) -> Result<Vec<MessageSettled>>;
}
