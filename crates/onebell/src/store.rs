//! ROOM 2: what the store promises, one small trait per role. The verbs are the domain's and work over
//! sets. No rows, no query builder, no transaction type and no dialect pass through here; a verb is one
//! transaction. Losing a race is a value; an error says what the caller may do.

mod port {
    pub(crate) mod agent;
    pub(crate) mod batch;
    pub(crate) mod callback;
    pub(crate) mod error;
    pub(crate) mod leader;
    pub(crate) mod operator;
    pub(crate) mod read;
    pub(crate) mod relay;
    pub(crate) mod replica;
    pub(crate) mod scheduler;
    pub(crate) mod supervisor;
}

pub use port::agent::{AgentStore, ClaimAnswer, ClaimSteps, ClaimedStep, Extension, Settled, Settlement, StepOutput, Work};
pub use port::batch::{BatchOpened, BatchStore, BatchView, Chunk, ChunkAnswer, EffectsView, FindingView, OpenBatch, Reader};
pub use port::callback::{CallbackStore, CalledStep, NewCallback, Received};
pub use port::error::{Cause, Result, StoreError};
pub use port::leader::{Guarded, JanitorStore, LeaderStore, Pruned, Retention};
pub use port::operator::{Acted, Actor, MessageVerdict, OperatorStore, Question, Questioned, Resolution, Trigger, Triggered};
pub(crate) use port::read::SEEN_RUNS_MAX;
pub use port::read::{
    AttemptView, JobView, MessageFilter, MessageView, ReadStore, ReplicaView, RunDetail, RunFilter, RunView, SEEN_JOBS_MAX,
    SkipView, StatusView, StepDetail, Waiting,
};
pub use port::relay::{ClaimMessages, ClaimedMessage, Marked, MessageSettled, RelayStore};
pub use port::replica::{Prevented, Renewal, ReplicaInfo, ReplicaStore};
pub use port::scheduler::{
    Defined, Definition, JobState, Opened, PauseChange, PlannedSlot, Rest, SchedulerStore, SkipRange, SlotPlan,
};
pub use port::supervisor::{SupervisorStore, Sweep};

/// Everything a replica needs of its store.
pub trait Store:
    ReplicaStore
    + SchedulerStore
    + AgentStore
    + SupervisorStore
    + RelayStore
    + LeaderStore
    + JanitorStore
    + OperatorStore
    + ReadStore
    + BatchStore
    + CallbackStore
{
}

impl<T> Store for T where
    T: ReplicaStore
        + SchedulerStore
        + AgentStore
        + SupervisorStore
        + RelayStore
        + LeaderStore
        + JanitorStore
        + OperatorStore
        + ReadStore
        + BatchStore
        + CallbackStore
{
}

#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "sqlite")]
pub mod sqlite;
