//! A connection ready for work: durable, patient, guarded. It knows how to open a file, not what is in it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::error::{Failure, judge};
use super::file_system::{FsKind, refuse_network_fs};
use super::guard::Guard;
use super::statements::Statements;
use crate::model::Moment;
use crate::store::StoreError;
use crate::time::{StoreClock, block_for, host_now};

/// How long a transaction waits for other processes before it says that it did not happen.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where the tables are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Memory,
    File(PathBuf),
}

impl Place {
    pub(super) fn of(path: &Path) -> Self {
        if path.as_os_str() == ":memory:" { Self::Memory } else { Self::File(path.to_owned()) }
    }

    /// For messages.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Memory => ":memory:".to_owned(),
            Self::File(path) => path.display().to_string(),
        }
    }
}

/// A connection with what its transactions need.
pub(super) struct Session {
    pub(super) connection: Connection,
    pub(super) statements: Statements,
    pub(super) clock: StoreClock,
    pub(super) guard: Guard,
    /// The file's name, for messages.
    pub(super) file: String,
}

impl Session {
    pub(super) fn now(&self) -> Moment {
        self.clock.given().unwrap_or_else(host_now)
    }

    /// A number that changes when another connection has written.
    pub(super) fn data_version(&self) -> rusqlite::Result<i64> {
        self.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))
    }

    /// A connection that may write. Creates the file when `create`.
    pub(super) fn writing(place: &Place, create: bool, statements: Statements, clock: StoreClock) -> Result<Self, StoreError> {
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags.set(OpenFlags::SQLITE_OPEN_CREATE, create || *place == Place::Memory);
        let session = Self::open(place, flags, statements, clock)?;
        session.make_durable(place).map_err(|error| session.judged(error))?;
        Ok(session)
    }

    /// A connection that only reads.
    pub(super) fn reading(place: &Place, statements: Statements, clock: StoreClock) -> Result<Self, StoreError> {
        let session = Self::open(place, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX, statements, clock)?;
        session.connection.execute_batch("PRAGMA query_only = ON").map_err(|error| judge(&error, &session.file))?;
        Ok(session)
    }

    fn open(place: &Place, flags: OpenFlags, statements: Statements, clock: StoreClock) -> Result<Self, StoreError> {
        let file = place.name();
        let opened = match place {
            Place::Memory => Connection::open_in_memory(),
            Place::File(path) => Connection::open_with_flags(path, flags),
        };
        let open = || -> Result<(Connection, Guard), rusqlite::Error> {
            let mut connection = opened?;
            connection.busy_handler(Some(wait_a_little))?;
            connection.set_prepared_statement_cache_capacity(256);
            stop_preparing_anew(&connection)?;
            let guard = Guard::default();
            guard.install(&mut connection)?;
            Ok((connection, guard))
        };
        let (connection, guard) = open().map_err(|error| judge(&error, &file))?;
        Ok(Self { connection, statements, clock, guard, file })
    }

    /// What was answered as committed stays, also when the power fails.
    fn make_durable(&self, place: &Place) -> Result<(), Failure> {
        let mode = self.write_ahead()?;
        if mode != "wal" && *place != Place::Memory {
            let message = format!("{} cannot keep a write-ahead log (journal mode {mode}); put it on a local disk", self.file);
            return Err(StoreError::broken(message).into());
        }
        Ok(self.connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA cache_size = -16000")?)
    }

    /// Of two that meet at a new file, SQLite turns one away without asking its busy handler.
    fn write_ahead(&self) -> Result<String, Failure> {
        let mut times = 0;
        loop {
            let mode = self.connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0)).map_err(Failure::from);
            match mode {
                Err(failure) if failure.is_contention() && wait_a_little(times) => times += 1,
                mode => return mode,
            }
        }
    }

    pub(super) fn judged(&self, failure: Failure) -> StoreError {
        failure.judged(&self.file)
    }
}

/// Without this, SQLite prepares most statements anew whenever a value is bound, in case another plan suits the value
/// better: 90 µs for a claim, which did not change its plan.
pub(super) fn stop_preparing_anew(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// Refuses a file that several hosts might share.
pub(super) fn check_file_system(place: &Place, given: Option<FsKind>) -> Result<(), StoreError> {
    match place {
        Place::Memory => Ok(()),
        Place::File(path) => refuse_network_fs(given.unwrap_or_else(|| FsKind::of(path)), &place.name()),
    }
}

/// SQLite's own handler sleeps longer and longer and is passed over by whoever asks more often; this one asks every
/// millisecond or two, so that the short pauses between group commits are seen.
fn wait_a_little(times: i32) -> bool {
    let pause = Duration::from_micros(1_000 + u64::from(times.unsigned_abs()) * 379 % 1_000);
    block_for(pause);
    u128::from(times.unsigned_abs()) * 1_500 < PATIENCE.as_micros()
}
