//! The user's statements over the relation `chunk`. A record that they refuse is found by halving under savepoints.

use std::collections::BTreeMap;
use std::time::Duration;

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, params};

use super::super::columns::int;
use super::super::error::{Failure, is_interrupted, refusal};
use super::super::group::{Memory, Remembered};
use super::super::transaction::{Outcome, Tx};
use crate::model::record::Record;

/// What the statements did.
pub(super) enum Verdict {
    /// They ran; the keys that they refused, each with the reason.
    Ran(BTreeMap<String, String>),
    /// They are wrong as such.
    Wrong(String),
}

/// The connection's own, never in the file.
const MAKE: &str = "CREATE TEMP TABLE IF NOT EXISTS chunk \
                    (key TEXT PRIMARY KEY, amount INTEGER, payload TEXT NOT NULL, line INTEGER NOT NULL, byte INTEGER NOT NULL) WITHOUT ROWID";
const CLEAR: &str = "DELETE FROM temp.chunk";
const FILL_STAGED: &str = "INSERT INTO temp.chunk (key, amount, payload, line, byte) \
                           SELECT s.key, s.amount, s.payload, s.line, min(s.byte) \
                           FROM onebell_staged s JOIN onebell_effects e ON e.scope = ?1 AND e.key = s.key \
                           WHERE s.batch_id = ?2 AND e.batch_id = ?2 AND e.failed IS NULL GROUP BY s.key";
const FILL: &str = "INSERT INTO temp.chunk (key, amount, payload, line, byte) VALUES (?1, ?2, ?3, ?4, ?5)";

/// How one go over a part ended.
enum Ended {
    Ran,
    /// By what is in the part.
    Refused(String),
    Wrong(String),
}

/// Runs the statements over the records, each of which counts once.
pub(super) fn run(tx: &Tx<'_>, text: &str, fresh: &[&Record], limit: Duration, memory: &Memory) -> Outcome<Verdict> {
    let mut refused = BTreeMap::new();
    if fresh.is_empty() {
        return Ok(Verdict::Ran(refused));
    }
    tx.connection.execute_batch(MAKE)?;
    let mut open = vec![fresh];
    while let Some(part) = open.pop() {
        match over(tx, text, part, limit)? {
            Ended::Ran => {}
            Ended::Wrong(message) => return Ok(Verdict::Wrong(message)),
            // The statements' own conflict clause rolled back everything: nobody can go on from here.
            Ended::Refused(message) if tx.connection.is_autocommit() => {
                memory.keep(Remembered::Refused(message.clone()));
                return Err(Failure::Again(message));
            }
            Ended::Refused(message) => match part {
                [one] => drop(refused.insert(one.key.as_str().to_owned(), message)),
                _ => {
                    // The first half first: what stands earlier in the order of keys goes before.
                    let (first, second) = part.split_at(part.len() / 2);
                    open.extend([second, first]);
                }
            },
        }
    }
    tx.connection.prepare_cached(CLEAR).and_then(|mut clear| clear.raw_execute())?;
    Ok(Verdict::Ran(refused))
}

/// Runs the statements over all that an atomic batch has just written. Whatever they refuse refuses the whole: `Wrong`.
pub(super) fn run_over_staged(
    tx: &Tx<'_>,
    text: &str,
    (scope, batch): (&str, &str),
    limit: Duration,
    memory: &Memory,
) -> Outcome<Verdict> {
    tx.connection.execute_batch(MAKE)?;
    tx.connection.prepare_cached(CLEAR)?.raw_execute()?;
    if tx.connection.prepare_cached(FILL_STAGED)?.execute(params![scope, batch])? == 0 {
        return Ok(Verdict::Ran(BTreeMap::new()));
    }
    match tx.guard.over_text(limit, || statements(tx, text, limit))? {
        Ended::Ran => {
            tx.connection.prepare_cached(CLEAR).and_then(|mut clear| clear.raw_execute())?;
            Ok(Verdict::Ran(BTreeMap::new()))
        }
        Ended::Refused(message) if tx.connection.is_autocommit() => {
            memory.keep(Remembered::Refused(message.clone()));
            Err(Failure::Again(message))
        }
        Ended::Refused(message) | Ended::Wrong(message) => Ok(Verdict::Wrong(message)),
    }
}

fn over(tx: &Tx<'_>, text: &str, part: &[&Record], limit: Duration) -> Outcome<Ended> {
    let mut ended = Ended::Ran;
    let undone = tx.savepoint("onebell_chunk", || {
        tx.connection.prepare_cached(CLEAR)?.raw_execute()?;
        let mut fill = tx.connection.prepare_cached(FILL)?;
        for record in part {
            let (line, byte) = (int(record.place.line), int(record.place.byte));
            fill.execute(params![record.key, record.amount, record.payload, line, byte])?;
        }
        ended = tx.guard.over_text(limit, || statements(tx, text, limit))?;
        match &ended {
            Ended::Ran => Ok(()),
            // Undoes the part; what it means is in `ended`.
            Ended::Refused(_) | Ended::Wrong(_) => Err(Failure::Refused(String::new())),
        }
    });
    match (ended, undone) {
        (Ended::Ran, Err(failure)) => Err(failure),
        (ended, _) => Ok(ended),
    }
}

/// What cannot be prepared is wrong as such; what fails as it runs is the fault of a record.
fn statements(tx: &Tx<'_>, text: &str, limit: Duration) -> Outcome<Ended> {
    let mut batch = Batch::new(tx.connection, text);
    loop {
        let mut statement = match batch.next() {
            Ok(Some(statement)) => statement,
            Ok(None) => return Ok(Ended::Ran),
            Err(error) => return refusal(&error).map_or(Err(error.into()), |message| Ok(Ended::Wrong(message))),
        };
        let mut rows = statement.raw_query();
        loop {
            match rows.next() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) if is_interrupted(&error) => {
                    return Ok(Ended::Wrong(format!("they ran longer than {limit:?} over one chunk; use a smaller chunk")));
                }
                Err(error) => return refusal(&error).map_or(Err(error.into()), |message| Ok(Ended::Refused(message))),
            }
        }
    }
}
