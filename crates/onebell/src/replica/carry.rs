use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use super::builder::{BuildError, ReplicaBuilder};
use super::identity;
use super::shared::Shared;
use crate::handler::{Channel, Handler};
use crate::model::JobId;
use crate::roles::scheduler::{Carried, RegisterError, register};
use crate::store::{ReplicaInfo, StoreError};

/// What a replica carries. It is exchanged whole.
pub(super) struct Carrying {
    pub(super) jobs: Vec<Carried>,
    pub(super) handlers: BTreeMap<String, Arc<dyn Handler>>,
    pub(super) channels: BTreeMap<String, Arc<dyn Channel>>,
}

/// Changes what a replica carries while it runs; it can be used from any task.
///
/// ```no_run
/// # async fn example(store: std::sync::Arc<dyn onebell::store::Store>) -> Result<(), Box<dyn std::error::Error>> {
/// use onebell::model::JobDefinition;
/// use onebell::replica::{Replica, Shutdown};
/// let replica = Replica::builder(store.clone()).build()?;
/// let carrier = replica.carrier();
/// tokio::spawn(replica.run(Shutdown::new()));
/// // The jobs of before are no longer carried; what runs of them goes on.
/// carrier.carry(Replica::builder(store).job(JobDefinition::new("added")))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Carrier {
    shared: Arc<Shared>,
}

impl Carrier {
    pub(super) fn of(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared) }
    }

    /// From now on the replica carries the jobs, handlers and channels of `wanted` and no others; store, settings and zones stay
    /// its own. Definitions are registered as at a start, as soon as the store answers. Work in hand goes on as it began.
    ///
    /// # Errors
    /// What is wrong with `wanted`; then nothing changes.
    pub fn carry(&self, wanted: ReplicaBuilder) -> Result<(), BuildError> {
        let carrying = wanted.settings(self.shared.settings.clone()).carrying()?;
        self.shared.carrying.send_replace(Arc::new(carrying));
        Ok(())
    }
}

/// Between two tries while the store is away.
const STORE_PAUSE: Duration = Duration::from_secs(1);

/// Says anew what is carried, whenever that changed.
pub(super) async fn follow(shared: Arc<Shared>, mut carrying: watch::Receiver<Arc<Carrying>>) -> Result<(), StoreError> {
    loop {
        // The sender lives in `shared`: waiting cannot fail.
        drop(carrying.changed().await);
        while let Err(error) = change(&shared).await {
            tracing::warn!(%error, "what is carried now could not be written; trying on");
            shared.timer.sleep(STORE_PAUSE).await;
        }
        for hint in [&shared.hints.scheduler, &shared.hints.agent, &shared.hints.relay] {
            hint.notify_one();
        }
    }
}

async fn change(shared: &Arc<Shared>) -> Result<(), StoreError> {
    let mut said = shared.said.lock().await;
    // Without a name there is nothing to change: the next arrival says all of it.
    let Some(id) = shared.identity.borrow().clone() else { return Ok(()) };
    let mut info = identity::info(shared, &id);
    let kept: BTreeSet<String> = shared.carrying.borrow().jobs.iter().map(|job| job.hash.clone()).collect();
    // As after a restart: a definition that this replica gave up keeps nobody from going back to an older one, not even itself.
    said.retain(|_, hash| kept.contains(hash));
    info.jobs.clone_from(&said);
    shared.jobs.send_replace(said.keys().cloned().collect());
    shared.store.enlist(&info).await?;
    *said = announce(shared, info).await?;
    Ok(())
}

/// Registers what is carried, then says so: a definition is carried once it is registered.
pub(super) async fn announce(shared: &Shared, mut info: ReplicaInfo) -> Result<BTreeMap<JobId, String>, StoreError> {
    let carrying = Arc::clone(&shared.carrying.borrow());
    for carried in &carrying.jobs {
        match register(shared.store.as_ref(), &shared.rules(), &info.id, carried).await {
            Ok(job) => drop(info.jobs.insert(job, carried.hash.clone())),
            Err(RegisterError::Store(error)) => return Err(error),
            Err(error) => tracing::error!(%error, "the job is not carried; the others go on"),
        }
    }
    shared.store.enlist(&info).await?;
    shared.jobs.send_replace(info.jobs.keys().cloned().collect());
    tracing::info!(replica = %info.id, jobs = carrying.jobs.len(), "enlisted");
    Ok(info.jobs)
}
