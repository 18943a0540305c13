use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::carry::Carrying;
use super::shared::Shared;
use super::{Replica, ZoneData};
use crate::handler::{Channel, Handler};
use crate::model::{Fingerprint, JobDefinition, RunId};
use crate::roles::scheduler::Carried;
use crate::store::Store;
use crate::time::{SystemTimer, Timer};

/// Which roles a replica plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the roles'")]
pub struct Roles {
    pub scheduler: bool,
    pub agent: bool,
    pub supervisor: bool,
    pub relay: bool,
}

impl Default for Roles {
    fn default() -> Self {
        Self { scheduler: true, agent: true, supervisor: true, relay: true }
    }
}

/// How a replica behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// For people: host and process id.
    pub label: String,
    /// Which roles it plays.
    pub roles: Roles,
    /// A replica whose beat stands still for so long is lost.
    pub lease: Duration,
    /// Between two renewals.
    pub renewal: Duration,
    /// Between two looks of the Supervisor.
    pub supervision: Duration,
    /// At most so long between two looks of the other roles; hints make it shorter.
    pub poll: Duration,
    /// Without a successful renewal for so long, work is asked to end.
    pub term_after: Duration,
    /// Without a successful renewal for so long, work is ended by force.
    pub kill_after: Duration,
    /// How long work in hand may go on after a shutdown was asked for.
    pub drain: Duration,
    /// Steps at once.
    pub concurrency: u32,
    /// Steps claimed in advance.
    pub prefetch: u32,
    /// Messages at once.
    pub deliveries: u32,
    /// Queues served.
    pub queues: Vec<String>,
    /// Steps of this run are claimed and no others: of a replica that is there for one run.
    pub only_run: Option<RunId>,
    /// End when nothing is left to do.
    pub until_idle: bool,
    /// Finished runs are kept so long; at least as long as any job's `missed_window`.
    pub keep_runs: Duration,
    /// Message and request keys are kept so long; at least as long as any job's `missed_window`.
    pub keep_keys: Duration,
}

const DAY: Duration = Duration::from_secs(24 * 3600);

impl Default for Settings {
    fn default() -> Self {
        Self {
            label: String::new(),
            roles: Roles::default(),
            lease: Duration::from_secs(10),
            renewal: Duration::from_secs(1),
            supervision: Duration::from_secs(2),
            poll: Duration::from_millis(500),
            term_after: Duration::from_secs(7),
            kill_after: Duration::from_secs(9),
            drain: Duration::from_secs(60),
            concurrency: 8,
            prefetch: 0,
            deliveries: 8,
            queues: vec!["default".to_owned()],
            only_run: None,
            until_idle: false,
            keep_runs: 30 * DAY,
            keep_keys: 400 * DAY,
        }
    }
}

impl Settings {
    /// A lease below this is refused: a renewal must fit into it several times.
    pub const SHORTEST_LEASE: Duration = Duration::from_millis(500);

    /// Scales renewal, watch and self-fence to a lease, in the proportions of the defaults.
    pub fn with_lease(mut self, lease: Duration) -> Self {
        self.lease = lease;
        self.renewal = lease / 10;
        self.supervision = lease / 5;
        self.term_after = lease * 7 / 10;
        self.kill_after = lease * 9 / 10;
        self
    }
}

/// What is missing or wrong before a replica can start.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BuildError {
    /// A definition's `spec` is no JSON.
    #[error("job {job:?}: {error}")]
    Definition {
        /// The job.
        job: String,
        /// What is wrong.
        error: String,
    },
    /// A step names a handler that was not registered.
    #[error("job {job:?}, step {step:?}: no handler named {handler:?}; register it with `handler`")]
    Handler {
        /// The job.
        job: String,
        /// The step.
        step: String,
        /// The handler.
        handler: String,
    },
    /// A setting that would break the protocol.
    #[error("{0}")]
    Settings(String),
}

/// Collects what a replica carries.
pub struct ReplicaBuilder {
    store: Arc<dyn Store>,
    settings: Settings,
    timer: Arc<dyn Timer>,
    zones: ZoneData,
    definitions: Vec<JobDefinition>,
    handlers: BTreeMap<String, Arc<dyn Handler>>,
    channels: BTreeMap<String, Arc<dyn Channel>>,
}

impl ReplicaBuilder {
    pub(super) fn new(store: Arc<dyn Store>) -> Self {
        Self {
            store,
            settings: Settings::default(),
            timer: Arc::new(SystemTimer),
            zones: ZoneData::newest().clone(),
            definitions: Vec::new(),
            handlers: BTreeMap::new(),
            channels: BTreeMap::new(),
        }
    }

    /// Replaces the settings.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Waiting and monotonic time, for tests.
    pub fn timer(mut self, timer: Arc<dyn Timer>) -> Self {
        self.timer = timer;
        self
    }

    /// Zone data; [`ZoneData::newest`] by default.
    pub fn zones(mut self, zones: ZoneData) -> Self {
        self.zones = zones;
        self
    }

    /// Carries a job: only carried jobs are planned, claimed and pruned here.
    pub fn job(mut self, definition: JobDefinition) -> Self {
        self.definitions.push(definition);
        self
    }

    /// Registers what runs steps whose `handler` is `name`.
    pub fn handler(self, name: impl Into<String>, handler: impl Handler + 'static) -> Self {
        self.handler_arc(name, Arc::new(handler))
    }

    /// As [`Self::handler`], for one that is shared.
    pub fn handler_arc(mut self, name: impl Into<String>, handler: Arc<dyn Handler>) -> Self {
        self.handlers.insert(name.into(), handler);
        self
    }

    /// Registers what delivers messages of the channel `name`.
    pub fn channel(self, name: impl Into<String>, channel: impl Channel + 'static) -> Self {
        self.channel_arc(name, Arc::new(channel))
    }

    /// As [`Self::channel`], for one that is shared.
    pub fn channel_arc(mut self, name: impl Into<String>, channel: Arc<dyn Channel>) -> Self {
        self.channels.insert(name.into(), channel);
        self
    }

    /// Checks everything and builds the replica; nothing is written yet.
    pub fn build(self) -> Result<Replica, BuildError> {
        let (store, settings) = (Arc::clone(&self.store), self.settings.clone());
        let (timer, zones) = (Arc::clone(&self.timer), self.zones.clone());
        let shared = Shared::new(store, settings, timer, zones, self.carrying()?);
        Ok(Replica { shared: Arc::new(shared) })
    }

    /// What it is to carry, if that and the settings are right.
    pub(super) fn carrying(self) -> Result<Carrying, BuildError> {
        self.check_settings()?;
        let jobs = self.definitions.iter().map(|definition| self.carry(definition)).collect::<Result<Vec<_>, _>>()?;
        Ok(Carrying { jobs, handlers: self.handlers, channels: self.channels })
    }

    fn carry(&self, definition: &JobDefinition) -> Result<Carried, BuildError> {
        for step in &definition.steps {
            let handlers = std::iter::once(&step.handler).chain(step.undo.as_ref().map(|undo| &undo.handler));
            if let Some(handler) = handlers.into_iter().find(|handler| !self.handlers.contains_key(*handler)) {
                return Err(BuildError::Handler {
                    job: definition.name.clone(),
                    step: step.name.clone(),
                    handler: handler.clone(),
                });
            }
        }
        carried(definition.clone())
    }

    fn check_settings(&self) -> Result<(), BuildError> {
        let settings = &self.settings;
        let refuse = |text: &str| Err(BuildError::Settings(text.to_owned()));
        if settings.lease < Settings::SHORTEST_LEASE {
            return refuse("`lease` is shorter than 500 ms; a renewal must fit into it several times");
        }
        if settings.renewal * 3 > settings.lease {
            return refuse("`renewal` must fit into `lease` at least three times");
        }
        if !(settings.term_after < settings.kill_after && settings.kill_after < settings.lease) {
            return refuse("work must be ended before the lease is over: term_after < kill_after < lease");
        }
        if settings.concurrency == 0 {
            return refuse("`concurrency` must be at least 1");
        }
        let kept = settings.keep_runs.min(settings.keep_keys);
        let beyond = |job: &&JobDefinition| !job.schedules.is_empty() && job.missed_window > kept;
        match self.definitions.iter().find(beyond) {
            // What was pruned is never opened again: its catch-up would end without a word.
            Some(job) => refuse(&format!(
                "job {:?}: its `missed_window` is longer than `keep_runs` or `keep_keys`; slots are caught up only while those last",
                job.name
            )),
            None => Ok(()),
        }
    }
}

/// A definition as it is registered and carried: with the hash of its JSON.
///
/// # Errors
/// When a step's `spec` is no JSON.
pub fn carried(definition: JobDefinition) -> Result<Carried, BuildError> {
    let hash = serde_json::to_string(&definition)
        .map_err(|error| error.to_string())
        .and_then(|json| Fingerprint::of_json(&json).map_err(|error| error.to_string()));
    match hash {
        Ok(hash) => Ok(Carried { hash: hash.to_string(), definition }),
        Err(error) => Err(BuildError::Definition { job: definition.name, error }),
    }
}
