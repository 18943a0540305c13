//! The Agent claims steps and settles them under their claims. It opens nothing and recovers nothing.

mod attend;

use std::collections::BTreeMap;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::watch;

use crate::handler::{Handler, Stopper, Vouch};
use crate::model::step::Verdict;
use crate::model::{JobId, ReplicaId, RunId};
use crate::store::{AgentStore, ClaimSteps, ClaimedStep, Result, Settled, Settlement, StepOutput};
use crate::time::Timer;

/// What an agent works with.
#[derive(Clone)]
pub struct Agent {
    /// The store.
    pub store: Arc<dyn AgentStore>,
    /// Waiting and monotonic time.
    pub timer: Arc<dyn Timer>,
    /// Handlers by name.
    pub handlers: BTreeMap<String, Arc<dyn Handler>>,
    /// Until when the replica vouches for its work.
    pub vouch: watch::Receiver<Vouch>,
}

/// How much an agent would take now.
#[derive(Debug, Clone)]
pub struct Room {
    /// As whom.
    pub replica: ReplicaId,
    /// Jobs that it carries.
    pub jobs: Vec<JobId>,
    /// Queues that it serves.
    pub queues: Vec<String>,
    /// How many may start at once.
    pub start: u32,
    /// How many more it would hold in advance.
    pub prefetch: u32,
    /// Whether it holds no other step.
    pub idle: bool,
    /// The only run it is there for, if there is one.
    pub run: Option<RunId>,
}

/// A claimed step and the future that runs and settles it.
pub struct StepWork {
    /// The claimed step.
    pub step: Arc<ClaimedStep>,
    /// Asks its handler to end.
    pub stopper: Stopper,
    /// Ends in a settlement; none when the store stayed broken. Polling it is what starts the work.
    pub future: BoxFuture<'static, Option<Settled>>,
}

/// What a pass took.
#[derive(Default)]
pub struct Taken {
    /// In claim order.
    pub work: Vec<StepWork>,
    /// A step that must run alone waits: take nothing until idle.
    pub drain: bool,
}

impl Agent {
    /// Claims what there is room for.
    pub async fn pass(&self, room: &Room) -> Result<Taken> {
        let request = ClaimSteps {
            replica: room.replica.clone(),
            jobs: room.jobs.clone(),
            handlers: self.handlers.keys().cloned().collect(),
            queues: room.queues.clone(),
            start: room.start,
            prefetch: room.prefetch,
            idle: room.idle,
            run: room.run.clone(),
        };
        // The clock starts before the question, so that our deadline is never later than the store's.
        let asked = self.timer.elapsed();
        let answer = self.store.claim_steps(&request).await?;
        Ok(Taken { work: answer.claimed.into_iter().map(|step| self.work(step, asked)).collect(), drain: answer.drain })
    }

    /// Takes up steps whose claim was answered but whose answer was lost, except those in `known`.
    pub async fn adopt(&self, replica: &ReplicaId, known: &(dyn Fn(&ClaimedStep) -> bool + Sync)) -> Result<Vec<StepWork>> {
        let asked = self.timer.elapsed();
        let held = self.store.held_steps(replica).await?;
        Ok(held.into_iter().filter(|step| !known(step)).map(|step| self.work(step, asked)).collect())
    }

    /// Gives back steps that never started: at no cost.
    pub async fn give_back(&self, steps: &[Arc<ClaimedStep>]) -> Result<()> {
        let settlements = steps.iter().map(|step| settlement(step, Verdict::GivenBack, StepOutput::default())).collect();
        self.store.settle_steps(settlements).await.map(drop)
    }

    fn work(&self, step: ClaimedStep, asked: std::time::Duration) -> StepWork {
        let step = Arc::new(step);
        let (stopper, stop) = Stopper::new();
        let future = attend::attend(self.clone(), Arc::clone(&step), stopper.clone(), stop, asked).boxed();
        StepWork { step, stopper, future }
    }
}

/// A settlement that commits nothing but the end of the attempt.
fn settlement(step: &ClaimedStep, verdict: Verdict, output: StepOutput) -> Settlement {
    Settlement { claim: step.claim.clone(), verdict, effects: Vec::new(), messages: Vec::new(), work: None, output }
}
