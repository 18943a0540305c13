//! The product's own decisions: `onebell::model` is asked, never imitated. Answers are remembered, since they are pure.

use std::cell::RefCell;
use std::collections::HashMap;

use onebell::model::job::{OnLost, UNDO_MARK};
use onebell::model::message::{Delivery, InDoubtPolicy, InFlight, MessageEvent, MessageStatus};
use onebell::model::retry::RetryPolicy;
use onebell::model::run::{Change, RunGoal, RunStatus, RunView, StepView, advance};
use onebell::model::step::{AttemptOutcome, Loss, Running, StepStatus, Verdict};
use onebell::model::{Moment, StepId};

use crate::faults::Fault;
use crate::scenario::Scenario;
use crate::state::{Message, Run, STEPS, Said, Step, UNDO, Word};

const NOW: Moment = Moment::from_micros(0);

/// How an attempt of a step ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StepEnd {
    pub(crate) to: StepStatus,
    pub(crate) tries: u8,
    pub(crate) outcome: AttemptOutcome,
}

/// How an attempt of a message ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MessageEnd {
    pub(crate) event: MessageEvent,
    pub(crate) to: MessageStatus,
    pub(crate) tries: u8,
}

/// One consequence inside the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Follows {
    Step(usize, StepStatus),
    Run(RunStatus),
    Goal(RunGoal),
    OpenUndo([bool; UNDO]),
}

#[derive(PartialEq, Eq, Hash, Clone, Copy)]
enum Why {
    Word(Word, bool),
    Loss(bool),
}

#[derive(PartialEq, Eq, Hash, Clone, Copy)]
enum Heard {
    Said(Said),
    Lost,
}

type StepKey = (u8, u8, bool, bool, Why);
type MessageKey = (MessageStatus, u8, u8, bool, Heard);
type RunKey = (RunStatus, Option<RunGoal>, [(Option<StepStatus>, bool); STEPS]);

/// Asks the model.
pub(crate) struct Decide<'a> {
    scenario: &'a Scenario,
    steps: RefCell<HashMap<StepKey, StepEnd>>,
    messages: RefCell<HashMap<MessageKey, Option<MessageEnd>>>,
    runs: RefCell<HashMap<RunKey, Vec<Follows>>>,
}

impl<'a> Decide<'a> {
    pub(crate) fn new(scenario: &'a Scenario) -> Self {
        Self { scenario, steps: RefCell::default(), messages: RefCell::default(), runs: RefCell::default() }
    }

    /// `Running::settle`.
    pub(crate) fn settle(&self, step: &Step, undo: bool, cancelling: bool, word: Word, delivers: bool) -> StepEnd {
        self.step(step, undo, cancelling, Why::Word(word, delivers))
    }

    /// `Running::recover`.
    pub(crate) fn recover(&self, step: &Step, undo: bool, cancelling: bool, loss: Loss) -> StepEnd {
        self.step(step, undo, cancelling, Why::Loss(loss == Loss::Lost))
    }

    fn step(&self, step: &Step, undo: bool, cancelling: bool, why: Why) -> StepEnd {
        let flags = (step.started, cancelling);
        // An undo is lost as often as its budget says, whatever its step declares.
        let tries = if undo { step.tries | 0x80 } else { step.tries };
        *self.steps.borrow_mut().entry((step.attempt, tries, flags.0, flags.1, why)).or_insert_with(|| {
            let running = Running {
                step: StepId::from_text("run.step"),
                attempt: u64::from(step.attempt),
                tries: u32::from(step.tries),
                retry: self.retry(),
                first_claimed_at: NOW,
                started: step.started,
                on_lost: if undo { OnLost::Retry } else { self.scenario.on_lost },
                cancelling,
            };
            let ending = match why {
                Why::Word(word, delivers) => running.settle(&verdict(word), delivers, NOW),
                Why::Loss(lost) => running.recover(if lost { Loss::Lost } else { Loss::Overdue }, NOW),
            };
            StepEnd { to: ending.to, tries: small(ending.tries), outcome: ending.outcome }
        })
    }

    fn retry(&self) -> RetryPolicy {
        RetryPolicy { attempts: self.scenario.tries, ..RetryPolicy::default() }
    }

    /// `InFlight::settle`.
    pub(crate) fn said(&self, message: &Message, said: Said) -> Option<MessageEnd> {
        self.message(message, Heard::Said(said))
    }

    /// `InFlight::recover`.
    pub(crate) fn lost(&self, message: &Message) -> Option<MessageEnd> {
        self.message(message, Heard::Lost)
    }

    fn message(&self, message: &Message, heard: Heard) -> Option<MessageEnd> {
        let key = (message.status, message.attempt, message.tries, message.run_gone, heard);
        *self.messages.borrow_mut().entry(key).or_insert_with(|| {
            let again = self.scenario.has(Fault::DoubtIsSentAgain);
            let policy = self.scenario.message.unwrap_or(InDoubtPolicy::Hold);
            let in_flight = InFlight {
                key: "message".to_owned(),
                status: message.status,
                attempt: u64::from(message.attempt),
                tries: u32::from(message.tries),
                retry: self.retry(),
                first_claimed_at: NOW,
                on_in_doubt: if again { InDoubtPolicy::Resend } else { policy },
                run_gone: message.run_gone,
            };
            let ending = match heard {
                Heard::Said(said) => in_flight.settle(&delivery(said), NOW),
                Heard::Lost => in_flight.recover(NOW),
            };
            ending.map(|ending| MessageEnd { event: ending.event, to: ending.to, tries: small(ending.tries) })
        })
    }

    /// `run::advance`: everything that follows from the present state of the run.
    pub(crate) fn advance(&self, run: &Run, steps: &[Step; STEPS]) -> Vec<Follows> {
        let key = (run.status, run.goal, steps.map(|step| (step.status, step.delivered)));
        self.runs.borrow_mut().entry(key).or_insert_with(|| self.follows(run, steps)).clone()
    }

    fn follows(&self, run: &Run, steps: &[Step; STEPS]) -> Vec<Follows> {
        let views = steps.iter().enumerate().filter_map(|(place, step)| self.view(place, step, steps)).collect();
        let changes = advance(&RunView { status: run.status, goal: run.goal, steps: views });
        let mut statuses = steps.map(|step| step.status);
        let mut follows = Vec::new();
        for change in changes {
            follows.push(match change {
                Change::Step(name, event) => {
                    let place = place_of(&name);
                    let from = statuses[place].unwrap_or(StepStatus::Waiting);
                    let to = from.on(event).unwrap_or_else(|| panic!("{from} does not {event}"));
                    statuses[place] = Some(to);
                    Follows::Step(place, to)
                }
                Change::Run(_, to, _) => Follows::Run(to),
                Change::Goal(goal) => Follows::Goal(goal),
                Change::OpenUndo(names) => {
                    let opened = [0, 1].map(|place| names.iter().any(|name| place_of(name) == place));
                    opened.iter().enumerate().filter(|(_, opened)| **opened).for_each(|(place, _)| {
                        statuses[UNDO + place] = Some(StepStatus::Waiting);
                    });
                    Follows::OpenUndo(opened)
                }
            });
        }
        follows
    }

    /// A step as its run sees it; the second is ranked behind the first.
    fn view(&self, place: usize, step: &Step, steps: &[Step; STEPS]) -> Option<StepView> {
        let undo = place >= UNDO;
        let after = match place {
            1 if self.scenario.chained => vec![name(0)],
            UNDO if steps[UNDO + 1].status.is_some() => vec![name(UNDO + 1)],
            _ => Vec::new(),
        };
        let rank = if undo { 0 } else { u32::try_from(place).unwrap_or(0) };
        let undoable = self.scenario.undo && !undo;
        // As `read_run_steps` says it.
        let all = [StepStatus::Held, StepStatus::Failed, StepStatus::Exhausted, StepStatus::Pending, StepStatus::Cancelled];
        let open = if self.scenario.has(Fault::OnlyHeldIsUndone) { &all[..1] } else { &all[..] };
        let delivered = step.delivered && step.status.is_some_and(|status| open.contains(&status));
        Some(StepView { name: name(place), status: step.status?, after, rank, undoable, delivered })
    }
}

fn name(place: usize) -> String {
    let own = ["a", "b"][place % UNDO];
    if place >= UNDO { format!("{own}{UNDO_MARK}") } else { own.to_owned() }
}

fn place_of(text: &str) -> usize {
    (0..STEPS).find(|place| name(*place) == text).unwrap_or_else(|| panic!("no step is named {text}"))
}

fn small(count: u32) -> u8 {
    u8::try_from(count).unwrap_or(u8::MAX)
}

fn verdict(word: Word) -> Verdict {
    let error = String::new();
    match word {
        Word::Succeeded => Verdict::Succeeded,
        Word::Retry => Verdict::Retry { error, after: None },
        Word::Failed => Verdict::Failed { error },
        Word::GivenBack => Verdict::GivenBack,
        Word::Stopped => Verdict::Stopped { error },
        Word::Cancelled => Verdict::Cancelled,
    }
}

fn delivery(said: Said) -> Delivery {
    let error = String::new();
    match said {
        Said::Accepted => Delivery::Accepted { receipt: error },
        Said::Deferred => Delivery::Deferred { error, after: None },
        Said::Rejected => Delivery::Rejected { error },
        Said::Unknown => Delivery::Unknown { error },
        Said::GivenBack => Delivery::GivenBack,
    }
}
