//! Where chaos plays: a private folder, and a database of its own that goes away with it. Nothing of the user's is touched.

use std::path::{Path, PathBuf};

use super::cast::COMMITS;
use super::step::PROGRAMS;
use crate::answer::Failure;
use crate::args::{Chaos, Common};
use crate::database::{Database, ScratchDatabase};

/// Folder for temporary files of the replicas and their commands.
pub(super) const TEMPORARY: &str = "tmp";

/// The folder and the database.
pub(super) struct Stage {
    folder: PathBuf,
    keep: bool,
    pub(super) database: Database,
    /// The database, when it is a server's.
    server: Option<ScratchDatabase>,
}

impl Stage {
    /// Makes both.
    pub(super) async fn set(common: &Common, args: &Chaos, seed: u64) -> Result<Self, Failure> {
        let server = server(common)?;
        let wrong = |error: std::io::Error| Failure::usage(format!("no scratch folder can be made: {error}"));
        let folder = tempfile::Builder::new().prefix("onebell-chaos-").tempdir().map_err(wrong)?.keep();
        let mut stage = Self { database: Database::Sqlite(folder.join("onebell.db")), folder, keep: args.keep, server: None };
        stage.furnish().map_err(wrong)?;
        if let Some(url) = server {
            stage.create(url, seed).await?;
        }
        Ok(stage)
    }

    /// This program under its usual name, for commands that call it.
    fn furnish(&self) -> std::io::Result<()> {
        std::fs::create_dir(self.path(TEMPORARY))?;
        let programs = self.path(PROGRAMS);
        std::fs::create_dir(&programs)?;
        std::os::unix::fs::symlink(std::env::current_exe()?, programs.join("onebell"))
    }

    async fn create(&mut self, url: String, seed: u64) -> Result<(), Failure> {
        let name = format!("onebell_chaos_{:x}_{seed:x}", onebell::time::host_now().micros());
        let scratch = ScratchDatabase::create(url, name, "chaos").await?;
        self.database = scratch.database();
        self.server = Some(scratch);
        Ok(())
    }

    /// Fills the database as the user says, which may take its time.
    pub(super) async fn fill(&self, args: &Chaos) -> Result<(), Failure> {
        let setup = args.setup.as_deref().map(text).transpose()?;
        self.database.execute(&format!("CREATE TABLE {COMMITS} (step TEXT NOT NULL)")).await?;
        if let Some(sql) = setup {
            self.database.execute(&sql).await.map_err(|error| Failure::usage(format!("--setup: {error}")))?;
        }
        Ok(())
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Ends every connection to the database but its own.
    pub(super) async fn cut(&self) -> Result<(), Failure> {
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                   WHERE datname = current_database() AND pid <> pg_backend_pid()";
        Ok(self.database.execute(sql).await?)
    }

    /// Whether connections can be cut.
    pub(super) fn has_server(&self) -> bool {
        self.server.is_some()
    }

    /// Drops the database. The folder goes with this value.
    pub(super) async fn clear(&self) -> Result<(), Failure> {
        match &self.server {
            Some(scratch) if !self.keep => scratch.remove().await,
            _ => Ok(()),
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !self.keep {
            // A folder that cannot be removed is left to the system's own cleaning of temporary files.
            drop(std::fs::remove_dir_all(&self.folder));
        }
    }
}

/// The server that the *flag* names. The variable names the user's own database: whoever sets it did not have chaos in mind.
fn server(common: &Common) -> Result<Option<String>, Failure> {
    // Not `args`: that ends the program at a file name that is no UTF-8.
    let flag = std::env::args_os().any(|arg| arg == "--database" || arg.as_encoded_bytes().starts_with(b"--database="));
    let Some(url) = common.database.as_deref().filter(|_| flag) else { return Ok(None) };
    match Database::parse(url, Path::new("."))? {
        Database::Postgres(url) => Ok(Some(url)),
        Database::Sqlite(_) => Err(Failure::usage(
            "chaos never works in a database of yours: leave out --database for a scratch file, or name a PostgreSQL server \
             (postgres://…), where it creates a database of its own and drops it",
        )),
    }
}

fn text(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::usage(format!("--setup {}: {error}", path.display())))
}
