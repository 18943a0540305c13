//! A batch that is all or nothing: chunks are put aside, each in a short transaction, and the last one moves them together. That
//! transaction may take as long as the batch's claim. Step and batch are locked in it at the very end: a lock that is held for
//! so long would stop whoever looks after them.

use std::time::Duration;

use super::super::PostgresStore;
use super::super::columns::{Record as Row, int, values};
use super::super::error::{Class, Failure, Outcome};
use super::super::statements as sql;
use super::super::transaction::{Tx, milliseconds};
use super::chunk::{Before, Open, advance, before, record};
use super::holds;
use super::users::{self, Verdict};
use crate::model::batch::{BatchStatus, Conflict, Counts, Finding, RecordOutcome};
use crate::model::record::{Item, Position, Record};
use crate::model::{BatchClaim, Fingerprint};
use crate::store::{Chunk, ChunkAnswer};
use crate::time::{SystemTimer, Timer as _};

/// More conflicts are counted, and not listed.
const LISTED_MAX: i64 = 1_000;
/// What is worth a statement at least.
const LEFT_MIN: Duration = Duration::from_millis(100);
/// Whole tables are read here, and the planner may say how.
const PLANS: &str = "SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on";

/// Whether this chunk is the one that moves all of an atomic batch. Nothing is locked for the answer.
pub(super) async fn is_the_last(tx: &Tx, claim: &BatchClaim, chunk: &Chunk) -> Outcome<bool> {
    if !chunk.last {
        return Ok(false);
    }
    let batch = claim.batch();
    let row = tx.first(&sql::LOOK_AT_BATCH, values![batch]).await?;
    row.map_or(Ok(false), |row| row.get("atomic"))
}

/// A chunk that is not the last: its records wait, what could not be read is told.
pub(super) async fn put_aside(tx: &Tx, claim: &BatchClaim, chunk: &Chunk) -> Outcome<ChunkAnswer> {
    let rejected = keep(tx, claim, chunk).await?;
    advance(tx, claim, chunk, rejected).await
}

/// The last chunk, and all before it.
pub(super) async fn apply(store: &PostgresStore, tx: &Tx, claim: &BatchClaim, chunk: &Chunk) -> Outcome<ChunkAnswer> {
    // A reader who lost its claim is sent away before it works; who loses it meanwhile, after.
    let Open { scope, timeout, .. } = match before(tx, &sql::LOOK_AT_BATCH, claim, chunk).await? {
        Before::Next(open) => open,
        Before::Committed(counts) => return Ok(ChunkAnswer::Applied(counts)),
        Before::Gone => return Ok(ChunkAnswer::Superseded),
    };
    let time = Budget { until: SystemTimer.elapsed() + timeout };
    match whole(store, tx, claim, chunk, &scope, &time).await {
        Ok(Moved::All(counts)) => end(tx, claim, chunk, counts).await,
        Ok(Moved::Nothing(answer)) => Ok(answer),
        Err(failure) if failure.class == Class::Late && time.is_over() => Ok(ChunkAnswer::Refused(too_long(timeout))),
        Err(failure) => Err(failure),
    }
}

fn too_long(timeout: Duration) -> String {
    format!(
        "they and the move of the whole source took longer than {timeout:?}; give the batch a longer timeout, or apply it in chunks"
    )
}

/// What is left of the claim.
struct Budget {
    until: Duration,
}

impl Budget {
    fn left(&self) -> Duration {
        self.until.saturating_sub(SystemTimer.elapsed()).max(LEFT_MIN)
    }

    fn is_over(&self) -> bool {
        SystemTimer.elapsed() + LEFT_MIN >= self.until
    }

    /// The transaction with this much time for each statement.
    async fn grant(&self, tx: &Tx) -> Outcome<Tx> {
        let left = self.left();
        tx.batch("settings", &format!("SET LOCAL statement_timeout = {}; {PLANS}", milliseconds(left))).await?;
        let mut bounded = tx.clone();
        bounded.call_limit = left + Duration::from_secs(2);
        Ok(bounded)
    }
}

enum Moved {
    All(Counts),
    Nothing(ChunkAnswer),
}

async fn whole(store: &PostgresStore, tx: &Tx, claim: &BatchClaim, chunk: &Chunk, scope: &str, time: &Budget) -> Outcome<Moved> {
    let rejected = keep(tx, claim, chunk).await?;
    let (batch, step) = (claim.batch(), claim.step().map(|claim| claim.step().as_str()));
    let clock = tx.clock();
    time.grant(tx).await?.execute(&sql::MOVE_STAGED, values![clock, scope, step, batch]).await?;
    let counts = sorted(&time.grant(tx).await?, scope, batch).await?;
    if counts.conflicts > 0 {
        let rows = time.grant(tx).await?.rows(&sql::READ_STAGED_CONFLICTS, values![scope, batch, LISTED_MAX]).await?;
        let findings = rows.iter().map(conflict).collect::<Outcome<_>>()?;
        return Ok(Moved::Nothing(ChunkAnswer::Withheld { conflicts: counts.conflicts, findings }));
    }
    if let Some(text) = &chunk.sql {
        let bounded = time.grant(tx).await?;
        if let Verdict::Wrong(message) = users::run_over_staged(store, &bounded, text, (scope, batch), time.left()).await? {
            let message = if time.is_over() { too_long(time.left()) } else { message };
            return Ok(Moved::Nothing(ChunkAnswer::Refused(message)));
        }
    }
    if counts.failed > 0 {
        time.grant(tx).await?.execute(&sql::INSERT_STAGED_FINDINGS, values![clock, scope, batch]).await?;
    }
    tx.batch("settings", &store.limits.local()).await?;
    Ok(Moved::All(counts.plus(rejected)))
}

/// Under both fences, as every chunk.
async fn end(tx: &Tx, claim: &BatchClaim, chunk: &Chunk, counts: Counts) -> Outcome<ChunkAnswer> {
    if !holds(tx, claim.step()).await? {
        return Ok(ChunkAnswer::Superseded);
    }
    match before(tx, &sql::LOCK_BATCH, claim, chunk).await? {
        Before::Next(_) => advance(tx, claim, chunk, counts).await,
        // It is another one's commit: what was moved here is undone.
        Before::Committed(_) => Err(Failure::again("the batch was moved by somebody else meanwhile")),
        Before::Gone => Ok(ChunkAnswer::Superseded),
    }
}

/// Puts the chunk's records aside and writes its rejections: how many.
async fn keep(tx: &Tx, claim: &BatchClaim, chunk: &Chunk) -> Outcome<Counts> {
    let (mut records, mut findings): (Vec<&Record>, Vec<Finding>) = (Vec::new(), Vec::new());
    for item in &chunk.items {
        match item {
            Item::Record(record) => records.push(record),
            Item::Rejected(rejection) => findings.push(rejection.into()),
        }
    }
    let key: Vec<&str> = records.iter().map(|record| record.key.as_str()).collect();
    let byte: Vec<i64> = records.iter().map(|record| int(record.place.byte)).collect();
    let line: Vec<i64> = records.iter().map(|record| int(record.place.line)).collect();
    let fingerprint: Vec<String> = records.iter().map(|record| record.fingerprint.to_string()).collect();
    let amount: Vec<Option<i64>> = records.iter().map(|record| record.amount).collect();
    let payload: Vec<&str> = records.iter().map(|record| record.payload.as_str()).collect();
    let failed: Vec<Option<&str>> = records.iter().map(|record| record.failed.as_deref()).collect();
    let batch = claim.batch();
    tx.execute(&sql::STAGE_RECORDS, values![batch, key, byte, line, fingerprint, amount, payload, failed]).await?;
    record(tx, claim, &findings).await?;
    Ok(Counts { rejected: findings.len() as u64, ..Counts::default() })
}

async fn sorted(tx: &Tx, scope: &str, batch: &str) -> Outcome<Counts> {
    let mut counts = Counts::default();
    for row in tx.rows(&sql::SORT_STAGED, values![scope, batch]).await? {
        let number = row.number("number")?;
        match row.word_opt("outcome", RecordOutcome::from_word)? {
            Some(outcome) => counts = counts.plus(Counts::of(outcome, number)),
            None => return Err(Failure::again(format!("{number} records were neither inserted nor found"))),
        }
    }
    Ok(counts)
}

fn conflict(row: &Row) -> Outcome<Finding> {
    let text = |name| row.get::<String>(name);
    let fingerprint = |name| row.word::<Fingerprint>(name, |text| text.parse().ok());
    let (key, payload, kept_payload) = (text("key")?, text("payload")?, text("kept_payload")?);
    let conflict = Conflict {
        key: &key,
        kept: fingerprint("kept")?,
        kept_payload: Some(&kept_payload),
        refused: fingerprint("fingerprint")?,
        refused_payload: &payload,
    };
    let reason = conflict.reason();
    let place = Position { byte: row.number("byte")?, line: row.number("line")? };
    Ok(Finding { place, outcome: RecordOutcome::Conflict, key: Some(key), reason, record: payload.into_bytes() })
}

/// Ends a batch of which nothing is applied; again when the answer was lost.
pub(super) async fn withhold(tx: &Tx, claim: &BatchClaim, conflicts: u64, findings: &[Finding]) -> Outcome<bool> {
    if !holds(tx, claim.step()).await? {
        return Ok(false);
    }
    let (clock, batch, attempt, number) = (tx.clock(), claim.batch(), int(claim.attempt()), int(conflicts));
    let Some(row) = tx.first(&sql::LOCK_BATCH, values![batch]).await? else { return Ok(false) };
    if row.number::<u64>("attempt")? != claim.attempt() {
        return Ok(false);
    }
    if row.word("status", BatchStatus::from_word)? == BatchStatus::Cancelled {
        return Ok(true);
    }
    if tx.execute(&sql::WITHHOLD_BATCH, values![clock, batch, attempt, number]).await? == 0 {
        return Ok(false);
    }
    record(tx, claim, findings).await.map(|()| true)
}
