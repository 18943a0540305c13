//! `onebell migrate`: brings the schema up; refuses one that is newer than this program.

use onebell::store::postgres::PostgresStore;
use onebell::store::sqlite::SqliteStore;

use crate::answer::{Answer, line};
use crate::args::Common;
use crate::database::Database;

/// Applies what is missing, or only says so.
pub async fn migrate(common: &Common, dry_run: bool) -> Answer {
    let pending = match super::database(common)? {
        Database::Sqlite(path) => SqliteStore::builder(&path).migrate(dry_run)?,
        Database::Postgres(url) => PostgresStore::builder(&url).migrate(dry_run).await?,
    };
    let done = if dry_run { "would apply" } else { "applied" };
    if pending.is_empty() {
        line("the schema is up to date");
    }
    for migration in pending {
        line(format!("{done} {migration}"));
    }
    Ok(())
}
