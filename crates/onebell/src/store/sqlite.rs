//! The store on SQLite: one file, no server, several processes of one host.
//!
//! Every verb of the port is one transaction under SQLite's only write lock (`BEGIN IMMEDIATE`): rows are read, the model
//! decides, the answer is written. Conditions that fence a write stand in the statement as well. Work runs at once under
//! a mutex ([`SqliteBuilder::inline`]) or on one writing and one reading thread, with group commit.
//!
//! It does not decide, wait or retry on its own account; what a state means is the model's business.

mod builder;
mod columns;
mod connection;
mod engine;
mod error;
mod file_system;
mod group;
mod guard;
mod migrate;
mod statements;
mod threads;
mod transaction;

use std::path::PathBuf;
use std::sync::Arc;

pub use builder::SqliteBuilder;
pub use file_system::{FsKind, refuse_network_fs};
pub use migrate::Schema;

use engine::Engine;

/// The store on SQLite. Cheap to clone; the last clone ends the threads.
///
/// ```
/// # fn main() -> onebell::store::Result<()> {
/// use onebell::store::sqlite::SqliteStore;
/// let store = SqliteStore::builder(":memory:").inline().open_and_migrate()?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct SqliteStore {
    engine: Arc<Engine>,
}

impl SqliteStore {
    /// A store in the file at `path`; `:memory:` for one that is gone when it is dropped.
    pub fn builder(path: impl Into<PathBuf>) -> SqliteBuilder {
        SqliteBuilder::new(path.into())
    }

    /// Every statement by its name, as in the folder `store/sqlite/sql`.
    #[doc(hidden)]
    pub fn statements() -> impl Iterator<Item = (&'static str, &'static str)> {
        statements::Statements::all()
    }

    fn of(engine: Engine) -> Self {
        Self { engine: Arc::new(engine) }
    }
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").finish_non_exhaustive()
    }
}
