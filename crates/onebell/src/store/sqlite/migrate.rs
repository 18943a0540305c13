//! The schema and its versions. It changes tables, never rows of work.

use super::connection::Session;
use super::error::judge;
use crate::store::{Result, StoreError};

/// Every version's step, the oldest first.
pub(super) const MIGRATIONS: &[(&str, &str)] = &[
    ("0001", include_str!("migrations/0001.sql")),
    ("0002", include_str!("migrations/0002.sql")),
    ("0003", include_str!("migrations/0003.sql")),
    ("0004", include_str!("migrations/0004.sql")),
];

/// Which schema a database has, and which one this program writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schema {
    /// In the database; 0: none yet.
    pub found: u32,
    /// This program's.
    pub known: u32,
}

fn known() -> u32 {
    u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX)
}

/// The schema as it is.
pub(super) fn schema_of(session: &Session) -> Result<Schema> {
    let read = || -> rusqlite::Result<u32> {
        let there = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'onebell_schema'";
        if session.connection.query_row(there, [], |row| row.get::<_, i64>(0))? == 0 {
            return Ok(0);
        }
        session.connection.query_row("SELECT coalesce(max(version), 0) FROM onebell_schema", [], |row| row.get(0))
    };
    read().map(|found| Schema { found, known: known() }).map_err(|error| judge(&error, &session.file))
}

/// An error that names the remedy, unless the schema is this program's.
pub(super) fn require_current(session: &Session) -> Result<()> {
    let schema = schema_of(session)?;
    refuse_newer(session, schema)?;
    if schema.found == schema.known {
        return Ok(());
    }
    let file = &session.file;
    Err(StoreError::broken(if schema.found == 0 {
        format!("{file} has no Onebell tables yet; run `onebell migrate --database sqlite:{file}`")
    } else {
        format!(
            "the Onebell tables of {file} have version {}, this program needs {}; run `onebell migrate --database sqlite:{file}`",
            schema.found, schema.known
        )
    }))
}

/// An error for a schema that this program is too old for.
pub(super) fn refuse_newer(session: &Session, schema: Schema) -> Result<()> {
    if schema.found <= schema.known {
        return Ok(());
    }
    Err(StoreError::broken(format!(
        "the Onebell tables of {} have version {}, which is newer than this program knows ({}); use a newer onebell",
        session.file, schema.found, schema.known
    )))
}

/// The names of the steps that a schema still needs.
pub(super) fn pending(found: u32) -> Vec<String> {
    MIGRATIONS.iter().skip(found as usize).map(|(name, _)| (*name).to_owned()).collect()
}

/// Brings the schema up to date in one transaction: the steps taken.
pub(super) fn migrate(session: &Session) -> Result<Vec<String>> {
    let judged = |error: rusqlite::Error| judge(&error, &session.file);
    let run = |sql: &str| session.connection.execute_batch(sql).map_err(judged);
    run("BEGIN IMMEDIATE")?;
    let migrated = schema_of(session).and_then(|schema| {
        refuse_newer(session, schema)?;
        for (version, (_, migration)) in (1_u32..).zip(MIGRATIONS).skip(schema.found as usize) {
            run(migration)?;
            let note = "INSERT INTO onebell_schema (version, migrated_at) VALUES (?1, ?2)";
            session.connection.execute(note, (version, session.now())).map_err(judged)?;
        }
        Ok(pending(schema.found))
    });
    match migrated {
        Ok(steps) => run("COMMIT").map(|()| steps),
        Err(error) => {
            run("ROLLBACK")?;
            Err(error)
        }
    }
}
