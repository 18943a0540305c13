//! Replicas in this process, as `run` makes them but for their job: one step that does nothing.

use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream;
use onebell::handler::{Context, Outcome};
use onebell::model::job::{JobDefinition, Overlap, StepDefinition};
use onebell::model::{Key, ReplicaId};
use onebell::replica::{Health, Replica, ReplicaError, Settings, Shutdown, ZoneData, carried};
use onebell::roles::scheduler::{Rules, register};
use onebell::store::{Actor, Store, Trigger, Triggered};
use tokio::task::JoinHandle;

use crate::answer::Failure;
use crate::database::Database;

const NAME: &str = "bench";
/// Requests on their way at once.
const ASKED_AT_ONCE: usize = 6;

fn definition() -> JobDefinition {
    let mut job = JobDefinition::new(NAME);
    job.overlap = Overlap::Allow;
    job.steps.push(StepDefinition::new("nothing", NAME));
    job
}

/// Opens the store and makes the job known.
pub(super) async fn open(database: &Database) -> Result<Arc<dyn Store>, Failure> {
    let store = database.open().await?;
    let carried = carried(definition()).map_err(Failure::usage)?;
    let data = ZoneData::newest();
    let rules = Rules { zones: data.zones(), version: data.version(), patience: Settings::default().lease, replica: None };
    register(store.as_ref(), &rules, &ReplicaId::from_text(NAME), &carried).await.map_err(Failure::usage)?;
    Ok(store)
}

/// Asks for one run.
pub(super) async fn ask(store: &dyn Store, key: String) -> Result<(), Failure> {
    let actor = Actor { name: NAME.to_owned(), reason: None };
    let key = Key::new(&key).map_err(Failure::usage)?;
    match store.trigger(&Trigger { job: NAME.to_owned(), key, input: None, actor }).await? {
        Triggered::Opened(_) => Ok(()),
        other => Err(Failure::Work(format!("a run was asked for and not opened: {other:?}"))),
    }
}

/// Asks for many.
pub(super) async fn ask_for_many(store: &dyn Store, prefix: &str, count: usize) -> Result<(), Failure> {
    let asked = stream::iter(0..count).map(|n| ask(store, format!("{prefix}/{n}"))).buffer_unordered(ASKED_AT_ONCE);
    let answers: Vec<Result<(), Failure>> = asked.collect().await;
    answers.into_iter().collect()
}

/// A replica that plays until this is dropped.
pub(super) struct Player {
    health: Health,
    shutdown: Shutdown,
    playing: JoinHandle<Result<(), ReplicaError>>,
}

impl Player {
    /// Starts one, over a store of its own; `begun` is called in the first line of each step.
    pub(super) async fn start(
        database: &Database,
        concurrency: u32,
        begun: impl Fn() + Send + Sync + 'static,
    ) -> Result<Self, Failure> {
        let settings = Settings { concurrency, label: crate::commands::run::label(), ..Settings::default() };
        let step = move |_: Context| {
            begun();
            std::future::ready(Outcome::done())
        };
        let builder = Replica::builder(database.open().await?).job(definition()).handler(NAME, step);
        let replica = builder.settings(settings).build().map_err(Failure::usage)?;
        let (health, shutdown) = (replica.health(), Shutdown::new());
        Ok(Self { health, playing: tokio::spawn(replica.run(shutdown.clone())), shutdown })
    }

    /// Steps that it settled as done. An error when it is over, or when one ended otherwise.
    pub(super) fn settled(&self) -> Result<u64, Failure> {
        let mut settled = 0;
        for (name, word, count) in self.health.counts() {
            match (name, word) {
                ("attempts", "succeeded") => settled = count,
                ("attempts", word) => return Err(Failure::Work(format!("{count} steps did not succeed: {word}"))),
                _ => {}
            }
        }
        if self.playing.is_finished() {
            return Err(Failure::Work("a replica ended before its work was done".to_owned()));
        }
        Ok(settled)
    }

    /// Lets it go.
    pub(super) async fn stop(mut self) -> Result<(), Failure> {
        self.shutdown.ask();
        (&mut self.playing).await.map_err(Failure::usage)?.map_err(Failure::usage)
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.playing.abort();
    }
}
