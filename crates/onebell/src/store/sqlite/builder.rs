//! Opens a store.

use std::path::PathBuf;
use std::sync::Mutex;

use super::SqliteStore;
use super::connection::{Place, Session, check_file_system};
use super::engine::Engine;
use super::file_system::FsKind;
use super::group::Mode;
use super::migrate::{Schema, migrate, pending, refuse_newer, require_current, schema_of};
use super::statements::Statements;
use super::threads::Thread;
use crate::store::{Result, StoreError};
use crate::time::StoreClock;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct SqliteBuilder {
    place: Place,
    inline: bool,
    clock: StoreClock,
    file_system: Option<FsKind>,
    statements: Vec<(String, String)>,
    beside: String,
}

impl SqliteBuilder {
    pub(super) fn new(path: PathBuf) -> Self {
        let place = Place::of(&path);
        Self { place, inline: false, clock: StoreClock::Own, file_system: None, statements: Vec::new(), beside: String::new() }
    }

    /// Work runs at once in the caller's thread, one transaction per call: deterministic, for tests and the simulator.
    /// A `:memory:` database needs it.
    pub fn inline(mut self) -> Self {
        self.inline = true;
        self
    }

    /// Which clock `now` comes from; the host's by default.
    pub fn clock(mut self, clock: StoreClock) -> Self {
        self.clock = clock;
        self
    }

    /// What the file lies on, instead of asking the system.
    pub fn file_system(mut self, kind: FsKind) -> Self {
        self.file_system = Some(kind);
        self
    }

    /// Puts another text in place of the statement `name` (a file of `store/sqlite/sql`): for the simulator's mutants.
    #[doc(hidden)]
    pub fn statement(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.statements.push((name.into(), text.into()));
        self
    }

    /// Statements that the connection that writes runs once, beside the tables that are there then: temporary triggers
    /// for those who watch a simulation.
    #[doc(hidden)]
    pub fn beside(mut self, sql: impl Into<String>) -> Self {
        self.beside = sql.into();
        self
    }

    /// Opens a database whose schema is there already. Blocks while the file is read.
    ///
    /// # Errors
    /// `Broken` when the schema is missing, older or newer: it says what to do; `Unavailable` when the file cannot be had.
    pub fn open(self) -> Result<SqliteStore> {
        self.require_file()?;
        let session = self.writing(false)?;
        require_current(&session)?;
        self.serve(session)
    }

    /// Creates the file if need be, brings its schema up to date, and opens it. Blocks while it does.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_and_migrate(self) -> Result<SqliteStore> {
        let session = self.writing(true)?;
        migrate(&session)?;
        self.serve(session)
    }

    /// Brings the schema up to date and names the steps that were taken. `dry_run` names those that would be, and
    /// changes nothing. Blocks while it does.
    ///
    /// # Errors
    /// `Broken` when the schema is newer than this program.
    pub fn migrate(&self, dry_run: bool) -> Result<Vec<String>> {
        let is_new = matches!(&self.place, Place::File(path) if !path.exists());
        if !dry_run {
            migrate(&self.writing(true)?)
        } else if is_new {
            Ok(pending(0))
        } else {
            let session = self.reading()?;
            let schema = schema_of(&session)?;
            refuse_newer(&session, schema)?;
            Ok(pending(schema.found))
        }
    }

    /// Which schema the database has, and which one this program writes.
    ///
    /// # Errors
    /// `Unavailable` when there is no such file.
    pub fn schema(&self) -> Result<Schema> {
        schema_of(&self.reading()?)
    }

    fn require_file(&self) -> Result<()> {
        match &self.place {
            Place::File(path) if !path.exists() => {
                let file = self.place.name();
                let message = format!("there is no file {file}; create it with `onebell migrate --database sqlite:{file}`");
                Err(StoreError::broken(message))
            }
            _ => Ok(()),
        }
    }

    fn texts(&self) -> Result<Statements> {
        let mut statements = Statements::default();
        for (name, text) in &self.statements {
            statements.put(name, text.clone())?;
        }
        Ok(statements)
    }

    fn writing(&self, create: bool) -> Result<Session> {
        check_file_system(&self.place, self.file_system)?;
        Session::writing(&self.place, create, self.texts()?, self.clock.clone())
    }

    fn reading(&self) -> Result<Session> {
        check_file_system(&self.place, self.file_system)?;
        Session::reading(&self.place, self.texts()?, self.clock.clone())
    }

    fn serve(self, session: Session) -> Result<SqliteStore> {
        session.connection.execute_batch(&self.beside).map_err(|error| session.judged(error.into()))?;
        if self.inline {
            return Ok(SqliteStore::of(Engine::Inline(Box::new(Mutex::new(session))), self.clock));
        }
        if self.place == Place::Memory {
            return Err(StoreError::broken(
                "a :memory: database has one connection only; open it with .inline(), or name a file",
            ));
        }
        let (reader, queries) = (self.reading()?, self.reading()?);
        let writer = Thread::start("onebell-writer", session, Mode::Write)?;
        let reader = Thread::start("onebell-reader", reader, Mode::Read)?;
        let queries = Thread::start("onebell-queries", queries, Mode::Read)?;
        Ok(SqliteStore::of(Engine::Threads { writer, reader, queries }, self.clock))
    }
}
