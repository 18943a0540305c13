//! Answers to people. Reads only, over one unchanging view.

use std::collections::BTreeMap;

use async_trait::async_trait;

use super::SqliteStore;
use super::columns::{count, int, span, to_json};
use super::grant::request;
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx, Values};
use super::trigger::before;
use super::views::{job_view, message_view, replica_view, run_detail, run_view, skip_view};
use crate::model::RunId;
use crate::model::message::MessageStatus;
use crate::model::recovery::RecoveryRequest;
use crate::model::run::RunStatus;
use crate::model::step::StepStatus;
use crate::model::times::SeenTimes;
use crate::store::{
    JobView, MessageFilter, MessageView, Prevented, ReadStore, ReplicaView, Result, RunDetail, RunFilter, RunView, SEEN_JOBS_MAX,
    SEEN_RUNS_MAX, SkipView, StatusView, Trigger, Triggered, Waiting,
};

/// What a limit of zero stands for.
const LIMIT: u32 = 1_000;

#[async_trait]
impl ReadStore for SqliteStore {
    async fn status(&self) -> Result<StatusView> {
        self.engine.read(status).await
    }

    async fn jobs(&self) -> Result<Vec<JobView>> {
        self.engine.read(|tx| tx.rows(S::ListJobs, &[], job_view)).await
    }

    async fn runs(&self, filter: &RunFilter) -> Result<Vec<RunView>> {
        let filter = filter.clone();
        let read = move |tx: &Tx<'_>| {
            let values: Values<'_> =
                &[("job", &filter.job), ("status", &filter.status), ("since", &filter.since), ("limit", &limit_of(filter.limit))];
            tx.rows(S::ListRuns, values, run_view)
        };
        self.engine.read(read).await
    }

    async fn run(&self, run: &RunId) -> Result<Option<RunDetail>> {
        let run = run.clone();
        self.engine.read(move |tx| run_detail(tx, &run)).await
    }

    async fn replicas(&self) -> Result<Vec<ReplicaView>> {
        self.engine.read(|tx| tx.rows(S::ListReplicas, &[], replica_view)).await
    }

    async fn recoveries(&self, limit: u32) -> Result<Vec<RecoveryRequest>> {
        self.engine.read(move |tx| tx.rows(S::ListRecoveries, &[("limit", &limit_of(limit))], request)).await
    }

    async fn messages(&self, filter: &MessageFilter) -> Result<Vec<MessageView>> {
        let filter = filter.clone();
        let read = move |tx: &Tx<'_>| {
            let values: Values<'_> = &[("status", &filter.status), ("run", &filter.run), ("limit", &limit_of(filter.limit))];
            tx.rows(S::ListMessages, values, message_view)
        };
        self.engine.read(read).await
    }

    async fn message(&self, key: &str) -> Result<Option<MessageView>> {
        let key = key.to_owned();
        self.engine.read(move |tx| tx.first(S::ShowMessage, &[("key", &key)], message_view)).await
    }

    async fn skips(&self, job: Option<&str>, limit: u32) -> Result<Vec<SkipView>> {
        let job = job.map(str::to_owned);
        let read = move |tx: &Tx<'_>| tx.rows(S::ListSkips, &[("job", &job), ("limit", &limit_of(limit))], skip_view);
        self.engine.read(read).await
    }

    async fn asked_before(&self, trigger: &Trigger) -> Result<Option<Triggered>> {
        let trigger = trigger.clone();
        self.engine.read(move |tx| before(tx, &trigger)).await
    }

    async fn seen_times(&self, jobs: &[String]) -> Result<Vec<SeenTimes>> {
        let jobs = jobs.to_vec();
        let read = move |tx: &Tx<'_>| {
            let values: Values<'_> =
                &[("names", &to_json(&jobs)?), ("jobs", &int(SEEN_JOBS_MAX as u64)), ("runs", &SEEN_RUNS_MAX)];
            tx.rows(S::SeenTimes, values, seen_times)
        };
        self.engine.read(read).await
    }

    async fn effects_total(&self, scope: &str) -> Result<(u64, i128)> {
        let scope = scope.to_owned();
        let read = move |tx: &Tx<'_>| {
            let total = tx.first(S::SumEffects, &[("scope", &scope)], |row| {
                let (high, low) = (row.get::<_, i64>("high")?, row.get::<_, i64>("low")?);
                Ok((count(row, "count")?, (i128::from(high) << 32) + i128::from(low)))
            })?;
            Ok(total.unwrap_or_default())
        };
        self.engine.read(read).await
    }

    async fn is_idle(&self) -> Result<bool> {
        self.engine.read(|tx| Ok(!tx.any(S::IsBusy, &[])?)).await
    }
}

fn seen_times(row: &rusqlite::Row<'_>) -> Outcome<SeenTimes> {
    Ok(SeenTimes {
        job: row.get("job")?,
        step: row.get("step")?,
        count: count(row, "number")?,
        p50: span(row, "p50_us")?,
        p99: span(row, "p99_us")?,
        longest: span(row, "longest_us")?,
    })
}

fn limit_of(limit: u32) -> u32 {
    if limit == 0 { LIMIT } else { limit }
}

fn status(tx: &Tx<'_>) -> Outcome<StatusView> {
    let replicas = tx.first(S::CountReplicas, &[], |row| {
        let prevented = Prevented {
            slots: count(row, "slots")?,
            effects: count(row, "effects")?,
            messages: count(row, "messages")?,
            superseded: count(row, "superseded")?,
        };
        Ok((count(row, "live")?, prevented))
    })?;
    let (live, prevented) = replicas.unwrap_or_default();
    Ok(StatusView {
        runs: counts(tx, S::CountRuns, &[], RunStatus::ALL.iter().map(|word| word.as_str()))?,
        steps: counts(tx, S::CountSteps, &[], StepStatus::ALL.iter().map(|word| word.as_str()))?,
        outbox: counts(tx, S::CountMessages, &[], MessageStatus::ALL.iter().map(|word| word.as_str()))?,
        effects: tx.first(S::CountEffects, &[], |row| Ok(count(row, "count")?))?.unwrap_or_default(),
        replicas: live,
        waiting: tx.first(S::OldestWaiting, &[("now", &tx.now)], waiting)?.unwrap_or_default(),
        prevented,
    })
}

fn waiting(row: &rusqlite::Row<'_>) -> Outcome<Waiting> {
    Ok(Waiting { step_us: count(row, "step_us")?, message_us: count(row, "message_us")?, slot_us: count(row, "slot_us")? })
}

/// Rows of a word and its count, with every word present.
pub(super) fn counts<'w>(
    tx: &Tx<'_>,
    statement: S,
    values: Values<'_>,
    words: impl Iterator<Item = &'w str>,
) -> Outcome<BTreeMap<String, u64>> {
    let mut counts: BTreeMap<String, u64> = words.map(|word| (word.to_owned(), 0)).collect();
    for (word, count) in tx.rows(statement, values, |row| Ok((row.get::<_, String>("word")?, count(row, "count")?)))? {
        *counts.entry(word).or_default() += count;
    }
    Ok(counts)
}
