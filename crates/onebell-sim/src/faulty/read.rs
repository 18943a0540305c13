use async_trait::async_trait;
use onebell::model::RunId;
use onebell::model::recovery::RecoveryRequest;
use onebell::model::times::SeenTimes;
use onebell::store::{
    JobView, MessageFilter, MessageView, ReadStore, ReplicaView, Result, RunDetail, RunFilter, RunView, SkipView, StatusView,
    Trigger, Triggered,
};

use super::FaultyStore;

#[async_trait]
impl ReadStore for FaultyStore {
    async fn status(&self) -> Result<StatusView> {
        self.reading("status", self.ground.store().status()).await
    }

    async fn jobs(&self) -> Result<Vec<JobView>> {
        self.reading("jobs", self.ground.store().jobs()).await
    }

    async fn runs(&self, filter: &RunFilter) -> Result<Vec<RunView>> {
        self.reading("runs", self.ground.store().runs(filter)).await
    }

    async fn run(&self, run: &RunId) -> Result<Option<RunDetail>> {
        self.reading("run", self.ground.store().run(run)).await
    }

    async fn replicas(&self) -> Result<Vec<ReplicaView>> {
        self.reading("replicas", self.ground.store().replicas()).await
    }

    async fn recoveries(&self, limit: u32) -> Result<Vec<RecoveryRequest>> {
        self.reading("recoveries", self.ground.store().recoveries(limit)).await
    }

    async fn messages(&self, filter: &MessageFilter) -> Result<Vec<MessageView>> {
        self.reading("messages", self.ground.store().messages(filter)).await
    }

    async fn message(&self, key: &str) -> Result<Option<MessageView>> {
        self.reading("message", self.ground.store().message(key)).await
    }

    async fn skips(&self, job: Option<&str>, limit: u32) -> Result<Vec<SkipView>> {
        self.reading("skips", self.ground.store().skips(job, limit)).await
    }

    async fn asked_before(&self, trigger: &Trigger) -> Result<Option<Triggered>> {
        self.reading("asked_before", self.ground.store().asked_before(trigger)).await
    }

    async fn seen_times(&self, jobs: &[String]) -> Result<Vec<SeenTimes>> {
        self.reading("seen_times", self.ground.store().seen_times(jobs)).await
    }

    async fn effects_total(&self, scope: &str) -> Result<(u64, i128)> {
        self.reading("effects_total", self.ground.store().effects_total(scope)).await
    }

    async fn is_idle(&self) -> Result<bool> {
        self.reading("is_idle", self.ground.store().is_idle()).await
    }
}
