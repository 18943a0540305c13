use std::collections::BTreeMap;

use async_trait::async_trait;
use serde::Serialize;

use super::error::Result;
use super::operator::{Trigger, Triggered};
use super::replica::Prevented;
use crate::model::message::MessageStatus;
use crate::model::recovery::RecoveryRequest;
use crate::model::run::RunStatus;
use crate::model::times::SeenTimes;
use crate::model::{Moment, RunId};

/// Counts over everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatusView {
    /// By status word; every word is present.
    pub runs: BTreeMap<String, u64>,
    /// By status word; succeeded and cancelled ones come from the history.
    pub steps: BTreeMap<String, u64>,
    /// By status word.
    pub outbox: BTreeMap<String, u64>,
    /// Effects in the ledger.
    pub effects: u64,
    /// Live replicas.
    pub replicas: u64,
    /// How long what is due has been waiting.
    pub waiting: Waiting,
    /// Summed over all replicas ever.
    pub prevented: Prevented,
}

/// How long what is due has been waiting for a replica that takes it, in microseconds: the longest of each; 0: nothing waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Waiting {
    /// A step that may be claimed.
    pub step_us: u64,
    /// A message that may be sent.
    pub message_us: u64,
    /// A slot that is not opened yet.
    pub slot_us: u64,
}

/// A job for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the field names are the columns that people see")]
pub struct JobView {
    pub id: String,
    pub name: String,
    pub description: String,
    pub version: u64,
    pub paused_at: Option<Moment>,
    pub next_slot: Option<Moment>,
    pub last_run: Option<String>,
    pub last_status: Option<String>,
}

/// A run for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the field names are the columns that people see")]
pub struct RunView {
    pub id: String,
    pub job: String,
    pub status: String,
    pub origin: String,
    pub scheduled_for: Option<Moment>,
    pub created_at: Moment,
    pub started_at: Option<Moment>,
    pub finished_at: Option<Moment>,
    pub reason: Option<String>,
}

/// Which runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names are the flags of `onebell runs`")]
pub struct RunFilter {
    pub job: Option<String>,
    pub status: Option<RunStatus>,
    pub since: Option<Moment>,
    pub limit: u32,
}

/// A run with its steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the field names are what people see")]
pub struct RunDetail {
    pub run: RunView,
    pub input: Option<String>,
    pub steps: Vec<StepDetail>,
    pub messages: BTreeMap<String, u64>,
}

/// A step of a run, open or done, in topological order, undo steps last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the field names are what people see")]
pub struct StepDetail {
    pub id: String,
    pub name: String,
    pub status: String,
    pub attempt: u64,
    pub tries: u32,
    pub locked_by: Option<String>,
    pub complete_by: Option<Moment>,
    pub ready_at: Option<Moment>,
    pub error: Option<String>,
    pub attempts: Vec<AttemptView>,
}

/// A finished attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the field names are what people see")]
pub struct AttemptView {
    pub attempt: u64,
    pub replica: Option<String>,
    pub claimed_at: Option<Moment>,
    pub started_at: Option<Moment>,
    pub ended_at: Moment,
    pub outcome: String,
    pub error: Option<String>,
    pub summary: String,
    #[serde(skip)]
    pub stdout: Vec<u8>,
    #[serde(skip)]
    pub stderr: Vec<u8>,
}

/// A replica for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the field names are the columns that people see")]
pub struct ReplicaView {
    pub id: String,
    pub label: String,
    pub version: String,
    pub tzdata: String,
    pub beat: u64,
    pub beat_at: Moment,
    pub lost_at: Option<Moment>,
    pub left_at: Option<Moment>,
    /// So far behind what others wrote is its clock: it plans nothing.
    pub clock_behind_s: Option<u64>,
    pub running: u64,
}

/// A message for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the field names are the columns that people see")]
pub struct MessageView {
    pub key: String,
    pub channel: String,
    pub status: String,
    pub on_in_doubt: String,
    pub attempt: u64,
    pub tries: u32,
    pub run: Option<String>,
    pub step: Option<String>,
    pub created_at: Moment,
    pub ready_at: Option<Moment>,
    pub sending_at: Option<Moment>,
    pub finished_at: Option<Moment>,
    pub locked_by: Option<String>,
    pub note: Option<String>,
    pub dropped_by: Option<String>,
    pub resent: bool,
    pub payload: String,
}

/// Which messages; in doubt first, then failed, then the newest.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the field names are the flags of `onebell outbox list`")]
pub struct MessageFilter {
    pub status: Option<MessageStatus>,
    pub run: Option<String>,
    pub limit: u32,
}

/// Slots that did not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the field names are the columns that people see")]
pub struct SkipView {
    pub job: String,
    pub from: Moment,
    pub to: Moment,
    pub count: Option<u64>,
    pub reason: String,
    pub recorded_at: Moment,
}

/// So many jobs are looked at for how long they take.
pub const SEEN_JOBS_MAX: usize = 500;
/// So many runs of each: the newest of its slots, and as many that were asked for.
pub(crate) const SEEN_RUNS_MAX: u32 = 100;

/// Answers to people. Reads only; a read may be a moment old.
#[async_trait]
pub trait ReadStore: Send + Sync {
    /// Counts over everything.
    async fn status(&self) -> Result<StatusView>;
    /// All jobs by name.
    async fn jobs(&self) -> Result<Vec<JobView>>;
    /// The newest runs first.
    async fn runs(&self, filter: &RunFilter) -> Result<Vec<RunView>>;
    /// One run with its steps and their attempts.
    async fn run(&self, run: &RunId) -> Result<Option<RunDetail>>;
    /// Live ones first.
    async fn replicas(&self) -> Result<Vec<ReplicaView>>;
    /// The newest first.
    async fn recoveries(&self, limit: u32) -> Result<Vec<RecoveryRequest>>;
    /// In doubt first.
    async fn messages(&self, filter: &MessageFilter) -> Result<Vec<MessageView>>;
    /// One message.
    async fn message(&self, key: &str) -> Result<Option<MessageView>>;
    /// The newest first.
    async fn skips(&self, job: Option<&str>, limit: u32) -> Result<Vec<SkipView>>;
    /// What asking for a run would find: the run that the same request opened before, or another request under its key. Nothing: it
    /// would open a new one.
    async fn asked_before(&self, trigger: &Trigger) -> Result<Option<Triggered>>;
    /// How long the newest succeeded attempts and runs of these jobs took, by job and step; of [`SEEN_JOBS_MAX`] jobs at most.
    async fn seen_times(&self, jobs: &[String]) -> Result<Vec<SeenTimes>>;
    /// Count and exact sum of a scope, from the effects.
    async fn effects_total(&self, scope: &str) -> Result<(u64, i128)>;
    /// Nothing is queued, running, cancelling, failing or undoing, and no message is open.
    async fn is_idle(&self) -> Result<bool>;
}
