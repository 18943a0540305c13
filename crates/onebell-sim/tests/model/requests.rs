//! What the Supervisor asks for, and what the Scheduler grants or refuses, as `store/*/{supervisor,grant}.rs` do it. Any
//! replica may do either at any moment, with whatever it saw: neither a leader nor a clock is trusted.

use onebell::model::message::{InDoubtPolicy, MessageStatus};
use onebell::model::run::RunStatus;
use onebell::model::step::{Loss, StepStatus};

use crate::faults::Fault;
use crate::state::{Id, bit};
use crate::turn::Turn;

impl Turn<'_> {
    fn is_abandoned(&self, owner: Option<Id>) -> bool {
        owner.is_none_or(|owner| !self.s.is_live(owner))
    }

    /// Asks for a running step that is overdue or abandoned.
    pub(crate) fn ask_step(&mut self, place: usize) -> bool {
        let step = self.s.steps[place];
        let dead = self.is_abandoned(step.owner);
        let late = step.lapsed && !self.has(Fault::LapsedForgotten);
        let known = step.granted || step.asked & bit(step.attempt) != 0;
        if step.status != Some(StepStatus::Running) || known || !(dead || late) {
            return false;
        }
        self.s.steps[place].asked |= bit(step.attempt);
        true
    }

    /// Grants or refuses what was asked of an attempt of a step.
    pub(crate) fn grant_step(&mut self, place: usize, attempt: u8) -> bool {
        let step = self.s.steps[place];
        if step.asked & bit(attempt) == 0 {
            return false;
        }
        self.s.steps[place].asked &= !bit(attempt);
        let blind = self.has(Fault::GrantWithoutLook);
        let loss = if self.is_abandoned(step.owner) {
            Some(Loss::Lost)
        } else if step.lapsed || blind {
            Some(Loss::Overdue)
        } else {
            None
        };
        let Some(loss) = loss.filter(|_| step.status == Some(StepStatus::Running) && (step.attempt == attempt || blind)) else {
            self.met("a request about a step is refused");
            return true;
        };
        self.s.steps[place].granted = true;
        self.recover_step(place, loss);
        self.advance();
        true
    }

    /// Asks for a message on its way that is overdue or abandoned, or in doubt and to be sent again.
    pub(crate) fn ask_message(&mut self) -> bool {
        let Some(message) = self.s.message else { return false };
        let on_its_way = matches!(message.status, MessageStatus::Claimed | MessageStatus::Sending);
        let overdue = on_its_way && (self.is_abandoned(message.owner) || message.lapsed);
        let known = message.granted || message.asked & bit(message.attempt) != 0;
        if known || !(overdue || self.may_go_again()) || self.has(Fault::MessagesForgotten) {
            return false;
        }
        if let Some(message) = &mut self.s.message {
            message.asked |= bit(message.attempt);
        }
        true
    }

    fn may_go_again(&self) -> bool {
        self.s.message.is_some_and(|message| message.status == MessageStatus::InDoubt)
            && self.ground.scenario.message == Some(InDoubtPolicy::Resend)
    }

    /// Grants or refuses what was asked of an attempt of the message.
    pub(crate) fn grant_message(&mut self, attempt: u8) -> bool {
        let Some(before) = self.s.message.filter(|message| message.asked & bit(attempt) != 0) else { return false };
        let granted = if before.attempt != attempt {
            false
        } else if self.may_go_again() {
            self.resend(false);
            true
        } else {
            let on_its_way = matches!(before.status, MessageStatus::Claimed | MessageStatus::Sending);
            on_its_way && (self.is_abandoned(before.owner) || before.lapsed) && self.recover_message()
        };
        if let Some(message) = &mut self.s.message {
            message.asked &= !bit(attempt);
            message.granted |= granted;
        }
        if !granted {
            self.met("a request about a message is refused");
        }
        true
    }

    /// Asks for a replica whose beat is said to have stood still.
    pub(crate) fn ask_replica(&mut self, id: Id) -> bool {
        let life = self.s.life_mut(id);
        if !life.there || life.lost || life.asked_fresh {
            return false;
        }
        life.asked_fresh = true;
        true
    }

    /// Grants or refuses a loss: the beat is compared with the one that was seen. What the replica held is recovered.
    pub(crate) fn grant_replica(&mut self, id: Id, fresh: bool) -> bool {
        let life = self.s.life(id);
        if !(if fresh { life.asked_fresh } else { life.asked_stale }) {
            return false;
        }
        let row = self.s.life_mut(id);
        if fresh {
            row.asked_fresh = false
        } else {
            row.asked_stale = false
        }
        if life.lost || !(fresh || self.has(Fault::GrantWithoutBeat)) {
            self.met("a request about a replica is refused");
            return true;
        }
        self.must("i08", fresh, || format!("{id:?} is lost although its beat went on"));
        self.s.life_mut(id).lost = true;
        self.met("a replica is lost");
        let held = |place: &usize| self.s.steps[*place].owner == Some(id);
        let steps: Vec<usize> = (0..self.s.steps.len()).filter(held).collect();
        for place in &steps {
            self.recover_step(*place, Loss::Lost);
        }
        if !steps.is_empty() {
            self.advance();
        }
        if self.s.message.is_some_and(|message| message.owner == Some(id)) {
            self.recover_message();
        }
        true
    }

    /// Asks for a run in which nothing moves although something should.
    pub(crate) fn ask_run(&mut self) -> bool {
        let run = self.s.run;
        let open = matches!(run.status, RunStatus::Running | RunStatus::Failing | RunStatus::Cancelling | RunStatus::Undoing);
        let moves = |status| matches!(status, Some(StepStatus::Pending | StepStatus::Running | StepStatus::Delivering));
        let stuck = open && !self.s.steps.iter().any(|step| moves(step.status));
        if run.asked || !stuck || self.has(Fault::RunsForgotten) {
            return false;
        }
        self.s.run.asked = true;
        true
    }

    /// Grants or refuses what was asked of the run.
    pub(crate) fn grant_run(&mut self) -> bool {
        if !self.s.run.asked {
            return false;
        }
        let went_on = self.advance() > 0;
        self.met(if went_on { "a run that stood still goes on" } else { "a request about a run is refused" });
        // A refused one is deleted, a granted one may be asked again; only the fault keeps it.
        self.s.run.asked = !went_on && self.has(Fault::RefusedBlocks);
        true
    }
}
