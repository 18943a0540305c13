//! A batch that is all or nothing: chunks are put aside, each in a short transaction, and the last one moves them together. That
//! transaction may take as long as the batch's claim, and nobody else writes meanwhile.

use std::time::Duration;

use rusqlite::Row;

use super::super::columns::{count, int};
use super::super::error::{Failure, is_interrupted};
use super::super::group::Memory;
use super::super::statements::Statement as S;
use super::super::transaction::{Outcome, Tx};
use super::chunk::{Open, advance, record};
use super::holds;
use super::users::{self, Verdict};
use crate::model::batch::{BatchStatus, Conflict, Counts, Finding, RecordOutcome};
use crate::model::record::{Item, Position, Record};
use crate::model::{BatchClaim, Claim};
use crate::store::{Chunk, ChunkAnswer};

/// More conflicts are counted, and not listed.
const LISTED_MAX: u32 = 1_000;

/// A chunk that is not the last: its records wait, what could not be read is told.
pub(super) fn put_aside(tx: &Tx<'_>, claim: &BatchClaim, chunk: &Chunk) -> Outcome<ChunkAnswer> {
    let rejected = keep(tx, claim, chunk)?;
    advance(tx, claim, chunk, rejected)
}

/// The last chunk, and all before it. The batch is held already.
pub(super) fn apply(tx: &Tx<'_>, claim: &BatchClaim, chunk: &Chunk, open: &Open, memory: &Memory) -> Outcome<ChunkAnswer> {
    let mut nothing = None;
    let moved = tx.savepoint("onebell_records", || match whole(tx, claim, chunk, open, memory)? {
        Ok(counts) => advance(tx, claim, chunk, counts),
        Err(answer) => {
            nothing = Some(answer);
            Err(Failure::Refused(String::new()))
        }
    });
    match (nothing, moved) {
        (Some(answer), _) => Ok(answer),
        (None, Err(Failure::Sqlite(error))) if is_interrupted(&error) => Ok(ChunkAnswer::Refused(too_long(open.timeout))),
        (None, moved) => moved,
    }
}

fn too_long(timeout: Duration) -> String {
    format!("the move of the whole source took longer than {timeout:?}; give the batch a longer timeout, or apply it in chunks")
}

fn whole(tx: &Tx<'_>, claim: &BatchClaim, chunk: &Chunk, open: &Open, memory: &Memory) -> Outcome<Result<Counts, ChunkAnswer>> {
    let (rejected, batch, scope) = (keep(tx, claim, chunk)?, claim.batch(), open.scope.as_str());
    let step = claim.step().map(Claim::step);
    let counts = tx.guard.over_code(open.timeout, || {
        tx.execute(S::MoveStaged, &[("scope", &scope), ("step", &step), ("batch", &batch), ("now", &tx.now)])?;
        sorted(tx, scope, batch)
    })?;
    if counts.conflicts > 0 {
        let which: [(&str, &dyn rusqlite::ToSql); 3] = [("scope", &scope), ("batch", &batch), ("limit", &LISTED_MAX)];
        let findings = tx.rows(S::ReadStagedConflicts, &which, conflict)?;
        return Ok(Err(ChunkAnswer::Withheld { conflicts: counts.conflicts, findings }));
    }
    if let Some(text) = &chunk.sql
        && let Verdict::Wrong(message) = users::run_over_staged(tx, text, (scope, batch), open.timeout, memory)?
    {
        return Ok(Err(ChunkAnswer::Refused(message)));
    }
    if counts.failed > 0 {
        tx.execute(S::InsertStagedFindings, &[("scope", &scope), ("batch", &batch), ("now", &tx.now)])?;
    }
    Ok(Ok(counts.plus(rejected)))
}

/// Puts the chunk's records aside and writes its rejections: how many.
fn keep(tx: &Tx<'_>, claim: &BatchClaim, chunk: &Chunk) -> Outcome<Counts> {
    let mut bulk = tx.bulk(S::StageRecords, &["batch", "key", "byte", "line", "fingerprint", "amount", "payload", "failed"])?;
    let (batch, mut findings) = (claim.batch(), Vec::new());
    for item in &chunk.items {
        match item {
            Item::Record(Record { key, place, fingerprint, amount, payload, failed, .. }) => {
                let (byte, line) = (int(place.byte), int(place.line));
                bulk.run(&[&batch, key, &byte, &line, fingerprint, amount, payload, failed])?;
            }
            Item::Rejected(rejection) => findings.push(Finding::from(rejection)),
        }
    }
    record(tx, claim, &findings)?;
    Ok(Counts { rejected: findings.len() as u64, ..Counts::default() })
}

fn sorted(tx: &Tx<'_>, scope: &str, batch: &str) -> Outcome<Counts> {
    let mut counts = Counts::default();
    let read = |row: &Row<'_>| Ok((row.get::<_, RecordOutcome>("outcome")?, count(row, "number")?));
    for (outcome, number) in tx.rows(S::SortStaged, &[("scope", &scope), ("batch", &batch)], read)? {
        counts = counts.plus(Counts::of(outcome, number));
    }
    Ok(counts)
}

fn conflict(row: &Row<'_>) -> Outcome<Finding> {
    let (key, payload, kept_payload): (String, String, String) = (row.get("key")?, row.get("payload")?, row.get("kept_payload")?);
    let conflict = Conflict {
        key: &key,
        kept: row.get("kept")?,
        kept_payload: Some(&kept_payload),
        refused: row.get("fingerprint")?,
        refused_payload: &payload,
    };
    let (reason, place) = (conflict.reason(), Position { byte: count(row, "byte")?, line: count(row, "line")? });
    Ok(Finding { place, outcome: RecordOutcome::Conflict, key: Some(key), reason, record: payload.into_bytes() })
}

/// Ends a batch of which nothing is applied; again when the answer was lost.
pub(super) fn withhold(tx: &Tx<'_>, claim: &BatchClaim, conflicts: u64, findings: &[Finding]) -> Outcome<bool> {
    if !holds(tx, claim.step())? {
        return Ok(false);
    }
    let batch = claim.batch();
    let found =
        tx.first(S::ReadBatch, &[("batch", &batch)], |row| Ok((count(row, "attempt")?, row.get::<_, BatchStatus>("status")?)))?;
    match found {
        Some((attempt, BatchStatus::Cancelled)) if attempt == claim.attempt() => return Ok(true),
        _ => {}
    }
    let values: [(&str, &dyn rusqlite::ToSql); 4] =
        [("batch", &batch), ("attempt", &int(claim.attempt())), ("conflicts", &int(conflicts)), ("now", &tx.now)];
    if tx.execute(S::WithholdBatch, &values)? == 0 {
        return Ok(false);
    }
    record(tx, claim, findings).map(|()| true)
}
