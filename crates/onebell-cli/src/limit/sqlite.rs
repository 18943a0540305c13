//! SQLite's limit: raw statements on one connection.

use std::ops::Range;
use std::path::Path;

use onebell::store::sqlite::rusqlite::{Connection, Error, Result, TransactionBehavior};
use onebell::time::{SystemTimer, Timer};

use super::{CHUNK, OWNER, lost, rate, records, sets};

/// Opens a file with plain tables, as durable as the store's own.
///
/// # Errors
/// SQLite's.
pub fn open(path: &Path) -> Result<Connection> {
    let connection = Connection::open(path)?;
    connection.execute_batch(include_str!("sqlite/open.sql"))?;
    Ok(connection)
}

/// Records per second: what is parsed already goes into the ledger, a transaction for each 1,000. Nothing when `goes_on` said no.
///
/// # Errors
/// SQLite's.
pub fn insert(
    connection: &mut Connection,
    scope: &str,
    numbers: Range<usize>,
    goes_on: impl Fn() -> bool,
) -> Result<Option<f64>> {
    let rows: Vec<(String, String, i64, String)> =
        numbers.clone().map(|n| (records::key(n), records::fingerprint(n), n as i64, records::payload(n))).collect();
    let begun = SystemTimer.elapsed();
    for chunk in rows.chunks(CHUNK) {
        if !goes_on() {
            return Ok(None);
        }
        let transaction = connection.transaction()?;
        {
            let mut insert = transaction.prepare_cached(include_str!("sqlite/insert_record.sql"))?;
            for (key, fingerprint, amount, payload) in chunk {
                insert.execute((scope, key, fingerprint, amount, payload))?;
            }
        }
        transaction.commit()?;
    }
    Ok(Some(rate(numbers.len(), SystemTimer.elapsed().saturating_sub(begun))))
}

/// Steps per second: each transaction settles the set before and claims the next one. Nothing when `goes_on` said no.
///
/// # Errors
/// SQLite's, and a message when a row was not found as it must be.
pub fn steps(
    connection: &mut Connection,
    steps: usize,
    set: usize,
    goes_on: impl Fn() -> bool,
) -> std::result::Result<Option<f64>, String> {
    let told = |error: Error| error.to_string();
    connection.execute_batch(include_str!("sqlite/make_steps.sql")).map_err(told)?;
    connection.execute(include_str!("sqlite/fill_steps.sql"), [steps as i64]).map_err(told)?;
    let sets = sets(0..steps, set);
    let begun = SystemTimer.elapsed();
    for at in 0..=sets.len() {
        if !goes_on() {
            return Ok(None);
        }
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(told)?;
        let change = |verb: &str, sql: &str, set: Option<&(i64, i64)>| {
            let Some(set) = set else { return Ok(()) };
            let changed = transaction.prepare_cached(sql).and_then(|mut change| change.execute((OWNER, set.0, set.1)));
            lost(verb, changed.map_err(told)? as u64, *set).map_or(Ok(()), Err)
        };
        change("a settlement", include_str!("sqlite/settle_steps.sql"), at.checked_sub(1).and_then(|before| sets.get(before)))?;
        change("a claim", include_str!("sqlite/claim_steps.sql"), sets.get(at))?;
        transaction.commit().map_err(told)?;
    }
    Ok(Some(rate(steps, SystemTimer.elapsed().saturating_sub(begun))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_claimed_and_settled_and_every_record_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let mut connection = open(&folder.path().join("limit.db")).unwrap();
        for set in [1, 3, 10, 50] {
            assert!(steps(&mut connection, 10, set, || true).unwrap().unwrap() > 0.0);
            let done = "SELECT count(*) FROM steps WHERE status = 'succeeded' AND attempt = 1";
            assert_eq!(connection.query_row(done, [], |row| row.get::<_, i64>(0)).unwrap(), 10);
        }
        assert!(insert(&mut connection, "a", 0..1_500, || true).unwrap().unwrap() > 0.0);
        assert!(insert(&mut connection, "b", 0..1_500, || true).unwrap().is_some());
        assert_eq!(connection.query_row("SELECT count(*) FROM ledger", [], |row| row.get::<_, i64>(0)).unwrap(), 3_000);
        assert_eq!(steps(&mut connection, 10, 1, || false).unwrap(), None);
        assert_eq!(insert(&mut connection, "c", 0..10, || false).unwrap(), None);
    }
}
