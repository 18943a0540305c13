//! What can make no difference any longer is forgotten, so that states with the same future are one state.

use crate::state::{Call, Id, LIVES, Life, PROCESSES, State, bit};

impl State {
    /// Keeps of the past only what somebody may still ask about.
    pub(crate) fn forget(&mut self) {
        for place in 0..self.steps.len() {
            let kept = self.asked_about(place);
            self.steps[place].ended &= kept;
            self.steps[place].settled &= kept;
            self.seen.settled[place] &= kept;
        }
        self.seen.marked &= self.on_their_way();
        self.forget_ids();
        // A call of the wire is told apart by what it is, not by its place.
        if self.wire[0].is_none() {
            self.wire.swap(0, 1);
        }
        for process in &mut self.processes {
            if process.steps[0].is_none() {
                process.steps.swap(0, 1);
            }
            if process.messages[0].is_none() {
                process.messages.swap(0, 1);
            }
        }
    }

    /// An id that its process has no more, that holds nothing and of which nobody speaks, can make no difference: it is
    /// forgotten, and the process counts its lives anew.
    fn forget_ids(&mut self) {
        if let Some(message) = &mut self.message
            && let Some(by) = message.settled_by
            && !self.processes[usize::from(by.process)].messages.iter().flatten().any(|hand| hand.life == by.life)
            && !self.wire.iter().flatten().any(|call| call.id() == by)
        {
            message.settled_by = None;
        }
        for process in 0..PROCESSES {
            for life in (0..self.processes[process].life).rev() {
                if !self.is_spoken_of(process, life) {
                    self.shift(process, life);
                }
            }
        }
    }

    fn is_spoken_of(&self, process: usize, life: u8) -> bool {
        let is = |id: Id| usize::from(id.process) == process && id.life == life;
        let here = &self.processes[process];
        self.steps.iter().any(|step| step.owner.is_some_and(is))
            || self.message.is_some_and(|message| message.owner.is_some_and(is) || message.settled_by.is_some_and(is))
            || here.steps.iter().flatten().any(|hand| hand.life == life)
            || here.messages.iter().flatten().any(|hand| hand.life == life)
            || self.wire.iter().flatten().any(|call| is(call.id()))
    }

    /// Takes one life out.
    fn shift(&mut self, process: usize, life: u8) {
        let down = |other: &mut u8| *other -= u8::from(*other > life);
        let of_process = |id: &mut Id| {
            if usize::from(id.process) == process {
                down(&mut id.life);
            }
        };
        self.replicas[process][usize::from(life)..].rotate_left(1);
        self.replicas[process][LIVES - 1] = Life::default();
        let here = &mut self.processes[process];
        down(&mut here.life);
        here.steps.iter_mut().flatten().for_each(|hand| down(&mut hand.life));
        here.messages.iter_mut().flatten().for_each(|hand| down(&mut hand.life));
        self.steps.iter_mut().filter_map(|step| step.owner.as_mut()).for_each(of_process);
        self.seen.owner.iter_mut().flatten().for_each(|(id, _)| of_process(id));
        if let Some(message) = &mut self.message {
            message.owner.iter_mut().chain(message.settled_by.iter_mut()).for_each(of_process);
        }
        self.wire.iter_mut().flatten().for_each(|call| of_process(call.id_mut()));
    }

    /// Attempts of a step that a hand or a call on the wire still speaks of.
    fn asked_about(&self, place: usize) -> u16 {
        let hands = self.processes.iter().flat_map(|process| process.steps.iter().flatten());
        let hands = hands.filter(|hand| usize::from(hand.step) == place).map(|hand| hand.attempt);
        let calls = self.wire.iter().flatten().filter_map(|call| match call {
            Call::SettleStep { step, attempt, .. } if usize::from(*step) == place => Some(*attempt),
            _ => None,
        });
        hands.chain(calls).fold(0, |kept, attempt| kept | bit(attempt))
    }

    fn on_their_way(&self) -> u16 {
        let hands = self.processes.iter().flat_map(|process| process.messages.iter().flatten());
        let calls = self.wire.iter().flatten().filter_map(|call| match call {
            Call::Mark { attempt, .. } => Some(*attempt),
            _ => None,
        });
        hands.map(|hand| hand.attempt).chain(calls).fold(0, |kept, attempt| kept | bit(attempt))
    }
}
