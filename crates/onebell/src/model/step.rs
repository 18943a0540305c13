//! The step's machine and the decisions on how an attempt ends. Values only: the store reads the row
//! under its lock, asks here, and writes the answer in the same transaction.

use super::job::OnLost;
use super::retry::RetryPolicy;
use super::transition::{By, Transition, next, words};
use super::{Moment, StepId};

words! {
    /// Where a step stands.
    StepStatus {
        /// A predecessor has not succeeded yet.
        Waiting = "waiting",
        /// May be claimed from `ready_at` on.
        Pending = "pending",
        /// Claimed: `locked_by` and `complete_by` are set.
        Running = "running",
        /// Its work is committed; its messages are on their way. No owner.
        Delivering = "delivering",
        /// Done. Lives in the history.
        Succeeded = "succeeded",
        /// Failed for good.
        Failed = "failed",
        /// Its tries are spent; nothing of the last settle was applied, nothing is lost.
        Exhausted = "exhausted",
        /// Waits for a person.
        Held = "held",
        /// Ended without having succeeded. Lives in the history.
        Cancelled = "cancelled",
    }
}

words! {
    /// What happens to a step.
    StepEvent {
        /// All predecessors have succeeded.
        Ready = "ready",
        /// An agent took it.
        Claim = "claim",
        /// The work is done and put no message.
        Succeed = "succeed",
        /// The work is done and put messages.
        Deliver = "deliver",
        /// A permanent error, or a conflict.
        Fail = "fail",
        /// A passing error, within the budget.
        Retry = "retry",
        /// A passing error or a loss, beyond the budget.
        Exhaust = "exhaust",
        /// Its agent gave it back before it started.
        GiveBack = "give-back",
        /// Its agent ended it because it could not vouch for it any longer.
        Stop = "stop",
        /// A granted recovery: its agent is dead or its claim lapsed.
        Recover = "recover",
        /// Lost or stopped under `on_lost = "hold"`.
        Hold = "hold",
        /// None of its messages is open.
        Delivered = "delivered",
        /// One of its messages is in doubt under `hold`.
        DeliveryInDoubt = "delivery-in-doubt",
        /// One of its messages failed under `on_message_failed = "fail"`.
        DeliveryFailed = "delivery-failed",
        /// No live replica carries it.
        Uncarried = "uncarried",
        /// A live replica carries it again.
        Carried = "carried",
        /// A person granted a new budget.
        Budget = "budget",
        /// A person says that it succeeded.
        ResolveSucceeded = "resolve-succeeded",
        /// A person says that it failed.
        ResolveFailed = "resolve-failed",
        /// Its run fails or is cancelled before it was claimed.
        Cancel = "cancel",
        /// Its run is cancelled and its agent confirmed the end, or its claim lapsed.
        CancelRunning = "cancel-running",
        /// Its run is retried.
        Reopen = "reopen",
        /// The database was restored: it may have gone on in what was lost.
        Question = "question",
        /// Its run is retried, and messages of it that were dropped with the run go out again.
        Redeliver = "redeliver",
    }
}

use StepEvent as E;
use StepStatus as S;

/// The step's machine.
pub const STEP: &[Transition<StepStatus, StepEvent>] = &[
    Transition { from: &[S::Waiting], event: E::Ready, to: S::Pending, by: &[By::Consequence] },
    Transition { from: &[S::Pending], event: E::Claim, to: S::Running, by: &[By::Agent] },
    Transition { from: &[S::Running], event: E::Succeed, to: S::Succeeded, by: &[By::Agent] },
    Transition { from: &[S::Running], event: E::Deliver, to: S::Delivering, by: &[By::Agent] },
    Transition { from: &[S::Running], event: E::Fail, to: S::Failed, by: &[By::Agent, By::Scheduler] },
    Transition { from: &[S::Running], event: E::Retry, to: S::Pending, by: &[By::Agent] },
    Transition { from: &[S::Running], event: E::Exhaust, to: S::Exhausted, by: &[By::Agent, By::Scheduler] },
    Transition { from: &[S::Running], event: E::GiveBack, to: S::Pending, by: &[By::Agent] },
    Transition { from: &[S::Running], event: E::Stop, to: S::Pending, by: &[By::Agent] },
    Transition { from: &[S::Running], event: E::Recover, to: S::Pending, by: &[By::Scheduler] },
    Transition { from: &[S::Running], event: E::Hold, to: S::Held, by: &[By::Agent, By::Scheduler] },
    Transition { from: &[S::Delivering, S::Held], event: E::Delivered, to: S::Succeeded, by: &[By::Scheduler] },
    Transition { from: &[S::Delivering], event: E::DeliveryInDoubt, to: S::Held, by: &[By::Scheduler] },
    Transition { from: &[S::Delivering, S::Held], event: E::DeliveryFailed, to: S::Failed, by: &[By::Scheduler] },
    Transition { from: &[S::Pending], event: E::Uncarried, to: S::Held, by: &[By::Scheduler] },
    Transition { from: &[S::Held], event: E::Carried, to: S::Pending, by: &[By::Scheduler] },
    Transition { from: &[S::Exhausted, S::Held, S::Failed], event: E::Budget, to: S::Pending, by: &[By::Operator] },
    Transition { from: &[S::Exhausted, S::Held, S::Failed], event: E::ResolveSucceeded, to: S::Succeeded, by: &[By::Operator] },
    Transition { from: &[S::Exhausted, S::Held, S::Failed], event: E::ResolveFailed, to: S::Failed, by: &[By::Operator] },
    Transition { from: &[S::Waiting, S::Pending], event: E::Cancel, to: S::Cancelled, by: &[By::Consequence] },
    Transition { from: &[S::Running], event: E::CancelRunning, to: S::Cancelled, by: &[By::Agent, By::Scheduler] },
    Transition { from: &[S::Cancelled], event: E::Reopen, to: S::Waiting, by: &[By::Operator] },
    Transition { from: &[S::Pending, S::Running], event: E::Question, to: S::Held, by: &[By::Operator] },
    Transition { from: &[S::Succeeded], event: E::Redeliver, to: S::Delivering, by: &[By::Operator] },
];

impl StepStatus {
    /// The state that `event` leads to, or nothing if the table has no such line.
    pub fn on(self, event: StepEvent) -> Option<Self> {
        next(STEP, self, event)
    }

    /// Lives in the history, not in `job_steps`.
    pub fn is_done(self) -> bool {
        matches!(self, S::Succeeded | S::Cancelled)
    }
}

words! {
    /// How an attempt ended, as its row in the history says.
    AttemptOutcome {
        /// The step succeeded.
        Succeeded = "succeeded",
        /// Its work was committed with messages.
        Delivering = "delivering",
        /// Permanent error.
        Failed = "failed",
        /// Passing error.
        Retry = "retry",
        /// Passing error that spent the budget.
        Exhausted = "exhausted",
        /// Given back unstarted.
        GivenBack = "given_back",
        /// Ended by its own agent.
        Stopped = "stopped",
        /// Its replica was lost.
        Lost = "lost",
        /// Its claim lapsed.
        Overdue = "overdue",
        /// Ended because the run was cancelled.
        Cancelled = "cancelled",
        /// A result that came too late; it changed nothing.
        Superseded = "superseded",
        /// A person decided.
        Resolved = "resolved",
    }
}

impl AttemptOutcome {
    /// Written by the attempt's own settlement: finding it again means Already.
    pub fn is_settlement(self) -> bool {
        !matches!(self, Self::Lost | Self::Overdue | Self::Cancelled | Self::Superseded | Self::Resolved)
    }
}

/// What an agent says of its attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Done; effects, messages and statements of the settlement commit with it.
    Succeeded,
    /// A passing error.
    Retry {
        /// What went wrong.
        error: String,
        /// Not before this, when the other side said so.
        after: Option<std::time::Duration>,
    },
    /// A permanent error.
    Failed {
        /// What went wrong.
        error: String,
    },
    /// Never started.
    GivenBack,
    /// Ended by its agent, which could not vouch for it any longer.
    Stopped {
        /// Why.
        error: String,
    },
    /// Ended because the run is being cancelled.
    Cancelled,
}

/// What is known of a running step when its attempt ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Running {
    /// Spreads the backoff.
    pub step: StepId,
    /// The fence.
    pub attempt: u64,
    /// Spent of the budget, this attempt included.
    pub tries: u32,
    /// The budget.
    pub retry: RetryPolicy,
    /// First claim under this budget.
    pub first_claimed_at: Moment,
    /// Whether its work began.
    pub started: bool,
    /// What a loss means.
    pub on_lost: OnLost,
    /// Whether its run is being cancelled.
    pub cancelling: bool,
}

/// Why an attempt is recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// Its replica is lost.
    Lost,
    /// Its claim lapsed.
    Overdue,
}

/// How an attempt ends: the event, the state and what is written beside it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// The line of the table.
    pub event: StepEvent,
    /// The state it leads to.
    pub to: StepStatus,
    /// For the history.
    pub outcome: AttemptOutcome,
    /// When it may be claimed again, if pending.
    pub ready_at: Moment,
    /// Tries after it.
    pub tries: u32,
    /// Why, for people.
    pub error: Option<String>,
    /// Its replica was lost after it started: from now on it is run alone.
    pub alone: bool,
}

impl Running {
    /// How the attempt ends by its own agent's word. `delivers`: it put messages.
    pub fn settle(&self, verdict: &Verdict, delivers: bool, now: Moment) -> Ending {
        match verdict {
            Verdict::Succeeded if delivers => self.end(E::Deliver, S::Delivering, AttemptOutcome::Delivering, now),
            Verdict::Succeeded => self.end(E::Succeed, S::Succeeded, AttemptOutcome::Succeeded, now),
            Verdict::Failed { error } => self.end(E::Fail, S::Failed, AttemptOutcome::Failed, now).because(error),
            Verdict::Retry { error, after } => self.retry(error, *after, now),
            Verdict::GivenBack => self.end(E::GiveBack, S::Pending, AttemptOutcome::GivenBack, now).free(),
            Verdict::Cancelled if self.cancelling => self.end(E::CancelRunning, S::Cancelled, AttemptOutcome::Cancelled, now),
            Verdict::Cancelled => self.stopped("ended for a cancellation that was taken back", now),
            Verdict::Stopped { .. } if self.cancelling => {
                self.end(E::CancelRunning, S::Cancelled, AttemptOutcome::Cancelled, now)
            }
            Verdict::Stopped { error } => self.stopped(error, now),
        }
    }

    /// How the attempt ends by a granted recovery.
    pub fn recover(&self, loss: Loss, now: Moment) -> Ending {
        let (outcome, why) = match loss {
            Loss::Lost => (AttemptOutcome::Lost, "its replica was lost"),
            Loss::Overdue => (AttemptOutcome::Overdue, "its claim lapsed: complete-by passed without an end or progress"),
        };
        if self.cancelling {
            return self.end(E::CancelRunning, S::Cancelled, AttemptOutcome::Cancelled, now).because(why);
        }
        if !self.started {
            return self.end(E::Recover, S::Pending, outcome, now).free().because(why);
        }
        let mut ending = match self.on_lost {
            OnLost::Hold => self.end(E::Hold, S::Held, outcome, now),
            OnLost::Fail => self.end(E::Fail, S::Failed, outcome, now),
            OnLost::Retry if self.retry.allows(self.tries, self.first_claimed_at, now) => {
                self.end(E::Recover, S::Pending, outcome, now)
            }
            OnLost::Retry => self.end(E::Exhaust, S::Exhausted, outcome, now),
        };
        // A step that outlives its claim harms nobody beside it; one that was lost may have taken its replica with it.
        ending.alone = loss == Loss::Lost;
        ending.because(why)
    }

    fn retry(&self, error: &str, after: Option<std::time::Duration>, now: Moment) -> Ending {
        let wait = self.retry.backoff(self.tries, &format!("{}#{}", self.step, self.attempt)).max(after.unwrap_or_default());
        if self.retry.allows(self.tries, self.first_claimed_at, now + wait) {
            return self.end(E::Retry, S::Pending, AttemptOutcome::Retry, now + wait).because(error);
        }
        self.end(E::Exhaust, S::Exhausted, AttemptOutcome::Exhausted, now).because(error)
    }

    /// An own stop costs no try, and is bounded by the total time alone.
    fn stopped(&self, error: &str, now: Moment) -> Ending {
        let in_time = self.retry.within().is_none_or(|within| now.since(self.first_claimed_at) <= within);
        let ending = match self.on_lost {
            _ if !self.started => self.end(E::Stop, S::Pending, AttemptOutcome::Stopped, now),
            OnLost::Hold => self.end(E::Hold, S::Held, AttemptOutcome::Stopped, now),
            OnLost::Fail => self.end(E::Fail, S::Failed, AttemptOutcome::Stopped, now),
            OnLost::Retry if in_time => self.end(E::Stop, S::Pending, AttemptOutcome::Stopped, now),
            OnLost::Retry => self.end(E::Exhaust, S::Exhausted, AttemptOutcome::Stopped, now),
        };
        ending.free().because(error)
    }

    fn end(&self, event: StepEvent, to: StepStatus, outcome: AttemptOutcome, ready_at: Moment) -> Ending {
        debug_assert_eq!(S::Running.on(event), Some(to), "the table has no line for {event}");
        Ending { event, to, outcome, ready_at, tries: self.tries, error: None, alone: false }
    }
}

impl Ending {
    fn free(mut self) -> Self {
        self.tries = self.tries.saturating_sub(1);
        self
    }

    fn because(mut self, error: &str) -> Self {
        self.error = Some(error.to_owned());
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> Running {
        Running {
            step: StepId::from_text("r.s"),
            attempt: 7,
            tries: 1,
            retry: RetryPolicy::default(),
            first_claimed_at: Moment::from_micros(0),
            started: true,
            on_lost: OnLost::Retry,
            cancelling: false,
        }
    }

    const NOW: Moment = Moment::from_micros(1_000_000);

    #[test]
    fn every_event_leads_to_one_state_from_each_of_its_states() {
        for from in StepStatus::ALL {
            for event in StepEvent::ALL {
                let lines = STEP.iter().filter(|line| line.event == *event && line.from.contains(from)).count();
                assert!(lines <= 1, "{from} {event}");
            }
        }
    }

    #[test]
    fn k09_01_a_step_that_kills_its_worker_is_claimed_as_often_as_its_budget_says() {
        let third = Running { tries: 3, ..running() };
        assert_eq!(third.recover(Loss::Lost, NOW).to, StepStatus::Exhausted);
        let second = Running { tries: 2, ..running() };
        let ending = second.recover(Loss::Lost, NOW);
        assert_eq!((ending.to, ending.tries, ending.alone), (StepStatus::Pending, 2, true));
        assert!(!second.recover(Loss::Overdue, NOW).alone);
    }

    #[test]
    fn an_attempt_lost_before_it_started_costs_no_try() {
        let prefetched = Running { started: false, tries: 3, ..running() };
        let ending = prefetched.recover(Loss::Lost, NOW);
        assert_eq!((ending.to, ending.tries, ending.alone), (StepStatus::Pending, 2, false));
    }

    #[test]
    fn an_own_stop_costs_no_try_and_is_bounded_by_total_time() {
        let mut step = Running { tries: 3, ..running() };
        let stop = Verdict::Stopped { error: "store away".into() };
        assert_eq!((step.settle(&stop, false, NOW).to, step.settle(&stop, false, NOW).tries), (StepStatus::Pending, 2));
        step.retry.within_us = Some(1);
        assert_eq!(step.settle(&stop, false, NOW).to, StepStatus::Exhausted);
        step.on_lost = OnLost::Hold;
        assert_eq!(step.settle(&stop, false, NOW).to, StepStatus::Held);
    }

    #[test]
    fn a_retry_that_the_other_side_puts_off_beyond_the_total_time_is_exhausted() {
        let mut step = running();
        step.retry.within_us = Some(60_000_000);
        let later = Verdict::Retry { error: "busy".into(), after: Some(std::time::Duration::from_secs(3600)) };
        assert_eq!(step.settle(&later, false, NOW).to, StepStatus::Exhausted);
    }

    #[test]
    fn a_step_of_a_cancelled_run_ends_cancelled_whether_confirmed_or_lost() {
        let step = Running { cancelling: true, ..running() };
        assert_eq!(step.settle(&Verdict::Cancelled, false, NOW).to, StepStatus::Cancelled);
        assert_eq!(step.recover(Loss::Lost, NOW).to, StepStatus::Cancelled);
        assert_eq!(running().settle(&Verdict::Cancelled, false, NOW).to, StepStatus::Pending);
    }
}
