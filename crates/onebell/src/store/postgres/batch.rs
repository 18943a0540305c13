//! Batches: taken up, given back, looked at. What a chunk does is in `chunk`, what an atomic batch does in `whole`, the user's
//! statements over either in `users`.

mod chunk;
mod users;
mod whole;

use async_trait::async_trait;

use super::columns::{Record, int, micros, stamp, values};
use super::error::{Failure, Outcome};
use super::operator::audit;
use super::statements as sql;
use super::transaction::{Tx, Verb};
use super::{PostgresStore, claim};
use crate::model::batch::{BatchStatus, Counts, Finding, Found, Opening, RecordOutcome, Wish, opening, series};
use crate::model::record::{Checkpoint, Position};
use crate::model::{BatchClaim, Claim, Moment, StepId};
use crate::store::{
    Acted, Actor, BatchOpened, BatchStore, BatchView, Chunk, ChunkAnswer, EffectsView, Extension, FindingView, OpenBatch, Reader,
    Result,
};

/// Records removed together.
const SWEPT_MAX: u32 = 10_000;

#[async_trait]
impl BatchStore for PostgresStore {
    async fn open_batch(&self, open: &OpenBatch) -> Result<BatchOpened> {
        self.write(Verb::named("open_batch"), |tx| async move { open_batch(&tx, open).await }).await
    }

    async fn apply_chunk(&self, claim: &BatchClaim, chunk: &Chunk) -> Result<ChunkAnswer> {
        chunk::apply(self, claim, chunk).await.map_err(Failure::judged)
    }

    async fn withhold_batch(&self, claim: &BatchClaim, conflicts: u64, findings: &[Finding]) -> Result<bool> {
        let withhold = |tx: Tx| async move { whole::withhold(&tx, claim, conflicts, findings).await };
        self.write(Verb::named("withhold_batch"), withhold).await
    }

    async fn sweep_batch(&self, batch: &str) -> Result<bool> {
        let sweep = |tx: Tx| async move {
            let limit = i64::from(SWEPT_MAX);
            Ok(tx.execute(&sql::SWEEP_STAGED, values![batch, limit]).await? == u64::from(SWEPT_MAX))
        };
        self.write(Verb::named("sweep_batch"), sweep).await
    }

    async fn release_batch(&self, claim: &BatchClaim) -> Result<bool> {
        let release = |tx: Tx| async move {
            let (clock, batch, attempt) = (tx.clock(), claim.batch(), int(claim.attempt()));
            Ok(tx.execute(&sql::RELEASE_BATCH, values![clock, batch, attempt]).await? > 0)
        };
        self.write(Verb::named("release_batch"), release).await
    }

    async fn cancel_batch(&self, batch: &str, actor: &Actor) -> Result<Acted> {
        let cancel = |tx: Tx| async move {
            let clock = tx.clock();
            if tx.execute(&sql::CANCEL_BATCH, values![clock, batch]).await? == 0 {
                return not_now(&tx, batch, "it has ended already; apply the source again to read it anew").await;
            }
            audit(&tx, tx.now().await?, actor, "cancel-batch", batch, None).await.map(|()| Acted::Done)
        };
        self.write(Verb::named("cancel_batch"), cancel).await
    }

    async fn resume_batch(&self, batch: &str, actor: &Actor) -> Result<Acted> {
        let resume = |tx: Tx| async move {
            let clock = tx.clock();
            if tx.execute(&sql::RESUME_BATCH, values![clock, batch]).await? == 0 {
                return not_now(&tx, batch, NOT_RESUMED).await;
            }
            audit(&tx, tx.now().await?, actor, "resume-batch", batch, None).await.map(|()| Acted::Done)
        };
        self.write(Verb::named("resume_batch"), resume).await
    }

    async fn batches(&self, batch: Option<&str>, scope: Option<&str>, limit: u32) -> Result<Vec<BatchView>> {
        let list = |tx: Tx| async move {
            let limit = i64::from(limit);
            tx.rows(&sql::LIST_BATCHES, values![batch, scope, limit]).await?.iter().map(view).collect()
        };
        self.look("batches", list).await
    }

    async fn findings(&self, batch: &str, after_byte: Option<u64>, limit: u32) -> Result<Vec<FindingView>> {
        let list = |tx: Tx| async move {
            let (after, limit) = (after_byte.map_or(-1, int), i64::from(limit));
            tx.rows(&sql::LIST_REJECTIONS, values![batch, after, limit]).await?.iter().map(finding).collect()
        };
        self.look("findings", list).await
    }

    async fn effects(&self, scope: &str, since: Option<Moment>, until: Option<Moment>) -> Result<EffectsView> {
        let sum = |tx: Tx| async move {
            let (since, until) = (since.map(stamp), until.map(stamp));
            let row = tx.one(&sql::SUM_EFFECTS_BETWEEN, values![scope, since, until]).await?;
            let count = row.number("number")?;
            Ok(EffectsView { scope: scope.to_owned(), count, total: row.get("total")?, failed: row.number("failed")? })
        };
        self.look("effects", sum).await
    }
}

const NOT_RESUMED: &str =
    "only a cancelled batch that no newer one of its source followed is opened again; one that is all or nothing is applied anew";

async fn not_now(tx: &Tx, batch: &str, why: &str) -> Outcome<Acted> {
    let found = tx.any(&sql::LOCK_BATCH, values![batch]).await?;
    Ok(if found { Acted::NotNow(why.to_owned()) } else { Acted::NotFound })
}

async fn open_batch(tx: &Tx, open: &OpenBatch) -> Outcome<BatchOpened> {
    let step = match &open.reader {
        Reader::Alone(_) => None,
        Reader::Step(claim) => Some(claim),
    };
    if !holds(tx, step).await? {
        return Ok(BatchOpened::Superseded);
    }
    let series = series(open.scope.as_str(), &open.source);
    let clock = tx.clock();
    let row = tx.first(&sql::LOCK_SERIES, values![clock, series]).await?;
    let found = row.as_ref().map(found).transpose()?;
    let now = match &row {
        Some(row) => row.moment("now")?,
        None => tx.now().await?,
    };
    let wish = Wish { by: reader(open), step: step.map(Claim::step), identity: &open.identity, restart: open.restart };
    let decided = opening(found.as_ref(), now, wish);
    match (decided, row) {
        (Opening::New { generation, cancels }, row) => {
            if let (true, Some(row)) = (cancels, &row) {
                let batch: &str = row.get("batch_id")?;
                tx.execute_all(&sql::CANCEL_BATCH, values![clock, batch], 1).await?;
            }
            insert(tx, open, &series, generation, step).await
        }
        (Opening::TakeUp, Some(row)) => take(tx, open, &row, step).await,
        (Opening::Finished, Some(row)) => Ok(BatchOpened::Finished { batch: row.get("batch_id")?, counts: counts(&row)? }),
        (Opening::Busy(until), Some(row)) => {
            let by = row.get::<Option<String>>("locked_by")?.unwrap_or_default();
            Ok(BatchOpened::Busy { batch: row.get("batch_id")?, by, until })
        }
        (Opening::Differs, Some(row)) => Ok(BatchOpened::Differs { batch: row.get("batch_id")?, identity: row.get("identity")? }),
        (_, None) => Err(Failure::broken("a batch that is not there was decided on")),
    }
}

/// Whether the step's claim holds; moves its end, and so locks the step.
async fn holds(tx: &Tx, step: Option<&Claim>) -> Outcome<bool> {
    match step {
        Some(step) => Ok(claim::extend_step(tx, step).await? != Extension::Superseded),
        None => Ok(true),
    }
}

fn reader(open: &OpenBatch) -> &str {
    match &open.reader {
        Reader::Alone(replica) => replica.as_str(),
        Reader::Step(claim) => claim.replica().as_str(),
    }
}

async fn insert(tx: &Tx, open: &OpenBatch, series: &str, generation: u64, step: Option<&Claim>) -> Outcome<BatchOpened> {
    let batch = format!("{series}-{generation}");
    let (clock, number, scope, reader, timeout) =
        (tx.clock(), int(generation), open.scope.as_str(), reader(open), micros(open.timeout));
    let (source, identity, settings, batch_text) =
        (open.source.as_str(), open.identity.as_str(), open.settings.as_str(), batch.as_str());
    let (step_id, atomic) = (step.map(|claim| claim.step().as_str()), open.atomic);
    let values = values![clock, batch_text, series, number, scope, source, identity, settings, reader, step_id, timeout, atomic];
    if tx.execute(&sql::INSERT_BATCH, values).await? == 0 {
        // Somebody opened it in the same moment.
        return Err(Failure::again("two processes opened a batch at once"));
    }
    let claim = BatchClaim::issued(batch, 1, step.cloned());
    Ok(BatchOpened::Opened { claim, checkpoint: None, counts: Counts::default() })
}

async fn take(tx: &Tx, open: &OpenBatch, row: &Record, step: Option<&Claim>) -> Outcome<BatchOpened> {
    let batch: String = row.get("batch_id")?;
    let attempt: u64 = row.number("attempt")?;
    let (clock, id, before, reader, settings, timeout) =
        (tx.clock(), batch.as_str(), int(attempt), reader(open), open.settings.as_str(), micros(open.timeout));
    let step_id = step.map(|claim| claim.step().as_str());
    tx.execute_all(&sql::TAKE_BATCH, values![clock, id, before, reader, step_id, settings, timeout], 1).await?;
    let claim = BatchClaim::issued(batch, attempt + 1, step.cloned());
    Ok(BatchOpened::Opened { claim, checkpoint: checkpoint(row)?, counts: counts(row)? })
}

fn found(row: &Record) -> Outcome<Found> {
    Ok(Found {
        generation: row.number("generation")?,
        status: row.word("status", BatchStatus::from_word)?,
        complete_by: row.moment_opt("complete_by")?,
        by: row.get("locked_by")?,
        step: row.get::<Option<String>>("step_id")?.map(StepId::from_text),
        identity: row.get("identity")?,
        begun: checkpoint(row)?.is_some(),
    })
}

fn counts(row: &Record) -> Outcome<Counts> {
    Ok(Counts {
        applied: row.number("applied")?,
        already: row.number("already")?,
        conflicts: row.number("conflicts")?,
        rejected: row.number("rejected")?,
        failed: row.number("failed")?,
    })
}

fn position(row: &Record) -> Outcome<Option<Position>> {
    let place: (Option<i64>, Option<i64>) = (row.get("byte")?, row.get("line")?);
    let number = |number: i64| u64::try_from(number).unwrap_or(0);
    Ok(place.0.zip(place.1).map(|(byte, line)| Position { byte: number(byte), line: number(line) }))
}

fn checkpoint(row: &Record) -> Outcome<Option<Checkpoint>> {
    let Some(position) = position(row)? else { return Ok(None) };
    let prefix = row.word_opt("prefix", |text| text.parse().ok())?;
    Ok(Some(Checkpoint { position, prefix, header: row.word_opt("header", |text| text.parse().ok())? }))
}

fn view(row: &Record) -> Outcome<BatchView> {
    Ok(BatchView {
        id: row.get("batch_id")?,
        scope: row.get("scope")?,
        source: row.get("source")?,
        status: row.get("status")?,
        atomic: row.get("atomic")?,
        locked_by: row.get("locked_by")?,
        complete_by: row.moment_opt("complete_by")?,
        attempt: row.number("attempt")?,
        counts: counts(row)?,
        checkpoint: checkpoint(row)?,
        settings: row.get("settings")?,
        created_at: row.moment("created_at")?,
        changed_at: row.moment("changed_at")?,
        finished_at: row.moment_opt("finished_at")?,
    })
}

fn finding(row: &Record) -> Outcome<FindingView> {
    Ok(FindingView {
        byte: row.number("byte")?,
        line: row.number("line")?,
        outcome: row.word("outcome", RecordOutcome::from_word)?,
        key: row.get("key")?,
        reason: row.get("reason")?,
        record: row.get("record")?,
    })
}
