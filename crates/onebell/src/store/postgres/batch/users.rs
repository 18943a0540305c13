//! The user's statements over the relation `chunk`. A record that they refuse is found by halving under savepoints.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::PostgresStore;
use super::super::columns::{int, values};
use super::super::error::{Class, Failure, Outcome};
use super::super::statements as sql;
use super::super::transaction::{Tx, milliseconds};
use super::super::work::quoted;
use crate::model::record::Record;

/// What the statements did.
pub(super) enum Verdict {
    /// They ran; the keys that they refused, each with the reason.
    Ran(BTreeMap<String, String>),
    /// They are wrong as such.
    Wrong(String),
}

/// Gone with the transaction: a pooler may stand between, and nothing is kept in a session.
const MAKE: &str = "CREATE TEMPORARY TABLE chunk (key text COLLATE \"C\" NOT NULL, amount bigint, payload text NOT NULL, line bigint NOT NULL, \
                    byte bigint NOT NULL) ON COMMIT DROP; GRANT SELECT ON pg_temp.chunk TO PUBLIC; SET LOCAL onebell.settling = 'on'";
const ENDED: &str = "the statements end the transaction they run in; remove COMMIT and ROLLBACK (what was committed so stays)";

/// Runs the statements over the records, each of which counts once.
pub(super) async fn run(store: &PostgresStore, tx: &Tx, text: &str, fresh: &[&Record], limit: Duration) -> Outcome<Verdict> {
    let mut refused = BTreeMap::new();
    if fresh.is_empty() {
        return Ok(Verdict::Ran(refused));
    }
    make(tx).await?;
    let mut open = vec![fresh];
    while let Some(part) = open.pop() {
        tx.batch("chunk", "SAVEPOINT onebell_chunk; TRUNCATE pg_temp.chunk").await?;
        fill(tx, part).await?;
        match over(store, tx, text, limit).await {
            Ok(()) => tx.batch("chunk", "RELEASE SAVEPOINT onebell_chunk").await?,
            Err(failure) if failure.class == Class::Refused => {
                tx.batch("chunk", "ROLLBACK TO SAVEPOINT onebell_chunk; RELEASE SAVEPOINT onebell_chunk").await?;
                match part {
                    [one] => drop(refused.insert(one.key.as_str().to_owned(), failure.message)),
                    _ => {
                        // The first half first: what stands earlier in the order of keys goes before.
                        let (first, second) = part.split_at(part.len() / 2);
                        open.extend([second, first]);
                    }
                }
            }
            Err(failure) if matches!(failure.class, Class::Broken | Class::Late) => return Ok(Verdict::Wrong(failure.message)),
            Err(failure) => return Err(failure),
        }
    }
    Ok(Verdict::Ran(refused))
}

/// Runs the statements over all that an atomic batch has just written. Whatever they refuse refuses the whole: `Wrong`.
pub(super) async fn run_over_staged(
    store: &PostgresStore,
    tx: &Tx,
    text: &str,
    (scope, batch): (&str, &str),
    limit: Duration,
) -> Outcome<Verdict> {
    make(tx).await?;
    if tx.execute(&sql::FILL_CHUNK, values![scope, batch]).await? == 0 {
        return Ok(Verdict::Ran(BTreeMap::new()));
    }
    tx.batch("chunk", "ANALYZE pg_temp.chunk").await?;
    match over(store, tx, text, limit).await {
        Ok(()) => Ok(Verdict::Ran(BTreeMap::new())),
        Err(failure) if matches!(failure.class, Class::Refused | Class::Broken | Class::Late) => {
            Ok(Verdict::Wrong(failure.message))
        }
        Err(failure) => Err(failure),
    }
}

async fn make(tx: &Tx) -> Outcome<()> {
    tx.batch("chunk", "DROP TABLE IF EXISTS pg_temp.chunk").await?;
    tx.batch("chunk", MAKE).await
}

async fn fill(tx: &Tx, part: &[&Record]) -> Outcome<()> {
    let key: Vec<&str> = part.iter().map(|record| record.key.as_str()).collect();
    let amount: Vec<Option<i64>> = part.iter().map(|record| record.amount).collect();
    let payload: Vec<&str> = part.iter().map(|record| record.payload.as_str()).collect();
    let line: Vec<i64> = part.iter().map(|record| int(record.place.line)).collect();
    let byte: Vec<i64> = part.iter().map(|record| int(record.place.byte)).collect();
    tx.execute_all(&sql::INSERT_CHUNK, values![key, amount, payload, line, byte], part.len()).await
}

/// The statements, with the planner as the database sets it, as the role that is configured for them, and constraints looked at here
/// and not at the end, so that a refusal is this part's.
async fn over(store: &PostgresStore, tx: &Tx, text: &str, limit: Duration) -> Outcome<()> {
    let ms = milliseconds(limit);
    let role = store.sql_role.as_deref().map(|role| format!("; SET LOCAL ROLE {}", quoted(role))).unwrap_or_default();
    let theirs = format!(
        "SET LOCAL statement_timeout = {ms}; SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; \
         SET LOCAL enable_mergejoin = on{role}"
    );
    tx.batch("chunk", &theirs).await?;
    let mut bounded = tx.clone();
    bounded.call_limit = limit + Duration::from_secs(2);
    bounded.batch("the statements over the chunk", text).await?;
    if !bounded.one(&sql::READ_MARK, &[]).await?.get::<bool>("marked")? {
        return Err(Failure { poisoned: true, ..Failure::broken(ENDED) });
    }
    tx.batch("the statements over the chunk", "SET CONSTRAINTS ALL IMMEDIATE").await?;
    tx.batch("settings", &format!("RESET ROLE; {}", store.limits.local())).await
}
