//! What the history says of a job's limits: work that takes as long as its timeout allows, and runs that take longer than the next
//! slot is away. It looks at times that were seen; it knows nothing of work that reports progress.

use std::time::Duration;

use super::JobDefinition;
use super::job::Overlap;
use super::spelled::spelled;

/// How long something of a job took that succeeded, lately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenTimes {
    /// The job's name.
    pub job: String,
    /// The step; none: a run as a whole.
    pub step: Option<String>,
    /// How many were looked at.
    pub count: u64,
    /// Half of them took no longer.
    pub p50: Duration,
    /// 99 of a hundred took no longer.
    pub p99: Duration,
    /// The longest of them.
    pub longest: Duration,
}

/// What should be changed, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeAdvice {
    /// The step; none: the job.
    pub step: Option<String>,
    /// What was seen.
    pub message: String,
    /// A line for the job file.
    pub paste: String,
}

/// Of a job whose slots are at least `period` apart, by what was `seen` of it.
///
/// ```
/// use std::time::Duration;
/// use onebell::model::times::{SeenTimes, advice};
/// use onebell::model::{JobDefinition, StepDefinition};
/// let mut job = JobDefinition::new("backup");
/// job.steps = vec![StepDefinition::new("dump", "command")];
/// let minutes = |n: u64| Duration::from_secs(60 * n);
/// let seen = SeenTimes {
///     job: "backup".into(), step: Some("dump".into()), count: 30, p50: minutes(2), p99: minutes(4), longest: minutes(6),
/// };
/// assert_eq!(advice(&job, &[seen], None)[0].paste, "timeout = \"10m\"");
/// ```
pub fn advice(job: &JobDefinition, seen: &[SeenTimes], period: Option<Duration>) -> Vec<TimeAdvice> {
    let of_job = seen.iter().filter(|seen| seen.job == job.name);
    let mut advice = Vec::new();
    for seen in of_job {
        match &seen.step {
            Some(step) => advice.extend(job.step(step).and_then(|step| of_timeout(&step.name, step.timeout, seen))),
            None => advice.extend(period.and_then(|period| of_period(job.overlap, period, seen))),
        }
    }
    advice
}

/// Work that is nearly as long as its timeout will be longer some day.
fn of_timeout(step: &str, timeout: Duration, seen: &SeenTimes) -> Option<TimeAdvice> {
    if seen.longest < timeout.mul_f64(0.8) {
        return None;
    }
    let (limit, what) = (spelled(timeout), seen.in_words("attempts"));
    let message = if seen.longest > timeout {
        format!(
            "its timeout is {limit}, and {what}: without progress reports others may take such an attempt over while it works"
        )
    } else {
        format!("its timeout is {limit}, and {what}: a little more, and others may take it over while it works")
    };
    let paste = format!("timeout = \"{}\"", rounded_up(seen.longest.mul_f64(1.5)));
    Some(TimeAdvice { step: Some(step.to_owned()), message, paste })
}

/// Runs side by side are what `overlap = "allow"` asks for.
fn of_period(overlap: Overlap, period: Duration, seen: &SeenTimes) -> Option<TimeAdvice> {
    let then = match overlap {
        Overlap::Allow => return None,
        Overlap::Skip => "slots that come due meanwhile are skipped",
        Overlap::Queue => "of the slots that come due meanwhile one waits and the others are skipped",
        Overlap::Replace => "the next slot cancels such a run",
    };
    if seen.longest <= period {
        return None;
    }
    let message = format!("it is due every {}, and {}: {then}", spelled(period), seen.in_words("runs"));
    let queue = overlap != Overlap::Queue && seen.p50 < period;
    let paste =
        if queue { "overlap = \"queue\"".to_owned() } else { format!("every = \"{}\"", rounded_up(seen.longest.mul_f64(1.2))) };
    Some(TimeAdvice { step: None, message, paste })
}

impl SeenTimes {
    fn in_words(&self, what: &str) -> String {
        let Self { count, p50, p99, longest, .. } = self;
        let [p50, p99, longest] = [p50, p99, longest].map(|span| spelled(*span));
        format!("the last {count} {what} that succeeded took {p50} (p50), {p99} (p99), at most {longest}")
    }
}

/// A value that people would write, not shorter.
fn rounded_up(span: Duration) -> String {
    const WRITTEN: [u64; 9] = [1, 2, 5, 10, 15, 20, 30, 45, 60];
    let whole = span.as_secs() + u64::from(span.subsec_nanos() > 0);
    for (unit, worth) in [("s", 1), ("m", 60), ("h", 3600)] {
        let count = whole.div_ceil(worth);
        if let Some(written) = WRITTEN.iter().find(|written| **written >= count.max(1) && (unit == "h" || **written < 60)) {
            return format!("{written}{unit}");
        }
    }
    format!("{}d", whole.div_ceil(86_400))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::StepDefinition;

    const MINUTE: Duration = Duration::from_secs(60);

    fn job(overlap: Overlap) -> JobDefinition {
        let mut job = JobDefinition::new("j");
        job.overlap = overlap;
        job.steps = vec![StepDefinition { timeout: MINUTE * 10, ..StepDefinition::new("a", "command") }];
        job
    }

    fn seen(step: Option<&str>, p50: Duration, longest: Duration) -> SeenTimes {
        SeenTimes { job: "j".to_owned(), step: step.map(str::to_owned), count: 7, p50, p99: longest, longest }
    }

    fn told(overlap: Overlap, seen: SeenTimes) -> Vec<(String, String)> {
        let advice = advice(&job(overlap), &[seen], Some(MINUTE * 5));
        advice.into_iter().map(|advice| (advice.message, advice.paste)).collect()
    }

    #[test]
    fn a_timeout_is_too_short_from_four_fifths_on() {
        let of_step = |longest| told(Overlap::Skip, seen(Some("a"), MINUTE, longest));
        assert_eq!(of_step(MINUTE * 8 - Duration::from_micros(1)), []);
        let [(near, paste)] = of_step(MINUTE * 8).try_into().unwrap();
        assert!(near.contains("a little more") && near.contains("last 7 attempts") && near.contains("at most 8m"), "{near}");
        assert_eq!(paste, "timeout = \"15m\"");
        assert!(of_step(MINUTE * 11)[0].0.contains("without progress"));
        assert_eq!(told(Overlap::Skip, seen(Some("gone"), MINUTE, MINUTE * 99)), [], "the step is no more");
    }

    #[test]
    fn a_run_longer_than_its_period_is_told_unless_runs_go_side_by_side() {
        let of_run = |overlap, p50, longest| told(overlap, seen(None, p50, longest));
        assert_eq!(of_run(Overlap::Skip, MINUTE, MINUTE * 5), []);
        assert_eq!(of_run(Overlap::Allow, MINUTE, MINUTE * 9), []);
        assert_eq!(of_run(Overlap::Skip, MINUTE, MINUTE * 6)[0].1, "overlap = \"queue\"");
        assert_eq!(of_run(Overlap::Skip, MINUTE * 6, MINUTE * 6)[0].1, "every = \"10m\"");
        assert_eq!(of_run(Overlap::Queue, MINUTE, MINUTE * 6)[0].1, "every = \"10m\"");
        assert!(of_run(Overlap::Replace, MINUTE, MINUTE * 6)[0].0.contains("cancels"));
        assert_eq!(advice(&job(Overlap::Skip), &[seen(None, MINUTE, MINUTE * 9)], None), [], "it is due once");
    }

    #[test]
    fn a_suggestion_is_a_value_that_people_write_and_never_shorter() {
        for (seconds, written) in
            [(0, "1s"), (3, "5s"), (46, "1m"), (61, "2m"), (900, "15m"), (2_701, "1h"), (7_201, "5h"), (216_001, "3d")]
        {
            assert_eq!(rounded_up(Duration::from_secs(seconds)), written, "{seconds}");
        }
        assert_eq!(rounded_up(Duration::from_secs(60 * 3600)), "60h");
        assert_eq!(rounded_up(Duration::from_millis(1_001)), "2s");
    }
}
