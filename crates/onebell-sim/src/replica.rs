//! One simulated replica: what `onebell::replica` does in loops, as steps that the world takes one at a time. The roles
//! are the real ones; the loops' decisions are written here once more, without tasks and sleeps.

mod carries;
mod ended;
mod start;
mod together;

pub use carries::{Carries, Less};

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use onebell::handler::{Channel, Handler, StopReason, Stopper, Vouch};
use onebell::model::jump::JumpGuard;
use onebell::model::watch::{Beat, Watch};
use onebell::model::{JobId, ReplicaId, StepId};
use onebell::roles::agent::{Agent, StepWork, Taken};
use onebell::roles::relay::{MessageWork, Relay};
use onebell::roles::scheduler::Report;
use onebell::store::{MessageSettled, Renewal, Result, Settled};
use onebell::time::{ManualTimer, Timer};
use tokio::sync::watch;

use crate::executor::Hand;
use crate::faulty::FaultyStore;
use crate::ground::Ground;
use crate::jobs::HOOK;
use crate::recipient::Recipient;
use crate::work::Worker;
use together::Together;

/// A replica whose beat stands still for so long is lost.
pub const LEASE: Duration = Duration::from_secs(10);
const TERM_AFTER: Duration = Duration::from_secs(7);
const KILL_AFTER: Duration = Duration::from_secs(9);
const DRAIN: Duration = Duration::from_secs(12);
const DELIVERIES: usize = 2;

/// The loops of a replica, with the time between two rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loop {
    /// Renews the beat, or enlists.
    Renew,
    /// The Scheduler's pass.
    Schedule,
    /// The Supervisor's pass.
    Supervise,
    /// The Agent's pass.
    Take,
    /// The Relay's pass.
    Deliver,
    /// Retention.
    Lead,
    /// The way out.
    Leave,
}

impl Loop {
    /// Those that begin by themselves.
    pub const ALL: [Self; 7] = [Self::Renew, Self::Schedule, Self::Supervise, Self::Take, Self::Deliver, Self::Lead, Self::Leave];

    fn period(self) -> Duration {
        Duration::from_millis(match self {
            Self::Renew => 2_400,
            Self::Schedule => 2_000,
            Self::Supervise => 3_500,
            Self::Take | Self::Deliver => 1_700,
            Self::Lead => 6_000,
            Self::Leave => 1_000,
        })
    }
}

/// What a future in hand is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    Round(Loop),
    Step(StepId, u64),
    Message(String),
}

/// How a future in hand ended.
pub(crate) enum Done {
    Enlisted(Result<(ReplicaId, Vec<JobId>)>, Duration),
    Renewed(Result<Renewal>, Duration),
    Scheduled(Result<Report>),
    Supervised,
    Taken(Result<Taken>),
    Adopted(Result<Vec<StepWork>>),
    Claimed(Result<Vec<MessageWork>>),
    Recovered(Result<Vec<MessageWork>>),
    Led,
    Left(bool),
    Step(Option<Settled>),
    Message(Option<MessageSettled>),
}

/// How far the end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    Working,
    Draining { until: Duration },
    Stopping,
}

/// One process.
pub struct Replica {
    pub(crate) number: usize,
    pub(crate) ground: Arc<Ground>,
    pub(crate) timer: Arc<ManualTimer>,
    pub(crate) store: Arc<FaultyStore>,
    pub(crate) carries: Carries,
    pub(crate) identity: Option<ReplicaId>,
    pub(crate) jobs: Vec<JobId>,
    pub(crate) vouch: watch::Sender<Vouch>,
    pub(crate) watch: Watch,
    pub(crate) guards: [JumpGuard; 2],
    pub(crate) lost: Vec<Beat>,
    pub(crate) stage: Stage,
    pub(crate) gone: bool,
    pub(crate) prefetch: u32,
    pub(crate) concurrency: usize,
    pub(crate) agent: Agent,
    pub(crate) relay: Relay,
    pub(crate) hands: Vec<(What, Hand<Done>)>,
    pub(crate) in_hand: BTreeMap<(StepId, u64), Stopper>,
    pub(crate) messages: BTreeSet<String>,
    pub(crate) waiting: VecDeque<StepWork>,
    pub(crate) alone: bool,
    pub(crate) drain: bool,
    pub(crate) unsure_steps: bool,
    pub(crate) unsure_messages: bool,
    pub(crate) due: [Duration; 7],
}

impl Replica {
    /// A process that has just begun; it knows nothing of the one before it. `room`: how many steps it runs at once, and
    /// how many more it takes in advance.
    pub fn begin(ground: &Arc<Ground>, number: usize, carries: Carries, room: (usize, u32)) -> Self {
        let timer = Arc::new(ManualTimer::default());
        // A monotonic clock begins anywhere.
        timer.advance(Duration::from_secs(1_000));
        let store = Arc::new(FaultyStore::new(Arc::clone(ground), Arc::clone(&timer), number));
        let vouch = watch::Sender::new(Vouch::default());
        let worker = || -> Arc<dyn Handler> { Arc::new(Worker { ground: Arc::clone(ground), timer: Arc::clone(&timer) }) };
        let recipient = |dedupes| -> Arc<dyn Channel> {
            Arc::new(Recipient { ground: Arc::clone(ground), timer: Arc::clone(&timer), dedupes })
        };
        let agent = Agent {
            store: Arc::new(Together::new(Arc::clone(&store), Arc::clone(ground))),
            timer: Arc::clone(&timer) as Arc<dyn Timer>,
            handlers: carries.handlers.iter().map(|name| ((*name).to_owned(), worker())).collect(),
            vouch: vouch.subscribe(),
        };
        let relay = Relay {
            store: Arc::clone(&store) as Arc<dyn onebell::store::RelayStore>,
            timer: Arc::clone(&timer) as Arc<dyn Timer>,
            channels: carries.channels.iter().map(|name| ((*name).to_owned(), recipient(*name == HOOK))).collect(),
        };
        Self {
            number,
            ground: Arc::clone(ground),
            timer,
            store,
            carries,
            identity: None,
            jobs: Vec::new(),
            vouch,
            watch: Watch::new(LEASE),
            guards: [JumpGuard::new(LEASE), JumpGuard::new(LEASE)],
            lost: Vec::new(),
            stage: Stage::Working,
            gone: false,
            concurrency: room.0,
            prefetch: room.1,
            agent,
            relay,
            hands: Vec::new(),
            in_hand: BTreeMap::new(),
            messages: BTreeSet::new(),
            waiting: VecDeque::new(),
            alone: false,
            drain: false,
            unsure_steps: false,
            unsure_messages: false,
            due: [Duration::ZERO; 7],
        }
    }

    /// Its own monotonic clock goes on, also while it is frozen.
    pub fn passes(&self, span: Duration) {
        self.timer.advance(span);
    }

    /// It has left and holds nothing.
    pub fn is_gone(&self) -> bool {
        self.gone
    }

    /// Nothing is missing of what there is to carry.
    pub fn carries_all(&self) -> bool {
        self.carries.all
    }

    /// It has asked for work, or to be enlisted, and was not answered yet.
    pub fn asks(&self) -> bool {
        let arrives = self.identity.is_none();
        let asks = |what: &What| match what {
            What::Round(Loop::Take | Loop::Deliver) => true,
            What::Round(Loop::Renew) => arrives,
            _ => false,
        };
        self.hands.iter().any(|(what, _)| asks(what))
    }

    /// It holds no work.
    pub fn is_idle(&self) -> bool {
        self.in_hand.is_empty() && self.messages.is_empty() && self.waiting.is_empty()
    }

    /// Takes no new work any longer.
    pub fn ask_to_drain(&mut self) {
        if self.stage == Stage::Working {
            self.ground.inner().tally.count("fault", "drain");
            self.stage = Stage::Draining { until: self.timer.elapsed() + DRAIN };
        }
    }

    /// How many of its futures and rounds could go on now.
    pub fn ready(&self) -> usize {
        self.hands.iter().filter(|(_, hand)| hand.is_woken()).count() + self.rounds().count()
    }

    /// Lets one of them go on: the `nth` that could.
    pub fn go(&mut self, nth: usize) {
        self.fence();
        let woken = self.hands.iter().enumerate().filter(|(_, (_, hand))| hand.is_woken()).map(|(place, _)| place).nth(nth);
        if let Some(place) = woken {
            if let Some(done) = self.hands[place].1.poll() {
                let (what, _) = self.hands.remove(place);
                self.ended(what, done);
            }
            return;
        }
        let woken = self.hands.iter().filter(|(_, hand)| hand.is_woken()).count();
        let round = self.rounds().nth(nth - woken);
        if let Some(round) = round {
            self.start(round);
        }
    }

    /// The rounds that are due and not under way.
    fn rounds(&self) -> impl Iterator<Item = Loop> + '_ {
        let now = self.timer.elapsed();
        Loop::ALL.into_iter().filter(move |round| {
            let under_way = self.hands.iter().any(|(what, _)| *what == What::Round(*round));
            !under_way && self.due[*round as usize] <= now && self.plays(*round)
        })
    }

    fn plays(&self, round: Loop) -> bool {
        match round {
            Loop::Renew => !self.gone,
            Loop::Leave => !self.gone && self.stage != Stage::Working && self.is_idle(),
            Loop::Take if self.stage != Stage::Working => !self.waiting.is_empty(),
            _ => self.stage == Stage::Working && self.identity.is_some(),
        }
    }

    /// Work is asked to end when this replica can no longer vouch for it.
    fn fence(&mut self) {
        let now = self.timer.elapsed();
        if matches!(self.stage, Stage::Draining { until } if until <= now) {
            self.stage = Stage::Stopping;
            self.stop_all(StopReason::OwnStop);
        }
        if !self.vouch.borrow().is_fresh(now) {
            self.stop_all(StopReason::OwnStop);
        }
    }

    pub(crate) fn stop_all(&self, reason: StopReason) {
        self.in_hand.values().for_each(|stopper| stopper.stop(reason));
    }

    /// Who it is, if the last renewal is fresh enough to take new work under that name.
    pub(crate) fn vouched(&self) -> Option<ReplicaId> {
        let fresh = self.vouch.borrow().is_fresh(self.timer.elapsed());
        if fresh { self.identity.clone() } else { None }
    }

    pub(crate) fn hint(&mut self, round: Loop) {
        self.due[round as usize] = Duration::ZERO;
    }

    pub(crate) fn hint_all(&mut self) {
        for round in [Loop::Schedule, Loop::Take, Loop::Deliver] {
            self.hint(round);
        }
    }

    /// Its number, and the id that it has now.
    pub fn name(&self) -> String {
        self.identity.as_ref().map_or_else(|| format!("p{}", self.number), |id| format!("p{} ({id})", self.number))
    }
}
