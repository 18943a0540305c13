//! Leadership over one duty. A term is extended only by a duty pass that completed: a leader whose work
//! hangs loses it, because nothing else renews.

use std::future::Future;
use std::time::Duration;

use crate::model::{ReplicaId, Term};
use crate::store::{Guarded, LeaderStore, Result};

/// What a pass came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Led<T> {
    /// Somebody else leads.
    NotUs,
    /// The duty pass completed under our term, and the term was extended.
    Done(T),
    /// The term was lost on the way; guarded writes after that changed nothing.
    Superseded,
}

/// Stands for the duty and, as its leader, does it once. `work` gets the term that guards its writes.
pub async fn pass<T, F>(
    store: &dyn LeaderStore,
    duty: &str,
    replica: &ReplicaId,
    lease: Duration,
    work: impl FnOnce(Term) -> F,
) -> Result<Led<T>>
where
    F: Future<Output = Result<Guarded<T>>>,
{
    let Some(term) = store.campaign(duty, replica, lease).await? else {
        return Ok(Led::NotUs);
    };
    match work(term.clone()).await? {
        Guarded::Superseded => Ok(Led::Superseded),
        Guarded::Done(value) => Ok(if store.report_duty(&term, lease).await? { Led::Done(value) } else { Led::Superseded }),
    }
}
