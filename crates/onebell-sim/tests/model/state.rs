//! The state that is explored: the tables, the processes, what is on the wire, and what an onlooker remembers.

use onebell::model::message::{DroppedBy, MessageStatus};
use onebell::model::run::{RunGoal, RunStatus};
use onebell::model::step::StepStatus;

use crate::scenario::{Budget, Scenario};

/// Replicas.
pub(crate) const PROCESSES: usize = 3;
/// Ids that one process may take in turn.
pub(crate) const LIVES: usize = 4;
/// Two steps, and what undoes each.
pub(crate) const STEPS: usize = 4;
/// The undo of step `n` is step `UNDO + n`.
pub(crate) const UNDO: usize = 2;
/// Attempts are counted up to this; no history within the budgets comes so far.
pub(crate) const ATTEMPT_MAX: u8 = 15;

/// A replica's id: each time a process begins anew or was found lost it takes the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Id {
    pub(crate) process: u8,
    pub(crate) life: u8,
}

/// A row of `replicas`. Beats are only ever compared with the one that a request names, so they are not counted: a
/// request is fresh as long as the beat stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Life {
    pub(crate) there: bool,
    pub(crate) lost: bool,
    pub(crate) asked_fresh: bool,
    pub(crate) asked_stale: bool,
}

/// A step, open or done. No status: it does not exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Step {
    pub(crate) status: Option<StepStatus>,
    pub(crate) attempt: u8,
    pub(crate) tries: u8,
    pub(crate) owner: Option<Id>,
    pub(crate) started: bool,
    /// `complete_by` has passed.
    pub(crate) lapsed: bool,
    /// The history says `delivering` of an attempt: its work is committed, however the step ends.
    pub(crate) delivered: bool,
    /// It says so of the present one.
    pub(crate) delivers: bool,
    /// Attempts of which the history has a row, a bit for each.
    pub(crate) ended: u16,
    /// Those of them that are a settlement of their own.
    pub(crate) settled: u16,
    /// Open recovery requests, a bit for each attempt.
    pub(crate) asked: u16,
    /// The request for the present attempt was granted.
    pub(crate) granted: bool,
}

/// The message in the outbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Message {
    pub(crate) status: MessageStatus,
    pub(crate) attempt: u8,
    pub(crate) tries: u8,
    pub(crate) owner: Option<Id>,
    pub(crate) lapsed: bool,
    /// `sending_at` is set.
    pub(crate) was_sending: bool,
    pub(crate) run_gone: bool,
    pub(crate) settled_by: Option<Id>,
    pub(crate) dropped_by: Option<DroppedBy>,
    pub(crate) asked: u16,
    pub(crate) granted: bool,
}

/// The run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Run {
    pub(crate) status: RunStatus,
    pub(crate) goal: Option<RunGoal>,
    pub(crate) asked: bool,
}

/// How a handler ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Word {
    Succeeded,
    Retry,
    Failed,
    GivenBack,
    Stopped,
    Cancelled,
}

/// What a relay says of its attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Said {
    Accepted,
    Deferred,
    Rejected,
    Unknown,
    GivenBack,
}

/// Where an agent is with a step that it holds, as it believes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    Prefetched,
    Working,
    Hung,
    Ended(Word),
}

/// A claimed step in an agent's hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct StepHand {
    pub(crate) step: u8,
    pub(crate) attempt: u8,
    pub(crate) life: u8,
    pub(crate) phase: Phase,
}

/// Where a relay is with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Way {
    /// Connecting, logging in, addressing; perhaps asking for `sending`.
    Preparing,
    /// The gate is open: the content may be written.
    Open,
    Ended(Said),
}

/// A claimed message in a relay's hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct MessageHand {
    pub(crate) attempt: u8,
    pub(crate) life: u8,
    pub(crate) way: Way,
}

/// One process. Frozen means that it makes no move for a while, which every interleaving contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Process {
    pub(crate) life: u8,
    pub(crate) unsure_steps: bool,
    pub(crate) unsure_messages: bool,
    pub(crate) steps: [Option<StepHand>; 2],
    pub(crate) messages: [Option<MessageHand>; 2],
}

/// A call that nobody waits for any longer and that the store may still execute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Call {
    ClaimStep { id: Id, step: u8, start: bool },
    StartStep { id: Id, step: u8, attempt: u8 },
    SettleStep { id: Id, step: u8, attempt: u8, word: Word },
    ClaimMessage { id: Id },
    Mark { id: Id, attempt: u8 },
    SettleMessage { id: Id, attempt: u8, said: Said },
}

/// What somebody who sees everything remembers. It decides nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Onlooker {
    /// To whom the step was given and not taken from: the attempt counts.
    pub(crate) owner: [Option<(Id, u8)>; STEPS],
    /// The present attempt was begun by a handler.
    pub(crate) begun: [bool; STEPS],
    /// Attempts whose own word took effect, a bit for each.
    pub(crate) settled: [u16; STEPS],
    /// Rows of its own that the step committed.
    pub(crate) rows: [u8; STEPS],
    /// Rows in the ledger under the step's one key.
    pub(crate) ledger: [u8; STEPS],
    /// A person had the step run again, or decided it.
    pub(crate) people: [u8; STEPS],
    /// Attempts that cost a try since the last budget.
    pub(crate) spent: [u8; STEPS],
    /// Attempts of the message whose sending mark was committed, a bit for each.
    pub(crate) marked: u16,
    /// How often the content arrived.
    pub(crate) received: u8,
    /// How often a person decided about the message.
    pub(crate) decided: u8,
}

/// One state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct State {
    pub(crate) replicas: [[Life; LIVES]; PROCESSES],
    pub(crate) run: Run,
    pub(crate) steps: [Step; STEPS],
    pub(crate) message: Option<Message>,
    pub(crate) processes: [Process; PROCESSES],
    pub(crate) wire: [Option<Call>; 2],
    pub(crate) left: Budget,
    pub(crate) seen: Onlooker,
}

impl State {
    /// The beginning of every history: a run waits for admission, three replicas have enlisted.
    pub(crate) fn begin(scenario: &Scenario) -> Self {
        let mut state = Self {
            replicas: [[Life::default(); LIVES]; PROCESSES],
            run: Run { status: RunStatus::Queued, goal: None, asked: false },
            steps: [Step::default(); STEPS],
            message: None,
            processes: [Process::default(); PROCESSES],
            wire: [None; 2],
            left: scenario.budget,
            seen: Onlooker::default(),
        };
        state.replicas.iter_mut().for_each(|lives| lives[0].there = true);
        state.steps[..scenario.steps].iter_mut().for_each(|step| step.status = Some(StepStatus::Waiting));
        if scenario.delivering {
            state.run.status = RunStatus::Running;
            state.steps[0] = Step {
                status: Some(StepStatus::Delivering),
                attempt: 1,
                tries: 1,
                delivered: true,
                delivers: true,
                ..Step::default()
            };
            (state.seen.rows[0], state.seen.ledger[0]) = (1, 1);
            state.message = Some(Message::put());
            let behind = if scenario.chained { StepStatus::Waiting } else { StepStatus::Pending };
            state.steps[1..scenario.steps].iter_mut().for_each(|step| step.status = Some(behind));
        }
        state
    }

    /// Whether a replica may be given anything.
    pub(crate) fn is_live(&self, id: Id) -> bool {
        let life = self.life(id);
        life.there && !life.lost
    }

    pub(crate) fn life(&self, id: Id) -> Life {
        self.replicas[usize::from(id.process)][usize::from(id.life)]
    }

    pub(crate) fn life_mut(&mut self, id: Id) -> &mut Life {
        &mut self.replicas[usize::from(id.process)][usize::from(id.life)]
    }

    /// Whether a process has anything in hand, holds anything, or waits for an answer.
    pub(crate) fn is_busy(&self, process: usize) -> bool {
        let (id, here) = (self.id(process), &self.processes[process]);
        here.unsure_steps
            || here.unsure_messages
            || here.steps.iter().any(Option::is_some)
            || here.messages.iter().any(Option::is_some)
            || self.steps.iter().any(|step| step.owner == Some(id))
            || self.message.is_some_and(|message| message.owner == Some(id))
            || self.wire.iter().flatten().any(|call| call.id() == id)
    }

    /// Who a process is now.
    pub(crate) fn id(&self, process: usize) -> Id {
        Id { process: u8::try_from(process).unwrap_or(0), life: self.processes[process].life }
    }
}

impl Message {
    /// New in the outbox.
    pub(crate) fn put() -> Self {
        Self {
            status: MessageStatus::Ready,
            attempt: 0,
            tries: 0,
            owner: None,
            lapsed: false,
            was_sending: false,
            run_gone: false,
            settled_by: None,
            dropped_by: None,
            asked: 0,
            granted: false,
        }
    }
}

impl Call {
    /// Who made it.
    pub(crate) fn id(&self) -> Id {
        match *self {
            Self::ClaimStep { id, .. }
            | Self::StartStep { id, .. }
            | Self::SettleStep { id, .. }
            | Self::ClaimMessage { id }
            | Self::Mark { id, .. }
            | Self::SettleMessage { id, .. } => id,
        }
    }

    /// The same call without the name of the process.
    pub(crate) fn of_nobody(&self) -> Self {
        let mut call = *self;
        call.id_mut().process = 0;
        call
    }

    pub(crate) fn id_mut(&mut self) -> &mut Id {
        match self {
            Self::ClaimStep { id, .. }
            | Self::StartStep { id, .. }
            | Self::SettleStep { id, .. }
            | Self::ClaimMessage { id }
            | Self::Mark { id, .. }
            | Self::SettleMessage { id, .. } => id,
        }
    }
}

/// The bit of an attempt in a set of requests.
pub(crate) fn bit(attempt: u8) -> u16 {
    1 << attempt.min(ATTEMPT_MAX)
}
