//! What must hold in every state that can be reached, beside what each transaction is asked when it is made.

use onebell::model::message::{InDoubtPolicy, MessageStatus};
use onebell::model::run::{RunGoal, RunStatus};
use onebell::model::step::StepStatus;

use crate::scenario::Scenario;
use crate::state::{PROCESSES, Phase, State, UNDO};
use crate::turn::Broken;

/// The first promise that does not hold.
pub(crate) fn check(scenario: &Scenario, state: &State) -> Result<(), Broken> {
    one_owner(state)?;
    together(state)?;
    if let Some(policy) = scenario.message {
        nothing_hidden(state, policy)?;
    }
    within_budget(scenario, state)?;
    as_a_unit(scenario, state)
}

/// I2: of all who believe that they hold a step, the store believes one.
fn one_owner(state: &State) -> Result<(), Broken> {
    for (place, step) in state.steps.iter().enumerate() {
        let running = step.status == Some(StepStatus::Running);
        must("i02", running == step.owner.is_some(), || format!("step {place} is {:?} and {:?}'s", step.status, step.owner))?;
        let mut holders = 0;
        for process in 0..PROCESSES {
            for hand in state.processes[process].steps.iter().flatten() {
                let same = usize::from(hand.step) == place && hand.attempt == step.attempt;
                let owns = step.owner == Some(crate::state::Id { life: hand.life, ..state.id(process) });
                let works = matches!(hand.phase, Phase::Working | Phase::Hung | Phase::Prefetched | Phase::Ended(_));
                holders += u8::from(running && same && owns && works);
            }
        }
        must("i02", holders <= 1, || format!("{holders} hands hold step {place}"))?;
    }
    Ok(())
}

/// I4: what is done has committed its work, and nothing else has.
fn together(state: &State) -> Result<(), Broken> {
    for (place, step) in state.steps.iter().enumerate() {
        let done = matches!(step.status, Some(StepStatus::Succeeded | StepStatus::Delivering)) || step.delivers;
        let (rows, ledger) = (state.seen.rows[place], state.seen.ledger[place]);
        let people = state.seen.people[place] > 0;
        must("i04", !done || rows > 0 || people, || format!("step {place} is done and its work is not there"))?;
        must("i04", done || rows == 0 || people || step.status == Some(StepStatus::Failed), || {
            format!("step {place} is {:?} and its work is there", step.status)
        })?;
        must("i05", (rows > 0) == (ledger > 0), || format!("step {place} has {rows} rows and {ledger} in the ledger"))?;
    }
    Ok(())
}

/// I9: what may have arrived is in doubt until it is known, unless a person decided otherwise.
fn nothing_hidden(state: &State, policy: InDoubtPolicy) -> Result<(), Broken> {
    let Some(message) = &state.message else { return Ok(()) };
    let seen = &state.seen;
    let open = matches!(message.status, MessageStatus::Sending | MessageStatus::InDoubt | MessageStatus::Sent);
    let hidden = policy == InDoubtPolicy::Hold && seen.received > 0 && seen.decided == 0 && !open;
    must("i09", !hidden, || format!("the content arrived, and the message (hold) is {}", message.status))?;
    let sent = message.status == MessageStatus::Sent && seen.decided == 0;
    must("i09", !sent || seen.received > 0, || "the message is called sent and never arrived".to_owned())?;
    let owned = matches!(message.status, MessageStatus::Claimed | MessageStatus::Sending);
    must("i09", owned == message.owner.is_some(), || format!("the message is {} and {:?}'s", message.status, message.owner))?;
    let succeeded = state.run.status == RunStatus::Succeeded && state.seen.people[0] == 0;
    let undecided = message.status.is_open() || message.status == MessageStatus::InDoubt;
    must("i09", !(succeeded && undecided && seen.decided == 0), || {
        format!("the run succeeded, and its message is {}", message.status)
    })
}

/// I10: no budget is overdrawn.
fn within_budget(scenario: &Scenario, state: &State) -> Result<(), Broken> {
    let spent = state.steps.iter().map(|step| step.tries).max().unwrap_or(0);
    must("i10", u32::from(spent) <= scenario.tries, || format!("{spent} tries of {}", scenario.tries))?;
    let tries = state.message.map_or(0, |message| message.tries);
    must("i10", u32::from(tries) <= scenario.tries, || format!("{tries} tries of a message of {}", scenario.tries))
}

/// I14: a run ends as a unit, and takes with it what never was on its way.
fn as_a_unit(scenario: &Scenario, state: &State) -> Result<(), Broken> {
    let run = &state.run;
    if let (Some(message), Some(_), 0) = (&state.message, run.goal, state.seen.decided) {
        let unsent = !message.was_sending;
        let kept = message.status == MessageStatus::Ready || (message.status == MessageStatus::Claimed && !message.run_gone);
        must("i14", !(unsent && kept), || format!("the run is {}, and its message would still be sent", run.status))?;
    }
    let ended = matches!(run.status, RunStatus::Failed | RunStatus::Cancelled);
    let goal = if run.status == RunStatus::Cancelled { RunGoal::Cancelled } else { RunGoal::Failed };
    must("i14", !ended || run.goal == Some(goal), || format!("the run is {} and wanted {:?}", run.status, run.goal))?;
    for place in 0..UNDO {
        let (undo, seen) = (&state.steps[UNDO + place], &state.seen);
        let by_itself = seen.people[UNDO + place] == 0;
        must("i14", seen.rows[UNDO + place] <= 1 || !by_itself, || format!("step {place} was undone twice"))?;
        let stands = scenario.undo && seen.rows[place] > 0 && seen.people[place] == 0;
        must("i14", !(ended && stands && by_itself) || seen.rows[UNDO + place] == 1, || {
            format!("the run is {}, and step {place} was not undone", run.status)
        })?;
        let early = undo.status.is_some() && state.steps[place].status == Some(StepStatus::Running);
        must("i14", !early, || format!("step {place} is undone while it runs"))?;
    }
    Ok(())
}

fn must(promise: &'static str, holds: bool, how: impl FnOnce() -> String) -> Result<(), Broken> {
    if holds { Ok(()) } else { Err((promise, how())) }
}
