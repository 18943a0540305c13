//! Where it is measured: a folder of its own on the disk of the database's file, or a database of its own on the server.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use onebell::time::{SystemTimer, Timer};
use tempfile::TempDir;

use crate::answer::Failure;
use crate::database::{Database, ScratchDatabase};

/// So often, and between two times, a folder is removed that does not stay empty.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// Goes away with this value; a server's database by [`Place::clear`].
pub(super) struct Place {
    folder: TempDir,
    database: Database,
    scratch: Option<ScratchDatabase>,
}

impl Place {
    /// Makes it.
    pub(super) async fn make(database: &Database) -> Result<Self, Failure> {
        let made = tempfile::Builder::new();
        match database {
            Database::Sqlite(path) => {
                // The same disk: a folder for temporary files may be in memory.
                let beside = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
                let folder = folder(made, beside)?;
                Ok(Self { database: Database::Sqlite(folder.path().join("onebell.db")), folder, scratch: None })
            }
            Database::Postgres(url) => {
                let folder = folder(made, &std::env::temp_dir())?;
                let name = format!("onebell_bench_{:x}_{:x}", onebell::time::host_now().micros(), std::process::id());
                let scratch = ScratchDatabase::create(url.clone(), name, "bench").await?;
                Ok(Self { database: scratch.database(), folder, scratch: Some(scratch) })
            }
        }
    }

    /// What the store is opened on.
    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    /// A file of its own.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Removes everything.
    pub(super) async fn clear(self) -> Result<(), Failure> {
        let dropped = match &self.scratch {
            Some(scratch) => scratch.remove().await,
            None => Ok(()),
        };
        let removed = remove(self.folder.path()).await;
        dropped.and(removed)
    }
}

/// A thread that was given up may still be about to make a file in it: it is tried again for a moment.
async fn remove(folder: &Path) -> Result<(), Failure> {
    let mut tries = 0;
    loop {
        match std::fs::remove_dir_all(folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                tries += 1;
                if tries > TRIES {
                    return Err(Failure::usage(format!("{} could not be removed: {error}; remove it", folder.display())));
                }
                SystemTimer.sleep(PAUSE).await;
            }
            _ => return Ok(()),
        }
    }
}

fn folder(mut builder: tempfile::Builder<'_, '_>, beside: &Path) -> Result<TempDir, Failure> {
    builder.prefix("onebell-bench-").tempdir_in(beside).map_err(|error| {
        Failure::usage(format!(
            "no scratch folder can be made in {}: {error}; make that folder, or name a database in one that may be written (--database)",
            beside.display()
        ))
    })
}
