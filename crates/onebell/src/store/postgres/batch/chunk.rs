//! One chunk, one transaction: step and batch locked under their fences, identities written or compared, the user's statements over
//! the new ones, findings, counts and checkpoint.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::super::PostgresStore;
use super::super::columns::{Record as Row, int, values};
use super::super::error::{Class, Outcome};
use super::super::pool::Purpose;
use super::super::statements::{self as sql, Statement};
use super::super::transaction::{End, Tx, Verb};
use super::users::{self, Verdict};
use super::{counts, holds, position, whole};
use crate::model::batch::{BatchStatus, Counts, Finding, Met, Sorting, Turn, turn};
use crate::model::record::{Checkpoint, Record};
use crate::model::{BatchClaim, Fingerprint};
use crate::store::{Chunk, ChunkAnswer};

const CHUNK: Verb = Verb::with_points("apply_chunk", "chunk.before_commit", "chunk.after_commit");
/// With statements of the user's own: a share of their connections, and their time.
const WITH_SQL: Verb = Verb { purpose: Purpose::Work, ..CHUNK };

pub(super) async fn apply(store: &PostgresStore, claim: &BatchClaim, chunk: &Chunk) -> Outcome<ChunkAnswer> {
    let verb = if chunk.sql.is_some() { WITH_SQL } else { CHUNK };
    let body = |tx: Tx| async move {
        let answer = match whole::is_the_last(&tx, claim, chunk).await? {
            true => whole::apply(store, &tx, claim, chunk).await?,
            false => in_transaction(store, &tx, claim, chunk).await?,
        };
        Ok(if matches!(answer, ChunkAnswer::Applied(_)) { End::Commit(answer) } else { End::Rollback(answer) })
    };
    match store.transact(verb, body).await {
        // The data is not the statements' fault alone: a constraint that was deferred to the end.
        Err(failure) if failure.class == Class::Refused && chunk.sql.is_some() => Ok(ChunkAnswer::Refused(failure.message)),
        answer => answer,
    }
}

/// What is known of a batch before its chunk.
pub(super) enum Before {
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
    /// Most of what was read so far was there already.
    read_again: bool,
}

async fn in_transaction(store: &PostgresStore, tx: &Tx, claim: &BatchClaim, chunk: &Chunk) -> Outcome<ChunkAnswer> {
    if !holds(tx, claim.step()).await? {
        return Ok(ChunkAnswer::Superseded);
    }
    let Open { scope, timeout, read_again, .. } = match before(tx, &sql::LOCK_BATCH, claim, chunk).await? {
        Before::Next(open) if open.atomic => return whole::put_aside(tx, claim, chunk).await,
        Before::Next(open) => open,
        Before::Committed(counts) => return Ok(ChunkAnswer::Applied(counts)),
        Before::Gone => return Ok(ChunkAnswer::Superseded),
    };
    let mut sorting = Sorting::of(&chunk.items);
    loop {
        let round = sorting.round();
        if round.is_empty() {
            break;
        }
        let (new, kept) = meet(tx, claim, &scope, &round, read_again).await?;
        let mut refused = BTreeMap::new();
        if let Some(text) = &chunk.sql {
            let fresh: Vec<&Record> =
                round.iter().copied().filter(|record| record.failed.is_none() && new.has(record.key.as_str())).collect();
            match users::run(store, tx, text, &fresh, timeout).await? {
                Verdict::Ran(reasons) => refused = reasons,
                Verdict::Wrong(message) => return Ok(ChunkAnswer::Refused(message)),
            }
            forget(tx, claim, &scope, &refused).await?;
        }
        let met = round.into_iter().map(|record| met(record, &new, &kept, &mut refused)).collect::<Outcome<_>>()?;
        sorting.met(met);
    }
    let sorted = sorting.end();
    record(tx, claim, &sorted.findings).await?;
    advance(tx, claim, chunk, sorted.counts).await
}

/// Looks at the batch by a statement that locks it, or one that does not.
pub(super) async fn before(tx: &Tx, look: &Statement, claim: &BatchClaim, chunk: &Chunk) -> Outcome<Before> {
    let batch = claim.batch();
    let Some(row) = tx.first(look, values![batch]).await? else { return Ok(Before::Gone) };
    let ours = row.number::<u64>("attempt")? == claim.attempt();
    let status = row.word("status", BatchStatus::from_word)?;
    let place = position(&row)?;
    Ok(match turn(ours, status, place, chunk.span()) {
        Turn::Next => {
            let timeout = Duration::from_micros(row.number("timeout_us")?);
            let counts = counts(&row)?;
            let read_again = counts.already > counts.applied;
            Before::Next(Open { scope: row.get("scope")?, timeout, atomic: row.get("atomic")?, read_again })
        }
        Turn::Committed => Before::Committed(counts(&row)?),
        Turn::Gone => Before::Gone,
    })
}

/// Which identities were written now, and what is there of the others. Where most are there, those are looked up first, and their
/// payloads are not sent.
async fn meet(tx: &Tx, claim: &BatchClaim, scope: &str, round: &[&Record], read_again: bool) -> Outcome<(New, Kept)> {
    let mut there = if read_again { kept(tx, scope, round).await? } else { Kept::new() };
    let rest: Vec<&Record> = round.iter().copied().filter(|record| !there.contains_key(record.key.as_str())).collect();
    let mut new = if rest.is_empty() { New::These(BTreeSet::new()) } else { insert(tx, claim, scope, &rest).await? };
    if !there.is_empty() && matches!(new, New::All) {
        new = New::These(rest.iter().map(|record| record.key.as_str().to_owned()).collect());
    }
    // Read in a later statement: a concurrent transaction may have just committed it.
    let old: Vec<&Record> = rest.into_iter().filter(|record| !new.has(record.key.as_str())).collect();
    if !old.is_empty() {
        there.append(&mut kept(tx, scope, &old).await?);
    }
    Ok((new, there))
}

/// Which identities of a round were written now.
enum New {
    All,
    These(BTreeSet<String>),
}

impl New {
    fn has(&self, key: &str) -> bool {
        match self {
            Self::All => true,
            Self::These(keys) => keys.contains(key),
        }
    }
}

/// Writes the identities that are not there: which those are. Mostly all of them: then none is sent back.
async fn insert(tx: &Tx, claim: &BatchClaim, scope: &str, round: &[&Record]) -> Outcome<New> {
    let key: Vec<&str> = round.iter().map(|record| record.key.as_str()).collect();
    let fingerprint: Vec<String> = round.iter().map(|record| record.fingerprint.to_string()).collect();
    let amount: Vec<Option<i64>> = round.iter().map(|record| record.amount).collect();
    let payload: Vec<&str> = round.iter().map(|record| record.payload.as_str()).collect();
    let failed: Vec<Option<&str>> = round.iter().map(|record| record.failed.as_deref()).collect();
    let step = claim.step().map(|claim| claim.step().as_str());
    let (clock, batch) = (tx.clock(), claim.batch());
    let values = values![clock, scope, step, batch, key, fingerprint, amount, payload, failed];
    let row = tx.one(&sql::INSERT_BATCH_EFFECTS, values).await?;
    if row.get("whole")? {
        return Ok(New::All);
    }
    let keys: Option<Vec<String>> = row.get("keys")?;
    Ok(New::These(keys.into_iter().flatten().collect()))
}

type Kept = BTreeMap<String, (Fingerprint, Option<String>, Option<String>)>;

async fn kept(tx: &Tx, scope: &str, records: &[&Record]) -> Outcome<Kept> {
    let key: Vec<&str> = records.iter().map(|record| record.key.as_str()).collect();
    let fingerprint: Vec<String> = records.iter().map(|record| record.fingerprint.to_string()).collect();
    let read = |row: &Row| {
        let found = row.word("fingerprint", |text| text.parse().ok())?;
        Ok((row.get("key")?, (found, row.get("failed")?, row.get("payload")?)))
    };
    tx.rows(&sql::READ_BATCH_EFFECTS, values![scope, key, fingerprint]).await?.iter().map(read).collect()
}

fn met<'c>(record: &'c Record, new: &New, kept: &Kept, refused: &mut BTreeMap<String, String>) -> Outcome<(&'c Record, Met)> {
    let key = record.key.as_str();
    if let Some(reason) = refused.remove(key) {
        return Ok((record, Met::Refused(reason)));
    }
    if new.has(key) {
        return Ok((record, Met::New));
    }
    let neither = || super::super::error::Failure::again(format!("record {key:?} was neither inserted nor found"));
    let (fingerprint, failed, payload) = kept.get(key).cloned().ok_or_else(neither)?;
    Ok((record, Met::Kept { fingerprint, failed, payload }))
}

async fn forget(tx: &Tx, claim: &BatchClaim, scope: &str, refused: &BTreeMap<String, String>) -> Outcome<()> {
    if refused.is_empty() {
        return Ok(());
    }
    let (keys, batch): (Vec<&str>, _) = (refused.keys().map(String::as_str).collect(), claim.batch());
    tx.execute_all(&sql::DELETE_BATCH_EFFECTS, values![scope, keys, batch], keys.len()).await
}

pub(super) async fn record(tx: &Tx, claim: &BatchClaim, findings: &[Finding]) -> Outcome<()> {
    if findings.is_empty() {
        return Ok(());
    }
    let byte: Vec<i64> = findings.iter().map(|finding| int(finding.place.byte)).collect();
    let line: Vec<i64> = findings.iter().map(|finding| int(finding.place.line)).collect();
    let outcome: Vec<&str> = findings.iter().map(|finding| finding.outcome.as_str()).collect();
    let key: Vec<Option<String>> =
        findings.iter().map(|finding| finding.key.as_deref().map(super::super::columns::text)).collect();
    let reason: Vec<String> = findings.iter().map(|finding| super::super::columns::text(&finding.reason)).collect();
    let record: Vec<&[u8]> = findings.iter().map(|finding| finding.record.as_slice()).collect();
    let (clock, batch) = (tx.clock(), claim.batch());
    tx.execute_all(&sql::INSERT_REJECTIONS, values![clock, batch, byte, line, outcome, key, reason, record], findings.len()).await
}

pub(super) async fn advance(tx: &Tx, claim: &BatchClaim, chunk: &Chunk, new: Counts) -> Outcome<ChunkAnswer> {
    let (clock, batch, attempt) = (tx.clock(), claim.batch(), int(claim.attempt()));
    let Checkpoint { position, prefix, header } = &chunk.after;
    let (byte, line, last) = (int(position.byte), int(position.line), chunk.last);
    let (prefix, header) = (prefix.map(|prefix| prefix.to_string()), header.map(|header| header.to_string()));
    let (applied, already, conflicts, rejected, failed) =
        (int(new.applied), int(new.already), int(new.conflicts), int(new.rejected), int(new.failed));
    let values = values![clock, batch, attempt, byte, line, prefix, header, applied, already, conflicts, rejected, failed, last];
    match tx.first(&sql::MOVE_BATCH, values).await? {
        Some(row) => Ok(ChunkAnswer::Applied(counts(&row)?)),
        None => Ok(ChunkAnswer::Superseded),
    }
}
