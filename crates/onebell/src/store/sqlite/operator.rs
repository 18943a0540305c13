//! What people do. Each act is in the audit log, written in its transaction.

use async_trait::async_trait;

use super::decide::{cancel_run, resolve_message, resolve_step, retry_run};
use super::engine::Verb;
use super::erase::erase_job;
use super::question::question as ask;
use super::trigger::trigger;
use super::{SqliteStore, clock};
use crate::model::{JobId, RunId};
use crate::store::{Acted, Actor, MessageVerdict, OperatorStore, Question, Questioned, Resolution, Result, Trigger, Triggered};

#[async_trait]
impl OperatorStore for SqliteStore {
    async fn trigger(&self, request: &Trigger) -> Result<Triggered> {
        let request = request.clone();
        self.engine.write(Verb::PLAIN, move |tx| trigger(tx, &request)).await
    }

    async fn cancel_run(&self, run: &RunId, actor: &Actor) -> Result<Acted> {
        let (run, actor) = (run.clone(), actor.clone());
        self.engine.write(Verb::PLAIN, move |tx| cancel_run(tx, &run, &actor)).await
    }

    async fn retry_run(&self, run: &RunId, actor: &Actor) -> Result<Acted> {
        let (run, actor) = (run.clone(), actor.clone());
        self.engine.write(Verb::PLAIN, move |tx| retry_run(tx, &run, &actor)).await
    }

    async fn resolve_step(&self, run: &RunId, step: &str, resolution: Resolution, actor: &Actor) -> Result<Acted> {
        let (run, step, actor) = (run.clone(), step.to_owned(), actor.clone());
        self.engine.write(Verb::PLAIN, move |tx| resolve_step(tx, &run, &step, resolution, &actor)).await
    }

    async fn resolve_message(&self, key: &str, verdict: MessageVerdict, actor: &Actor) -> Result<Acted> {
        let (key, actor) = (key.to_owned(), actor.clone());
        self.engine.write(Verb::PLAIN, move |tx| resolve_message(tx, &key, verdict, &actor)).await
    }

    async fn question(&self, question: &Question) -> Result<Questioned> {
        let question = question.clone();
        self.engine.write(Verb::PLAIN, move |tx| ask(tx, &question)).await
    }

    async fn accept_clock(&self, actor: &Actor) -> Result<Acted> {
        let actor = actor.clone();
        self.engine.write(Verb::PLAIN, move |tx| clock::accept(tx, &actor)).await
    }

    async fn erase_job(&self, job: &JobId) -> Result<bool> {
        let job = job.clone();
        self.engine.write(Verb::PLAIN, move |tx| erase_job(tx, &job)).await
    }
}
