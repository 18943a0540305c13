use async_trait::async_trait;
use onebell::model::batch::Finding;
use onebell::model::{BatchClaim, Moment};
use onebell::store::{
    Acted, Actor, BatchOpened, BatchStore, BatchView, Chunk, ChunkAnswer, EffectsView, FindingView, OpenBatch, Result,
};

use super::FaultyStore;
use crate::call::{Detail, Port};

#[async_trait]
impl BatchStore for FaultyStore {
    async fn open_batch(&self, open: &OpenBatch) -> Result<BatchOpened> {
        let detail = |answer: &BatchOpened| Detail::BatchOpened { open: open.clone(), answer: answer.clone() };
        self.through("open_batch", Port::Batch, self.ground.store().open_batch(open), detail).await
    }

    async fn apply_chunk(&self, claim: &BatchClaim, chunk: &Chunk) -> Result<ChunkAnswer> {
        let detail = |answer: &ChunkAnswer| Detail::Chunk { claim: claim.clone(), chunk: chunk.clone(), answer: answer.clone() };
        self.through("apply_chunk", Port::Batch, self.ground.store().apply_chunk(claim, chunk), detail).await
    }

    async fn withhold_batch(&self, claim: &BatchClaim, conflicts: u64, findings: &[Finding]) -> Result<bool> {
        let detail = |_: &bool| Detail::BatchWithheld { claim: claim.clone() };
        self.through("withhold_batch", Port::Batch, self.ground.store().withhold_batch(claim, conflicts, findings), detail).await
    }

    async fn sweep_batch(&self, batch: &str) -> Result<bool> {
        self.through("sweep_batch", Port::Batch, self.ground.store().sweep_batch(batch), |_: &bool| Detail::BatchSwept).await
    }

    async fn release_batch(&self, claim: &BatchClaim) -> Result<bool> {
        let detail = |answer: &bool| Detail::BatchReleased { claim: claim.clone(), answer: *answer };
        self.through("release_batch", Port::Batch, self.ground.store().release_batch(claim), detail).await
    }

    async fn cancel_batch(&self, batch: &str, actor: &Actor) -> Result<Acted> {
        let detail = |answer: &Acted| Detail::Acted { what: "cancel_batch", answer: answer.clone() };
        self.through("cancel_batch", Port::Batch, self.ground.store().cancel_batch(batch, actor), detail).await
    }

    async fn resume_batch(&self, batch: &str, actor: &Actor) -> Result<Acted> {
        let detail = |answer: &Acted| Detail::Acted { what: "resume_batch", answer: answer.clone() };
        self.through("resume_batch", Port::Batch, self.ground.store().resume_batch(batch, actor), detail).await
    }

    async fn batches(&self, batch: Option<&str>, scope: Option<&str>, limit: u32) -> Result<Vec<BatchView>> {
        self.reading("batches", self.ground.store().batches(batch, scope, limit)).await
    }

    async fn findings(&self, batch: &str, after_byte: Option<u64>, limit: u32) -> Result<Vec<FindingView>> {
        self.reading("findings", self.ground.store().findings(batch, after_byte, limit)).await
    }

    async fn effects(&self, scope: &str, since: Option<Moment>, until: Option<Moment>) -> Result<EffectsView> {
        self.reading("effects", self.ground.store().effects(scope, since, until)).await
    }
}
