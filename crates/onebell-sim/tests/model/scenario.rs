//! What is explored: the shape of the run, its policies, and how much may go wrong.

use std::fmt;

use onebell::model::job::{OnLost, OnMessageFailed};
use onebell::model::message::InDoubtPolicy;

use crate::faults::Fault;

/// How often each thing may happen in one history. Within these bounds every interleaving is explored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Budget {
    /// Processes that end at once and come back under a new id.
    pub(crate) crashes: u8,
    /// Live replicas that somebody takes for lost, however wrongly: no clock and no watch is trusted.
    pub(crate) judgements: u8,
    /// Calls that are not answered; the store executes them later than everything else, at once, or never.
    pub(crate) cuts: u8,
    /// Claims that lapse, whatever their owner does.
    pub(crate) lapses: u8,
    /// Work that ends otherwise than well, hangs included, and receivers that do not simply say yes.
    pub(crate) failures: u8,
    /// Work that its own agent or relay stops or gives back.
    pub(crate) stops: u8,
    /// Acts of people.
    pub(crate) people: u8,
}

impl Budget {
    /// At least as much of everything.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.crashes >= other.crashes
            && self.judgements >= other.judgements
            && self.cuts >= other.cuts
            && self.lapses >= other.lapses
            && self.failures >= other.failures
            && self.stops >= other.stops
            && self.people >= other.people
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            (self.crashes, "crashes"),
            (self.judgements, "wrong judgements"),
            (self.cuts, "calls cut"),
            (self.lapses, "lapses"),
            (self.failures, "failures"),
            (self.stops, "stops"),
            (self.people, "acts of people"),
        ];
        let some: Vec<String> =
            all.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        f.write_str(&some.join(", "))
    }
}

/// One model.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    /// For the report.
    pub(crate) name: &'static str,
    /// Steps of the run: one, or two.
    pub(crate) steps: usize,
    /// The second step waits for the first.
    pub(crate) chained: bool,
    /// Steps declare an undo.
    pub(crate) undo: bool,
    /// The first step puts a message with this policy.
    pub(crate) message: Option<InDoubtPolicy>,
    /// The history begins with the first step's work committed and its message ready.
    pub(crate) delivering: bool,
    /// Steps may be claimed in advance and started later.
    pub(crate) prefetch: bool,
    /// What a loss means.
    pub(crate) on_lost: OnLost,
    /// What a failed message means to its step.
    pub(crate) on_message_failed: OnMessageFailed,
    /// Budget of a step, and of a message.
    pub(crate) tries: u32,
    /// How much may go wrong, whenever the tests run.
    pub(crate) budget: Budget,
    /// How much may go wrong when there is time.
    pub(crate) deep: Budget,
    /// What must be met, lest nothing was proved.
    pub(crate) meets: &'static [&'static str],
    /// Whether to say how far it has come.
    pub(crate) loud: bool,
    /// Deliberate faults of the modelled store and processes.
    pub(crate) faults: &'static [Fault],
}

impl Scenario {
    /// Whether this fault is built in.
    pub(crate) fn has(&self, fault: Fault) -> bool {
        self.faults.contains(&fault)
    }

    /// The same with faults built in.
    pub(crate) fn with(&self, faults: &'static [Fault]) -> Self {
        Self { faults, ..self.clone() }
    }
}

const NOTHING: Budget = Budget { crashes: 0, judgements: 0, cuts: 0, lapses: 0, failures: 0, stops: 0, people: 0 };

const PLAIN: Scenario = Scenario {
    name: "",
    steps: 1,
    chained: false,
    undo: false,
    message: None,
    delivering: false,
    prefetch: false,
    on_lost: OnLost::Retry,
    on_message_failed: OnMessageFailed::Continue,
    tries: 2,
    budget: NOTHING,
    deep: NOTHING,
    meets: &[],
    loud: false,
    faults: &[],
};

/// A step that is run again when its replica is lost.
pub(crate) const RETRIED: Scenario = Scenario {
    name: "a step, run again when it is lost",
    budget: Budget { crashes: 1, judgements: 1, cuts: 2, lapses: 1, failures: 1, stops: 0, people: 0 },
    deep: Budget { crashes: 1, judgements: 1, cuts: 2, lapses: 1, failures: 2, stops: 1, people: 0 },
    meets: &[
        "a claim whose answer was lost is taken up",
        "a late settlement is superseded",
        "a process hears that it was found lost",
        "a request about a replica is refused",
        "a request about a step is refused",
        "a settlement whose answer was lost is called Already",
        "run failed",
        "run parked",
        "run succeeded",
        "step exhausted",
        "step failed",
        "two processes have a step in hand",
        "work hangs",
    ],
    ..PLAIN
};

/// A step that is claimed in advance, stopped, given back.
pub(crate) const PREFETCHED: Scenario = Scenario {
    name: "a step claimed in advance",
    prefetch: true,
    budget: Budget { crashes: 1, judgements: 0, cuts: 1, lapses: 1, failures: 1, stops: 1, people: 0 },
    deep: Budget { crashes: 1, judgements: 1, cuts: 1, lapses: 1, failures: 1, stops: 1, people: 0 },
    meets: &[
        "a claim whose answer was lost is taken up",
        "a third attempt",
        "run succeeded",
        "two processes have a step in hand",
    ],
    ..PLAIN
};

/// A step that must not be run twice without a person.
pub(crate) const HELD: Scenario = Scenario {
    name: "a step, held when it is lost, and people",
    on_lost: OnLost::Hold,
    budget: Budget { crashes: 1, judgements: 1, cuts: 1, lapses: 1, failures: 0, stops: 0, people: 2 },
    deep: Budget { crashes: 1, judgements: 1, cuts: 2, lapses: 1, failures: 1, stops: 1, people: 2 },
    meets: &["run cancelled", "run parked", "step held", "step cancelled", "a late settlement is superseded"],
    ..PLAIN
};

/// Two steps, the second after the first; both are undone when the run fails or is cancelled.
pub(crate) const CHAIN: Scenario = Scenario {
    name: "a chain of two with undo, and people",
    steps: 2,
    chained: true,
    undo: true,
    budget: Budget { crashes: 1, judgements: 1, cuts: 1, lapses: 0, failures: 1, stops: 0, people: 1 },
    deep: Budget { crashes: 1, judgements: 1, cuts: 1, lapses: 1, failures: 1, stops: 0, people: 1 },
    meets: &["a step was undone", "run cancelled", "run failed", "run parked", "run undoing", "step waiting", "step cancelled"],
    ..PLAIN
};

/// A message whose receiver cannot dedupe, and everything that goes wrong by itself.
pub(crate) const DOUBTED: Scenario = Scenario {
    name: "a message, held when in doubt",
    message: Some(InDoubtPolicy::Hold),
    delivering: true,
    budget: Budget { crashes: 1, judgements: 1, cuts: 1, lapses: 1, failures: 1, stops: 0, people: 0 },
    deep: Budget { crashes: 1, judgements: 1, cuts: 1, lapses: 1, failures: 1, stops: 1, people: 0 },
    meets: &[
        "a late yes proves a message in doubt",
        "a relay's word is superseded or already known",
        "a request about a message is refused",
        "message failed",
        "message in_doubt",
        "message sent",
        "step held",
        "run parked",
        "run succeeded",
    ],
    ..PLAIN
};

/// The same with people who decide about it, run its step again, or cancel its run.
pub(crate) const DECIDED: Scenario = Scenario {
    name: "a message, held when in doubt, and people",
    undo: true,
    message: Some(InDoubtPolicy::Hold),
    delivering: true,
    budget: Budget { crashes: 1, judgements: 0, cuts: 1, lapses: 1, failures: 1, stops: 0, people: 1 },
    deep: Budget { crashes: 1, judgements: 1, cuts: 1, lapses: 0, failures: 1, stops: 0, people: 2 },
    meets: &["a message arrived twice, by decision", "message dropped", "run cancelled", "message in_doubt"],
    ..PLAIN
};

/// A message whose receiver dedupes.
pub(crate) const RESENT: Scenario = Scenario {
    name: "a message, sent again when in doubt",
    message: Some(InDoubtPolicy::Resend),
    delivering: true,
    tries: 3,
    budget: Budget { crashes: 1, judgements: 1, cuts: 1, lapses: 0, failures: 1, stops: 0, people: 0 },
    deep: Budget { crashes: 1, judgements: 1, cuts: 1, lapses: 1, failures: 1, stops: 1, people: 0 },
    meets: &["message failed", "message sent", "run succeeded", "a message arrived twice, by decision"],
    ..PLAIN
};

/// A run that fails or is cancelled takes with it what never was on its way.
pub(crate) const DROPPED: Scenario = Scenario {
    name: "a step that puts a message beside one that fails",
    steps: 2,
    undo: true,
    message: Some(InDoubtPolicy::Hold),
    on_message_failed: OnMessageFailed::Fail,
    budget: Budget { crashes: 0, judgements: 0, cuts: 1, lapses: 0, failures: 1, stops: 0, people: 1 },
    deep: Budget { crashes: 1, judgements: 0, cuts: 1, lapses: 1, failures: 1, stops: 0, people: 1 },
    meets: &["message dropped", "run failed", "run cancelled", "run failing", "message sent", "step cancelled"],
    ..PLAIN
};

/// A run that failed is taken up again, and waits for what it took with it.
pub(crate) const TAKEN_UP: Scenario = Scenario {
    name: "a run that failed beside a message, and people",
    steps: 2,
    message: Some(InDoubtPolicy::Hold),
    delivering: true,
    on_message_failed: OnMessageFailed::Fail,
    budget: Budget { crashes: 0, judgements: 0, cuts: 1, lapses: 0, failures: 2, stops: 0, people: 1 },
    deep: Budget { crashes: 1, judgements: 0, cuts: 1, lapses: 0, failures: 2, stops: 0, people: 2 },
    meets: &["message dropped", "message failed", "run failed", "run succeeded", "a step delivers again"],
    ..PLAIN
};

/// A chain whose first step had been done without its message, which somebody has sent again.
pub(crate) const FOLLOWED: Scenario = Scenario {
    name: "a chain behind a message that failed, and people",
    steps: 2,
    chained: true,
    message: Some(InDoubtPolicy::Hold),
    delivering: true,
    tries: 1,
    budget: Budget { crashes: 0, judgements: 0, cuts: 0, lapses: 0, failures: 2, stops: 0, people: 2 },
    deep: Budget { crashes: 0, judgements: 0, cuts: 1, lapses: 0, failures: 2, stops: 0, people: 2 },
    meets: &["message failed", "message dropped", "run failed", "run succeeded", "step waiting"],
    ..PLAIN
};

/// All of them.
pub(crate) const ALL: [&Scenario; 10] =
    [&RETRIED, &PREFETCHED, &HELD, &CHAIN, &DOUBTED, &DECIDED, &RESENT, &DROPPED, &TAKEN_UP, &FOLLOWED];
