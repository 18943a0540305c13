use async_trait::async_trait;
use onebell::model::{Claim, ReplicaId, RunId};
use onebell::store::{AgentStore, ClaimAnswer, ClaimSteps, ClaimedStep, Extension, Result, Settled, Settlement};

use super::FaultyStore;
use crate::call::{Detail, Port};

#[async_trait]
impl AgentStore for FaultyStore {
    async fn claim_steps(&self, request: &ClaimSteps) -> Result<ClaimAnswer> {
        let detail = |answer: &ClaimAnswer| Detail::Claimed { request: request.clone(), answer: answer.clone() };
        self.through("claim_steps", Port::Agent, self.ground.store().claim_steps(request), detail).await
    }

    async fn held_steps(&self, replica: &ReplicaId) -> Result<Vec<ClaimedStep>> {
        self.reading("held_steps", self.ground.store().held_steps(replica)).await
    }

    async fn start_steps(&self, claims: &[Claim]) -> Result<Vec<bool>> {
        let detail = |answer: &Vec<bool>| Detail::Started { claims: claims.to_vec(), answer: answer.clone() };
        self.through("start_steps", Port::Agent, self.ground.store().start_steps(claims), detail).await
    }

    async fn extend_step(&self, claim: &Claim) -> Result<Extension> {
        let detail = |answer: &Extension| Detail::Extended { claim: claim.clone(), answer: *answer };
        self.through("extend_step", Port::Agent, self.ground.store().extend_step(claim), detail).await
    }

    async fn settle_steps(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>> {
        let kept = settlements.clone();
        let detail = |answer: &Vec<Settled>| Detail::Settled { settlements: kept, answer: answer.clone() };
        self.through("settle_steps", Port::Agent, self.ground.store().settle_steps(settlements), detail).await
    }

    async fn step_rows(&self, run: &RunId, step: &str) -> Result<Option<String>> {
        self.reading("step_rows", self.ground.store().step_rows(run, step)).await
    }

    async fn take_callback(&self, claim: &Claim) -> Result<Option<String>> {
        self.reading("take_callback", self.ground.store().take_callback(claim)).await
    }

    async fn query_rows(&self, sql: &str) -> Result<String> {
        self.reading("query_rows", self.ground.store().query_rows(sql)).await
    }
}
