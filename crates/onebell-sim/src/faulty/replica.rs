use async_trait::async_trait;
use onebell::model::ReplicaId;
use onebell::store::{Prevented, Renewal, ReplicaInfo, ReplicaStore, Result};

use super::{FaultyStore, other};
use crate::call::{Detail, Port};

#[async_trait]
impl ReplicaStore for FaultyStore {
    async fn enlist(&self, info: &ReplicaInfo) -> Result<()> {
        self.through("enlist", Port::Replica, self.ground.store().enlist(info), other).await
    }

    async fn renew(&self, id: &ReplicaId, prevented: &Prevented) -> Result<Renewal> {
        let detail = |answer: &Renewal| Detail::Renewed { id: id.clone(), answer: answer.clone() };
        self.through("renew", Port::Replica, self.ground.store().renew(id, prevented), detail).await
    }

    async fn leave(&self, id: &ReplicaId) -> Result<()> {
        self.through("leave", Port::Replica, self.ground.store().leave(id), other).await
    }
}
