//! The Loader reads a source into a batch: one pass is one chunk. It knows neither files nor SQL.

mod reading;

use std::sync::Arc;
use std::time::Duration;

use crate::handler::{Page, PageLimit, Source, SourceError};
use crate::model::BatchClaim;
use crate::model::batch::{Counts, Finding};
use crate::model::record::{Checkpoint, Item};
use crate::store::{BatchOpened, BatchStore, Chunk, ChunkAnswer, OpenBatch, StoreError};
use crate::time::Timer;

pub use reading::Ended;

/// Between two tries while the store is away or busy.
const STORE_PAUSE: Duration = Duration::from_millis(200);

/// What a loader works with.
#[derive(Clone)]
pub struct Loader {
    /// The store.
    pub store: Arc<dyn BatchStore>,
    /// Waiting and monotonic time.
    pub timer: Arc<dyn Timer>,
    /// How much is committed together.
    pub limit: PageLimit,
    /// Statements of the user's own over the relation `chunk`.
    pub sql: Option<String>,
    /// More rejected records than this end the reading; what was committed stays. Of a batch that is all or nothing: none, unless
    /// it is said; then so many may be missing from what is applied.
    pub rejected_max: Option<u64>,
    /// A store that is away or busy for longer ends the reading; it goes on from its checkpoint another time.
    pub patience: Duration,
}

/// A batch in hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loading {
    claim: BatchClaim,
    at: Option<Checkpoint>,
    counts: Counts,
    done: bool,
    atomic: bool,
    read: u64,
}

/// Why a reading did not go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// Another process reads the same source.
    #[error("{by} reads this source already (batch {batch}); its claim lapses at {until} unless it goes on")]
    Busy {
        /// The batch.
        batch: String,
        /// Who.
        by: String,
        /// When its claim lapses.
        until: crate::model::Moment,
    },
    /// The unfinished batch of this source was begun with other identities.
    #[error("batch {batch} of this source was begun with {identity}; go on with the same, or begin anew with --restart")]
    Differs {
        /// The batch.
        batch: String,
        /// What it was begun with.
        identity: String,
    },
    /// The batch or its step is not ours any longer, or was cancelled.
    #[error("the batch was cancelled, or another process has taken it over")]
    Superseded,
    /// The user's statements are wrong as such.
    #[error("the statements over the chunk were refused: {0}")]
    Statements(String),
    /// Too many records were rejected.
    #[error("{rejected} records were rejected, more than the {most} that are allowed; what was applied stays")]
    TooManyRejected {
        /// How many.
        rejected: u64,
        /// The limit.
        most: u64,
    },
    /// All of the source or nothing was asked for.
    #[error(
        "nothing of the source was applied (rejected: {rejected}, conflicts: {conflicts}); correct these records and apply it again"
    )]
    Withheld {
        /// Records that could not be read or are not valid.
        rejected: u64,
        /// Records whose identity exists with another payload.
        conflicts: u64,
    },
    /// The source.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Loading {
    /// The batch.
    pub fn batch(&self) -> &str {
        self.claim.batch()
    }

    /// The proof.
    pub fn claim(&self) -> &BatchClaim {
        &self.claim
    }

    /// Up to where it is committed.
    pub fn checkpoint(&self) -> Option<&Checkpoint> {
        self.at.as_ref()
    }

    /// What became of the records so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Records that this process read, rejected ones included.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// Read to its end.
    pub fn is_done(&self) -> bool {
        self.done
    }
}

/// What opening gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Begun {
    /// It is to be read.
    Loading(Loading),
    /// The step had read it to its end before.
    Finished {
        /// The batch.
        batch: String,
        /// What became of its records.
        counts: Counts,
    },
}

impl Loader {
    /// Takes the source up where it was left, and goes there in it.
    ///
    /// # Errors
    /// [`LoadError`]; when the source is not what was read before, the batch is given back first.
    pub async fn open(&self, open: &OpenBatch, source: &mut dyn Source) -> Result<Begun, LoadError> {
        let loading = match self.patiently(|| self.store.open_batch(open)).await? {
            BatchOpened::Opened { claim, checkpoint, counts } => {
                Loading { claim, at: checkpoint, counts, done: false, atomic: open.atomic, read: 0 }
            }
            BatchOpened::Finished { batch, counts } => {
                self.within(counts)?;
                return Ok(Begun::Finished { batch, counts });
            }
            BatchOpened::Busy { batch, by, until } => return Err(LoadError::Busy { batch, by, until }),
            BatchOpened::Differs { batch, identity } => return Err(LoadError::Differs { batch, identity }),
            BatchOpened::Superseded => return Err(LoadError::Superseded),
        };
        match source.open(loading.at.as_ref()).await {
            Ok(()) => Ok(Begun::Loading(loading)),
            Err(error) => {
                self.release(&loading).await;
                Err(error.into())
            }
        }
    }

    /// One chunk: read, committed, counted.
    ///
    /// # Errors
    /// [`LoadError`]; what was committed before stays, and the batch is still in hand: give it back.
    pub async fn pass(&self, loading: &mut Loading, source: &mut dyn Source) -> Result<(), LoadError> {
        let Page { items, after, last } = source.page(self.limit).await?;
        let rejected = items.iter().filter(|item| matches!(item, Item::Rejected(_))).count() as u64;
        loading.read += items.len() as u64;
        // What is missing from the whole is known before anything is moved.
        let missing = loading.atomic && last && loading.counts.rejected + rejected > self.rejected_max.unwrap_or(0);
        let chunk = Chunk { from: loading.at.clone(), items, after, last: last && !missing, sql: self.sql.clone() };
        match self.patiently(|| self.store.apply_chunk(&loading.claim, &chunk)).await? {
            ChunkAnswer::Applied(counts) => (loading.at, loading.counts, loading.done) = (Some(chunk.after), counts, chunk.last),
            ChunkAnswer::Superseded => return Err(LoadError::Superseded),
            ChunkAnswer::Refused(message) => return Err(LoadError::Statements(message)),
            ChunkAnswer::Withheld { conflicts, findings } => return Err(self.withhold(loading, conflicts, &findings).await),
        }
        if loading.done && loading.atomic {
            self.sweep(loading).await;
        }
        match self.within(loading.counts) {
            Err(LoadError::TooManyRejected { .. }) if loading.atomic => Err(self.withhold(loading, 0, &[]).await),
            Ok(()) if missing => Err(self.withhold(loading, 0, &[]).await),
            within => within,
        }
    }

    /// Ends a batch of which nothing is applied: what the reading says of it.
    async fn withhold(&self, loading: &mut Loading, conflicts: u64, findings: &[Finding]) -> LoadError {
        match self.patiently(|| self.store.withhold_batch(&loading.claim, conflicts, findings)).await {
            Ok(true) => {
                loading.done = true;
                self.sweep(loading).await;
                LoadError::Withheld { rejected: loading.counts.rejected, conflicts }
            }
            Ok(false) => LoadError::Superseded,
            Err(error) => error.into(),
        }
    }

    /// Removes what was put aside. Whatever is left over is retention's.
    async fn sweep(&self, loading: &Loading) {
        while let Ok(true) = self.store.sweep_batch(loading.batch()).await {}
    }

    /// Whether no more records were rejected than are allowed; also at the end, so that small files are judged as large ones are.
    fn within(&self, counts: Counts) -> Result<(), LoadError> {
        match self.rejected_max {
            Some(most) if counts.rejected > most => Err(LoadError::TooManyRejected { rejected: counts.rejected, most }),
            _ => Ok(()),
        }
    }

    /// Gives the batch back, so that anybody may go on at once. A store that does not answer learns of it when the claim lapses.
    pub async fn release(&self, loading: &Loading) {
        if !loading.done
            && let Err(error) = self.store.release_batch(&loading.claim).await
        {
            tracing::warn!(batch = loading.batch(), %error, "a batch could not be given back; its claim will lapse");
        }
    }

    /// Calls a verb until the store answers, within the patience.
    async fn patiently<T, F: Future<Output = Result<T, StoreError>>>(&self, verb: impl Fn() -> F) -> Result<T, StoreError> {
        let begun = self.timer.elapsed();
        loop {
            match verb().await {
                Err(error) if self.waits(begun, &error).await => {}
                answer => return answer,
            }
        }
    }

    /// Whether another try is worth it, after a pause. Every verb is safe to repeat: what was committed, though its answer was
    /// lost, counts once.
    async fn waits(&self, begun: Duration, error: &StoreError) -> bool {
        let waits = error.is_passing() && self.timer.elapsed() < begun + self.patience;
        if waits {
            tracing::info!(%error, "the store did not answer; trying again");
            self.timer.sleep(STORE_PAUSE).await;
        }
        waits
    }
}
