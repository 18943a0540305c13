use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{Mutex, mpsc, oneshot};

use crate::model::{Claim, ReplicaId, RunId};
use crate::store::{AgentStore, ClaimAnswer, ClaimSteps, ClaimedStep, Extension, Result, Settled, Settlement, Store, StoreError};

/// At most so many settlements in one transaction.
const SET_MAX: usize = 500;

type Waiting = (Settlement, oneshot::Sender<Result<Settled>>);

/// Settlements that arrive while another transaction is under way go together in the next one: a group commit that
/// adds no latency when idle. Everything else is passed through.
pub(super) struct Coalescing {
    store: Arc<dyn Store>,
    sender: mpsc::UnboundedSender<Waiting>,
    receiver: Mutex<mpsc::UnboundedReceiver<Waiting>>,
}

impl Coalescing {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { store, sender, receiver: Mutex::new(receiver) }
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
        match self.store.settle_steps(settlements).await {
            Ok(settled) => {
                for (answer, settled) in answers.into_iter().zip(settled) {
                    // Nobody waits any longer when the handler's task was dropped; the settlement stands.
                    drop(answer.send(Ok(settled)));
                }
            }
            Err(error) => answers.into_iter().for_each(|answer| drop(answer.send(Err(error.clone())))),
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

    async fn query_rows(&self, sql: &str) -> Result<String> {
        self.store.query_rows(sql).await
    }
}
