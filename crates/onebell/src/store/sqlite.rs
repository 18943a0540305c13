//! The store on SQLite: one file, no server, several processes of one host.
//!
//! Every verb of the port is one transaction under SQLite's only write lock (`BEGIN IMMEDIATE`): rows are read, the model
//! decides, the answer is written. Conditions that fence a write stand in the statement as well. Work runs at once under
//! a mutex ([`SqliteBuilder::inline`]) or on threads: one that writes, with group commit, and two that read.
//!
//! It does not decide, wait or retry on its own account; what a state means is the model's business.

mod admission;
mod agent;
mod alarms;
mod batch;
mod builder;
mod callbacks;
mod clock;
mod columns;
mod connection;
mod courtesy;
mod decide;
mod define;
mod deliveries;
mod engine;
mod erase;
mod error;
mod file_system;
mod grant;
mod group;
mod guard;
mod janitor;
mod job_row;
mod json_rows;
mod leader;
mod ledger;
mod migrate;
mod new_steps;
mod operator;
mod outbox;
mod question;
mod read;
mod relay;
mod replica;
mod run_graph;
mod scheduler;
mod settle;
mod slots;
mod statements;
mod step_row;
mod supervisor;
mod threads;
mod transaction;
mod trigger;
mod user_work;
mod views;
mod vigils;

use std::path::PathBuf;
use std::sync::Arc;

pub use builder::SqliteBuilder;
pub use file_system::{FsKind, refuse_network_fs};
pub use migrate::Schema;
/// The driver whose connection [`work`] hands over, in the version that fits.
pub use rusqlite;
pub use user_work::work;

use engine::{Engine, Verb};
use user_work::run_statements;

use crate::model::Moment;
use crate::time::{StoreClock, host_now};

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
    clock: StoreClock,
}

impl SqliteStore {
    /// A store in the file at `path`; `:memory:` for one that is gone when it is dropped.
    pub fn builder(path: impl Into<PathBuf>) -> SqliteBuilder {
        SqliteBuilder::new(path.into())
    }

    /// Runs statements of the program's own in one transaction of their own. They may not touch the store's tables, and
    /// they are ended after a minute.
    ///
    /// # Errors
    /// `Broken` with SQLite's words when a statement is refused; nothing of them is applied then.
    pub async fn execute(&self, sql: &str) -> crate::store::Result<()> {
        let sql = sql.to_owned();
        self.engine.write(Verb::PLAIN.alone(), move |tx| run_statements(tx, &sql)).await
    }

    /// Every statement by its name, as in the folder `store/sqlite/sql`.
    #[doc(hidden)]
    pub fn statements() -> impl Iterator<Item = (&'static str, &'static str)> {
        statements::Statements::all()
    }

    fn of(engine: Engine, clock: StoreClock) -> Self {
        Self { engine: Arc::new(engine), clock }
    }

    /// The store's clock: one host, one clock, nobody to ask.
    fn now(&self) -> Moment {
        self.clock.given().unwrap_or_else(host_now)
    }
}

impl std::fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SqliteStore").finish_non_exhaustive()
    }
}
