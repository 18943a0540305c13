//! Batches in steps: a handler for services that read sources of their own.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;

use crate::handler::{Context, Done, Handler, Outcome, PageLimit, Source, SourceError};
use crate::model::Key;
use crate::model::batch::Counts;
use crate::roles::loader::{Ended, LoadError, Loader};
use crate::store::{BatchStore, OpenBatch, Reader, StepOutput};
use crate::time::{SystemTimer, Timer};

/// A source that another process reads is looked at again after this.
const BUSY_PAUSE: Duration = Duration::from_secs(5);

/// What a batch handler reads, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch {
    /// What the identities are unique in.
    pub scope: Key,
    /// The source's name: an unfinished reading of it goes on.
    pub source: String,
    /// How its rows become records, JSON text: an unfinished reading goes on only with the same.
    pub identity: String,
    /// Statements over the relation `chunk`.
    pub sql: Option<String>,
    /// How much is committed together.
    pub limit: PageLimit,
    /// More rejected records end the reading; of an atomic one: so many may be missing.
    pub rejected_max: Option<u64>,
    /// All of the source or nothing.
    pub atomic: bool,
    /// Without a chunk for so long, the claim of the batch lapses.
    pub timeout: Duration,
}

impl Batch {
    /// With 1,000 records or 4 MiB in a chunk, and a claim of 15 seconds.
    pub fn new(scope: Key, source: impl Into<String>) -> Self {
        Self {
            scope,
            source: source.into(),
            identity: "{}".to_owned(),
            sql: None,
            limit: PageLimit { items: 1_000, bytes: 4 << 20 },
            rejected_max: None,
            atomic: false,
            timeout: Duration::from_secs(15),
        }
    }
}

type Opens = dyn Fn(&Context) -> BoxFuture<'static, Result<(Batch, Box<dyn Source>), SourceError>> + Send + Sync;

/// A handler that applies the records of a source, once each, under its step's claim: each chunk is progress of the step, and commits
/// identities, effects, findings, the user's statements and the place in the source together. Run again after any failure, it goes
/// on after the last chunk.
pub struct BatchHandler {
    store: Arc<dyn BatchStore>,
    timer: Arc<dyn Timer>,
    opens: Box<Opens>,
}

impl BatchHandler {
    /// `opens` says what an attempt reads. [`SourceError::Unreadable`] is tried again within the step's budget.
    pub fn new<F>(store: Arc<dyn BatchStore>, opens: F) -> Self
    where
        F: Fn(&Context) -> BoxFuture<'static, Result<(Batch, Box<dyn Source>), SourceError>> + Send + Sync + 'static,
    {
        Self { store, timer: Arc::new(SystemTimer), opens: Box::new(opens) }
    }
}

#[async_trait]
impl Handler for BatchHandler {
    async fn run(&self, context: Context) -> Outcome {
        let (batch, mut source) = match (self.opens)(&context).await {
            Ok(opened) => opened,
            Err(error) => return outcome(&error.into(), StepOutput::default()),
        };
        let loader = Loader {
            store: Arc::clone(&self.store),
            timer: Arc::clone(&self.timer),
            limit: batch.limit,
            sql: batch.sql,
            rejected_max: batch.rejected_max,
            patience: batch.timeout,
        };
        let open = OpenBatch {
            scope: batch.scope,
            source: batch.source,
            identity: batch.identity,
            settings: "{}".to_owned(),
            reader: Reader::Step(context.step().claim.clone()),
            timeout: batch.timeout,
            restart: false,
            atomic: batch.atomic,
        };
        match loader.read(&open, source.as_mut(), |_, _| context.stop().reason().is_none()).await {
            Ended::Done { counts, .. } => Outcome::Done(Done { output: told(counts), ..Done::default() }),
            Ended::Stopped { counts, .. } => Outcome::Stopped { output: told(counts) },
            Ended::Failed { error, .. } => outcome(&error, StepOutput::default()),
        }
    }
}

fn told(counts: Counts) -> StepOutput {
    StepOutput { summary: counts.to_string(), ..StepOutput::default() }
}

/// How a step ends whose reading did not come to its end: what another try may mend is tried again.
pub fn outcome(error: &LoadError, output: StepOutput) -> Outcome {
    let text = error.to_string();
    match error {
        LoadError::Busy { .. } => Outcome::Retry { error: text, after: Some(BUSY_PAUSE), output },
        error if error.is_passing() => Outcome::Retry { error: text, after: None, output },
        _ => Outcome::Failed { error: text, output },
    }
}
