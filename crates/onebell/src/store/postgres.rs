//! The store on PostgreSQL: many replicas over one primary.
//!
//! It translates the port's verbs into transactions and decides nothing: rows are read under their locks, the model is
//! asked, its answer is written in the same transaction. Lock first, decide in a later statement; order of locks: term,
//! recovery request, replica, job, request key, run, step, effect, message, each sorted by key.

use std::time::Duration;

use crate::store::Result;
use crate::time::StoreClock;

mod administer;
mod admission;
mod agent;
mod alarms;
mod batch;
mod callbacks;
mod claim;
mod columns;
mod decide;
mod delivery;
mod endings;
mod error;
mod grant;
mod janitor;
mod jobs;
mod leader;
mod ledger;
mod many;
mod messages;
mod migrate;
mod new_steps;
mod operator;
#[cfg(test)]
mod plans;
mod pool;
mod question;
mod read;
mod relay;
mod replica;
mod rows;
mod run_graph;
mod scheduler;
mod settle;
mod slots;
mod statements;
mod supervisor;
mod tls;
mod together;
mod transaction;
mod url;
mod views;
mod vigils;
mod work;

/// The driver whose transaction [`work`] hands over, in the version that fits.
pub use tokio_postgres;
pub use work::work;

use pool::Pool;
use transaction::Limits;
use url::Target;

/// A store on a PostgreSQL database.
///
/// It keeps no state in its sessions: it works through a pooler in transaction mode.
pub struct PostgresStore {
    pool: Pool,
    limits: Limits,
    clock: StoreClock,
    sql_role: Option<String>,
    query_limit: Duration,
    begin_write: String,
    begin_read: String,
    begin_look: String,
}

/// What people look at may count whole tables, and holds nothing that others wait for.
const LOOK_LIMIT: Duration = Duration::from_secs(30);

impl std::fmt::Debug for PostgresStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PostgresStore").field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl PostgresStore {
    /// A store on the database that `url` names: `postgres://USER:PASSWORD@HOST:PORT/NAME`, or
    /// `postgres:///NAME?host=/FOLDER&user=USER` for a socket. `sslmode` is `disable`, `prefer` (default), `require`,
    /// `verify-ca` or `verify-full`; the last two need `sslrootcert=FILE`.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), onebell::store::StoreError> {
    /// use onebell::store::postgres::PostgresStore;
    /// let store = PostgresStore::builder("postgres://app@db.internal/app").connections(8).connect().await?;
    /// # drop(store); Ok(()) }
    /// ```
    pub fn builder(url: impl Into<String>) -> Builder {
        Builder {
            url: url.into(),
            clock: StoreClock::Own,
            connections: 6,
            limits: Limits { statement: Duration::from_secs(5), lock: Duration::from_secs(3), idle: Duration::from_secs(8) },
            sql_role: None,
            query_limit: Duration::from_secs(300),
        }
    }
}

/// How to connect.
#[derive(Clone)]
#[must_use]
pub struct Builder {
    url: String,
    clock: StoreClock,
    connections: usize,
    limits: Limits,
    sql_role: Option<String>,
    query_limit: Duration,
}

impl std::fmt::Debug for Builder {
    /// Without the URL: it may hold a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Builder").field("connections", &self.connections).field("limits", &self.limits).finish_non_exhaustive()
    }
}

impl Builder {
    /// Goes by another clock than the database's: for tests.
    pub fn clock(mut self, clock: StoreClock) -> Self {
        self.clock = clock;
        self
    }

    /// At most so many connections for verbs (default 6). Beside them: half as many for users' own statements, and one
    /// for the replica's beat.
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// Server-side limits of every transaction: a statement (default 5 s), a wait for a lock (3 s), a pause between
    /// statements (8 s). All must stay below the replicas' lease.
    pub fn timeouts(mut self, statement: Duration, lock: Duration, idle: Duration) -> Self {
        let at_least = |span: Duration| span.max(Duration::from_millis(1));
        self.limits = Limits { statement: at_least(statement), lock: at_least(lock), idle: at_least(idle) };
        self
    }

    /// The defaults of [`Builder::timeouts`] in proportion to the replicas' lease, where that is shorter than 10 s.
    pub fn lease(self, lease: Duration) -> Self {
        let lease = lease.min(Duration::from_secs(10));
        self.timeouts(lease / 2, lease * 3 / 10, lease * 8 / 10)
    }

    /// Statements of `sql` steps and queries run as this role (`SET LOCAL ROLE`); default: as the connection's own.
    pub fn sql_role(mut self, role: impl Into<String>) -> Self {
        self.sql_role = Some(role.into());
        self
    }

    /// How long a query for rows may take (default 5 minutes).
    pub fn query_limit(mut self, limit: Duration) -> Self {
        self.query_limit = limit.max(Duration::from_millis(1));
        self
    }

    /// Connects and compares the schema's version.
    ///
    /// # Errors
    /// `Unavailable` while there is no server; `Broken` when the URL, the credentials or the schema do not fit.
    pub async fn connect(self) -> Result<PostgresStore> {
        let store = self.store()?;
        migrate::compare(&store).await?;
        Ok(store)
    }

    /// Connects and brings the schema up first. Several replicas may do so at once.
    ///
    /// # Errors
    /// As [`Builder::connect`].
    pub async fn connect_and_migrate(self) -> Result<PostgresStore> {
        let store = self.store()?;
        migrate::migrate(&store).await?;
        Ok(store)
    }

    /// Brings the schema up and names what was applied; `dry_run` only names what is missing.
    ///
    /// # Errors
    /// As [`Builder::connect`]; `Broken` when the schema is newer than this program.
    pub async fn migrate(self, dry_run: bool) -> Result<Vec<String>> {
        let store = self.store()?;
        if dry_run { migrate::pending(&store).await } else { migrate::migrate(&store).await }
    }

    fn store(self) -> Result<PostgresStore> {
        let target = Target::parse(&self.url, self.limits.call() + Duration::from_secs(2))?;
        Ok(PostgresStore {
            pool: Pool::new(target, self.connections, self.limits.statement),
            limits: self.limits,
            clock: self.clock,
            sql_role: self.sql_role,
            query_limit: self.query_limit,
            begin_write: self.limits.begin_write(),
            begin_read: self.limits.begin_read(),
            begin_look: Limits { statement: LOOK_LIMIT, ..self.limits }.begin_look(),
        })
    }
}
