//! The store's transactions on steps, as `store/*/{agent,settle,run_graph}.rs` make them: the fence first, the model's
//! decision, what it brings, and what follows for the run. Each is atomic here because it is one transaction there.

use onebell::model::message::{DroppedBy, MessageStatus};
use onebell::model::run::RunStatus;
use onebell::model::step::{Loss, StepStatus};

use crate::decide::{Follows, StepEnd};
use crate::faults::Fault;
use crate::state::{Id, Message, Step, UNDO, Word, bit};
use crate::turn::Turn;

/// What a settlement is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    Applied,
    Already,
    Superseded,
}

impl Turn<'_> {
    fn cancelling(&self) -> bool {
        self.s.run.status == RunStatus::Cancelling
    }

    /// Whether a step may be claimed now.
    pub(crate) fn is_claimable(&self, place: usize) -> bool {
        let status = self.s.steps[place].status;
        let pending = status == Some(StepStatus::Pending);
        let running = status == Some(StepStatus::Running) && self.has(Fault::ClaimsRunning);
        (pending || running) && matches!(self.s.run.status, RunStatus::Running | RunStatus::Undoing)
    }

    /// `claim_steps`, of one step: the attempt that was given.
    pub(crate) fn claim_step(&mut self, id: Id, place: usize, start: bool) -> Option<u8> {
        if !(self.s.is_live(id) || self.has(Fault::LostMayClaim)) || !self.is_claimable(place) {
            return None;
        }
        let (live, owner) = (self.s.is_live(id), self.s.seen.owner[place]);
        self.must("i02", live, || format!("{id:?} is lost and was given step {place}"));
        let follows = place == 1 && self.ground.scenario.chained;
        let early = follows && self.s.steps[0].status != Some(StepStatus::Succeeded);
        self.must("i02", !early, || "a step was claimed before the one that it waits for had succeeded".to_owned());
        self.must("i02", owner.is_none(), || format!("step {place} was given to {id:?} and is {owner:?}'s"));
        let stays = self.has(Fault::AttemptStays);
        let tries = u8::from(!self.has(Fault::TryNotCounted));
        let step = &mut self.s.steps[place];
        let before = step.attempt;
        step.attempt = if stays { before.max(1) } else { before + 1 };
        *step = Step {
            status: Some(StepStatus::Running),
            tries: step.tries + tries,
            owner: Some(id),
            started: start,
            lapsed: false,
            delivers: false,
            granted: false,
            ..*step
        };
        let attempt = step.attempt;
        let seen = &mut self.s.seen;
        seen.begun[place] &= attempt == before;
        seen.owner[place] = Some((id, attempt));
        seen.spent[place] += 1;
        let (spent, budget) = (seen.spent[place], self.ground.scenario.tries);
        self.must("i10", u32::from(spent) <= budget, || format!("step {place} begins try {spent} of {budget}"));
        Some(attempt)
    }

    fn holds(&self, id: Id, place: usize, attempt: u8) -> bool {
        let step = &self.s.steps[place];
        let (owner, same) = (step.owner == Some(id), step.attempt == attempt);
        let owner = owner || self.has(Fault::NoFence);
        let same = same || self.has(Fault::NoFence) || self.has(Fault::FenceWithoutAttempt);
        step.status == Some(StepStatus::Running) && owner && same
    }

    /// `start_steps`: whether the claim holds and has not lapsed.
    pub(crate) fn start_step(&mut self, id: Id, place: usize, attempt: u8) -> bool {
        let holds = self.holds(id, place, attempt);
        let step = &mut self.s.steps[place];
        let held = holds && (step.started || !step.lapsed);
        step.started |= held;
        held
    }

    /// `settle_steps`, of one settlement.
    pub(crate) fn settle_step(&mut self, id: Id, place: usize, attempt: u8, word: Word) -> Settled {
        if !self.holds(id, place, attempt) {
            if word == Word::Succeeded && self.has(Fault::EffectsOutside) {
                self.bring(place);
            }
            return self.read_back(place, attempt);
        }
        let owner = self.s.seen.owner[place];
        self.must("i03", owner == Some((id, attempt)), || {
            format!("attempt {attempt} of {id:?} settled step {place}, which is {owner:?}'s")
        });
        let delivers = word == Word::Succeeded && self.bring(place);
        let ending = self.ground.decide.settle(&self.s.steps[place], place >= UNDO, self.cancelling(), word, delivers);
        self.end(place, ending);
        self.s.seen.settled[place] |= bit(attempt);
        if !self.has(Fault::SettleForgetsRun) {
            self.advance();
        }
        Settled::Applied
    }

    /// The claim does not hold the step: whether this very attempt was settled by its own word before.
    fn read_back(&mut self, place: usize, attempt: u8) -> Settled {
        let step = &self.s.steps[place];
        let rows = if self.has(Fault::ReadBackTrustsAll) { step.ended } else { step.settled };
        if rows & bit(attempt) == 0 {
            return Settled::Superseded;
        }
        let settled = self.s.seen.settled[place] & bit(attempt) != 0;
        self.must("i03", settled, || format!("attempt {attempt} of step {place} was called done and never was"));
        Settled::Already
    }

    /// Writes the end of a running attempt, and its history.
    fn end(&mut self, place: usize, ending: StepEnd) {
        let step = &mut self.s.steps[place];
        let settlement = if ending.outcome.is_settlement() { bit(step.attempt) } else { 0 };
        self.s.seen.spent[place] -= u8::from(ending.tries < step.tries).min(self.s.seen.spent[place]);
        *step = Step {
            status: Some(ending.to),
            tries: ending.tries,
            owner: None,
            started: false,
            lapsed: false,
            delivered: step.delivered || ending.outcome == onebell::model::step::AttemptOutcome::Delivering,
            delivers: ending.outcome == onebell::model::step::AttemptOutcome::Delivering,
            ended: step.ended | bit(step.attempt),
            settled: step.settled | settlement,
            ..*step
        };
        self.s.seen.owner[place] = None;
    }

    /// What commits together with a success: a row of its own, one in the ledger, a message. Whether the step waits for it.
    fn bring(&mut self, place: usize) -> bool {
        let twice = self.has(Fault::LedgerWithoutKey);
        let seen = &mut self.s.seen;
        seen.rows[place] += 1;
        seen.ledger[place] += u8::from(seen.ledger[place] == 0 || twice);
        let (rows, ledger, allowed) = (seen.rows[place], seen.ledger[place], 1 + seen.people[place]);
        self.must("i04", rows <= allowed, || format!("step {place} committed its work {rows} times"));
        self.must("i05", ledger <= 1, || format!("{ledger} effects stand under the key of step {place}"));
        if place != 0 || self.ground.scenario.message.is_none() {
            return false;
        }
        let Some(message) = &mut self.s.message else {
            self.s.message = Some(Message::put());
            return true;
        };
        match (message.status, message.dropped_by) {
            (MessageStatus::Dropped, Some(DroppedBy::Run)) => {
                message.revive();
                true
            }
            (MessageStatus::Claimed, _) if message.run_gone => {
                message.run_gone = false;
                true
            }
            (status, _) => status.is_undecided(),
        }
    }

    /// How an attempt ends that is taken from its owner.
    pub(crate) fn recover_step(&mut self, place: usize, loss: Loss) {
        let step = self.s.steps[place];
        let healthy = step.owner.is_some_and(|owner| self.s.is_live(owner)) && !step.lapsed;
        self.must("i08", !healthy, || format!("step {place} was taken from {:?}, which lives and is in time", step.owner));
        let ending = self.ground.decide.recover(&step, place >= UNDO, self.cancelling(), loss);
        self.end(place, ending);
    }

    /// `advance_run`: everything that follows inside the run. How much there was.
    pub(crate) fn advance(&mut self) -> usize {
        if matches!(self.s.run.status, RunStatus::Failing | RunStatus::Cancelling) {
            self.drop_messages();
        }
        let follows = self.ground.decide.advance(&self.s.run, &self.s.steps);
        for change in &follows {
            match *change {
                Follows::Step(place, to) => self.follow(place, to),
                Follows::Run(to) => self.s.run.status = to,
                Follows::Goal(goal) => {
                    self.s.run.goal = Some(goal);
                    self.drop_messages();
                }
                Follows::OpenUndo(_) if self.has(Fault::UndoForgotten) => {}
                Follows::OpenUndo(opened) => {
                    for place in (0..UNDO).filter(|place| opened[*place]) {
                        let rows = self.s.seen.rows[place] + self.s.seen.people[place];
                        self.must("i14", rows > 0, || format!("step {place} is undone and had committed nothing"));
                        self.s.steps[UNDO + place].status = Some(StepStatus::Waiting);
                    }
                }
            }
        }
        follows.len()
    }

    fn follow(&mut self, place: usize, to: StepStatus) {
        let step = &mut self.s.steps[place];
        if to == StepStatus::Cancelled {
            // An end without an owner takes the next attempt number, so that the history's key is free.
            step.attempt += 1;
            step.ended |= bit(step.attempt);
            (step.granted, step.delivers) = (false, false);
        }
        if step.status.is_some() {
            step.status = Some(to);
        }
    }

    /// Messages of a run that fails or is cancelled, and that never were on their way, are dropped, now or later.
    pub(crate) fn drop_messages(&mut self) {
        let (kept, unmarked) = (self.has(Fault::MessagesKept), self.has(Fault::RunGoneForgotten));
        let Some(message) = self.s.message.as_mut().filter(|message| !message.was_sending) else { return };
        match message.status {
            MessageStatus::Ready if !kept => {
                message.status = MessageStatus::Dropped;
                message.dropped_by = Some(DroppedBy::Run);
            }
            MessageStatus::Claimed if !unmarked => message.run_gone = true,
            _ => {}
        }
    }

    /// `close_deliveries`: whether a step moved.
    pub(crate) fn close_deliveries(&mut self) -> bool {
        let Some(message) = self.s.message else { return false };
        let step = self.s.steps[0];
        let in_doubt = message.status == MessageStatus::InDoubt;
        let resends = self.ground.scenario.message == Some(onebell::model::message::InDoubtPolicy::Resend);
        let decided = !message.status.is_open() && !(in_doubt && (resends || step.status == Some(StepStatus::Held)));
        let waits = step.status == Some(StepStatus::Delivering) || (step.status == Some(StepStatus::Held) && step.delivers);
        if !waits || !(decided || self.has(Fault::ClosedEarly)) {
            return false;
        }
        if in_doubt {
            self.s.steps[0].status = Some(StepStatus::Held);
        } else {
            let fails = self.ground.scenario.on_message_failed == onebell::model::job::OnMessageFailed::Fail;
            let failed = message.status == MessageStatus::Failed && fails;
            self.close(0, if failed { StepStatus::Failed } else { StepStatus::Succeeded });
        }
        self.advance();
        true
    }

    /// Ends a step that has no owner: it takes the next attempt number.
    pub(crate) fn close(&mut self, place: usize, to: StepStatus) {
        let step = &mut self.s.steps[place];
        step.attempt += 1;
        step.ended |= bit(step.attempt);
        step.granted = false;
        step.delivers = false;
        step.status = Some(to);
    }

    /// `admit_runs`: whether the run begins.
    pub(crate) fn admit(&mut self) -> bool {
        if self.s.run.status != RunStatus::Queued {
            return false;
        }
        self.s.run.status = RunStatus::Running;
        self.advance();
        true
    }
}
