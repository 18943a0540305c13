//! The schema's version: compared at the start, brought up by one replica at a time, never down.

use super::columns::values;
use super::error::{Failure, Outcome};
use super::transaction::{Tx, Verb};
use super::{PostgresStore, statements as sql};
use crate::store::{Result, StoreError};

/// A step of the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Migration {
    /// The version that it leads to.
    version: u64,
    name: &'static str,
    text: &'static str,
}

/// All of them, in order.
const MIGRATIONS: &[Migration] = &[
    Migration { version: 1, name: "0001", text: include_str!("migrations/0001.sql") },
    Migration { version: 2, name: "0002", text: include_str!("migrations/0002.sql") },
    Migration { version: 3, name: "0003", text: include_str!("migrations/0003.sql") },
    Migration { version: 4, name: "0004", text: include_str!("migrations/0004.sql") },
];

const NEWEST: u64 = MIGRATIONS[MIGRATIONS.len() - 1].version;

/// Longer than a verb may take: an index is built over what is there.
const LIMITS: &str = "SET LOCAL statement_timeout = '30min'; SET LOCAL lock_timeout = '60s'";
const CALL_LIMIT: std::time::Duration = std::time::Duration::from_secs(31 * 60);

/// Fits, or says what to do.
pub(super) async fn compare(store: &PostgresStore) -> Result<()> {
    let version = store.read("schema", |tx| async move { version(&tx).await }).await?;
    match version {
        Some(version) if version > NEWEST => Err(newer(version)),
        Some(NEWEST) => Ok(()),
        Some(version) => Err(StoreError::broken(format!(
            "the database has schema {version}, this program needs {NEWEST}; run onebell migrate"
        ))),
        None => Err(StoreError::broken("the database has no schema of Onebell's yet; run onebell migrate")),
    }
}

/// What is missing.
pub(super) async fn pending(store: &PostgresStore) -> Result<Vec<String>> {
    let version = store.read("schema", |tx| async move { version(&tx).await }).await?;
    missing(version.unwrap_or(0)).map(|missing| names(&missing))
}

fn names(migrations: &[Migration]) -> Vec<String> {
    migrations.iter().map(|migration| migration.name.to_owned()).collect()
}

/// Applies what is missing, in one transaction. Answers what was applied.
pub(super) async fn migrate(store: &PostgresStore) -> Result<Vec<String>> {
    // A role that may not create anything can still use a schema that fits.
    if pending(store).await?.is_empty() {
        return Ok(Vec::new());
    }
    store.write(Verb::named("migrate"), |tx| async move { apply(tx).await }).await
}

async fn apply(mut tx: Tx) -> Outcome<Vec<String>> {
    tx.call_limit = CALL_LIMIT;
    tx.batch("migrate", LIMITS).await?;
    tx.rows(&sql::LOCK_SCHEMA, &[]).await?;
    tx.batch("migrate", "CREATE SCHEMA IF NOT EXISTS onebell; REVOKE ALL ON SCHEMA onebell FROM PUBLIC").await?;
    let missing = missing(version(&tx).await?.unwrap_or(0)).map_err(|error| Failure::broken(error.to_string()))?;
    for migration in &missing {
        tx.batch("migrate", migration.text).await?;
        let (clock, version) = (tx.clock(), super::columns::int(migration.version));
        tx.execute(&sql::RECORD_SCHEMA, values![clock, version]).await?;
    }
    Ok(names(&missing))
}

/// The schema's version; none: there is no schema.
async fn version(tx: &Tx) -> Outcome<Option<u64>> {
    if !tx.one(&sql::FIND_SCHEMA, &[]).await?.get::<bool>("found")? {
        return Ok(None);
    }
    tx.one(&sql::READ_SCHEMA, &[]).await?.get::<Option<i64>>("version").map(|version| version.and_then(|v| u64::try_from(v).ok()))
}

fn missing(version: u64) -> Result<Vec<Migration>> {
    if version > NEWEST {
        return Err(newer(version));
    }
    Ok(MIGRATIONS.iter().filter(|migration| migration.version > version).copied().collect())
}

fn newer(version: u64) -> StoreError {
    StoreError::broken(format!("the database has schema {version}, this program knows {NEWEST}; update onebell"))
}
