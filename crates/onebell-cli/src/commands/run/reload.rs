//! SIGHUP: the job file is read again and taken whole, or refused whole. Work in hand goes on as it began.

use std::path::PathBuf;
use std::sync::Arc;

use onebell::replica::Carrier;
use onebell::store::Store;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::builder;
use crate::answer::Failure;
use crate::args::Common;
use crate::jobfile::{JobFile, ReplicaSettings};

/// What is read again, and what of it counts from the next start only.
pub(crate) struct Reload {
    path: PathBuf,
    signal: Signal,
    database: Option<String>,
    passwords: Vec<String>,
    replica: ReplicaSettings,
}

impl Reload {
    /// From now on SIGHUP ends this process no longer.
    pub(super) fn new(common: &Common, file: &JobFile, passwords: Vec<String>) -> Result<Self, Failure> {
        let signal =
            signal(SignalKind::hangup()).map_err(|error| Failure::usage(format!("signals cannot be followed: {error}")))?;
        let (path, database, replica) = (common.file.clone(), file.database.clone(), file.replica.clone());
        Ok(Self { path, signal, database, passwords, replica })
    }

    /// Reads the file again at each signal, for as long as the process lives.
    pub(super) async fn follow(mut self, carrier: Carrier, store: Arc<dyn Store>) {
        while self.signal.recv().await.is_some() {
            match self.take(&carrier, &store) {
                Ok(jobs) => tracing::info!(jobs, "{} was read again and is taken", self.path.display()),
                Err(why) => {
                    tracing::error!("{why}\n{} is refused whole; what was read before goes on", self.path.display());
                }
            }
        }
    }

    fn take(&self, carrier: &Carrier, store: &Arc<dyn Store>) -> Result<usize, String> {
        // A wrong job that was left out at the start cannot be told from one that was spoilt since.
        let file = JobFile::load(&self.path).map_err(|report| report.to_string())?;
        let file = file.hiding(&self.passwords);
        let wanted = builder(&file, Arc::clone(store))?;
        carrier.carry(wanted).map_err(|error| error.to_string())?;
        for (what, differs) in [("database", file.database != self.database), ("[replica]", file.replica != self.replica)] {
            if differs {
                tracing::warn!("{what} has changed: that counts from the next start");
            }
        }
        Ok(file.jobs.len())
    }
}
