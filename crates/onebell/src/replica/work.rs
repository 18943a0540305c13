use std::collections::VecDeque;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::health::Loop;
use super::shared::Shared;
use crate::handler::StopReason;
use crate::model::StepId;
use crate::roles::agent::{Agent, Room, StepWork};
use crate::store::{AgentStore, ClaimedStep, Settled};

/// The Agent's loop. It returns when the replica drains and the steps in hand have ended.
pub(super) async fn take(shared: Arc<Shared>) {
    let store: Arc<dyn AgentStore> = Arc::<super::coalesce::Coalescing>::clone(&shared.agent_store);
    let mut carrying = shared.carrying.subscribe();
    let handlers = carrying.borrow_and_update().handlers.clone();
    let mut agent = Agent { store, timer: Arc::clone(&shared.timer), handlers, vouch: shared.vouch.subscribe() };
    let mut hands = Hands::default();
    loop {
        if shared.phase.is_working() {
            // What is in hand keeps the handler that it began with.
            if carrying.has_changed().unwrap_or(false) {
                agent.handlers = carrying.borrow_and_update().handlers.clone();
            }
            hands.fill(&shared, &agent).await;
        } else {
            hands.give_back(&agent).await;
            if hands.running.is_empty() {
                return;
            }
        }
        tokio::select! {
            Some(ended) = hands.running.join_next() => {
                hands.ended(&shared, ended);
                // Settled together, they end together: what they leave free is claimed together too.
                tokio::task::yield_now().await;
                while let Some(ended) = hands.running.try_join_next() {
                    hands.ended(&shared, ended);
                }
            }
            () = shared.wait(&shared.hints.agent, shared.settings.poll) => {}
            () = shared.phase.drained(), if shared.phase.is_working() => {}
        }
    }
}

/// A step and the number of its attempt.
type Attempt = (StepId, u64);

fn attempt(step: &ClaimedStep) -> Attempt {
    (step.claim.step().clone(), step.claim.attempt())
}

#[derive(Default)]
struct Hands {
    running: JoinSet<(Attempt, Option<Settled>)>,
    /// Claimed in advance, not started.
    waiting: VecDeque<StepWork>,
    /// A step that must run alone is in hand.
    alone: bool,
    /// A step that must run alone waits in the store.
    drain: bool,
    /// The answer to a claim was lost: read back what we hold before claiming again.
    unsure: bool,
}

impl Hands {
    async fn fill(&mut self, shared: &Arc<Shared>, agent: &Agent) {
        let Some(replica) = shared.vouched() else {
            // Claimed in advance under a name that may be lost: its recovery costs no try.
            self.waiting.clear();
            return;
        };
        self.waiting.retain(|work| *work.step.claim.replica() == replica);
        if self.unsure && !self.adopt(shared, agent, &replica).await {
            return;
        }
        self.start_waiting(shared);
        let idle = self.running.is_empty() && self.waiting.is_empty();
        self.alone &= !idle;
        self.drain &= !idle;
        let start = self.free(shared);
        let prefetch = shared.settings.prefetch.saturating_sub(count(self.waiting.len()));
        if self.alone || self.drain || start + prefetch == 0 {
            shared.finished(Loop::Agent);
            return;
        }
        let (jobs, queues, run) =
            (shared.jobs.borrow().to_vec(), shared.settings.queues.clone(), shared.settings.only_run.clone());
        let room = Room { replica, jobs, queues, start, prefetch, idle, run };
        match agent.pass(&room).await {
            Ok(taken) => {
                shared.finished(Loop::Agent);
                self.drain = taken.drain;
                taken.work.into_iter().for_each(|work| self.receive(shared, work));
            }
            Err(error) => {
                self.unsure = true;
                tracing::debug!(%error, "steps could not be claimed");
            }
        }
    }

    /// False: the store does not answer; try again later.
    async fn adopt(&mut self, shared: &Arc<Shared>, agent: &Agent, replica: &crate::model::ReplicaId) -> bool {
        let waiting: Vec<Attempt> = self.waiting.iter().map(|work| attempt(&work.step)).collect();
        let known =
            |step: &ClaimedStep| waiting.contains(&attempt(step)) || shared.lock(&shared.in_hand).contains_key(&attempt(step));
        let Ok(found) = agent.adopt(replica, &known).await else { return false };
        self.unsure = false;
        found.into_iter().for_each(|work| self.receive(shared, work));
        true
    }

    fn receive(&mut self, shared: &Arc<Shared>, work: StepWork) {
        self.alone |= work.step.alone;
        if work.step.started { self.begin(shared, work) } else { self.waiting.push_back(work) }
    }

    fn start_waiting(&mut self, shared: &Arc<Shared>) {
        while self.free(shared) > 0
            && let Some(work) = self.waiting.pop_front()
        {
            self.begin(shared, work);
        }
    }

    fn free(&self, shared: &Shared) -> u32 {
        shared.settings.concurrency.saturating_sub(count(self.running.len()))
    }

    fn begin(&mut self, shared: &Arc<Shared>, work: StepWork) {
        let attempt = attempt(&work.step);
        shared.lock(&shared.in_hand).insert(attempt.clone(), work.stopper.clone());
        // Asked once it is in hand: whatever ends all work from now on ends this too.
        if !shared.may_begin(work.step.claim.replica()) {
            work.stopper.stop(StopReason::OwnStop);
        }
        self.running.spawn(async move { (attempt, work.future.await) });
    }

    fn ended(&mut self, shared: &Shared, ended: Result<(Attempt, Option<Settled>), tokio::task::JoinError>) {
        match ended {
            Ok((attempt, settled)) => {
                shared.lock(&shared.in_hand).remove(&attempt);
                log(&attempt.0, settled.as_ref());
                shared.settled(settled.as_ref());
            }
            Err(error) => tracing::error!(%error, "a step's task ended unexpectedly; its claim will lapse"),
        }
    }

    async fn give_back(&mut self, agent: &Agent) {
        let steps: Vec<_> = self.waiting.drain(..).map(|work| work.step).collect();
        if !steps.is_empty()
            && let Err(error) = agent.give_back(&steps).await
        {
            tracing::warn!(%error, count = steps.len(), "claims could not be given back; they are recovered at no cost");
        }
    }
}

fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

fn log(id: &StepId, settled: Option<&Settled>) {
    match settled {
        Some(Settled::Applied { status, refused: Some(why), .. }) => tracing::warn!(step = %id, %status, why, "step refused"),
        Some(Settled::Applied { status, .. }) => tracing::info!(step = %id, %status, "step settled"),
        Some(Settled::Already) => tracing::info!(step = %id, "step had been settled: an acknowledgement was lost"),
        Some(Settled::Superseded) => tracing::warn!(step = %id, "superseded: the late result changed nothing"),
        None => tracing::error!(step = %id, "step not settled; its claim will lapse"),
    }
}
