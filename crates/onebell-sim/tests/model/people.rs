//! What people may do, as `store/*/decide.rs` lets them.

use onebell::model::message::{DroppedBy, MessageEvent, MessageStatus};
use onebell::model::run::{RunEvent, RunGoal, RunStatus};
use onebell::model::step::{StepEvent, StepStatus};

use crate::faults::Fault;
use crate::state::{Step, UNDO, bit};
use crate::turn::Turn;

/// One act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    Cancel,
    Retry,
    Step(usize, StepEvent),
    Message(MessageEvent),
}

/// What a person may say of a step, and of a message.
const STEP_WORDS: [StepEvent; 3] = [StepEvent::Budget, StepEvent::ResolveSucceeded, StepEvent::ResolveFailed];
const MESSAGE_WORDS: [MessageEvent; 3] = [MessageEvent::ResolveSent, MessageEvent::Resend, MessageEvent::Drop];

impl Turn<'_> {
    /// All acts; those that are not possible now change nothing.
    pub(crate) fn acts() -> impl Iterator<Item = Act> {
        let steps = (0..2 * UNDO).flat_map(|place| STEP_WORDS.map(|event| Act::Step(place, event)));
        [Act::Cancel, Act::Retry].into_iter().chain(steps).chain(MESSAGE_WORDS.map(Act::Message))
    }

    /// Whether it was possible.
    pub(crate) fn act(&mut self, act: Act) -> bool {
        match act {
            Act::Cancel => self.cancel(),
            Act::Retry => self.retry(),
            Act::Step(place, event) => self.decide_step(place, event),
            Act::Message(event) => self.decide_message(event),
        }
    }

    fn cancel(&mut self) -> bool {
        let Some(to) = self.s.run.status.on(RunEvent::Cancel).filter(|_| self.s.run.goal.is_none()) else { return false };
        (self.s.run.status, self.s.run.goal) = (to, Some(RunGoal::Cancelled));
        self.drop_messages();
        self.advance();
        true
    }

    fn retry(&mut self) -> bool {
        let undoing = self.s.run.goal.is_some();
        match self.s.run.status {
            RunStatus::Parked => {
                (0..self.s.steps.len()).filter(|place| (*place >= UNDO) == undoing).for_each(|place| self.budget(place));
                self.advance();
                true
            }
            RunStatus::Failed if self.s.steps[UNDO..].iter().all(|step| step.status.is_none()) => {
                (0..self.s.steps.len()).for_each(|place| self.budget(place));
                for step in &mut self.s.steps {
                    if step.status == Some(StepStatus::Cancelled) {
                        *step = Step { status: Some(StepStatus::Waiting), tries: 0, ..*step };
                    }
                }
                self.s.seen.spent = [0; 2 * UNDO];
                if let Some(message) = &mut self.s.message {
                    if message.status == MessageStatus::Dropped && message.dropped_by == Some(DroppedBy::Run) {
                        message.revive();
                    }
                    message.run_gone = false;
                    self.redeliver();
                }
                (self.s.run.status, self.s.run.goal) = (RunStatus::Queued, None);
                true
            }
            _ => false,
        }
    }

    /// The step that put the message is done although the message goes out again: it delivers once more, unless another one followed it.
    fn redeliver(&mut self) {
        let open = self.s.message.is_some_and(|message| message.status.is_open());
        let second = self.s.steps[1].status.filter(|status| *status != StepStatus::Waiting);
        let followed = self.ground.scenario.chained && second.is_some();
        if followed && !self.ground.scenario.has(Fault::FollowedDelivers) {
            return;
        }
        let step = &mut self.s.steps[0];
        let to = step.status.and_then(|status| status.on(StepEvent::Redeliver)).filter(|_| open);
        if let Some(to) = to.filter(|_| !self.ground.scenario.has(Fault::RedeliveryForgotten)) {
            step.attempt += 1;
            step.ended |= bit(step.attempt);
            (step.status, step.tries, step.delivers) = (Some(to), 0, true);
        }
    }

    /// A new budget for a step that waits for a person.
    fn budget(&mut self, place: usize) {
        let step = &mut self.s.steps[place];
        if let Some(to) = step.status.and_then(|status| status.on(StepEvent::Budget)) {
            (step.status, step.tries, step.granted) = (Some(to), 0, step.granted);
            self.s.seen.spent[place] = 0;
            self.s.seen.people[place] += 1;
        }
    }

    fn decide_step(&mut self, place: usize, event: StepEvent) -> bool {
        let (run, step) = (self.s.run, self.s.steps[place]);
        let Some(to) = step.status.and_then(|status| status.on(event)) else { return false };
        let failed_early = step.status == Some(StepStatus::Failed) && run.status != RunStatus::Parked;
        let other_half = event != StepEvent::ResolveFailed && (place >= UNDO) != run.goal.is_some();
        if run.status.is_over() || failed_early || other_half {
            return false;
        }
        if event == StepEvent::Budget {
            self.budget(place);
        } else {
            self.close(place, to);
            self.s.seen.people[place] += 1;
        }
        self.advance();
        true
    }

    fn decide_message(&mut self, event: MessageEvent) -> bool {
        let Some(message) = &mut self.s.message else { return false };
        let Some(to) = message.status.on(event) else { return false };
        match event {
            MessageEvent::Resend => self.resend(true),
            _ => {
                message.status = to;
                message.dropped_by = (to == MessageStatus::Dropped).then_some(DroppedBy::Person);
            }
        }
        self.s.seen.decided += 1;
        true
    }
}
