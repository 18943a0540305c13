use std::time::Duration;

use async_trait::async_trait;
use serde::Serialize;

use super::error::Result;
use super::operator::{Acted, Actor};
use crate::model::batch::{Counts, Finding, RecordOutcome, Span};
use crate::model::record::{Checkpoint, Item};
use crate::model::{BatchClaim, Claim, Key, Moment, ReplicaId};

/// Who reads a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reader {
    /// A process of its own.
    Alone(ReplicaId),
    /// A step, under its claim.
    Step(Claim),
}

/// A source to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenBatch {
    /// What the identities are unique in.
    pub scope: Key,
    /// Which source: an absolute path, or a name.
    pub source: String,
    /// How rows become records, JSON text: an unfinished reading goes on only with the same.
    pub identity: String,
    /// All that is needed to read on, JSON text.
    pub settings: String,
    /// Who reads it.
    pub reader: Reader,
    /// Without a chunk for so long, the claim lapses.
    pub timeout: Duration,
    /// Whether an unfinished reading is given up and a new one begun.
    pub restart: bool,
    /// All of the source or nothing: chunks are put aside, and moved together with the last one. It belongs to the identity: an
    /// unfinished reading goes on as it was begun.
    pub atomic: bool,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BatchOpened {
    /// It is ours.
    Opened {
        /// The proof.
        claim: BatchClaim,
        /// Where it goes on; none: at the start.
        checkpoint: Option<Checkpoint>,
        /// What was read before.
        counts: Counts,
    },
    /// The step had read it to its end in an earlier attempt.
    Finished {
        /// The batch.
        batch: String,
        /// What was read.
        counts: Counts,
    },
    /// Another process reads it; when its claim lapses unless it goes on.
    Busy {
        /// The batch.
        batch: String,
        /// Who.
        by: String,
        /// Until then at least.
        until: Moment,
    },
    /// It was begun with other identities.
    Differs {
        /// The batch.
        batch: String,
        /// What it was begun with.
        identity: String,
    },
    /// The step's claim does not hold any longer.
    Superseded,
}

/// Items that are committed together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// What the batch's checkpoint must be: none, at the start.
    pub from: Option<Checkpoint>,
    /// The items.
    pub items: Vec<Item>,
    /// After them.
    pub after: Checkpoint,
    /// Nothing follows: the batch is done.
    pub last: bool,
    /// Statements of the user's own over the relation `chunk`: key, amount, payload, line, byte of what is new.
    pub sql: Option<String>,
}

impl Chunk {
    /// Where it begins and ends.
    pub(crate) fn span(&self) -> Span {
        Span { from: self.from.as_ref().map(|from| from.position), after: self.after.position, last: self.last }
    }
}

/// What became of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChunkAnswer {
    /// It is committed, now or by the same call before: the counts of the batch so far.
    Applied(Counts),
    /// The batch is not ours any longer, or was cancelled: nothing was written.
    Superseded,
    /// The user's statements are wrong as such, not a record: nothing was written.
    Refused(String),
    /// The last chunk of a batch that is all or nothing: identities of it exist with other payloads. Nothing was written.
    Withheld {
        /// How many.
        conflicts: u64,
        /// The first of them, in the order of the source.
        findings: Vec<Finding>,
    },
}

/// A batch, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the field names are the columns that people see")]
pub struct BatchView {
    pub id: String,
    pub scope: String,
    pub source: String,
    pub status: String,
    pub atomic: bool,
    pub locked_by: Option<String>,
    pub complete_by: Option<Moment>,
    pub attempt: u64,
    #[serde(flatten)]
    pub counts: Counts,
    pub checkpoint: Option<Checkpoint>,
    pub settings: String,
    pub created_at: Moment,
    pub changed_at: Moment,
    pub finished_at: Option<Moment>,
}

/// A record that was not applied, for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "the field names are the columns that people see")]
pub struct FindingView {
    pub byte: u64,
    pub line: u64,
    pub outcome: RecordOutcome,
    pub key: Option<String>,
    pub reason: String,
    #[serde(skip)]
    pub record: Vec<u8>,
}

/// The effects of a scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EffectsView {
    /// The scope.
    pub scope: String,
    /// How many there are, without failed ones.
    pub count: u64,
    /// The exact sum of their amounts, as decimal text in minor units.
    pub total: String,
    /// Identities kept as failed.
    pub failed: u64,
}

/// Reads sources of records, chunk by chunk.
#[async_trait]
pub trait BatchStore: Send + Sync {
    /// Takes a source up: the newest unfinished batch of (scope, source), else a new one. `attempt` grows: whoever had it before
    /// writes nothing any more. Safe to repeat, but each repetition is a new attempt.
    async fn open_batch(&self, open: &OpenBatch) -> Result<BatchOpened>;

    /// Commits a chunk: the step and the batch locked under their fences, identities written where they are new and compared where
    /// they are not, the user's statements over the new ones, findings, counts and checkpoint; the batch's claim and the step's move on.
    /// A record that the user's statements refuse (SQLSTATE 22, 23) is found and rejected alone. Safe to repeat: what was committed is
    /// `Applied` again and changes nothing.
    ///
    /// Of an atomic batch, chunks but the last only put their records aside; the last one moves all of them in one transaction, which
    /// may take the batch's `timeout`, and there whatever the user's statements refuse refuses the whole.
    async fn apply_chunk(&self, claim: &BatchClaim, chunk: &Chunk) -> Result<ChunkAnswer>;

    /// Ends an atomic batch of which nothing is applied: `running → cancelled`, with the findings that say why. False: it was not ours any longer.
    async fn withhold_batch(&self, claim: &BatchClaim, conflicts: u64, findings: &[Finding]) -> Result<bool>;

    /// Removes some of the records that this atomic batch and earlier ones of its source had put aside, of those that are over. True:
    /// there may be more.
    async fn sweep_batch(&self, batch: &str) -> Result<bool>;

    /// Gives a batch back: `running → pending`. False: it was not ours any longer.
    async fn release_batch(&self, claim: &BatchClaim) -> Result<bool>;

    /// Ends an open batch; in the audit log.
    async fn cancel_batch(&self, batch: &str, actor: &Actor) -> Result<Acted>;

    /// Opens a cancelled batch again, if it is the newest of its source and not atomic; in the audit log.
    async fn resume_batch(&self, batch: &str, actor: &Actor) -> Result<Acted>;

    /// The newest batches first; only this one, or only of this scope.
    async fn batches(&self, batch: Option<&str>, scope: Option<&str>, limit: u32) -> Result<Vec<BatchView>>;

    /// What a batch found, in the order of the source, after a place.
    async fn findings(&self, batch: &str, after_byte: Option<u64>, limit: u32) -> Result<Vec<FindingView>>;

    /// Counts and sums the effects of a scope that were written in a period.
    async fn effects(&self, scope: &str, since: Option<Moment>, until: Option<Moment>) -> Result<EffectsView>;
}
