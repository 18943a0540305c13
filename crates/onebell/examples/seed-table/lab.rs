//! One job, one step, one effect: the seed's `apply_event`, as a step.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use onebell::model::job::{JobDefinition, Overlap, StepDefinition};
use onebell::model::message::NewMessage;
use onebell::model::retry::RetryPolicy;
use onebell::model::step::Verdict;
use onebell::model::zone_version::Left;
use onebell::model::{Effect, JobId, Key, ReplicaId, RunId};
use onebell::replica::ZoneData;
use onebell::roles::scheduler::{self, Carried, Rules};
use onebell::store::postgres::{self, PostgresStore};
use onebell::store::sqlite::{self, SqliteStore};
use onebell::store::{Actor, ClaimSteps, ReplicaInfo, Settled, Settlement, StepOutput, Store, Trigger, Triggered, Work};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Where the settling transaction fails once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    BeforeWrite,
    AfterWrite,
}

impl Fault {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::BeforeWrite => "before_write",
            Self::AfterWrite => "after_write",
        }
    }
}

pub(crate) struct Lab {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) name: String,
    url: String,
    job: JobId,
    replica: ReplicaId,
}

impl Lab {
    /// Opens the database and registers a job of its own; the same name joins it.
    pub(crate) async fn open(url: &str, name: &str) -> Result<Self> {
        let stamp = onebell::time::host_now().micros();
        let name = if name.starts_with("lab-") { name.to_owned() } else { format!("lab-{name}-{stamp}") };
        let store = open_store(url).await?;
        let replica = ReplicaId::from_text(format!("{name}-{}-{stamp}", std::process::id()));
        let mut info = ReplicaInfo {
            id: replica.clone(),
            label: "seed-table".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            tzdata: "none".to_owned(),
            jobs: std::collections::BTreeMap::new(),
            handlers: vec!["pay".to_owned()],
            queues: vec!["default".to_owned()],
            channels: Vec::new(),
            lease: std::time::Duration::from_secs(10),
        };
        store.enlist(&info).await?;
        let mut step = StepDefinition::new("pay", "pay");
        step.retry = RetryPolicy {
            backoff_min: std::time::Duration::ZERO,
            backoff_max: std::time::Duration::ZERO,
            ..RetryPolicy::default()
        };
        let mut definition = JobDefinition::new(&name);
        definition.overlap = Overlap::Allow;
        definition.steps.push(step);
        let carried = Carried { definition, hash: "1".to_owned() };
        let job = scheduler::register(store.as_ref(), &rules(), &replica, &carried).await?;
        info.jobs.insert(job.clone(), carried.hash);
        store.enlist(&info).await?;
        Ok(Self { store, name, url: url.to_owned(), job, replica })
    }

    pub(crate) fn actor(&self) -> Actor {
        Actor { name: "seed-table".to_owned(), reason: None }
    }

    /// Asks for the run of an event: its id is the key, its amount the payload.
    pub(crate) async fn request(&self, event: &str, amount: i64) -> Result<Triggered> {
        let key = Key::new(&format!("{}/{event}", self.name))?;
        let input = Some(format!("{{\"amount\": {amount}}}"));
        Ok(self.store.trigger(&Trigger { job: self.name.clone(), key, input, actor: self.actor() }).await?)
    }

    /// Requests the event's run, claims its step, and says how it would be settled.
    pub(crate) async fn claimed(&self, event: &str, amount: i64, fault: Option<(Fault, Arc<AtomicU32>)>) -> Result<Settlement> {
        self.request(event, amount).await?;
        scheduler::pass(self.store.as_ref(), &rules(), &mut Left::default(), std::slice::from_ref(&self.job), true).await?;
        let claim = ClaimSteps {
            replica: self.replica.clone(),
            jobs: vec![self.job.clone()],
            handlers: vec!["pay".to_owned()],
            queues: vec!["default".to_owned()],
            start: 1,
            prefetch: 0,
            idle: true,
            run: None,
        };
        let answer = self.store.claim_steps(&claim).await?;
        let step = answer.claimed.into_iter().next().ok_or("nothing could be claimed")?;
        Ok(Settlement {
            claim: step.claim,
            verdict: Verdict::Succeeded,
            effects: vec![self.effect("event", amount)?],
            messages: Vec::new(),
            work: fault.map(|(fault, tries)| self.failing_once(fault, tries)),
            output: StepOutput::default(),
        })
    }

    /// Requests, claims and settles.
    pub(crate) async fn pay(&self, event: &str, amount: i64, fault: Option<(Fault, Arc<AtomicU32>)>) -> Result<Settled> {
        let settlement = self.claimed(event, amount, fault).await?;
        Ok(self.store.settle_steps(vec![settlement]).await?.remove(0))
    }

    pub(crate) fn effect(&self, key: &str, amount: i64) -> Result<Effect> {
        Ok(Effect::new(Key::new(&self.name)?, Key::new(key)?, Some(amount), "{}")?)
    }

    /// A message for a channel that nobody carries.
    pub(crate) fn message(&self, key: &str) -> Result<NewMessage> {
        let key = Key::new(&format!("{}/{key}", self.name))?;
        Ok(NewMessage::new(key, format!("{}-none", self.name), "{}")?)
    }

    pub(crate) async fn totals(&self) -> Result<(u64, i128)> {
        Ok(self.store.effects_total(&self.name).await?)
    }

    pub(crate) async fn status(&self, run: &RunId) -> Result<String> {
        Ok(self.store.run(run).await?.ok_or("the run is gone")?.run.status)
    }

    pub(crate) async fn erase(self) -> Result<()> {
        self.store.erase_job(&self.job).await?;
        self.store.leave(&self.replica).await?;
        Ok(())
    }

    /// Statements that end in a serialization failure the first time.
    fn failing_once(&self, fault: Fault, tries: Arc<AtomicU32>) -> Work {
        let table = format!("\"{}\"", self.name);
        let write = format!("CREATE TABLE {table} (event text PRIMARY KEY); DROP TABLE {table}");
        let statements = move || {
            let first = tries.fetch_add(1, Ordering::SeqCst) == 0;
            (if first && fault == Fault::BeforeWrite { String::new() } else { write.clone() }, first)
        };
        if self.url.starts_with("sqlite:") {
            return sqlite::work(move |connection| {
                let (sql, fails) = statements();
                connection.execute_batch(&sql)?;
                if fails {
                    Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY), None))
                } else {
                    Ok(())
                }
            });
        }
        postgres::work(move |transaction| {
            let (sql, fails) = statements();
            Box::pin(async move {
                transaction.batch_execute(&sql).await?;
                let failure = "DO $$ BEGIN RAISE EXCEPTION 'injected' USING ERRCODE = '40001'; END $$";
                if fails { transaction.batch_execute(failure).await } else { Ok(()) }
            })
        })
    }
}

pub(crate) async fn open_store(url: &str) -> Result<Arc<dyn Store>> {
    Ok(match url.strip_prefix("sqlite:") {
        Some(path) => Arc::new(SqliteStore::builder(path).open_and_migrate()?),
        None => Arc::new(PostgresStore::builder(url).connect_and_migrate().await?),
    })
}

fn rules() -> Rules<'static> {
    let zones = ZoneData::newest();
    Rules { zones: zones.zones(), version: zones.version(), patience: std::time::Duration::from_secs(10), replica: None }
}
