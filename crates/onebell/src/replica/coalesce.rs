use std::collections::HashSet;
use std::sync::{Arc, PoisonError};

use async_trait::async_trait;
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::model::{Claim, ReplicaId, RunId, StepId};
use crate::store::{AgentStore, ClaimAnswer, ClaimSteps, ClaimedStep, Extension, Result, Settled, Settlement, Store, StoreError};

/// At most so many settlements in one transaction.
const SET_MAX: usize = 500;

type Waiting = (Settlement, oneshot::Sender<Result<Settled>>);

/// Settlements that arrive while another transaction is under way go together in the next one: a group commit that
/// adds no latency when idle. Everything else is passed through.
///
/// What may wait goes beside the sets, so that nobody waits for it: statements of a user's own, as long as they take, and
/// what met somebody's lock before, one at a time until it has passed.
pub(super) struct Coalescing {
    store: Arc<dyn Store>,
    sender: mpsc::UnboundedSender<Waiting>,
    receiver: Mutex<mpsc::UnboundedReceiver<Waiting>>,
    met_a_lock: std::sync::Mutex<HashSet<(StepId, u64)>>,
    beside: Mutex<()>,
}

fn attempt(settlement: &Settlement) -> (StepId, u64) {
    (settlement.claim.step().clone(), settlement.claim.attempt())
}

impl Coalescing {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        let receiver = Mutex::new(receiver);
        Self { store, sender, receiver, met_a_lock: std::sync::Mutex::default(), beside: Mutex::default() }
    }

    fn met_a_lock(&self) -> std::sync::MutexGuard<'_, HashSet<(StepId, u64)>> {
        self.met_a_lock.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Settlements that met a lock in an earlier set.
    async fn settle_beside(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>> {
        let attempts: Vec<_> = settlements.iter().map(attempt).collect();
        let _one_at_a_time = self.beside.lock().await;
        let answer = self.store.settle_steps(settlements).await;
        if !matches!(answer, Err(StoreError::Contended { .. })) {
            self.met_a_lock().retain(|attempt| !attempts.contains(attempt));
        }
        answer
    }

    /// Whoever gets the lock settles for everybody who waits; the others find their answer when they get it.
    async fn lead(&self, mut answer: oneshot::Receiver<Result<Settled>>) -> Result<Settled> {
        loop {
            tokio::select! {
                biased;
                answered = &mut answer => return answered.unwrap_or_else(|_| Err(StoreError::away("the settling task ended"))),
                mut receiver = self.receiver.lock() => {
                    let mut set = Vec::new();
                    while set.len() < SET_MAX && let Ok(waiting) = receiver.try_recv() {
                        set.push(waiting);
                    }
                    if !set.is_empty() {
                        self.settle_set(set).await;
                    }
                }
            }
        }
    }

    async fn settle_set(&self, set: Vec<Waiting>) {
        let (settlements, answers): (Vec<_>, Vec<_>) = set.into_iter().unzip();
        let attempts: Vec<_> = settlements.iter().map(attempt).collect();
        match self.store.settle_steps(settlements).await {
            Ok(settled) => {
                for (answer, settled) in answers.into_iter().zip(settled) {
                    // Nobody waits any longer when the handler's task was dropped; the settlement stands.
                    drop(answer.send(Ok(settled)));
                }
            }
            Err(error) => {
                if matches!(error, StoreError::Contended { .. }) {
                    self.met_a_lock().extend(attempts);
                }
                answers.into_iter().for_each(|answer| drop(answer.send(Err(error.clone()))));
            }
        }
    }
}

#[async_trait]
impl AgentStore for Coalescing {
    async fn claim_steps(&self, request: &ClaimSteps) -> Result<ClaimAnswer> {
        self.store.claim_steps(request).await
    }

    async fn held_steps(&self, replica: &ReplicaId) -> Result<Vec<ClaimedStep>> {
        self.store.held_steps(replica).await
    }

    async fn start_steps(&self, claims: &[Claim]) -> Result<Vec<bool>> {
        self.store.start_steps(claims).await
    }

    async fn extend_step(&self, claim: &Claim) -> Result<Extension> {
        self.store.extend_step(claim).await
    }

    async fn settle_steps(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>> {
        if settlements.iter().any(|settlement| settlement.work.is_some()) {
            return self.store.settle_steps(settlements).await;
        }
        let met = settlements.iter().any(|settlement| self.met_a_lock().contains(&attempt(settlement)));
        if met {
            return self.settle_beside(settlements).await;
        }
        let mut settled = Vec::with_capacity(settlements.len());
        let mut waiting = Vec::with_capacity(settlements.len());
        for settlement in settlements {
            let (sender, receiver) = oneshot::channel();
            self.sender.send((settlement, sender)).map_err(|_| StoreError::away("the settling queue is closed"))?;
            waiting.push(receiver);
        }
        for answer in waiting {
            settled.push(self.lead(answer).await?);
        }
        Ok(settled)
    }

    async fn step_rows(&self, run: &RunId, step: &str) -> Result<Option<String>> {
        self.store.step_rows(run, step).await
    }

    async fn take_callback(&self, claim: &Claim) -> Result<Option<String>> {
        self.store.take_callback(claim).await
    }

    async fn query_rows(&self, sql: &str) -> Result<String> {
        self.store.query_rows(sql).await
    }
}
