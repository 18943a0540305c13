use std::sync::Arc;
use std::time::Duration;

use super::health::Loop;
use super::shared::Shared;
use crate::roles::leader::Led;
use crate::roles::{janitor, leader};
use crate::store::{Pruned, Retention, StoreError};

/// Rows of each kind in one pass.
const PRUNE_LIMIT: u32 = 500;
/// Lost replicas are remembered so long.
const KEEP_REPLICAS: Duration = Duration::from_secs(7 * 24 * 3600);

/// Stands for the duty of retention. The term lasts three passes: an idle leader, whose passes find nothing, keeps it.
pub(super) async fn retain(shared: Arc<Shared>) -> Result<(), StoreError> {
    let lease = shared.settings.lease;
    loop {
        shared.timer.sleep(lease / 3).await;
        let Some(id) = shared.vouched().filter(|_| shared.phase.is_working()) else { continue };
        let retention = Retention {
            jobs: shared.jobs.borrow().to_vec(),
            runs: shared.settings.keep_runs,
            keys: shared.settings.keep_keys,
            replicas: KEEP_REPLICAS,
            limit: PRUNE_LIMIT,
        };
        let store = shared.store.as_ref();
        let retention = &retention;
        let led =
            leader::pass(store, janitor::DUTY, &id, lease, |term| async move { janitor::pass(store, &term, retention).await });
        let led = led.await;
        if led.is_ok() {
            shared.finished(Loop::Retention);
        }
        match led {
            Ok(Led::Done(pruned)) if pruned != Pruned::default() => tracing::info!(?pruned, "pruned"),
            Ok(_) => {}
            Err(error) if error.is_passing() => tracing::debug!(%error, "retention waits for the store"),
            Err(error) => tracing::error!(%error, "retention failed; it goes on"),
        }
    }
}
