use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::watch;

use super::{Outcome, Stop};
use crate::model::overlap::Origin;
use crate::model::{Claim, Moment, ReplicaId, RunId, StepDefinition, StepId};
use crate::store::{AgentStore, ClaimedStep, Extension, Result};

/// Runs steps. An `async fn(Context) -> Outcome` is one.
///
/// It may be run again after any failure: what it does by itself outside [`super::Done`] happens at least once and
/// should carry [`Context::idempotency_key`].
#[async_trait]
pub trait Handler: Send + Sync {
    /// Does the work of one attempt.
    async fn run(&self, context: Context) -> Outcome;
}

#[async_trait]
impl<F, Fut> Handler for F
where
    F: Fn(Context) -> Fut + Send + Sync,
    Fut: Future<Output = Outcome> + Send,
{
    async fn run(&self, context: Context) -> Outcome {
        self(context).await
    }
}

/// Until when the replica vouches for its work, on a monotonic clock that counts suspension. Forwarded to
/// whoever must end the work when the replica itself is frozen or dead.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Vouch {
    /// When the last successful renewal was sent ([`crate::time::Timer::elapsed`]).
    pub renewed_at: Duration,
    /// From then on, ask the work to end after this.
    pub term_after: Duration,
    /// From then on, end it by force after this.
    pub kill_after: Duration,
}

impl Vouch {
    /// Whether the replica still vouches for its work at `now`: else it takes none and begins none.
    pub fn is_fresh(&self, now: Duration) -> bool {
        now < self.renewed_at + self.term_after
    }
}

/// Which attempt a test of a handler is about.
#[derive(Debug, Clone)]
pub struct AttemptOf {
    /// The job's name.
    pub job: String,
    /// The run.
    pub run: RunId,
    /// Its slot.
    pub scheduled_for: Option<Moment>,
    /// Its input, JSON text.
    pub input: Option<String>,
    /// The fence.
    pub attempt: u64,
    /// The store's now.
    pub claimed_at: Moment,
}

/// What a handler knows and may do during its attempt.
#[derive(Clone)]
pub struct Context {
    step: Arc<ClaimedStep>,
    store: Arc<dyn AgentStore>,
    stop: Stop,
    vouch: watch::Receiver<Vouch>,
    extended: watch::Sender<Duration>,
}

impl Context {
    /// Made by the agent for one attempt; public for tests of handlers. `extended` receives the time from the claim to
    /// the new `complete_by` after each progress report.
    pub fn new(
        step: Arc<ClaimedStep>,
        store: Arc<dyn AgentStore>,
        stop: Stop,
        vouch: watch::Receiver<Vouch>,
        extended: watch::Sender<Duration>,
    ) -> Self {
        Self { step, store, stop, vouch, extended }
    }

    /// For those who test a handler: one attempt of `step` over any store. The claim it carries was issued by no store, so a
    /// real one answers it with `Superseded`. It reports progress to nobody.
    pub fn for_store(
        store: Arc<dyn AgentStore>,
        step: &StepDefinition,
        of: &AttemptOf,
        stop: Stop,
        vouch: watch::Receiver<Vouch>,
    ) -> Self {
        let claim =
            Claim::issued(StepId::of(&of.run, &step.name), of.run.clone(), of.attempt, ReplicaId::from_text("handler-test"));
        let claimed = ClaimedStep {
            claim,
            job: of.job.clone(),
            scheduled_for: of.scheduled_for,
            origin: of.scheduled_for.map_or(Origin::Request, |_| Origin::Slot),
            input: of.input.clone(),
            name: step.name.clone(),
            handler: step.handler.clone(),
            spec: step.spec.clone(),
            after: step.after.clone(),
            tries: 1,
            timeout: step.timeout,
            complete_by: of.claimed_at + step.timeout,
            hard_complete_by: of.claimed_at + step.hard_limit,
            claimed_at: of.claimed_at,
            started: true,
            alone: false,
        };
        Self::new(Arc::new(claimed), store, stop, vouch, watch::Sender::new(step.timeout))
    }

    /// The claimed step: job, slot, input, spec, attempt, deadline.
    pub fn step(&self) -> &ClaimedStep {
        &self.step
    }

    /// The same on every attempt and over retries of the run; another run has another.
    pub fn idempotency_key(&self) -> &str {
        self.step.claim.step().as_str()
    }

    /// The fence: compare it where the work writes to a third place; a smaller number than one seen is a zombie's.
    pub fn attempt(&self) -> u64 {
        self.step.claim.attempt()
    }

    /// Fires when the work should end.
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// Until when the replica vouches for this work.
    pub fn vouch(&self) -> watch::Receiver<Vouch> {
        self.vouch.clone()
    }

    /// Says that the work goes on: the claim is extended by the step's timeout, up to its hard limit.
    pub async fn progress(&self) -> Result<Extension> {
        let extension = self.store.extend_step(&self.step.claim).await?;
        if let Extension::Extended(until) = extension {
            self.extended.send_replace(until.since(self.step.claimed_at));
        }
        Ok(extension)
    }

    /// Rows that an earlier step of this run wrote, a JSON array as text.
    pub async fn rows_of(&self, step: &str) -> Result<Option<String>> {
        self.store.step_rows(self.step.claim.run(), step).await
    }

    /// What came back later than its request, JSON text; see [`AgentStore::take_callback`].
    pub async fn callback(&self) -> Result<Option<String>> {
        self.store.take_callback(&self.step.claim).await
    }

    /// Rows of a read-only query, a JSON array of objects as text.
    pub async fn query_rows(&self, sql: &str) -> Result<String> {
        self.store.query_rows(sql).await
    }
}
