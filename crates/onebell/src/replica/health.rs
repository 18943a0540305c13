use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::shared::Shared;
use crate::model::ReplicaId;

/// A loop of a replica, by the name that people see.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names are the loops'")]
pub enum Loop {
    Renewal,
    Scheduler,
    Supervisor,
    Agent,
    Relay,
    Retention,
}

impl Loop {
    /// As metrics name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Renewal => "renewal",
            Self::Scheduler => "scheduler",
            Self::Supervisor => "supervisor",
            Self::Agent => "agent",
            Self::Relay => "relay",
            Self::Retention => "retention",
        }
    }
}

/// Leases that a loop may be without a finished pass.
const PATIENCE: u32 = 3;

/// What the loops leave behind for whoever looks.
#[derive(Default)]
pub(super) struct Pulse {
    finished: Mutex<BTreeMap<Loop, Duration>>,
    counts: Mutex<BTreeMap<(&'static str, &'static str), u64>>,
}

impl Pulse {
    /// A pass came to its end at `now`.
    pub(super) fn finished(&self, of: Loop, now: Duration) {
        self.finished.lock().unwrap_or_else(PoisonError::into_inner).insert(of, now);
    }

    /// So much more of what `name` counts.
    pub(super) fn count(&self, name: &'static str, word: &'static str, more: u64) {
        if more > 0 {
            *self.counts.lock().unwrap_or_else(PoisonError::into_inner).entry((name, word)).or_default() += more;
        }
    }
}

/// How a replica is, for health checks and metrics; it can be asked from any task, as long as one likes.
#[derive(Clone)]
pub struct Health {
    shared: Arc<Shared>,
}

impl Health {
    pub(super) fn of(shared: &Arc<Shared>) -> Self {
        Self { shared: Arc::clone(shared) }
    }

    /// Who it is now; none before it enlisted, and between a loss and its next name.
    pub fn replica(&self) -> Option<ReplicaId> {
        self.shared.identity.borrow().clone()
    }

    /// The version of the zone data that it plans by.
    pub fn tzdata(&self) -> &str {
        self.shared.zones.version()
    }

    /// How long ago each of its loops finished a pass; none: not yet.
    pub fn ages(&self) -> BTreeMap<Loop, Option<Duration>> {
        let now = self.shared.timer.elapsed();
        let finished = self.shared.pulse.finished.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.loops().into_iter().map(|of| (of, finished.get(&of).map(|at| now.saturating_sub(*at)))).collect()
    }

    fn loops(&self) -> Vec<Loop> {
        let roles = self.shared.settings.roles;
        let all = [
            (Loop::Renewal, true),
            (Loop::Scheduler, roles.scheduler),
            (Loop::Supervisor, roles.supervisor),
            (Loop::Retention, roles.supervisor),
            (Loop::Agent, roles.agent),
            (Loop::Relay, roles.relay),
        ];
        all.into_iter().filter(|(_, plays)| *plays).map(|(of, _)| of).collect()
    }

    /// Why it should be given no work by others; nothing: it is ready.
    pub fn unready(&self) -> Vec<String> {
        if !self.shared.phase.is_working() {
            return vec!["it is stopping".to_owned()];
        }
        if self.shared.vouched().is_none() {
            return vec!["the store is away: no renewal of its lease succeeded lately".to_owned()];
        }
        let since_begin = self.shared.timer.elapsed().saturating_sub(self.shared.begun);
        without_a_pass(&self.ages(), since_begin, self.shared.settings.lease * PATIENCE)
    }

    /// What it did since it began: name, word, count.
    pub fn counts(&self) -> Vec<(&'static str, &'static str, u64)> {
        let counts = self.shared.pulse.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.iter().map(|((name, word), count)| (*name, *word, *count)).collect()
    }
}

/// Loops that finished no pass for longer than `limit`; one that never did counts from the beginning.
fn without_a_pass(ages: &BTreeMap<Loop, Option<Duration>>, since_begin: Duration, limit: Duration) -> Vec<String> {
    let ages = ages.iter().map(|(of, age)| (of, age.unwrap_or(since_begin)));
    let old = ages.filter(|(_, age)| *age > limit);
    old.map(|(of, age)| format!("{}: no pass was finished for {} s", of.as_str(), age.as_secs())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_that_hangs_is_told_also_in_its_first_pass() {
        let seconds = Duration::from_secs;
        let ages =
            BTreeMap::from([(Loop::Scheduler, Some(seconds(31))), (Loop::Supervisor, Some(seconds(30))), (Loop::Agent, None)]);
        let told = |since| without_a_pass(&ages, since, seconds(30));
        assert_eq!(told(seconds(30)), ["scheduler: no pass was finished for 31 s"]);
        assert_eq!(told(seconds(40)), ["scheduler: no pass was finished for 31 s", "agent: no pass was finished for 40 s"]);
    }
}
