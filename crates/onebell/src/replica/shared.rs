use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::builder::Settings;
use super::carry::Carrying;
use super::coalesce::Coalescing;
use super::health::{Loop, Pulse};
use super::phase::Phase;
use super::zones::ZoneData;
use crate::handler::{Stopper, Vouch};
use crate::model::watch::Beat;
use crate::model::{JobId, ReplicaId, StepId};
use crate::roles::scheduler::Rules;
use crate::store::{Prevented, Settled, Store};
use crate::time::Timer;

/// What the loops of one replica share.
pub(super) struct Shared {
    pub(super) store: Arc<dyn Store>,
    pub(super) agent_store: Arc<Coalescing>,
    pub(super) settings: Settings,
    pub(super) timer: Arc<dyn Timer>,
    pub(super) zones: ZoneData,
    pub(super) carrying: watch::Sender<Arc<Carrying>>,
    /// Which definitions were last said to be carried, by their hash; held by whoever says it.
    pub(super) said: tokio::sync::Mutex<BTreeMap<JobId, String>>,
    /// Who we are now: none before the first enlistment and between a loss and the next one.
    pub(super) identity: watch::Sender<Option<ReplicaId>>,
    /// Ids of the carried jobs, known after registration.
    pub(super) jobs: watch::Sender<Arc<[JobId]>>,
    pub(super) vouch: watch::Sender<Vouch>,
    pub(super) phase: Phase,
    pub(super) hints: Hints,
    /// Replicas that the watch found lost, for the Supervisor's next pass.
    pub(super) lost: Mutex<Vec<Beat>>,
    /// Attempts in hand: an old one of the same step may still be ending.
    pub(super) in_hand: Mutex<HashMap<(StepId, u64), Stopper>>,
    /// Messages in hand.
    pub(super) deliveries: AtomicU64,
    pub(super) prevented: Counters,
    pub(super) pulse: Pulse,
    /// By the timer.
    pub(super) begun: std::time::Duration,
}

/// One per role that sleeps.
#[derive(Default)]
pub(super) struct Hints {
    pub(super) scheduler: Notify,
    pub(super) agent: Notify,
    pub(super) relay: Notify,
}

#[derive(Default)]
pub(super) struct Counters {
    pub(super) slots: AtomicU64,
    pub(super) effects: AtomicU64,
    pub(super) messages: AtomicU64,
    pub(super) superseded: AtomicU64,
}

impl Counters {
    /// What was counted since the last call.
    pub(super) fn take(&self) -> Prevented {
        let take = |counter: &AtomicU64| counter.swap(0, Ordering::SeqCst);
        Prevented {
            slots: take(&self.slots),
            effects: take(&self.effects),
            messages: take(&self.messages),
            superseded: take(&self.superseded),
        }
    }

    /// Counts again what could not be written.
    pub(super) fn give_back(&self, prevented: &Prevented) {
        self.slots.fetch_add(prevented.slots, Ordering::SeqCst);
        self.effects.fetch_add(prevented.effects, Ordering::SeqCst);
        self.messages.fetch_add(prevented.messages, Ordering::SeqCst);
        self.superseded.fetch_add(prevented.superseded, Ordering::SeqCst);
    }
}

impl Shared {
    pub(super) fn new(
        store: Arc<dyn Store>,
        settings: Settings,
        timer: Arc<dyn Timer>,
        zones: ZoneData,
        carrying: Carrying,
    ) -> Self {
        Self {
            begun: timer.elapsed(),
            agent_store: Arc::new(Coalescing::new(Arc::clone(&store))),
            store,
            settings,
            timer,
            zones,
            carrying: watch::Sender::new(Arc::new(carrying)),
            said: tokio::sync::Mutex::default(),
            identity: watch::Sender::new(None),
            jobs: watch::Sender::new(Arc::from([])),
            vouch: watch::Sender::new(Vouch::default()),
            phase: Phase::default(),
            hints: Hints::default(),
            lost: Mutex::default(),
            in_hand: Mutex::default(),
            deliveries: AtomicU64::new(0),
            prevented: Counters::default(),
            pulse: Pulse::default(),
        }
    }

    /// A pass of this loop came to its end.
    pub(super) fn finished(&self, of: Loop) {
        self.pulse.finished(of, self.timer.elapsed());
    }

    pub(super) fn lock<'a, T>(&self, mutex: &'a Mutex<T>) -> std::sync::MutexGuard<'a, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Who we are, if the last renewal is fresh enough to take new work under that name.
    pub(super) fn vouched(&self) -> Option<ReplicaId> {
        let fresh = self.vouch.borrow().is_fresh(self.timer.elapsed());
        if fresh { self.identity.borrow().clone() } else { None }
    }

    /// Whether work claimed as `replica` may begin: who was lost meanwhile, or is stopping, begins nothing.
    pub(super) fn may_begin(&self, replica: &ReplicaId) -> bool {
        !self.phase.is_stopping() && self.vouched().as_ref() == Some(replica)
    }

    /// Returns on a hint, or after `span`.
    pub(super) async fn wait(&self, hint: &Notify, span: Duration) {
        tokio::select! {
            () = hint.notified() => {}
            () = self.timer.sleep(span) => {}
        }
    }

    /// The time-zone rules that this replica plans by.
    pub(super) fn rules(&self) -> Rules<'_> {
        Rules { zones: self.zones.zones(), version: self.zones.version(), patience: self.settings.lease, replica: None }
    }

    /// Counts what a settlement prevented, and wakes whoever may have something to do now.
    pub(super) fn settled(&self, settled: Option<&Settled>) {
        match settled {
            Some(Settled::Applied { status, effects_already, messages_already, .. }) => {
                self.pulse.count("attempts", status.as_str(), 1);
                self.prevented.effects.fetch_add(u64::from(*effects_already), Ordering::SeqCst);
                self.prevented.messages.fetch_add(u64::from(*messages_already), Ordering::SeqCst);
            }
            Some(Settled::Superseded) => {
                self.pulse.count("attempts", "superseded", 1);
                self.prevented.superseded.fetch_add(1, Ordering::SeqCst);
            }
            Some(Settled::Already) | None => {}
        }
        self.hints.scheduler.notify_one();
        self.hints.agent.notify_one();
        self.hints.relay.notify_one();
    }
}
