//! A call of the store as it was executed: who made it, with what, and what it answered.

use onebell::model::message::Delivery;
use onebell::model::recovery::{Grant, RecoveryRequest};
use onebell::model::{BatchClaim, Claim, MessageClaim, ReplicaId, Term};
use onebell::store::{
    Acted, BatchOpened, Chunk, ChunkAnswer, ClaimAnswer, ClaimMessages, ClaimSteps, ClaimedMessage, Extension, Guarded, Marked,
    MessageSettled, MessageVerdict, OpenBatch, Opened, Pruned, Renewal, Retention, Settled, Settlement, SlotPlan, Sweep, Trigger,
    Triggered,
};

/// Whose verbs a call belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// `ReplicaStore`.
    Replica,
    /// `SchedulerStore`.
    Scheduler,
    /// `AgentStore`.
    Agent,
    /// `SupervisorStore`.
    Supervisor,
    /// `RelayStore`.
    Relay,
    /// `LeaderStore`.
    Leader,
    /// `JanitorStore`.
    Janitor,
    /// `OperatorStore`.
    Operator,
    /// `BatchStore`.
    Batch,
    /// `ReadStore`.
    Read,
}

/// One executed call.
#[derive(Debug)]
pub struct Call {
    /// The verb.
    pub verb: &'static str,
    /// Whose.
    pub port: Port,
    /// Which simulated process made it; people are the last one.
    pub process: usize,
    /// What the checks need of it.
    pub detail: Detail,
}

/// Arguments and answer.
#[derive(Debug)]
#[expect(missing_docs, reason = "the variants are the verbs of the port, their fields its arguments and answers")]
pub enum Detail {
    Other,
    Renewed { id: ReplicaId, answer: Renewal },
    Claimed { request: ClaimSteps, answer: ClaimAnswer },
    Started { claims: Vec<Claim>, answer: Vec<bool> },
    Extended { claim: Claim, answer: Extension },
    Settled { settlements: Vec<Settlement>, answer: Vec<Settled> },
    MessagesClaimed { request: ClaimMessages, answer: Vec<ClaimedMessage> },
    Marked { claim: MessageClaim, answer: Marked },
    MessagesSettled { deliveries: Vec<(MessageClaim, Delivery)>, answer: Vec<MessageSettled> },
    Asked { sweep: Sweep },
    Granted { request: RecoveryRequest, answer: Grant },
    SlotsOpened { plan: SlotPlan, answer: Opened },
    Campaigned { answer: Option<Term> },
    Reported { term: Term, answer: bool },
    Pruned { term: Term, retention: Retention, answer: Guarded<Pruned> },
    Triggered { trigger: Trigger, answer: Triggered },
    MessageResolved { key: String, verdict: MessageVerdict, answer: Acted },
    BatchOpened { open: OpenBatch, answer: BatchOpened },
    Chunk { claim: BatchClaim, chunk: Chunk, answer: ChunkAnswer },
    BatchReleased { claim: BatchClaim, answer: bool },
    BatchWithheld { claim: BatchClaim },
    BatchSwept,
    Acted { what: &'static str, answer: Acted },
}
