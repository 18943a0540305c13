//! Faults stop, nobody decides anything, and everybody goes on in turn: every state must come to rest by itself, as
//! settled or as parked with a reason. What cannot is a dead end.

use onebell::model::message::{InDoubtPolicy, MessageStatus};
use onebell::model::run::RunStatus;
use onebell::model::step::StepStatus;

use crate::hands::Handed;
use crate::mark::{Rested, mark};
use crate::scenario::Budget;
use crate::state::{ATTEMPT_MAX, Id, LIVES, PROCESSES, Phase, STEPS, Said, State, Way, Word};
use crate::turn::{Broken, Ground, Turn};

/// Rounds that everything may take.
const ROUNDS_MAX: usize = 40;
/// Rounds after which a claim that nobody works on has lapsed.
const PATIENCE: usize = 3;

/// Lets a state come to rest. Calls on the wire are never executed. `rested`: states that are known to, by their mark
/// and the round.
pub(crate) fn come_to_rest<'a>(ground: &'a Ground<'a>, state: &State, rested: &mut Rested) -> Result<(), Broken> {
    let mut turn = ground.turn(state);
    turn.s.left = Budget { lapses: u8::MAX, failures: u8::MAX, ..Budget::default() };
    turn.s.wire = [None; 2];
    let mut way = Vec::new();
    for round in 0..ROUNDS_MAX {
        // Rounds after the last one that makes a difference are alike.
        let here = mark(&turn.s) ^ round.min(PATIENCE + 2) as u64;
        way.push(here);
        if rested.contains(&here) || is_at_rest(ground, &turn.s) {
            rested.extend(way);
            return Ok(());
        }
        turn.round(round);
        turn.s.forget();
        if let Some(broken) = turn.broken {
            return Err(broken);
        }
    }
    let (run, message) = (turn.s.run, turn.s.message.map(|message| message.status));
    let steps = turn.s.steps.map(|step| step.status);
    Err(("i12", format!("no rest: run {run:?}, steps {steps:?}, message {message:?}")))
}

fn is_at_rest(ground: &Ground<'_>, state: &State) -> bool {
    let idle = |process: &crate::state::Process| {
        process.steps.iter().all(Option::is_none) && process.messages.iter().all(Option::is_none)
    };
    let asked = state.replicas.iter().flatten().any(|life| life.asked_fresh || life.asked_stale)
        || state.steps.iter().any(|step| step.asked != 0)
        || state.message.is_some_and(|message| message.asked != 0)
        || state.run.asked;
    // Who was found lost has heard of it, and who is dead was found lost.
    let unheard = (0..PROCESSES).any(|process| state.life(state.id(process)).lost);
    let dead = (0..PROCESSES).any(|process| {
        (0..state.processes[process].life).any(|life| {
            let row = state.replicas[process][usize::from(life)];
            row.there && !row.lost
        })
    });
    let reason = |step: &crate::state::Step| {
        matches!(step.status, Some(StepStatus::Exhausted | StepStatus::Held))
            || (state.run.goal.is_some() && step.status == Some(StepStatus::Failed))
    };
    let over = state.run.status.is_over() || (state.run.status == RunStatus::Parked && state.steps.iter().any(reason));
    let decided = state.message.is_none_or(|message| {
        let hold = ground.scenario.message == Some(InDoubtPolicy::Hold);
        !message.status.is_open() && (message.status != MessageStatus::InDoubt || hold)
    });
    state.processes.iter().all(idle) && !asked && !unheard && !dead && over && decided
}

impl Turn<'_> {
    fn round(&mut self, round: usize) {
        for process in 0..PROCESSES {
            self.renew(process);
            self.handed(process, Handed::AdoptSteps);
            self.handed(process, Handed::AdoptMessages);
            (0..2).for_each(|hand| self.go_on(process, hand, round));
        }
        if round >= PATIENCE {
            self.time_passes();
        }
        self.supervise();
        self.schedule();
        for process in 0..PROCESSES {
            for step in 0..STEPS {
                self.handed(process, Handed::ClaimStep { step, start: true, cut: false });
            }
            self.handed(process, Handed::ClaimMessage { cut: false });
        }
    }

    fn go_on(&mut self, process: usize, hand: usize, round: usize) {
        self.handed(process, Handed::Start { hand, cut: false });
        if let Some(held) = self.s.processes[process].steps[hand] {
            // What hangs, hangs until its time is over.
            let word = if held.phase == Phase::Hung { Word::Retry } else { Word::Succeeded };
            if held.phase != Phase::Hung || round > PATIENCE {
                self.handed(process, Handed::End { hand, word });
            }
        }
        self.handed(process, Handed::Settle { hand, cut: false });
        self.handed(process, Handed::Mark { hand, cut: false });
        if self.s.processes[process].messages[hand].is_some_and(|held| held.way == Way::Open) {
            self.handed(process, Handed::Write { hand, arrives: true, said: Said::Accepted });
        }
        self.handed(process, Handed::Tell { hand, cut: false });
    }

    /// Claims that nobody works on lapse.
    fn time_passes(&mut self) {
        for place in 0..STEPS {
            let step = self.s.steps[place];
            if step.owner.is_some_and(|owner| !self.works(owner, place, step.attempt)) {
                self.s.steps[place].lapsed = true;
            }
        }
        if let Some(message) = &mut self.s.message {
            let claimed = matches!(message.status, MessageStatus::Claimed | MessageStatus::Sending);
            message.lapsed |= claimed;
        }
    }

    fn works(&self, owner: Id, place: usize, attempt: u8) -> bool {
        self.s.processes[usize::from(owner.process)].steps.iter().flatten().any(|hand| {
            let same = usize::from(hand.step) == place && hand.attempt == attempt && hand.life == owner.life;
            same && hand.phase != Phase::Hung
        })
    }

    fn supervise(&mut self) {
        for process in 0..PROCESSES {
            for life in 0..self.s.processes[process].life.min(u8::try_from(LIVES).unwrap_or(u8::MAX)) {
                self.ask_replica(Id { process: u8::try_from(process).unwrap_or(0), life });
            }
        }
        for place in 0..STEPS {
            self.ask_step(place);
        }
        self.ask_message();
        self.ask_run();
    }

    fn schedule(&mut self) {
        for process in 0..PROCESSES {
            for life in 0..LIVES {
                let id = Id { process: u8::try_from(process).unwrap_or(0), life: u8::try_from(life).unwrap_or(0) };
                for fresh in [false, true] {
                    self.grant_replica(id, fresh);
                }
            }
        }
        for place in 0..STEPS {
            for attempt in 0..=ATTEMPT_MAX {
                self.grant_step(place, attempt);
            }
        }
        for attempt in 0..=ATTEMPT_MAX {
            self.grant_message(attempt);
        }
        self.grant_run();
        self.close_deliveries();
        self.admit();
    }
}
