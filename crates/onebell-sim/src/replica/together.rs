//! Settlements of one process that go in one transaction, as the edge's group commit (`onebell::replica`) sends them.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use onebell::model::{Claim, ReplicaId, RunId};
use onebell::store::{AgentStore, ClaimAnswer, ClaimSteps, ClaimedStep, Extension, Result, Settled, Settlement, StoreError};
use tokio::sync::oneshot;

use crate::executor::turn;
use crate::faulty::FaultyStore;
use crate::ground::Ground;

type Waiting = (Settlement, oneshot::Sender<Result<Settled>>);

/// A process' way to the store; what is settled while another settlement waits goes with it.
pub(super) struct Together {
    store: Arc<FaultyStore>,
    ground: Arc<Ground>,
    waiting: Mutex<Vec<Waiting>>,
}

impl Together {
    pub(super) fn new(store: Arc<FaultyStore>, ground: Arc<Ground>) -> Self {
        Self { store, ground, waiting: Mutex::default() }
    }

    fn take(&self) -> Vec<Waiting> {
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Settles for everybody who waits, unless somebody else has.
    async fn lead(&self, mut answer: oneshot::Receiver<Result<Settled>>) -> Result<Settled> {
        // Others may come meanwhile.
        let turns = self.ground.inner().dice.below(3);
        for _ in 0..turns {
            turn().await;
        }
        if let Ok(answered) = answer.try_recv() {
            return answered;
        }
        let set = self.take();
        if !set.is_empty() {
            self.settle(set).await;
        }
        answer.await.unwrap_or_else(|_| Err(StoreError::away("who settled for us is gone")))
    }

    async fn settle(&self, set: Vec<Waiting>) {
        if set.len() > 1 {
            self.ground.inner().tally.count("call", "settled together");
        }
        let (settlements, answers): (Vec<_>, Vec<_>) = set.into_iter().unzip();
        match self.store.settle_steps(settlements).await {
            Ok(settled) => {
                for (answer, settled) in answers.into_iter().zip(settled) {
                    drop(answer.send(Ok(settled)));
                }
            }
            Err(error) => answers.into_iter().for_each(|answer| drop(answer.send(Err(error.clone())))),
        }
    }
}

#[async_trait]
impl AgentStore for Together {
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
        let mut answers = Vec::with_capacity(settlements.len());
        for settlement in settlements {
            let (sender, answer) = oneshot::channel();
            self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push((settlement, sender));
            answers.push(answer);
        }
        let mut settled = Vec::with_capacity(answers.len());
        for answer in answers {
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
