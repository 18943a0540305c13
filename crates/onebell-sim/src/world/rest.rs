//! The end of a history: faults stop, everybody is there, the clock is right again, and everything must come to rest.

use std::time::Duration;

use super::{Process, REPLICAS, World};
use crate::dice::Dice;
use crate::ground::Trouble;
use crate::loaders::Loaders;

/// How long everything may take to come to rest once nothing disturbs it.
const QUIET_MAX: Duration = Duration::from_secs(600);
/// For so long nobody brings what is missing: longer than it takes until that is noticed.
const ABSENT: Duration = Duration::from_secs(130);

impl World {
    /// Faults stop, everybody is there, the clock is right again: everything must come to rest by itself.
    pub(super) fn come_to_rest(&mut self) {
        self.ground.note(|| "nothing disturbs any longer".to_owned());
        {
            let mut inner = self.ground.inner();
            (inner.trouble, inner.away) = (Trouble::default(), false);
            inner.dice = Dice::new(1);
        }
        self.ground.clock.set(self.latest.max(self.ground.clock.now()));
        (self.frozen, self.skew) = ([Duration::ZERO; REPLICAS], [1000; REPLICAS]);
        self.people.pause_all();
        self.loaders.iter_mut().for_each(Loaders::calm);
        if self.less.is_everywhere() {
            self.go_on(ABSENT, |_| false);
        }
        self.everything_is_carried();
        self.go_on(QUIET_MAX, Self::rests);
        if self.is_over() {
            return;
        }
        let seconds = self.elapsed.as_secs();
        self.ground.note(|| format!("at rest after {seconds}s"));
        self.ground.ended();
    }

    /// Everybody goes on for so long, or until `enough`.
    fn go_on(&mut self, span: Duration, enough: fn(&Self) -> bool) {
        let until = self.elapsed + span;
        while self.elapsed < until && !self.is_over() && !enough(self) {
            while let Some(&(process, nth)) = self.ready().first() {
                self.go(process, nth);
                if self.is_over() {
                    return;
                }
            }
            self.passes(Duration::from_millis(1_800));
        }
    }

    /// Those that do not bring everything make place for others: nobody else could claim what they do not carry.
    fn everything_is_carried(&mut self) {
        self.complete = true;
        for process in &mut self.processes {
            if matches!(process, Process::Up(replica) if !replica.carries_all()) {
                *process = Process::Down { until: self.elapsed };
            }
        }
    }

    fn rests(&self) -> bool {
        let idle = |process: &Process| matches!(process, Process::Up(replica) if replica.is_idle());
        let inner = self.ground.inner();
        let now = inner.now();
        let moving = |status: &str| !matches!(status, "succeeded" | "failed" | "cancelled" | "parked");
        self.people.ready() == 0
            && self.loaders.as_ref().is_none_or(Loaders::rests)
            && self.processes.iter().all(idle)
            && !now.runs.iter().any(|(_, run)| moving(&run.status))
            && !now.messages.iter().any(|(_, row)| {
                matches!(row.status.as_str(), "ready" | "claimed" | "sending")
                    || (row.status == "in_doubt" && row.on_in_doubt == "resend")
            })
            && !now.requests.iter().any(|(_, row)| row.status == "open")
    }
}
