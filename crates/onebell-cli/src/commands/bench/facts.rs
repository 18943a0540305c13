//! Which database it is, and whether what it calls written is on a disk.

use std::path::Path;

use onebell::store::sqlite::FsKind;
use serde::Serialize;
use serde_json::Value;

use super::place::Place;
use crate::answer::Failure;
use crate::database::Database;

#[derive(Debug, Serialize)]
pub(super) struct Facts {
    pub(super) kind: &'static str,
    pub(super) version: String,
    /// The reason when a commit does not wait for a disk.
    #[serde(skip)]
    pub(super) flattered: Option<&'static str>,
}

/// Asks it.
pub(super) async fn of(place: &Place) -> Result<Facts, Failure> {
    let database = place.database();
    let (sql, kind) = match database {
        Database::Sqlite(_) => (include_str!("../doctor/sqlite.sql"), "sqlite"),
        Database::Postgres(_) => (include_str!("../doctor/postgres.sql"), "postgres"),
    };
    let rows: Value = serde_json::from_str(&database.open().await?.query_rows(sql).await?).map_err(Failure::usage)?;
    let text = |name: &str| rows.pointer(&format!("/0/{name}")).and_then(Value::as_str).unwrap_or_default();
    let flattered = match database {
        Database::Sqlite(path) => in_memory(path),
        // The store turns `synchronous_commit` on for each of its transactions, and so does the limit.
        Database::Postgres(_) => (text("fsync") != "on").then_some("the server does not wait for its disk (fsync is off)"),
    };
    Ok(Facts { kind, version: text("version").to_owned(), flattered })
}

fn in_memory(path: &Path) -> Option<&'static str> {
    FsKind::is_memory(path).then_some("the file lies in memory, where nothing is synced to a disk")
}

impl Facts {
    /// Numbers that no disk stands behind are told as such.
    pub(super) fn warn(&self) {
        if let Some(why) = self.flattered {
            tracing::warn!("{why}: these numbers flatter, and so does the limit; measure where you will work");
        }
    }

    /// For people.
    pub(super) fn line(&self) -> String {
        let name = if self.kind == "sqlite" { "SQLite" } else { "PostgreSQL" };
        let kept = self.flattered.unwrap_or("every commit waits for the disk");
        format!("{name} {}; {kept}", self.version)
    }
}
