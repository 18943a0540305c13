//! What becomes of work that was open when a database was restored: whether it ended in what was lost, nobody here can know.

use super::Moment;
use super::step::{AttemptOutcome, Ending, Loss, Running, StepEvent, StepStatus};

/// Why a step is held. The same for one restore: a step that says so and is pending was let go by a person.
pub fn of_step(since: Moment) -> String {
    format!("the database was restored to its state of {since}: whether this ran or ended after that is not known")
}

/// Why a message is in doubt.
pub fn of_message(since: Moment) -> String {
    format!("the database was restored to its state of {since}: whether this was sent after that is not known")
}

/// For the audit log.
pub fn detail(steps: u32, messages: u32) -> String {
    format!("{steps} steps held, {messages} messages in doubt")
}

/// How a running attempt ends whose replica is gone with what was lost.
pub fn ending(running: &Running, why: &str, now: Moment) -> Ending {
    if running.cancelling {
        return running.recover(Loss::Lost, now);
    }
    let (event, to) = (StepEvent::Question, StepStatus::Held);
    debug_assert_eq!(StepStatus::Running.on(event), Some(to), "the table has no line for {event}");
    let (outcome, error, tries) = (AttemptOutcome::Lost, Some(why.to_owned()), running.tries);
    Ending { event, to, outcome, ready_at: now, tries, error, alone: false }
}
