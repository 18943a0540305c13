use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::error::Result;
use crate::model::message::NewMessage;
use crate::model::overlap::Origin;
use crate::model::step::{StepStatus, Verdict};
use crate::model::{Claim, Effect, JobId, Moment, ReplicaId, RunId};

/// Which steps an agent would take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimSteps {
    /// The new owner; it must be live.
    pub replica: ReplicaId,
    /// Jobs it carries.
    pub jobs: Vec<JobId>,
    /// Handlers it carries.
    pub handlers: Vec<String>,
    /// Queues it serves.
    pub queues: Vec<String>,
    /// How many start at once.
    pub start: u32,
    /// How many more are taken in advance (not started).
    pub prefetch: u32,
    /// Whether the agent holds no other step: only then it may take one that must run alone.
    pub idle: bool,
    /// Only steps of this run.
    pub run: Option<RunId>,
}

/// What an agent got.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClaimAnswer {
    /// In claim order: by priority (higher first), then `ready_at`, then id.
    pub claimed: Vec<ClaimedStep>,
    /// A step that must run alone waits and this agent was not idle: claim nothing until it is.
    pub drain: bool,
}

/// A claimed step with all that its handler needs.
#[derive(Debug, Clone, PartialEq)]
pub struct ClaimedStep {
    /// The proof.
    pub claim: Claim,
    /// The job's name.
    pub job: String,
    /// The run's slot.
    pub scheduled_for: Option<Moment>,
    /// Why the run exists.
    pub origin: Origin,
    /// The run's input, JSON text.
    pub input: Option<String>,
    /// The step's name; an undo's ends with `~undo`.
    pub name: String,
    /// Which handler.
    pub handler: String,
    /// For the handler, JSON text.
    pub spec: String,
    /// Steps before it.
    pub after: Vec<String>,
    /// Spent of its budget, this one included.
    pub tries: u32,
    /// Progress sets `complete_by` to now + this.
    pub timeout: Duration,
    /// When the claim lapses.
    pub complete_by: Moment,
    /// Progress cannot move it beyond this.
    pub hard_complete_by: Moment,
    /// The store's now at the claim: with `complete_by` it gives the time left, whatever the replica's own clock says.
    pub claimed_at: Moment,
    /// Whether its work may begin without [`AgentStore::start_steps`].
    pub started: bool,
    /// It must run alone.
    pub alone: bool,
}

/// What a step wrote for those who look at it later.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StepOutput {
    /// Rows for `for_each`: a JSON array as text, whole and unmasked.
    pub rows: Option<String>,
    /// Captured standard output, head and tail, masked; bytes as they came.
    pub stdout: Vec<u8>,
    /// Captured standard error, as `stdout`.
    pub stderr: Vec<u8>,
    /// How it ended, for people: `exit code 3`, `signal 9`, `118 messages`.
    pub summary: String,
}

/// Statements of the user's own, run first in the settling transaction. Must be safe to run again: the transaction may be repeated.
#[derive(Clone)]
pub enum Work {
    /// SQL text, several statements allowed; rows of the last one that returns any become the step's rows.
    Sql(String),
    /// A backend's own closure type, as that backend's `work` function makes it.
    Native(Arc<dyn Any + Send + Sync>),
}

impl std::fmt::Debug for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sql(text) => f.debug_tuple("Sql").field(text).finish(),
            Self::Native(_) => f.write_str("Native"),
        }
    }
}

/// The end of an attempt, under its claim.
#[derive(Debug, Clone)]
pub struct Settlement {
    /// The proof.
    pub claim: Claim,
    /// How it ended.
    pub verdict: Verdict,
    /// Committed with it; only with `Succeeded`.
    pub effects: Vec<Effect>,
    /// Committed with it; only with `Succeeded`.
    pub messages: Vec<NewMessage>,
    /// Committed with it; only with `Succeeded`.
    pub work: Option<Work>,
    /// Kept in the history.
    pub output: StepOutput,
}

/// What became of a settlement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// Written now.
    Applied {
        /// Where the step stands.
        status: StepStatus,
        /// Effects that existed with the same payload.
        effects_already: u32,
        /// Messages that existed with the same payload.
        messages_already: u32,
        /// Why it was failed or put off although the verdict was `Succeeded`: a conflict, or a refused user statement.
        refused: Option<String>,
    },
    /// This attempt was settled by this replica before: a lost acknowledgement.
    Already,
    /// The claim was not ours any longer: no state changed.
    Superseded,
}

/// What became of a progress report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extension {
    /// The claim now lapses then.
    Extended(Moment),
    /// Not ours any longer, lapsed, or its replica is not live: end the work.
    Superseded,
}

/// Claims steps and settles them under their claims.
#[async_trait]
pub trait AgentStore: Send + Sync {
    /// Claims up to `start + prefetch` pending, ready steps of active runs with one conditional update: `attempt + 1`,
    /// `tries + 1`, `locked_by`, `claimed_at`, `complete_by = now + timeout`, `started_at = now` for the first `start`.
    /// Nothing if the replica is not live. Steps that must run alone are taken one at a time and only by an idle agent.
    async fn claim_steps(&self, request: &ClaimSteps) -> Result<ClaimAnswer>;

    /// What the store says this replica holds: read after a claim whose answer was lost.
    async fn held_steps(&self, replica: &ReplicaId) -> Result<Vec<ClaimedStep>>;

    /// Begins steps claimed in advance, under their fences: `started_at = now`, `complete_by = now + timeout`, and the hard
    /// limit counts from now, once. In order, whether the claim still held; a lapsed one does not. Safe to repeat.
    async fn start_steps(&self, claims: &[Claim]) -> Result<Vec<bool>>;

    /// Progress: `complete_by = now + timeout`, at most the hard limit; never for a lapsed claim or a replica that is not live.
    async fn extend_step(&self, claim: &Claim) -> Result<Extension>;

    /// Ends attempts, in the order given. One transaction for the set where possible: runs locked first, then the steps
    /// compared with their fences; effects and messages written only for claims that held; history appended; readiness and
    /// end of the runs decided in a later statement. A set that fails is split, so that one conflict or refused statement
    /// does not fail its neighbours; a conflict fails that step in a second transaction. A settlement with user
    /// statements is one transaction of its own. Safe to repeat: a repeated one is `Already`.
    async fn settle_steps(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>>;

    /// The rows that a succeeded step of the run wrote (`StepOutput::rows`).
    async fn step_rows(&self, run: &RunId, step: &str) -> Result<Option<String>>;

    /// What came back for this step and no attempt has ended by, JSON text. From now on it is this attempt's: one after it gets it only
    /// if this one is lost, given back or stopped. Nothing for a claim that does not hold.
    async fn take_callback(&self, claim: &Claim) -> Result<Option<String>>;

    /// Rows of a query of the user's own, as a JSON array of objects; read-only.
    async fn query_rows(&self, sql: &str) -> Result<String>;
}
