//! The job files of the copies, with a slot that comes when the job is known: one that lies before a job is registered never comes,
//! and a busy host may take seconds to start three processes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use onebell::model::{Moment, ReplicaId};
use onebell::replica::{ZoneData, carried};
use onebell::roles::scheduler::{Rules, register};
use onebell::store::Store;

use super::REPLICAS;
use super::scratch::Scratch;
use crate::answer::Failure;
use crate::jobfile::JobFile;

/// How far ahead the slot lies, in seconds; the next, if the job was not known before it.
const AHEAD: [u64; 5] = [1, 2, 5, 15, 60];

/// A file for each copy, and the slot. Either all copies share the one store, or each has its own.
pub(super) async fn arranged(
    scratch: &Scratch,
    half: &str,
    port: u16,
    stores: &[Arc<dyn Store>],
) -> Result<(Vec<PathBuf>, Moment), Failure> {
    for ahead in AHEAD {
        let now = stores.first().ok_or_else(|| Failure::usage("no database"))?.scheduler_now().await?;
        let at = now + Duration::from_secs(ahead);
        let files = scratch.job_files(half, REPLICAS, port, at)?;
        let mut comes = true;
        for (store, file) in stores.iter().zip(&files) {
            comes &= known(store.as_ref(), file).await?;
        }
        if comes {
            return Ok((files, at));
        }
    }
    Err(Failure::Work("this host is too busy for the demo: the job could not be registered before its slot".to_owned()))
}

/// Registers the job, as its replicas will; whether its slot will come.
async fn known(store: &dyn Store, file: &Path) -> Result<bool, Failure> {
    let data = ZoneData::newest();
    let rules = Rules { zones: data.zones(), version: data.version(), patience: Duration::ZERO, replica: None };
    let mut comes = true;
    for job in JobFile::load(file).map_err(Failure::usage)?.jobs {
        let carried = carried(job.clone()).map_err(Failure::usage)?;
        register(store, &rules, &ReplicaId::from_text("demo"), &carried).await.map_err(Failure::usage)?;
        let state = store.jobs_named(Some(std::slice::from_ref(&job.name))).await?;
        comes &= state.iter().all(|job| job.next_slot.is_some());
    }
    Ok(comes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::database::Database;

    #[tokio::test]
    async fn a_slot_that_a_busy_host_missed_is_seen_before_anybody_waits_for_it() {
        let scratch = Scratch::new(7, false, false).unwrap();
        let store = Database::Sqlite(scratch.path("a.db")).open().await.unwrap();
        let now = store.scheduler_now().await.unwrap();
        for (at, comes) in [(now - Duration::from_secs(60), false), (now + Duration::from_secs(60), true)] {
            let files = scratch.job_files("onebell", 1, 2525, at).unwrap();
            assert_eq!(known(store.as_ref(), &files[0]).await.unwrap(), comes, "{at}");
        }
    }
}
