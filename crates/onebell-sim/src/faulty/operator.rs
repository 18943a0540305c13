use async_trait::async_trait;
use onebell::model::{JobId, RunId};
use onebell::store::{Acted, Actor, MessageVerdict, OperatorStore, Question, Questioned, Resolution, Result, Trigger, Triggered};

use super::{FaultyStore, other};
use crate::call::{Detail, Port};

#[async_trait]
impl OperatorStore for FaultyStore {
    async fn trigger(&self, trigger: &Trigger) -> Result<Triggered> {
        let detail = |answer: &Triggered| Detail::Triggered { trigger: trigger.clone(), answer: answer.clone() };
        self.through("trigger", Port::Operator, self.ground.store().trigger(trigger), detail).await
    }

    async fn cancel_run(&self, run: &RunId, actor: &Actor) -> Result<Acted> {
        let detail = |answer: &Acted| Detail::Acted { what: "cancel", answer: answer.clone() };
        self.through("cancel_run", Port::Operator, self.ground.store().cancel_run(run, actor), detail).await
    }

    async fn retry_run(&self, run: &RunId, actor: &Actor) -> Result<Acted> {
        let detail = |answer: &Acted| Detail::Acted { what: "retry", answer: answer.clone() };
        self.through("retry_run", Port::Operator, self.ground.store().retry_run(run, actor), detail).await
    }

    async fn resolve_step(&self, run: &RunId, step: &str, resolution: Resolution, actor: &Actor) -> Result<Acted> {
        let detail = |answer: &Acted| Detail::Acted { what: "resolve", answer: answer.clone() };
        self.through("resolve_step", Port::Operator, self.ground.store().resolve_step(run, step, resolution, actor), detail).await
    }

    async fn resolve_message(&self, key: &str, verdict: MessageVerdict, actor: &Actor) -> Result<Acted> {
        let detail = |answer: &Acted| Detail::MessageResolved { key: key.to_owned(), verdict, answer: answer.clone() };
        self.through("resolve_message", Port::Operator, self.ground.store().resolve_message(key, verdict, actor), detail).await
    }

    async fn question(&self, question: &Question) -> Result<Questioned> {
        self.through("question", Port::Operator, self.ground.store().question(question), other).await
    }

    async fn accept_clock(&self, actor: &Actor) -> Result<Acted> {
        let detail = |answer: &Acted| Detail::Acted { what: "accept_clock", answer: answer.clone() };
        self.through("accept_clock", Port::Operator, self.ground.store().accept_clock(actor), detail).await
    }

    async fn erase_job(&self, job: &JobId) -> Result<bool> {
        self.through("erase_job", Port::Operator, self.ground.store().erase_job(job), other).await
    }
}
