use async_trait::async_trait;
use onebell::model::Moment;
use onebell::store::{Result, SupervisorStore, Sweep};

use super::FaultyStore;
use crate::call::{Detail, Port};

#[async_trait]
impl SupervisorStore for FaultyStore {
    async fn supervisor_now(&self) -> Result<Moment> {
        self.reading("supervisor_now", self.ground.store().supervisor_now()).await
    }

    async fn request_recovery(&self, sweep: &Sweep) -> Result<u32> {
        let detail = |_: &u32| Detail::Asked { sweep: sweep.clone() };
        self.through("request_recovery", Port::Supervisor, self.ground.store().request_recovery(sweep), detail).await
    }
}
