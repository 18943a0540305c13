//! Batches: taken up, given back, looked at. What a chunk does is in `chunk`, what an atomic batch does in `whole`, the user's
//! statements over either in `users`.

mod chunk;
mod users;
mod whole;

use async_trait::async_trait;
use rusqlite::Row;

use super::SqliteStore;
use super::agent::extend;
use super::columns::{count, int, micros};
use super::define::audit;
use super::engine::Verb;
use super::group::Memory;
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use crate::model::batch::{Counts, Finding, Found, Opening, Wish, opening, series};
use crate::model::record::{Checkpoint, Position};
use crate::model::{BatchClaim, Claim, Moment, StepId};
use crate::store::{
    Acted, Actor, BatchOpened, BatchStore, BatchView, Chunk, ChunkAnswer, EffectsView, Extension, FindingView, OpenBatch, Reader,
    Result, StoreError,
};

const CHUNK: Verb = Verb::with_points("chunk.before_commit", "chunk.after_commit");

/// Records removed together.
const SWEPT_MAX: u32 = 10_000;

#[async_trait]
impl BatchStore for SqliteStore {
    async fn open_batch(&self, open: &OpenBatch) -> Result<BatchOpened> {
        let open = open.clone();
        self.engine.write(Verb::PLAIN, move |tx| open_batch(tx, &open)).await
    }

    async fn apply_chunk(&self, claim: &BatchClaim, chunk: &Chunk) -> Result<ChunkAnswer> {
        let (claim, chunk, memory) = (claim.clone(), chunk.clone(), Memory::default());
        let alone = chunk.sql.is_some() || chunk.last;
        let (verb, kept) = (if alone { CHUNK.alone() } else { CHUNK }, memory.clone());
        self.engine.write_remembering(verb, kept, move |tx| chunk::apply(tx, &claim, &chunk, &memory)).await
    }

    async fn withhold_batch(&self, claim: &BatchClaim, conflicts: u64, findings: &[Finding]) -> Result<bool> {
        let (claim, findings) = (claim.clone(), findings.to_vec());
        self.engine.write(Verb::PLAIN, move |tx| whole::withhold(tx, &claim, conflicts, &findings)).await
    }

    async fn sweep_batch(&self, batch: &str) -> Result<bool> {
        let batch = batch.to_owned();
        let sweep =
            move |tx: &Tx<'_>| Ok(tx.execute(S::SweepStaged, &[("batch", &batch), ("limit", &SWEPT_MAX)])? == SWEPT_MAX as usize);
        self.engine.write(Verb::PLAIN, sweep).await
    }

    async fn release_batch(&self, claim: &BatchClaim) -> Result<bool> {
        let claim = claim.clone();
        let release = move |tx: &Tx<'_>| {
            let attempt = int(claim.attempt());
            Ok(tx.execute(S::ReleaseBatch, &[("batch", &claim.batch()), ("attempt", &attempt), ("now", &tx.now)])? > 0)
        };
        self.engine.write(Verb::PLAIN, release).await
    }

    async fn cancel_batch(&self, batch: &str, actor: &Actor) -> Result<Acted> {
        let (batch, actor) = (batch.to_owned(), actor.clone());
        let cancel = move |tx: &Tx<'_>| {
            if tx.execute(S::CancelBatch, &[("batch", &batch), ("now", &tx.now)])? == 0 {
                return not_now(tx, &batch, "it has ended already; apply the source again to read it anew");
            }
            audit(tx, &actor, "cancel-batch", &batch, None).map(|()| Acted::Done)
        };
        self.engine.write(Verb::PLAIN, cancel).await
    }

    async fn resume_batch(&self, batch: &str, actor: &Actor) -> Result<Acted> {
        let (batch, actor) = (batch.to_owned(), actor.clone());
        let resume = move |tx: &Tx<'_>| {
            if tx.execute(S::ResumeBatch, &[("batch", &batch), ("now", &tx.now)])? == 0 {
                return not_now(tx, &batch, NOT_RESUMED);
            }
            audit(tx, &actor, "resume-batch", &batch, None).map(|()| Acted::Done)
        };
        self.engine.write(Verb::PLAIN, resume).await
    }

    async fn batches(&self, batch: Option<&str>, scope: Option<&str>, limit: u32) -> Result<Vec<BatchView>> {
        let (batch, scope) = (batch.map(str::to_owned), scope.map(str::to_owned));
        let list = move |tx: &Tx<'_>| {
            tx.rows(S::ListBatches, &[("batch", &batch), ("scope", &scope), ("limit", &i64::from(limit))], view)
        };
        self.engine.read(list).await
    }

    async fn findings(&self, batch: &str, after_byte: Option<u64>, limit: u32) -> Result<Vec<FindingView>> {
        let (batch, after) = (batch.to_owned(), after_byte.map_or(-1, int));
        let list = move |tx: &Tx<'_>| {
            tx.rows(S::ListRejections, &[("batch", &batch), ("after", &after), ("limit", &i64::from(limit))], finding)
        };
        self.engine.read(list).await
    }

    async fn effects(&self, scope: &str, since: Option<Moment>, until: Option<Moment>) -> Result<EffectsView> {
        let scope = scope.to_owned();
        let sum = move |tx: &Tx<'_>| {
            let found = tx.first(S::SumEffectsBetween, &[("scope", &scope), ("since", &since), ("until", &until)], |row| {
                let (high, low): (i64, i64) = (row.get("high")?, row.get("low")?);
                let total = (i128::from(high) << 32) + i128::from(low);
                let (count, failed) = (count(row, "count")?, count(row, "failed")?);
                Ok(EffectsView { scope: scope.clone(), count, total: total.to_string(), failed })
            })?;
            found.ok_or_else(|| StoreError::broken("a sum has no row").into())
        };
        self.engine.query(sum).await
    }
}

const NOT_RESUMED: &str =
    "only a cancelled batch that no newer one of its source followed is opened again; one that is all or nothing is applied anew";

fn not_now(tx: &Tx<'_>, batch: &str, why: &str) -> Outcome<Acted> {
    let found = tx.any(S::ReadBatch, &[("batch", &batch)])?;
    Ok(if found { Acted::NotNow(why.to_owned()) } else { Acted::NotFound })
}

/// The newest batch of a source.
struct Newest {
    batch: String,
    attempt: u64,
    found: Found,
    checkpoint: Option<Checkpoint>,
    counts: Counts,
}

fn newest(row: &Row<'_>) -> Outcome<Newest> {
    let found = Found {
        generation: count(row, "generation")?,
        status: row.get("status")?,
        complete_by: row.get("complete_by")?,
        by: row.get("locked_by")?,
        step: row.get::<_, Option<StepId>>("step_id")?,
        identity: row.get("identity")?,
        begun: checkpoint(row)?.is_some(),
    };
    Ok(Newest {
        batch: row.get("batch_id")?,
        attempt: count(row, "attempt")?,
        found,
        checkpoint: checkpoint(row)?,
        counts: counts(row)?,
    })
}

fn open_batch(tx: &Tx<'_>, open: &OpenBatch) -> Outcome<BatchOpened> {
    let step = match &open.reader {
        Reader::Alone(_) => None,
        Reader::Step(claim) => Some(claim),
    };
    if !holds(tx, step)? {
        return Ok(BatchOpened::Superseded);
    }
    let series = series(open.scope.as_str(), &open.source);
    let newest = tx.first(S::ReadSeries, &[("series", &series)], newest)?;
    let found = newest.as_ref().map(|newest| &newest.found);
    let wish = Wish { by: reader(open), step: step.map(Claim::step), identity: &open.identity, restart: open.restart };
    match (opening(found, tx.now, wish), newest) {
        (Opening::New { generation, cancels }, newest) => {
            if let (true, Some(newest)) = (cancels, newest) {
                tx.execute(S::CancelBatch, &[("batch", &newest.batch), ("now", &tx.now)])?;
            }
            insert(tx, open, &series, generation, step)
        }
        (Opening::TakeUp, Some(newest)) => take(tx, open, newest, step),
        (Opening::Finished, Some(newest)) => Ok(BatchOpened::Finished { batch: newest.batch, counts: newest.counts }),
        (Opening::Busy(until), Some(newest)) => {
            Ok(BatchOpened::Busy { batch: newest.batch, by: newest.found.by.unwrap_or_default(), until })
        }
        (Opening::Differs, Some(newest)) => Ok(BatchOpened::Differs { batch: newest.batch, identity: newest.found.identity }),
        (_, None) => Err(StoreError::broken("a batch that is not there was decided on").into()),
    }
}

/// Whether the step's claim holds; moves its end.
fn holds(tx: &Tx<'_>, step: Option<&Claim>) -> Outcome<bool> {
    step.map_or(Ok(true), |step| Ok(extend(tx, step)? != Extension::Superseded))
}

fn reader(open: &OpenBatch) -> &str {
    match &open.reader {
        Reader::Alone(replica) => replica.as_str(),
        Reader::Step(claim) => claim.replica().as_str(),
    }
}

fn insert(tx: &Tx<'_>, open: &OpenBatch, series: &str, generation: u64, step: Option<&Claim>) -> Outcome<BatchOpened> {
    let batch = format!("{series}-{generation}");
    tx.execute(
        S::InsertBatch,
        &[
            ("batch", &batch),
            ("series", &series),
            ("generation", &int(generation)),
            ("scope", &open.scope),
            ("source", &open.source),
            ("identity", &open.identity),
            ("settings", &open.settings),
            ("reader", &reader(open)),
            ("step", &step.map(Claim::step)),
            ("atomic", &open.atomic),
            ("timeout", &micros(open.timeout)),
            ("now", &tx.now),
        ],
    )?;
    let claim = BatchClaim::issued(batch, 1, step.cloned());
    Ok(BatchOpened::Opened { claim, checkpoint: None, counts: Counts::default() })
}

fn take(tx: &Tx<'_>, open: &OpenBatch, newest: Newest, step: Option<&Claim>) -> Outcome<BatchOpened> {
    tx.execute(
        S::TakeBatch,
        &[
            ("batch", &newest.batch),
            ("attempt", &int(newest.attempt)),
            ("reader", &reader(open)),
            ("step", &step.map(Claim::step)),
            ("settings", &open.settings),
            ("timeout", &micros(open.timeout)),
            ("now", &tx.now),
        ],
    )?;
    let claim = BatchClaim::issued(newest.batch, newest.attempt + 1, step.cloned());
    Ok(BatchOpened::Opened { claim, checkpoint: newest.checkpoint, counts: newest.counts })
}

fn counts(row: &Row<'_>) -> Outcome<Counts> {
    Ok(Counts {
        applied: count(row, "applied")?,
        already: count(row, "already")?,
        conflicts: count(row, "conflicts")?,
        rejected: count(row, "rejected")?,
        failed: count(row, "failed")?,
    })
}

fn position(row: &Row<'_>) -> Outcome<Option<Position>> {
    if row.get::<_, Option<i64>>("byte")?.is_none() {
        return Ok(None);
    }
    Ok(Some(Position { byte: count(row, "byte")?, line: count(row, "line")? }))
}

fn checkpoint(row: &Row<'_>) -> Outcome<Option<Checkpoint>> {
    let Some(position) = position(row)? else { return Ok(None) };
    Ok(Some(Checkpoint { position, prefix: row.get("prefix")?, header: row.get("header")? }))
}

fn view(row: &Row<'_>) -> Outcome<BatchView> {
    Ok(BatchView {
        id: row.get("batch_id")?,
        scope: row.get("scope")?,
        source: row.get("source")?,
        status: row.get("status")?,
        atomic: row.get("atomic")?,
        locked_by: row.get("locked_by")?,
        complete_by: row.get("complete_by")?,
        attempt: count(row, "attempt")?,
        counts: counts(row)?,
        checkpoint: checkpoint(row)?,
        settings: row.get("settings")?,
        created_at: row.get("created_at")?,
        changed_at: row.get("changed_at")?,
        finished_at: row.get("finished_at")?,
    })
}

fn finding(row: &Row<'_>) -> Outcome<FindingView> {
    Ok(FindingView {
        byte: count(row, "byte")?,
        line: count(row, "line")?,
        outcome: row.get("outcome")?,
        key: row.get("key")?,
        reason: row.get("reason")?,
        record: row.get("record")?,
    })
}
