//! What a replica does with what it has in hand, as `roles/{agent,relay}` and `replica/` do it: claims, reads back what
//! it is unsure of, begins, ends, settles until it is answered, opens the gate, writes, tells.

use onebell::model::run::RunStatus;

use crate::faults::Fault;
use crate::outbox::Marked;
use crate::state::{Call, Id, MessageHand, Phase, STEPS, Said, StepHand, Way, Word};
use crate::steps::Settled;
use crate::turn::Turn;

/// One thing that a process does. `cut`: it hears no answer, and the call stays on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Handed {
    ClaimStep { step: usize, start: bool, cut: bool },
    AdoptSteps,
    Start { hand: usize, cut: bool },
    End { hand: usize, word: Word },
    Hang { hand: usize },
    Settle { hand: usize, cut: bool },
    ClaimMessage { cut: bool },
    AdoptMessages,
    Mark { hand: usize, cut: bool },
    Write { hand: usize, arrives: bool, said: Said },
    Tell { hand: usize, cut: bool },
}

impl Turn<'_> {
    pub(crate) fn handed(&mut self, process: usize, what: Handed) -> bool {
        match what {
            Handed::ClaimStep { step, start, cut } => self.take_step(process, step, start, cut),
            Handed::AdoptSteps => self.adopt_steps(process),
            Handed::Start { hand, cut } => self.start(process, hand, cut),
            Handed::End { hand, word } => self.end_work(process, hand, word),
            Handed::Hang { hand } => self.hang(process, hand),
            Handed::Settle { hand, cut } => self.settle(process, hand, cut),
            Handed::ClaimMessage { cut } => self.take_message(process, cut),
            Handed::AdoptMessages => self.adopt_messages(process),
            Handed::Mark { hand, cut } => self.open_gate(process, hand, cut),
            Handed::Write { hand, arrives, said } => self.write(process, hand, arrives, said),
            Handed::Tell { hand, cut } => self.tell(process, hand, cut),
        }
    }

    fn cut(&mut self, call: Call) -> bool {
        let Some(free) = self.s.wire.iter_mut().find(|place| place.is_none()) else { return false };
        *free = Some(call);
        self.s.left.cuts -= 1;
        true
    }

    fn take_step(&mut self, process: usize, place: usize, start: bool, cut: bool) -> bool {
        let (here, id) = (self.s.processes[process], self.s.id(process));
        let full = here.steps.iter().all(Option::is_some);
        if here.unsure_steps || full || !self.is_claimable(place) || !(start || self.ground.scenario.prefetch) {
            return false;
        }
        if cut {
            self.s.processes[process].unsure_steps = true;
            return self.cut(Call::ClaimStep { id, step: small(place), start });
        }
        let Some(attempt) = self.claim_step(id, place, start) else { return false };
        self.receive(process, id, place, attempt, start);
        true
    }

    fn receive(&mut self, process: usize, id: Id, place: usize, attempt: u8, started: bool) {
        let phase = if started { Phase::Working } else { Phase::Prefetched };
        if started {
            self.begins(place, attempt);
        }
        let hand = StepHand { step: small(place), attempt, life: id.life, phase };
        match self.s.processes[process].steps.iter_mut().find(|place| place.is_none()) {
            Some(free) => *free = Some(hand),
            None => self.must("model", false, || "a process has too few hands".to_owned()),
        }
    }

    /// A handler begins to work for an attempt: once.
    fn begins(&mut self, place: usize, attempt: u8) {
        if self.s.steps[place].attempt != attempt {
            return;
        }
        let before = std::mem::replace(&mut self.s.seen.begun[place], true);
        self.must("i02", !before, || format!("attempt {attempt} of step {place} was begun twice"));
    }

    /// The answer to a claim was lost: what is held and not known is taken up.
    fn adopt_steps(&mut self, process: usize) -> bool {
        let (id, known) = (self.s.id(process), !self.has(Fault::AdoptsKnown));
        if !std::mem::take(&mut self.s.processes[process].unsure_steps) {
            return false;
        }
        for place in 0..STEPS {
            let step = self.s.steps[place];
            let has = |hand: &StepHand| usize::from(hand.step) == place && hand.attempt == step.attempt && hand.life == id.life;
            let in_hand = self.s.processes[process].steps.iter().flatten().any(has);
            let free = self.s.processes[process].steps.iter().any(Option::is_none);
            if step.owner == Some(id) && free && !(in_hand && known) {
                self.met("a claim whose answer was lost is taken up");
                self.receive(process, id, place, step.attempt, step.started);
            }
        }
        true
    }

    fn step_hand(&self, process: usize, hand: usize) -> Option<(StepHand, Id)> {
        let hand = self.s.processes[process].steps[hand]?;
        Some((hand, Id { life: hand.life, ..self.s.id(process) }))
    }

    fn put_step(&mut self, process: usize, hand: usize, phase: Option<Phase>) -> bool {
        let place = &mut self.s.processes[process].steps[hand];
        *place = place.zip(phase).map(|(hand, phase)| StepHand { phase, ..hand });
        true
    }

    fn start(&mut self, process: usize, hand: usize, cut: bool) -> bool {
        let Some((held, id)) = self.step_hand(process, hand).filter(|(held, _)| held.phase == Phase::Prefetched) else {
            return false;
        };
        if cut {
            return self.cut(Call::StartStep { id, step: held.step, attempt: held.attempt });
        }
        let place = usize::from(held.step);
        let began = self.start_step(id, place, held.attempt);
        if began {
            self.begins(place, held.attempt);
        }
        self.put_step(process, hand, began.then_some(Phase::Working))
    }

    fn end_work(&mut self, process: usize, hand: usize, word: Word) -> bool {
        let Some((held, _)) = self.step_hand(process, hand) else { return false };
        let left = &mut self.s.left;
        let paid = match (held.phase, word) {
            (Phase::Prefetched, Word::GivenBack) | (Phase::Working, Word::Stopped) => spend(&mut left.stops),
            (Phase::Working, Word::Retry | Word::Failed) => spend(&mut left.failures),
            (Phase::Working, Word::Cancelled) => self.s.run.status == RunStatus::Cancelling,
            // What hangs is ended by its own agent's clock, some time.
            (Phase::Working, Word::Succeeded) | (Phase::Hung, Word::Retry) => true,
            _ => false,
        };
        if !paid {
            return false;
        }
        self.put_step(process, hand, Some(Phase::Ended(word)))
    }

    fn hang(&mut self, process: usize, hand: usize) -> bool {
        if self.step_hand(process, hand).is_none_or(|(held, _)| held.phase != Phase::Working) {
            return false;
        }
        spend(&mut self.s.left.failures) && self.put_step(process, hand, Some(Phase::Hung))
    }

    fn settle(&mut self, process: usize, hand: usize, cut: bool) -> bool {
        let Some((held, id)) = self.step_hand(process, hand) else { return false };
        let Phase::Ended(word) = held.phase else { return false };
        if cut {
            return self.cut(Call::SettleStep { id, step: held.step, attempt: held.attempt, word });
        }
        match self.settle_step(id, usize::from(held.step), held.attempt, word) {
            Settled::Applied => {}
            Settled::Already => self.met("a settlement whose answer was lost is called Already"),
            Settled::Superseded => self.met("a late settlement is superseded"),
        }
        self.put_step(process, hand, None)
    }

    fn take_message(&mut self, process: usize, cut: bool) -> bool {
        let (here, id) = (self.s.processes[process], self.s.id(process));
        if here.unsure_messages || here.messages.iter().all(Option::is_some) {
            return false;
        }
        if cut {
            if self.s.message.is_none_or(|message| message.status != onebell::model::message::MessageStatus::Ready) {
                return false;
            }
            self.s.processes[process].unsure_messages = true;
            return self.cut(Call::ClaimMessage { id });
        }
        let Some(attempt) = self.claim_message(id) else { return false };
        self.carry(process, id, attempt);
        true
    }

    fn carry(&mut self, process: usize, id: Id, attempt: u8) {
        let hand = MessageHand { attempt, life: id.life, way: Way::Preparing };
        if let Some(free) = self.s.processes[process].messages.iter_mut().find(|place| place.is_none()) {
            *free = Some(hand);
        }
    }

    fn adopt_messages(&mut self, process: usize) -> bool {
        let (id, known) = (self.s.id(process), !self.has(Fault::AdoptsKnown));
        if !std::mem::take(&mut self.s.processes[process].unsure_messages) {
            return false;
        }
        let claimed = |message: &crate::state::Message| {
            message.owner == Some(id) && message.status == onebell::model::message::MessageStatus::Claimed
        };
        if let Some(message) = self.s.message.filter(claimed) {
            let has = |hand: &MessageHand| hand.attempt == message.attempt && hand.life == id.life;
            let in_hand = self.s.processes[process].messages.iter().flatten().any(has);
            if !(in_hand && known) {
                self.carry(process, id, message.attempt);
            }
        }
        true
    }

    fn message_hand(&self, process: usize, hand: usize) -> Option<(MessageHand, Id)> {
        let hand = self.s.processes[process].messages[hand]?;
        Some((hand, Id { life: hand.life, ..self.s.id(process) }))
    }

    fn put_message(&mut self, process: usize, hand: usize, way: Option<Way>) -> bool {
        let place = &mut self.s.processes[process].messages[hand];
        *place = place.zip(way).map(|(hand, way)| MessageHand { way, ..hand });
        true
    }

    /// `Gate::open`: it asks until it is answered, or gives up and says that nothing went out.
    fn open_gate(&mut self, process: usize, hand: usize, cut: bool) -> bool {
        let Some((held, id)) = self.message_hand(process, hand).filter(|(held, _)| held.way == Way::Preparing) else {
            return false;
        };
        if cut {
            return self.cut(Call::Mark { id, attempt: held.attempt });
        }
        let way = match self.mark(id, held.attempt) {
            Marked::Go => Way::Open,
            Marked::Dropped | Marked::Superseded => Way::Ended(Said::GivenBack),
        };
        self.put_message(process, hand, Some(way))
    }

    /// The content goes out, or does not; or the preparations fail.
    fn write(&mut self, process: usize, hand: usize, arrives: bool, said: Said) -> bool {
        let Some((held, _)) = self.message_hand(process, hand) else { return false };
        let possible = match held.way {
            Way::Open => true,
            // Nothing can have gone out, so that nothing is unknown.
            Way::Preparing => !arrives && said != Said::Unknown,
            Way::Ended(_) => false,
        };
        if !possible {
            return false;
        }
        let paid = match said {
            Said::Accepted => true,
            Said::GivenBack => spend(&mut self.s.left.stops),
            Said::Deferred | Said::Rejected | Said::Unknown => spend(&mut self.s.left.failures),
        };
        if !paid {
            return false;
        }
        if arrives {
            self.arrives(held.attempt);
        }
        self.put_message(process, hand, Some(Way::Ended(said)))
    }

    /// Settles what became of a message.
    fn tell(&mut self, process: usize, hand: usize, cut: bool) -> bool {
        let Some((held, id)) = self.message_hand(process, hand) else { return false };
        let Way::Ended(said) = held.way else { return false };
        if cut {
            return self.cut(Call::SettleMessage { id, attempt: held.attempt, said });
        }
        self.settle_message(id, held.attempt, said);
        self.put_message(process, hand, None)
    }

    /// All work is abandoned: what has begun is ended and settled under the old id, what has not is let go.
    pub(crate) fn abandon(&mut self, process: usize) {
        for hand in self.s.processes[process].steps.iter_mut() {
            *hand = match *hand {
                Some(held) if matches!(held.phase, Phase::Working | Phase::Hung) => {
                    Some(StepHand { phase: Phase::Ended(Word::Stopped), ..held })
                }
                Some(held) if held.phase == Phase::Prefetched => None,
                other => other,
            };
        }
    }
}

fn spend(left: &mut u8) -> bool {
    let some = *left > 0;
    *left -= u8::from(some);
    some
}

fn small(place: usize) -> u8 {
    u8::try_from(place).unwrap_or(u8::MAX)
}
