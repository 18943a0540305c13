//! What an exploration came past: a proof about states that are never reached proves nothing.

use onebell::model::message::MessageStatus;
use onebell::model::run::RunStatus;
use onebell::model::step::StepStatus;

use crate::state::{Phase, State, UNDO};
use crate::turn::Ground;

/// Notes what a new state is an example of.
pub(crate) fn note(ground: &Ground<'_>, state: &State) {
    let mut met = ground.met.borrow_mut();
    let mut seen = |what: &'static str| *met.entry(what).or_default() += 1;
    seen(of_run(state.run.status));
    for (place, step) in state.steps.iter().enumerate() {
        step.status.map(of_step).into_iter().for_each(&mut seen);
        if place >= UNDO && step.status == Some(StepStatus::Succeeded) {
            seen("a step was undone");
        }
        if place < UNDO && step.status == Some(StepStatus::Delivering) && step.attempt >= 3 {
            seen("a step delivers again");
        }
        if step.attempt >= 3 {
            seen("a third attempt");
        }
    }
    state.message.iter().for_each(|message| seen(of_message(message.status)));
    let hands = || state.processes.iter().flat_map(|process| process.steps.iter().flatten());
    if hands().count() > 1 {
        seen("two processes have a step in hand");
    }
    if hands().any(|hand| hand.phase == Phase::Hung) {
        seen("work hangs");
    }
    if state.seen.received > 1 {
        seen("a message arrived twice, by decision");
    }
}

fn of_run(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Queued => "run queued",
        RunStatus::Running => "run running",
        RunStatus::Parked => "run parked",
        RunStatus::Failing => "run failing",
        RunStatus::Cancelling => "run cancelling",
        RunStatus::Undoing => "run undoing",
        RunStatus::Succeeded => "run succeeded",
        RunStatus::Failed => "run failed",
        RunStatus::Cancelled => "run cancelled",
    }
}

fn of_step(status: StepStatus) -> &'static str {
    match status {
        StepStatus::Waiting => "step waiting",
        StepStatus::Pending => "step pending",
        StepStatus::Running => "step running",
        StepStatus::Delivering => "step delivering",
        StepStatus::Succeeded => "step succeeded",
        StepStatus::Failed => "step failed",
        StepStatus::Exhausted => "step exhausted",
        StepStatus::Held => "step held",
        StepStatus::Cancelled => "step cancelled",
    }
}

fn of_message(status: MessageStatus) -> &'static str {
    match status {
        MessageStatus::Ready => "message ready",
        MessageStatus::Claimed => "message claimed",
        MessageStatus::Sending => "message sending",
        MessageStatus::Sent => "message sent",
        MessageStatus::Failed => "message failed",
        MessageStatus::InDoubt => "message in_doubt",
        MessageStatus::Dropped => "message dropped",
    }
}
