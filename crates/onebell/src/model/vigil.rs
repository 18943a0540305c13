//! Whether a job still succeeds: what is kept of one that somebody watches, and when its silence is told. A pause is no silence.

use std::time::Duration;

use super::alarm::{Alarm, AlarmKind, Notify};
use super::{JobDefinition, Moment};

/// A century: a later sum must stay an instant.
const LONGEST: Duration = Duration::from_secs(100 * 366 * 24 * 3600);

/// What is known of a job that is expected to succeed now and then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vigil {
    /// So long after a success the next one is expected.
    pub within: Duration,
    /// Silence counts from here, or from the newest success: when somebody first asked, or when a pause ended.
    pub since: Moment,
    /// The newest success.
    pub succeeded_at: Option<Moment>,
}

/// What a look at a vigil found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    /// Nothing is to be told before; then it is looked at again.
    Quiet(Moment),
    /// It has been silent for too long: this is told, and nothing more until it succeeds.
    Silent(Alarm),
}

impl Vigil {
    /// A job that is paused is looked at again later, and never told of.
    pub fn look(&self, paused: bool, now: Moment) -> Look {
        let base = self.succeeded_at.map_or(self.since, |at| at.max(self.since));
        let due = base + self.within;
        if paused {
            return Look::Quiet(now + self.within);
        }
        if now <= due {
            return Look::Quiet(due);
        }
        Look::Silent(Alarm::Overdue { base, succeeded_at: self.succeeded_at, due })
    }
}

impl JobDefinition {
    /// Whether anything that is told of it is decided by its successes.
    pub fn keeps_vigil(&self) -> bool {
        let asks = |kind| self.notify.as_ref().is_some_and(|notify: &Notify| notify.on.contains(&kind));
        let short = self.runs_at_least.is_some() && asks(AlarmKind::TooShort);
        short || asks(AlarmKind::Recovered) || self.expects().is_some() || self.ping.is_some()
    }

    /// So long after a success the next one is expected; none: nobody wants to know.
    pub fn expects(&self) -> Option<Duration> {
        let wanted = self.notify.as_ref().is_some_and(|notify| notify.on.contains(&AlarmKind::Overdue));
        self.expect_within.filter(|_| wanted).map(|span| span.min(LONGEST))
    }

    /// What is wrong with the spans.
    pub(super) fn vigil_problem(&self) -> Option<String> {
        let zero = |span: Option<Duration>| span.is_some_and(|span| span.is_zero());
        if zero(self.runs_at_least) {
            return Some("`runs_at_least` must be longer than zero; leave it out".to_owned());
        }
        zero(self.expect_within).then(|| "`expect_within` must be longer than zero; leave it out".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);
    const BEGIN: Moment = Moment::from_micros(1_795_978_800_000_000);

    fn vigil(succeeded_at: Option<Moment>) -> Vigil {
        Vigil { within: HOUR * 26, since: BEGIN, succeeded_at }
    }

    #[test]
    fn silence_counts_from_the_newest_success_or_from_the_beginning() {
        assert_eq!(vigil(None).look(false, BEGIN + HOUR * 26), Look::Quiet(BEGIN + HOUR * 26), "within means within");
        let late = BEGIN + HOUR * 26 + Duration::from_micros(1);
        assert_eq!(
            vigil(None).look(false, late),
            Look::Silent(Alarm::Overdue { base: BEGIN, succeeded_at: None, due: BEGIN + HOUR * 26 })
        );
        assert_eq!(vigil(Some(BEGIN + HOUR)).look(false, late), Look::Quiet(BEGIN + HOUR * 27));
        // A pause ended after the last success.
        assert_eq!(vigil(Some(BEGIN - HOUR)).look(false, BEGIN + HOUR * 26), Look::Quiet(BEGIN + HOUR * 26));
    }

    #[test]
    fn a_paused_job_is_never_silent() {
        let now = BEGIN + HOUR * 999;
        assert_eq!(vigil(None).look(true, now), Look::Quiet(now + HOUR * 26));
    }

    #[test]
    fn a_vigil_is_kept_only_where_a_success_decides_something() {
        let job = |on: &[AlarmKind]| {
            let mut job = JobDefinition::new("j");
            job.notify = Some(Notify::new("ops", on.iter().copied()));
            job
        };
        assert!(!job(&[AlarmKind::Failed, AlarmKind::Overdue, AlarmKind::TooShort]).keeps_vigil(), "nothing is expected");
        assert!(job(&[AlarmKind::Recovered]).keeps_vigil());
        let expecting = JobDefinition { expect_within: Some(HOUR), ..job(&[AlarmKind::Overdue]) };
        assert_eq!((expecting.keeps_vigil(), expecting.expects()), (true, Some(HOUR)));
        let quiet = JobDefinition { expect_within: Some(HOUR), runs_at_least: Some(HOUR), ..job(&[AlarmKind::Failed]) };
        assert_eq!((quiet.keeps_vigil(), quiet.expects()), (false, None));
        assert!(JobDefinition { runs_at_least: Some(HOUR), ..job(&[AlarmKind::TooShort]) }.keeps_vigil());
    }
}
