use std::time::Duration;

use async_trait::async_trait;
use onebell::model::{Moment, ReplicaId, Term};
use onebell::store::{Guarded, JanitorStore, LeaderStore, Pruned, Result, Retention};

use super::{FaultyStore, other};
use crate::call::{Detail, Port};

#[async_trait]
impl LeaderStore for FaultyStore {
    async fn campaign(&self, duty: &str, replica: &ReplicaId, lease: Duration) -> Result<Option<Term>> {
        let detail = |answer: &Option<Term>| Detail::Campaigned { answer: answer.clone() };
        self.through("campaign", Port::Leader, self.ground.store().campaign(duty, replica, lease), detail).await
    }

    async fn report_duty(&self, term: &Term, lease: Duration) -> Result<bool> {
        let detail = |answer: &bool| Detail::Reported { term: term.clone(), answer: *answer };
        self.through("report_duty", Port::Leader, self.ground.store().report_duty(term, lease), detail).await
    }

    async fn resign(&self, term: &Term) -> Result<()> {
        self.through("resign", Port::Leader, self.ground.store().resign(term), other).await
    }
}

#[async_trait]
impl JanitorStore for FaultyStore {
    async fn janitor_now(&self) -> Result<Moment> {
        self.reading("janitor_now", self.ground.store().janitor_now()).await
    }

    async fn prune(&self, term: &Term, retention: &Retention) -> Result<Guarded<Pruned>> {
        let detail =
            |answer: &Guarded<Pruned>| Detail::Pruned { term: term.clone(), retention: retention.clone(), answer: *answer };
        self.through("prune", Port::Janitor, self.ground.store().prune(term, retention), detail).await
    }
}
