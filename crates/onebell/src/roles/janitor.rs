//! The one duty that cannot be split by row: retention. It removes only what is finished and old, a bounded
//! amount at a time, under a term.

use crate::model::Term;
use crate::store::{Guarded, JanitorStore, Pruned, Result, Retention};

/// The duty's name.
pub const DUTY: &str = "retention";

/// Prunes once: at most `retention.limit` rows of each kind.
pub async fn pass(store: &dyn JanitorStore, term: &Term, retention: &Retention) -> Result<Guarded<Pruned>> {
    store.prune(term, retention).await
}
