//! Where the database of a history is: in memory, or in a file that can be closed, or left as a killed process leaves it,
//! and opened again.

use std::path::PathBuf;
use std::sync::Arc;

use onebell::store::StoreError;
use onebell::store::sqlite::SqliteStore;
use onebell::time::{ManualClock, StoreClock};
use tempfile::TempDir;

use crate::snapshot::Written;

/// Tables that the work of steps and batches writes: what it did, past the store.
const WORK: &str = "
CREATE TABLE IF NOT EXISTS sim_loads (scope TEXT NOT NULL, key TEXT NOT NULL, amount INTEGER NOT NULL CHECK (amount <> 777)) STRICT;
CREATE TABLE IF NOT EXISTS sim_work (step TEXT NOT NULL, attempt INTEGER NOT NULL CHECK (attempt > 0)) STRICT;
";

/// The database, and how to open it.
pub struct Place {
    folder: Option<TempDir>,
    opened: u32,
    clock: ManualClock,
    mutants: Vec<(String, String)>,
}

/// How the processes that had the file open ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// It was closed.
    Closed,
    /// They were killed: the file and its log are as they stood.
    Killed,
}

impl Place {
    /// In a file of its own, or in memory.
    ///
    /// # Errors
    /// When there is no room for temporary files.
    pub fn new(in_a_file: bool, clock: ManualClock, mutants: &[(String, String)]) -> Result<Self, StoreError> {
        // A file that only has to outlive its processes does not need a disk.
        let memory = PathBuf::from("/dev/shm");
        let folder = || if memory.is_dir() { tempfile::tempdir_in(&memory) } else { tempfile::tempdir() };
        let folder = if in_a_file { Some(folder().map_err(|error| StoreError::broken(error.to_string()))?) } else { None };
        Ok(Self { folder, opened: 0, clock, mutants: mutants.to_vec() })
    }

    /// Whether it can be opened again.
    pub fn is_file(&self) -> bool {
        self.folder.is_some()
    }

    fn path(&self) -> PathBuf {
        let file = |folder: &TempDir| folder.path().join(format!("{}.db", self.opened));
        self.folder.as_ref().map_or_else(|| PathBuf::from(":memory:"), file)
    }

    /// Opens it.
    ///
    /// # Errors
    /// Those of the store.
    pub fn open(&self) -> Result<Arc<SqliteStore>, StoreError> {
        let mut builder = SqliteStore::builder(self.path()).inline().clock(StoreClock::Manual(self.clock.clone()));
        builder = builder.beside(format!("{WORK}{}", Written::watching()));
        for (name, text) in &self.mutants {
            builder = builder.statement(name, text);
        }
        Ok(Arc::new(builder.open_and_migrate()?))
    }

    /// Opens it again after all processes have ended. `store` is the last handle to it.
    ///
    /// # Errors
    /// Those of the store.
    pub fn open_again(&mut self, store: Arc<SqliteStore>, ended: Ended) -> Result<Arc<SqliteStore>, StoreError> {
        if ended == Ended::Killed {
            // Copied while it is open: what a process leaves that had no time to close it.
            let before = self.path();
            self.opened += 1;
            for tail in ["", "-wal"] {
                let name = |path: PathBuf| PathBuf::from(format!("{}{tail}", path.display()));
                let copied = std::fs::copy(name(before.clone()), name(self.path()));
                copied.map_err(|error| StoreError::broken(error.to_string()))?;
            }
        }
        drop(store);
        self.open()
    }
}
