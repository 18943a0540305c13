//! What the keeper does next: a decision over time and events. No process, no clock, no socket is touched here.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::clock::{Allowance, BootTime};

/// After the command itself exited, its leftovers may finish their last lines for this long.
pub(super) const DRAIN: Duration = Duration::from_millis(300);
/// Leftovers then get TERM, and KILL this much later: the run is over and only its end is awaited.
const LEFTOVER_GRACE: Duration = Duration::from_millis(200);
/// KILL is repeated, for what was forked in between.
const REPEAT: Duration = Duration::from_millis(20);
/// What KILL does not end by then (another user's, or stuck in the kernel) is reported and left.
pub(super) const GIVE_UP: Duration = Duration::from_secs(5);

/// Why the keeper ended a command that was still running.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reason {
    /// The agent asked for it.
    Stopped,
    /// No renewal arrived in time: the agent was stopped, stuck, or cut off from the store.
    Lapsed,
    /// The agent's end of the channel closed. With it went whoever would have read this.
    AgentGone,
}

/// How the command's own process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Status {
    Exited(i32),
    Signalled(i32),
}

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// Wait until then, or for an event.
    Wait(BootTime),
    /// TERM to everything. `leftovers`: the command itself is over, count what gets it.
    Term { leftovers: bool },
    /// KILL to everything.
    Kill,
    /// Report what is left and go.
    GiveUp,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Running,
    Draining { until: BootTime },
    Ending { kill_at: BootTime },
    Killing { again: BootTime, give_up: BootTime },
}

/// The state of one command's supervision.
#[derive(Debug)]
pub(super) struct Plan {
    allowance: Allowance,
    grace: Duration,
    phase: Phase,
    /// TERM is due for `Ending`, not yet handed out.
    term_due: bool,
    reason: Option<Reason>,
    status: Option<Status>,
}

impl Plan {
    pub(super) fn new(allowance: Allowance, grace: Duration) -> Self {
        Self { allowance, grace, phase: Phase::Running, term_due: false, reason: None, status: None }
    }

    pub(super) fn status(&self) -> Option<Status> {
        self.status
    }

    pub(super) fn reason(&self) -> Option<Reason> {
        self.reason
    }

    /// A renewal arrived. After TERM it moves only the limit of a stop that the agent itself asked for.
    pub(super) fn renewed(&mut self, allowance: Allowance) {
        self.allowance.extend(allowance);
    }

    /// The agent asks for the end, or asks again with less patience.
    pub(super) fn stop(&mut self, now: BootTime, grace: Duration) {
        match &mut self.phase {
            Phase::Running => self.end(Reason::Stopped, now.plus(grace)),
            Phase::Ending { kill_at } => *kill_at = (*kill_at).min(now.plus(grace)),
            Phase::Draining { .. } | Phase::Killing { .. } => {}
        }
    }

    /// The channel closed.
    pub(super) fn agent_gone(&mut self, now: BootTime) {
        if matches!(self.phase, Phase::Running) {
            self.end(Reason::AgentGone, now.plus(self.grace));
        }
    }

    /// The command's own process was reaped.
    pub(super) fn command_ended(&mut self, now: BootTime, status: Status) {
        self.status = Some(status);
        if matches!(self.phase, Phase::Running) {
            self.phase = Phase::Draining { until: now.plus(DRAIN) };
        }
    }

    /// What to do at `now`. Called again until it says to wait.
    pub(super) fn act(&mut self, now: BootTime) -> Act {
        match self.phase {
            Phase::Running if now >= self.allowance.term_at => {
                self.end(Reason::Lapsed, self.allowance.kill_at);
                self.act(now)
            }
            Phase::Running => Act::Wait(self.allowance.term_at),
            Phase::Draining { until } if now >= until => {
                self.phase = Phase::Ending { kill_at: now.plus(LEFTOVER_GRACE) };
                Act::Term { leftovers: true }
            }
            Phase::Draining { until } => Act::Wait(until),
            Phase::Ending { .. } if self.term_due => {
                self.term_due = false;
                Act::Term { leftovers: false }
            }
            Phase::Ending { kill_at } => {
                // Whatever the grace, nothing outlives the last renewal's limit.
                let kill_at = kill_at.min(self.allowance.kill_at);
                if now < kill_at {
                    return Act::Wait(kill_at);
                }
                self.phase = Phase::Killing { again: now.plus(REPEAT), give_up: now.plus(GIVE_UP) };
                Act::Kill
            }
            Phase::Killing { give_up, .. } if now >= give_up => Act::GiveUp,
            Phase::Killing { again, give_up } if now >= again => {
                self.phase = Phase::Killing { again: now.plus(REPEAT), give_up };
                Act::Kill
            }
            Phase::Killing { again, .. } => Act::Wait(again),
        }
    }

    fn end(&mut self, reason: Reason, kill_at: BootTime) {
        self.reason = Some(reason);
        self.phase = Phase::Ending { kill_at };
        self.term_due = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERM: Act = Act::Term { leftovers: false };

    fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn plan(grace: u64) -> (BootTime, Plan) {
        let start = BootTime::now();
        (start, Plan::new(Allowance::since(start, s(7), s(9)), s(grace)))
    }

    #[test]
    fn without_renewals_term_comes_at_7_s_and_kill_at_9_s_whatever_the_grace() {
        let (start, mut plan) = plan(60);
        assert_eq!(plan.act(start), Act::Wait(start.plus(s(7))));
        assert_eq!(plan.act(start.plus(s(7))), TERM);
        assert_eq!(plan.act(start.plus(s(7))), Act::Wait(start.plus(s(9))));
        assert_eq!(plan.act(start.plus(s(9))), Act::Kill);
        assert_eq!(plan.reason(), Some(Reason::Lapsed));
    }

    #[test]
    fn a_renewal_extends_and_an_older_one_takes_nothing_back() {
        let (start, mut plan) = plan(1);
        plan.renewed(Allowance::since(start.plus(s(5)), s(7), s(9)));
        plan.renewed(Allowance::since(start, s(7), s(9)));
        assert_eq!(plan.act(start.plus(s(11))), Act::Wait(start.plus(s(12))));
    }

    #[test]
    fn a_renewal_after_the_lapse_does_not_call_the_end_back() {
        let (start, mut plan) = plan(1);
        assert_eq!(plan.act(start.plus(s(8))), TERM);
        plan.renewed(Allowance::since(start.plus(s(8)), s(7), s(9)));
        assert_eq!(plan.act(start.plus(s(9))), Act::Kill);
    }

    #[test]
    fn a_suspended_host_wakes_into_term_and_kill_at_once() {
        let (start, mut plan) = plan(1);
        let woken = start.plus(s(3600));
        assert_eq!(plan.act(woken), TERM);
        assert_eq!(plan.act(woken), Act::Kill);
    }

    #[test]
    fn a_stop_gives_its_grace_only_as_far_as_renewals_go() {
        let (start, mut plan) = plan(60);
        plan.stop(start.plus(s(1)), s(60));
        assert_eq!(plan.act(start.plus(s(1))), TERM);
        assert_eq!(plan.act(start.plus(s(2))), Act::Wait(start.plus(s(9))));
        plan.renewed(Allowance::since(start.plus(s(4)), s(7), s(9)));
        assert_eq!(plan.act(start.plus(s(4))), Act::Wait(start.plus(s(13))));
        plan.stop(start.plus(s(5)), s(0));
        assert_eq!(plan.act(start.plus(s(5))), Act::Kill);
    }

    #[test]
    fn an_agent_that_is_gone_shortens_the_grace_to_what_it_vouched_for() {
        let (start, mut plan) = plan(60);
        plan.agent_gone(start.plus(s(3)));
        assert_eq!(plan.act(start.plus(s(3))), TERM);
        assert_eq!(plan.act(start.plus(s(3))), Act::Wait(start.plus(s(9))));
    }

    #[test]
    fn leftovers_get_a_drain_then_term_then_kill_and_no_reason() {
        let (start, mut plan) = plan(60);
        plan.command_ended(start, Status::Exited(0));
        plan.stop(start, s(60));
        assert_eq!(plan.act(start), Act::Wait(start.plus(DRAIN)));
        let drained = start.plus(DRAIN);
        assert_eq!(plan.act(drained), Act::Term { leftovers: true });
        assert_eq!(plan.act(drained.plus(LEFTOVER_GRACE)), Act::Kill);
        assert_eq!((plan.reason(), plan.status()), (None, Some(Status::Exited(0))));
    }

    #[test]
    fn kill_is_repeated_and_given_up_after_a_bounded_time() {
        let (start, mut plan) = plan(0);
        plan.stop(start, s(0));
        assert_eq!(plan.act(start), TERM);
        assert_eq!(plan.act(start), Act::Kill);
        assert_eq!(plan.act(start), Act::Wait(start.plus(REPEAT)));
        assert_eq!(plan.act(start.plus(REPEAT)), Act::Kill);
        assert_eq!(plan.act(start.plus(GIVE_UP)), Act::GiveUp);
    }
}
