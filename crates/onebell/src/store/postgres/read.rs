//! Answers to people. Reads only, each over one state of the database. Rows become views in `views.rs`.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::columns::{int, stamp, values};
use super::error::Outcome;
use super::operator::before;
use super::scheduler::request;
use super::statements::{self as sql, Statement};
use super::transaction::Tx;
use super::{PostgresStore, views};
use crate::model::message::MessageStatus;
use crate::model::recovery::RecoveryRequest;
use crate::model::run::RunStatus;
use crate::model::step::StepStatus;
use crate::model::times::SeenTimes;
use crate::model::{Moment, RunId};
use crate::store::{
    JobView, MessageFilter, MessageView, Prevented, ReadStore, ReplicaView, Result, RunDetail, RunFilter, RunView, SEEN_JOBS_MAX,
    SEEN_RUNS_MAX, SkipView, StatusView, Trigger, Triggered, Waiting,
};

/// What a limit of zero stands for.
const LIMIT: u32 = 1_000;

impl PostgresStore {
    /// The store's clock.
    pub(super) async fn now(&self) -> Result<Moment> {
        match self.clock.given() {
            Some(given) => Ok(given),
            None => self.read("now", |tx| async move { tx.now().await }).await,
        }
    }
}

#[async_trait]
impl ReadStore for PostgresStore {
    async fn status(&self) -> Result<StatusView> {
        self.look("status", |tx| async move { status(&tx).await }).await
    }

    async fn jobs(&self) -> Result<Vec<JobView>> {
        let jobs = |tx: Tx| async move { tx.rows(&sql::LIST_JOBS, &[]).await?.iter().map(views::job).collect() };
        self.look("jobs", jobs).await
    }

    async fn runs(&self, filter: &RunFilter) -> Result<Vec<RunView>> {
        self.look("runs", |tx| async move { runs(&tx, filter).await }).await
    }

    async fn run(&self, run: &RunId) -> Result<Option<RunDetail>> {
        self.look("run", |tx| async move { run_detail(&tx, run).await }).await
    }

    async fn replicas(&self) -> Result<Vec<ReplicaView>> {
        let replicas = |tx: Tx| async move { tx.rows(&sql::LIST_REPLICAS, &[]).await?.iter().map(views::replica).collect() };
        self.look("replicas", replicas).await
    }

    async fn recoveries(&self, limit: u32) -> Result<Vec<RecoveryRequest>> {
        let limit = limit_of(limit);
        let list = |tx: Tx| async move { tx.rows(&sql::LIST_RECOVERIES, values![limit]).await?.iter().map(request).collect() };
        self.look("recoveries", list).await
    }

    async fn messages(&self, filter: &MessageFilter) -> Result<Vec<MessageView>> {
        self.look("messages", |tx| async move { messages(&tx, filter).await }).await
    }

    async fn message(&self, key: &str) -> Result<Option<MessageView>> {
        let message = |tx: Tx| async move {
            let row = tx.first(&sql::SHOW_MESSAGE, values![key]).await?;
            row.as_ref().map(views::message).transpose()
        };
        self.look("message", message).await
    }

    async fn skips(&self, job: Option<&str>, limit: u32) -> Result<Vec<SkipView>> {
        let limit = limit_of(limit);
        let skips =
            |tx: Tx| async move { tx.rows(&sql::LIST_SKIPS, values![job, limit]).await?.iter().map(views::skip).collect() };
        self.look("skips", skips).await
    }

    async fn asked_before(&self, trigger: &Trigger) -> Result<Option<Triggered>> {
        self.look("asked_before", |tx| async move { before(&tx, trigger).await }).await
    }

    async fn seen_times(&self, jobs: &[String]) -> Result<Vec<SeenTimes>> {
        self.look("seen_times", |tx| async move { seen_times(&tx, jobs).await }).await
    }

    async fn effects_total(&self, scope: &str) -> Result<(u64, i128)> {
        let total = |tx: Tx| async move {
            let row = tx.one(&sql::SUM_EFFECTS, values![scope]).await?;
            Ok((row.number("number")?, row.word("total", |text| text.parse().ok())?))
        };
        self.look("effects_total", total).await
    }

    async fn is_idle(&self) -> Result<bool> {
        let idle = |tx: Tx| async move { Ok(!tx.one(&sql::IS_BUSY, &[]).await?.get::<bool>("busy")?) };
        self.read("is_idle", idle).await
    }
}

fn limit_of(limit: u32) -> i64 {
    int(if limit == 0 { LIMIT } else { limit })
}

/// Counts by word. `words` are present even without a row.
async fn counts(tx: &Tx, statement: &Statement, run: Option<&str>, words: &[&str]) -> Outcome<BTreeMap<String, u64>> {
    let mut counts: BTreeMap<String, u64> = words.iter().map(|word| ((*word).to_owned(), 0)).collect();
    let rows = match run {
        Some(run) => tx.rows(statement, values![run]).await?,
        None => tx.rows(statement, &[]).await?,
    };
    for row in rows {
        *counts.entry(row.get("word")?).or_default() += row.number::<u64>("number")?;
    }
    Ok(counts)
}

async fn status(tx: &Tx) -> Outcome<StatusView> {
    let runs: Vec<&str> = RunStatus::ALL.iter().map(|status| status.as_str()).collect();
    let steps: Vec<&str> = StepStatus::ALL.iter().map(|status| status.as_str()).collect();
    let outbox: Vec<&str> = MessageStatus::ALL.iter().map(|status| status.as_str()).collect();
    let replicas = tx.one(&sql::COUNT_REPLICAS, &[]).await?;
    let clock = tx.clock();
    let waiting = tx.one(&sql::OLDEST_WAITING, values![clock]).await?;
    Ok(StatusView {
        runs: counts(tx, &sql::COUNT_RUNS, None, &runs).await?,
        steps: counts(tx, &sql::COUNT_STEPS, None, &steps).await?,
        outbox: counts(tx, &sql::COUNT_MESSAGES, None, &outbox).await?,
        effects: tx.one(&sql::COUNT_EFFECTS, &[]).await?.number("number")?,
        replicas: replicas.number("live")?,
        waiting: Waiting {
            step_us: waiting.number("step_us")?,
            message_us: waiting.number("message_us")?,
            slot_us: waiting.number("slot_us")?,
        },
        prevented: Prevented {
            slots: replicas.number("slots")?,
            effects: replicas.number("effects")?,
            messages: replicas.number("messages")?,
            superseded: replicas.number("superseded")?,
        },
    })
}

async fn seen_times(tx: &Tx, jobs: &[String]) -> Outcome<Vec<SeenTimes>> {
    let names: Vec<&str> = jobs.iter().map(String::as_str).collect();
    let (jobs, runs) = (int(SEEN_JOBS_MAX), int(SEEN_RUNS_MAX));
    tx.rows(&sql::SEEN_TIMES, values![names, jobs, runs]).await?.iter().map(views::seen_times).collect()
}

async fn runs(tx: &Tx, filter: &RunFilter) -> Outcome<Vec<RunView>> {
    let (job, since, limit) = (filter.job.as_deref(), filter.since.map(stamp), limit_of(filter.limit));
    let status = filter.status.map(RunStatus::as_str);
    tx.rows(&sql::LIST_RUNS, values![job, status, since, limit]).await?.iter().map(views::run).collect()
}

async fn messages(tx: &Tx, filter: &MessageFilter) -> Outcome<Vec<MessageView>> {
    let (run, limit) = (filter.run.as_deref(), limit_of(filter.limit));
    let status = filter.status.map(MessageStatus::as_str);
    tx.rows(&sql::LIST_MESSAGES, values![status, run, limit]).await?.iter().map(views::message).collect()
}

async fn run_detail(tx: &Tx, run: &RunId) -> Outcome<Option<RunDetail>> {
    let id = run.as_str();
    let Some(row) = tx.first(&sql::SHOW_RUN, values![id]).await? else {
        return Ok(None);
    };
    let mut steps = Vec::new();
    for step in tx.rows(&sql::SHOW_STEPS, values![id]).await? {
        steps.push(views::step(&step)?);
    }
    steps.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut steps: Vec<_> = steps.into_iter().map(|(_, step)| step).collect();
    let mut attempts = BTreeMap::<String, Vec<_>>::new();
    for attempt in tx.rows(&sql::SHOW_ATTEMPTS, values![id]).await? {
        attempts.entry(attempt.get("step_id")?).or_default().push(views::attempt(&attempt)?);
    }
    for step in &mut steps {
        step.attempts = attempts.remove(&step.id).unwrap_or_default();
    }
    let messages = counts(tx, &sql::COUNT_RUN_MESSAGES, Some(id), &[]).await?;
    Ok(Some(RunDetail { run: views::run(&row)?, input: row.get("input")?, steps, messages }))
}
