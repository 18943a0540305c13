//! One chunk, one transaction: step and batch held, identities written or compared, the user's statements over the new ones,
//! findings, counts and checkpoint.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::columns::{count, int, span};
use super::super::error::Failure;
use super::super::group::{Memory, Remembered};
use super::super::statements::Statement as S;
use super::super::transaction::{Outcome, Tx};
use super::users::{self, Verdict};
use super::{counts, holds, position, whole};
use crate::model::batch::{BatchStatus, Counts, Finding, Met, Sorting, Turn, turn};
use crate::model::record::{Checkpoint, Record};
use crate::model::{BatchClaim, Claim};
use crate::store::{Chunk, ChunkAnswer, StoreError};

/// What is known of a batch before its chunk.
enum Before {
    /// The chunk is the next.
    Next(Open),
    /// It was committed before; its counts.
    Committed(Counts),
    /// Not ours.
    Gone,
}

/// A batch that goes on.
pub(super) struct Open {
    pub(super) scope: String,
    pub(super) timeout: Duration,
    pub(super) atomic: bool,
}

pub(super) fn apply(tx: &Tx<'_>, claim: &BatchClaim, chunk: &Chunk, memory: &Memory) -> Outcome<ChunkAnswer> {
    // The commit refused what the user's statements did, and nobody can say for which record.
    if let Some(Remembered::Refused(error) | Remembered::Late(error)) = memory.recall() {
        return Ok(ChunkAnswer::Refused(error));
    }
    match decide(tx, claim, chunk, memory)? {
        // A write that was interrupted has taken the whole transaction with it: there is nothing to commit.
        ChunkAnswer::Refused(error) if tx.connection.is_autocommit() => {
            memory.keep(Remembered::Late(error.clone()));
            Err(Failure::Again(error))
        }
        answer => Ok(answer),
    }
}

fn decide(tx: &Tx<'_>, claim: &BatchClaim, chunk: &Chunk, memory: &Memory) -> Outcome<ChunkAnswer> {
    if !holds(tx, claim.step())? {
        return Ok(ChunkAnswer::Superseded);
    }
    let Open { scope, timeout, .. } = match before(tx, claim, chunk)? {
        Before::Next(open) if open.atomic && chunk.last => return whole::apply(tx, claim, chunk, &open, memory),
        Before::Next(open) if open.atomic => return whole::put_aside(tx, claim, chunk),
        Before::Next(open) => open,
        Before::Committed(counts) => return Ok(ChunkAnswer::Applied(counts)),
        Before::Gone => return Ok(ChunkAnswer::Superseded),
    };
    let mut wrong = None;
    let mut records = || {
        let mut sorting = Sorting::of(&chunk.items);
        loop {
            let round = sorting.round();
            if round.is_empty() {
                break;
            }
            match meet(tx, claim, &scope, chunk.sql.as_deref(), round, timeout, memory)? {
                Ok(met) => sorting.met(met),
                Err(message) => {
                    wrong = Some(message);
                    return Err(Failure::Refused(String::new()));
                }
            }
        }
        let sorted = sorting.end();
        record(tx, claim, &sorted.findings)?;
        advance(tx, claim, chunk, sorted.counts)
    };
    // Statements that are wrong as such leave no identity behind. Without any there is nothing to go back to, and a savepoint would
    // copy each page that the chunk writes.
    let applied = if chunk.sql.is_some() { tx.savepoint("onebell_records", &mut records) } else { records() };
    match (wrong, applied) {
        (Some(message), _) => Ok(ChunkAnswer::Refused(message)),
        (None, applied) => applied,
    }
}

fn before(tx: &Tx<'_>, claim: &BatchClaim, chunk: &Chunk) -> Outcome<Before> {
    let row = tx.first(S::ReadBatch, &[("batch", &claim.batch())], |row| {
        let open = Open { scope: row.get("scope")?, timeout: span(row, "timeout_us")?, atomic: row.get("atomic")? };
        Ok((count(row, "attempt")?, row.get::<_, BatchStatus>("status")?, open, position(row)?, counts(row)?))
    })?;
    let Some((attempt, status, open, place, counts)) = row else { return Ok(Before::Gone) };
    Ok(match turn(attempt == claim.attempt(), status, place, chunk.span()) {
        Turn::Next => Before::Next(open),
        Turn::Committed => Before::Committed(counts),
        Turn::Gone => Before::Gone,
    })
}

type AllMet<'c> = Vec<(&'c Record, Met)>;

/// What is met for the records of a round; or why the statements are wrong as such.
fn meet<'c>(
    tx: &Tx<'_>,
    claim: &BatchClaim,
    scope: &str,
    sql: Option<&str>,
    round: Vec<&'c Record>,
    timeout: Duration,
    memory: &Memory,
) -> Outcome<Result<AllMet<'c>, String>> {
    let new = insert(tx, claim, scope, &round)?;
    let mut refused = BTreeMap::new();
    if let Some(text) = sql {
        let is_fresh = |(record, new): (&&'c Record, &bool)| (*new && record.failed.is_none()).then_some(*record);
        let fresh: Vec<&Record> = round.iter().zip(&new).filter_map(is_fresh).collect();
        match users::run(tx, text, &fresh, timeout, memory)? {
            Verdict::Ran(reasons) => refused = reasons,
            Verdict::Wrong(message) => return Ok(Err(message)),
        }
        for key in refused.keys() {
            tx.execute(S::DeleteBatchEffects, &[("scope", &scope), ("key", key), ("batch", &claim.batch())])?;
        }
    }
    let met = |(record, new): (&'c Record, bool)| {
        let met = match refused.remove(record.key.as_str()) {
            Some(reason) => Met::Refused(reason),
            None if new => Met::New,
            None => kept(tx, scope, record)?,
        };
        Ok((record, met))
    };
    round.into_iter().zip(new).map(met).collect::<Outcome<_>>().map(Ok)
}

/// Writes the identities that are not there: for each, whether it was written.
fn insert(tx: &Tx<'_>, claim: &BatchClaim, scope: &str, round: &[&Record]) -> Outcome<Vec<bool>> {
    let names = ["key", "fingerprint", "amount", "payload", "failed", "scope", "step", "batch", "now"];
    let mut bulk = tx.bulk(S::InsertBatchEffects, &names)?;
    let (step, batch) = (claim.step().map(Claim::step), claim.batch());
    let one = |record: &&Record| {
        let Record { key, fingerprint, amount, payload, failed, .. } = record;
        Ok(bulk.run(&[key, fingerprint, amount, payload, failed, &scope, &step, &batch, &tx.now])? > 0)
    };
    round.iter().map(one).collect()
}

fn kept(tx: &Tx<'_>, scope: &str, record: &Record) -> Outcome<Met> {
    let values: [(&str, &dyn rusqlite::ToSql); 3] =
        [("scope", &scope), ("key", &record.key), ("fingerprint", &record.fingerprint)];
    let found = tx.first(S::ReadBatchEffects, &values, |row| {
        Ok(Met::Kept { fingerprint: row.get("fingerprint")?, failed: row.get("failed")?, payload: row.get("payload")? })
    })?;
    let neither =
        || StoreError::broken(format!("record {:?} was neither written nor found; a defect of Onebell", record.key.as_str()));
    found.ok_or_else(|| neither().into())
}

pub(super) fn record(tx: &Tx<'_>, claim: &BatchClaim, findings: &[Finding]) -> Outcome<()> {
    for Finding { place, outcome, key, reason, record } in findings {
        tx.execute(
            S::InsertRejections,
            &[
                ("batch", &claim.batch()),
                ("byte", &int(place.byte)),
                ("line", &int(place.line)),
                ("outcome", outcome),
                ("key", key),
                ("reason", reason),
                ("record", record),
                ("now", &tx.now),
            ],
        )?;
    }
    Ok(())
}

pub(super) fn advance(tx: &Tx<'_>, claim: &BatchClaim, chunk: &Chunk, new: Counts) -> Outcome<ChunkAnswer> {
    let Checkpoint { position, prefix, header } = &chunk.after;
    let values: [(&str, &dyn rusqlite::ToSql); 13] = [
        ("batch", &claim.batch()),
        ("attempt", &int(claim.attempt())),
        ("byte", &int(position.byte)),
        ("line", &int(position.line)),
        ("prefix", prefix),
        ("header", header),
        ("applied", &int(new.applied)),
        ("already", &int(new.already)),
        ("conflicts", &int(new.conflicts)),
        ("rejected", &int(new.rejected)),
        ("failed", &int(new.failed)),
        ("last", &chunk.last),
        ("now", &tx.now),
    ];
    let moved = tx.first(S::MoveBatch, &values, counts)?;
    Ok(moved.map_or(ChunkAnswer::Superseded, ChunkAnswer::Applied))
}
