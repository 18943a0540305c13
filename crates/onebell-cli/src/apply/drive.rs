//! Carries a plan out: from opening the batch to its end, or until it is asked to stop.

use std::sync::Arc;
use std::time::Duration;

use onebell::handler::Source;
use onebell::roles::loader::{Ended, Loader, Loading};
use onebell::store::{BatchStore, OpenBatch, Reader};
use onebell::time::Timer;

use super::plan::{Plan, Wrong};

/// A store that is away is waited for so long.
const PATIENCE: Duration = Duration::from_secs(30);

/// How far a reading is.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Records that this process read.
    pub records: u64,
    /// Bytes of the whole source, if known.
    pub size: Option<u64>,
    /// Bytes read so far.
    pub read: Option<u64>,
}

/// Reads `source` chunk by chunk. `told` hears of every chunk; when it answers false the batch is given back.
///
/// # Errors
/// What is wrong with the plan.
pub async fn load(
    plan: &Plan,
    restart: bool,
    reader: Reader,
    store: Arc<dyn BatchStore>,
    timer: Arc<dyn Timer>,
    source: &mut dyn Source,
    mut told: impl FnMut(Progress) -> bool,
) -> Result<Ended, Wrong> {
    let open = OpenBatch {
        scope: plan.scope()?,
        source: plan.source_name()?,
        identity: plan.identity()?,
        settings: plan.settings(),
        reader,
        timeout: plan.timeout,
        // What cannot be read from the middle begins anew: its identities make that harmless.
        restart: restart || plan.file.is_none(),
        atomic: plan.atomic,
    };
    let loader =
        Loader { store, timer, limit: plan.limit()?, sql: plan.sql.clone(), rejected_max: plan.max_rejected, patience: PATIENCE };
    let told = |loading: &Loading, source: &dyn Source| {
        told(Progress { records: loading.read(), size: source.size(), read: source.read() })
    };
    Ok(loader.read(&open, source, told).await)
}
