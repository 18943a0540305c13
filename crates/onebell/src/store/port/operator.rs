use async_trait::async_trait;

use super::error::Result;
use crate::model::transition::words;
use crate::model::{Conflict, JobId, Moment, RunId};

/// Who acts, for the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// A person or a program.
    pub name: String,
    /// Why.
    pub reason: Option<String>,
}

/// A request for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    /// The job's name.
    pub job: String,
    /// Identity of the request over all jobs.
    pub key: crate::model::Key,
    /// JSON text.
    pub input: Option<String>,
    /// For the audit log.
    pub actor: Actor,
}

/// What became of a request for a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Triggered {
    /// A new run; it was admitted if overlap allows.
    Opened(RunId),
    /// The same request was made before: its run.
    Already(RunId),
    /// The key was used for another job or input; nothing was done.
    Conflict(Conflict),
    /// No such job.
    NoSuchJob,
}

/// What became of an operator's act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Acted {
    /// Done.
    Done,
    /// No such run, step or message.
    NotFound,
    /// Its state does not allow it; says which would.
    NotNow(String),
}

words! {
    /// A person's word on a step.
    Resolution {
        /// It did its work.
        Succeeded = "succeeded",
        /// It did not and will not.
        Failed = "failed",
        /// It gets a new budget.
        Retry = "retry",
    }
}

words! {
    /// A person's word on a message.
    MessageVerdict {
        /// It arrived.
        Sent = "sent",
        /// Send it again: at least once.
        Resend = "resend",
        /// Do not send it.
        Drop = "drop",
    }
}

/// The database was restored, or a standby that lacked the last moments took over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What was done up to here is surely in it; for people.
    pub since: Moment,
    /// Runs and messages asked about at once.
    pub limit: u32,
    /// For the audit log.
    pub actor: Actor,
}

/// What waits for a person now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Questioned {
    /// A replica was heard of within its lease, so that nothing was done.
    Live {
        /// Its label.
        label: String,
        /// When it was heard of.
        heard_at: Moment,
    },
    /// So many; none at all: nothing is left to ask about.
    Asked {
        /// Steps held, and with them their runs.
        steps: u32,
        /// Messages in doubt.
        messages: u32,
    },
}

/// What people do. Each act is in the audit log, written in its transaction.
#[async_trait]
pub trait OperatorStore: Send + Sync {
    /// Opens a run for a request key: key row first (`ON CONFLICT DO NOTHING`, read back in a later statement), run and
    /// steps, then admission under the job lock. The fingerprint of (job, input) is compared before any state.
    async fn trigger(&self, trigger: &Trigger) -> Result<Triggered>;

    /// `queued, running, parked → cancelling` and what follows. Not for a run that is already being undone.
    async fn cancel_run(&self, run: &RunId, actor: &Actor) -> Result<Acted>;

    /// A parked run: exhausted, held and failed steps get a new budget. A failed run, if no undo began: also cancelled
    /// steps wait again, dropped messages are ready again, and it is queued.
    async fn retry_run(&self, run: &RunId, actor: &Actor) -> Result<Acted>;

    /// Decides an exhausted, held or failed step of an open run (`failed` steps: only while the run is parked).
    async fn resolve_step(&self, run: &RunId, step: &str, resolution: Resolution, actor: &Actor) -> Result<Acted>;

    /// Decides a message: `sent` for one in doubt; `resend` for one in doubt or failed; `drop` for ready, failed, in doubt.
    async fn resolve_message(&self, key: &str, verdict: MessageVerdict, actor: &Actor) -> Result<Acted>;

    /// After a restore: whatever is open may have ended in what was lost. Pending and running steps are held, also those of queued
    /// runs, which start for that; messages of steps that are not to be sent twice are in doubt. Runs park as a consequence. What a
    /// live replica holds is left alone. To be called until it answers that nothing is left.
    async fn question(&self, question: &Question) -> Result<Questioned>;

    /// The store's clock was set back, and it is right: what lies ahead of it no longer counts. Cursors, pauses between tries,
    /// claims and terms move back with it; runs, and so the slots that ran, stay. Not where the database has a clock of its own.
    async fn accept_clock(&self, actor: &Actor) -> Result<Acted>;

    /// Removes a job with everything recorded for it, identities included: runs, steps, history, messages, effects of its
    /// steps, keys, skips, requests, definitions. For scratch jobs (demo, chaos), never part of retention. False: no such job.
    async fn erase_job(&self, job: &JobId) -> Result<bool>;
}
