//! Who may do what next, and what comes of it: everything that a replica, chance or a person can do in one go.

use onebell::model::message::MessageStatus;
use onebell::model::run::RunStatus;
use onebell::model::step::StepStatus;

use crate::faults::Fault;
use crate::hands::Handed;
use crate::people::Act;
use crate::scenario::Budget;
use crate::state::{ATTEMPT_MAX, Call, Id, LIVES, PROCESSES, Phase, STEPS, Said, State, Way, Word, bit};
use crate::turn::{Broken, Ground, Turn};

/// One move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Move {
    /// A process renews its beat, or hears that it was found lost.
    Renew(usize),
    /// It ends at once, and another one begins in its place.
    Crash(usize),
    /// What it has in hand goes on.
    Hand(usize, Handed),
    /// A call that nobody waits for is executed.
    Wire(usize),
    /// The Supervisor asks.
    AskStep(usize),
    AskMessage,
    AskRun,
    AskReplica(Id),
    /// The Scheduler grants or refuses.
    GrantStep(usize, u8),
    GrantMessage(u8),
    GrantRun,
    GrantReplica(Id, bool),
    /// The Scheduler admits the run, and closes steps whose messages are decided.
    Admit,
    Close,
    /// A claim's time is over.
    LapseStep(usize),
    LapseMessage,
    /// A person.
    Person(Act),
}

/// How a handler may end, and what a relay may say of content that did not arrive.
const WORDS: [Word; 6] = [Word::Succeeded, Word::Retry, Word::Failed, Word::GivenBack, Word::Stopped, Word::Cancelled];
const NOT_YES: [Said; 4] = [Said::Deferred, Said::Rejected, Said::Unknown, Said::GivenBack];

/// All moves that may be possible in a state. Those that are not change nothing.
pub(crate) fn moves(state: &State, all: &mut Vec<Move>) {
    all.clear();
    let may = |left: fn(&Budget) -> u8| left(&state.left) > 0;
    for process in 0..PROCESSES {
        of_process(state, process, all);
    }
    all.extend((0..state.wire.len()).filter(|place| state.wire[*place].is_some()).map(Move::Wire));
    for (place, step) in state.steps.iter().enumerate() {
        if step.status == Some(StepStatus::Running) {
            all.push(Move::AskStep(place));
            if !step.lapsed && may(|left| left.lapses) {
                all.push(Move::LapseStep(place));
            }
        }
        all.extend(attempts(step.asked).map(|attempt| Move::GrantStep(place, attempt)));
    }
    if let Some(message) = &state.message {
        all.extend([Move::AskMessage, Move::Close]);
        let on_its_way = matches!(message.status, MessageStatus::Claimed | MessageStatus::Sending);
        if on_its_way && !message.lapsed && may(|left| left.lapses) {
            all.push(Move::LapseMessage);
        }
        all.extend(attempts(message.asked).map(Move::GrantMessage));
    }
    match state.run.status {
        RunStatus::Queued => all.push(Move::Admit),
        _ => all.extend([Move::AskRun, Move::GrantRun]),
    }
    if may(|left| left.people) {
        all.extend(Turn::acts().map(Move::Person));
    }
}

fn of_process(state: &State, process: usize, all: &mut Vec<Move>) {
    let may = |left: fn(&Budget) -> u8| left(&state.left) > 0;
    let this = state.id(process);
    // That one ends or is judged who holds nothing and whom nothing is on the way to, changes nothing for anybody.
    let busy = state.is_busy(process);
    if busy && may(|left| left.crashes) {
        all.push(Move::Crash(process));
    }
    let row = state.life(this);
    if row.lost || row.asked_fresh {
        all.push(Move::Renew(process));
    }
    for life in 0..=this.life {
        let id = Id { life, ..this };
        let row = state.life(id);
        // Of a live one it takes somebody's wrong judgement; of a dead one only time.
        if row.there && !row.lost && (id != this || (busy && may(|left| left.judgements))) {
            all.push(Move::AskReplica(id));
        }
        all.extend(
            [true, false]
                .iter()
                .filter(|fresh| if **fresh { row.asked_fresh } else { row.asked_stale })
                .map(|fresh| Move::GrantReplica(id, *fresh)),
        );
    }
    let cuts: &[bool] = if may(|left| left.cuts) && state.wire.iter().any(Option::is_none) { &[false, true] } else { &[false] };
    let here = &state.processes[process];
    let mut handed = |one| all.push(Move::Hand(process, one));
    if here.unsure_steps {
        handed(Handed::AdoptSteps);
    }
    if here.unsure_messages {
        handed(Handed::AdoptMessages);
    }
    for cut in cuts.iter().copied() {
        for step in (0..STEPS).filter(|step| matches!(state.steps[*step].status, Some(StepStatus::Pending | StepStatus::Running)))
        {
            [true, false].into_iter().for_each(|start| handed(Handed::ClaimStep { step, start, cut }));
        }
        if state.message.is_some() {
            handed(Handed::ClaimMessage { cut });
        }
        for hand in (0..2).filter(|hand| here.steps[*hand].is_some()) {
            [Handed::Start { hand, cut }, Handed::Settle { hand, cut }].into_iter().for_each(&mut handed);
        }
        for hand in (0..2).filter(|hand| here.messages[*hand].is_some()) {
            [Handed::Mark { hand, cut }, Handed::Tell { hand, cut }].into_iter().for_each(&mut handed);
        }
    }
    for hand in 0..2 {
        if here.steps[hand].is_some_and(|held| !matches!(held.phase, Phase::Ended(_))) {
            WORDS.into_iter().for_each(|word| handed(Handed::End { hand, word }));
            handed(Handed::Hang { hand });
        }
        if here.messages[hand].is_some_and(|held| !matches!(held.way, Way::Ended(_))) {
            [Said::Accepted, Said::Unknown].into_iter().for_each(|said| handed(Handed::Write { hand, arrives: true, said }));
            NOT_YES.into_iter().for_each(|said| handed(Handed::Write { hand, arrives: false, said }));
        }
    }
}

fn attempts(asked: u16) -> impl Iterator<Item = u8> {
    (0..=ATTEMPT_MAX).filter(move |attempt| asked & bit(*attempt) != 0)
}

/// The state that a move leads to; none if it changes nothing.
pub(crate) fn apply<'a>(ground: &'a Ground<'a>, state: &State, what: Move) -> Result<Option<State>, Broken> {
    let mut turn = ground.turn(state);
    let done = turn.make(what);
    if let Some(broken) = turn.broken {
        return Err(broken);
    }
    turn.s.forget();
    Ok((done && turn.s != *state).then_some(turn.s))
}

impl Turn<'_> {
    pub(crate) fn make(&mut self, what: Move) -> bool {
        match what {
            Move::Renew(process) => self.renew(process),
            Move::Crash(process) => self.crash(process),
            Move::Hand(process, handed) => self.handed(process, handed),
            Move::Wire(place) => self.s.wire[place].take().is_some_and(|call| self.execute(call)),
            Move::AskStep(place) => self.ask_step(place),
            Move::AskMessage => self.ask_message(),
            Move::AskRun => self.ask_run(),
            Move::AskReplica(id) => self.judge(id),
            Move::GrantStep(place, attempt) => self.grant_step(place, attempt),
            Move::GrantMessage(attempt) => self.grant_message(attempt),
            Move::GrantRun => self.grant_run(),
            Move::GrantReplica(id, fresh) => self.grant_replica(id, fresh),
            Move::Admit => self.admit(),
            Move::Close => self.close_deliveries(),
            Move::LapseStep(place) => {
                self.s.left.lapses -= 1;
                self.s.steps[place].lapsed = true;
                true
            }
            Move::LapseMessage => {
                self.s.left.lapses -= 1;
                self.s.message.as_mut().is_some_and(|message| !std::mem::replace(&mut message.lapsed, true))
            }
            Move::Person(act) => {
                self.s.left.people -= 1;
                self.act(act)
            }
        }
    }

    /// A wrong judgement is spent; that a dead one is dead, is none.
    fn judge(&mut self, id: Id) -> bool {
        if self.s.id(usize::from(id.process)) == id {
            self.s.left.judgements -= 1;
            return self.ask_replica(id);
        }
        // The beat of a dead one goes on no more: nothing can come between question and grant that makes a difference.
        self.ask_replica(id) && self.grant_replica(id, true)
    }

    /// The store executes a call whose caller has given up.
    fn execute(&mut self, call: Call) -> bool {
        self.met("a call is executed after its caller gave up");
        match call {
            Call::ClaimStep { id, step, start } => {
                self.claim_step(id, usize::from(step), start);
            }
            Call::StartStep { id, step, attempt } => {
                self.start_step(id, usize::from(step), attempt);
            }
            Call::SettleStep { id, step, attempt, word } => {
                self.settle_step(id, usize::from(step), attempt, word);
            }
            Call::ClaimMessage { id } => {
                self.claim_message(id);
            }
            Call::Mark { id, attempt } => {
                self.mark(id, attempt);
            }
            Call::SettleMessage { id, attempt, said } => {
                self.settle_message(id, attempt, said);
            }
        }
        true
    }

    /// `renew`: the beat goes on, or the process hears that it was found lost, abandons its work and takes a new id.
    pub(crate) fn renew(&mut self, process: usize) -> bool {
        let id = self.s.id(process);
        let may_anyway = self.has(Fault::LostMayRenew);
        let row = self.s.life_mut(id);
        if !row.lost || may_anyway {
            return std::mem::take(&mut row.asked_fresh) && {
                row.asked_stale = true;
                true
            };
        }
        self.met("a process hears that it was found lost");
        self.abandon(process);
        self.begin_anew(process)
    }

    fn crash(&mut self, process: usize) -> bool {
        self.s.left.crashes -= 1;
        self.s.processes[process].steps = [None; 2];
        self.s.processes[process].messages = [None; 2];
        self.begin_anew(process)
    }

    fn begin_anew(&mut self, process: usize) -> bool {
        let here = &mut self.s.processes[process];
        here.life += 1;
        (here.unsure_steps, here.unsure_messages) = (false, false);
        let id = self.s.id(process);
        assert!(usize::from(id.life) < LIVES, "a process lives more often than there is room for");
        self.s.life_mut(id).there = true;
        true
    }
}
