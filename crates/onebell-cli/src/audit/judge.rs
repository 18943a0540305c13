//! The three questions, asked of every job: what if it runs twice, how long against its period, does it scale. Rules over what was
//! found, whichever format it came in.

use std::collections::BTreeMap;
use std::time::Duration;

use super::codes;
use super::command::{self, Lock, Told};
use super::found::{Found, Kind, Meanwhile, Platform};
use crate::jobfile::spelled;

/// Adds the answers for one job.
pub(super) fn judge(job: &mut Found) {
    if !job.is_job {
        return;
    }
    let told = command::told(&job.steps);
    if job.paused {
        let next = job.next.first().map_or(String::new(), |slot| format!("; switched on, it would run next at {slot}"));
        job.findings.push(codes::PAUSED.says(format!("it is suspended and does not run{next}")));
    }
    let bound = bound(job, &told);
    twice(job, &told, bound.as_ref());
    length(job, &told, bound);
    scale(job, &told);
    missed(job);
}

/// How long a run may take, and what says so: the shortest of what its platform and its command line say.
fn bound(job: &Found, told: &Told) -> Option<(Duration, String)> {
    let own = told.bound.map(|bound| (bound, "timeout".to_owned()));
    job.platform.bound.clone().into_iter().chain(own).min()
}

fn twice(job: &mut Found, told: &Told, bound: Option<&(Duration, String)>) {
    match job.platform.repeats {
        Some((count, written)) if count > 0 && !told.once => {
            let said = if written { "as written" } else { "because nothing else is written" };
            let times = if count == 1 { "once more".to_owned() } else { format!("up to {count} times more") };
            let fix = match job.platform.kind {
                Kind::Kubernetes => "make each effect happen once by its identity, or write backoffLimit: 0",
                _ => "make each effect happen once by its identity, or write Restart=no",
            };
            job.findings
                .push(codes::RETRIED_WHOLE.with(format!("after a failure all of it is done again, {times}, {said}"), fix));
        }
        _ if !told.once => {
            let why = match job.platform.kind {
                Kind::Cron => "cron keeps no record of what ran",
                Kind::Kubernetes => "the controller may create two Jobs for one slot, and a Job two pods",
                Kind::Systemd => "a timer keeps the time of its last run and nothing of what it did",
            };
            job.findings.push(codes::RUNS_TWICE.says(format!("{why}: a second run does everything again")));
        }
        _ => {}
    }
    let short = bound.zip(job.period).is_some_and(|((bound, _), period)| *bound <= period);
    let has_slots = !job.timing.whens.is_empty();
    if has_slots && job.platform.meanwhile == Meanwhile::Starts && told.lock.is_none() && !told.once && !short {
        let (what, fix) = match job.platform.kind {
            Kind::Kubernetes => ("concurrencyPolicy is Allow", "write concurrencyPolicy: Forbid"),
            _ => (
                "cron starts a line whether or not its last run is over",
                "put `onebell once --key NAME --slot EXPR --` in front of the command",
            ),
        };
        job.findings.push(codes::OVERLAP_ALLOWED.with(format!("{what}: a slow run gets a second one beside it"), fix));
    }
    if job.platform.copies > 1 {
        let message = format!("each run starts {} pods with the same command", job.platform.copies);
        job.findings.push(codes::PARALLEL_PODS.says(message));
    }
}

fn length(job: &mut Found, told: &Told, bound: Option<(Duration, String)>) {
    if told.background {
        job.findings.push(codes::BACKGROUND.says("the command ends with &: it runs on when its platform takes it for done"));
    }
    let period = job.period;
    let overruns = match (&bound, period) {
        (Some((bound, _)), Some(period)) => *bound > period,
        (bound, _) => bound.is_none(),
    };
    match (&bound, period) {
        (None, _) => {
            let fix = match job.platform.kind {
                Kind::Cron => "put `timeout 30m` in front of the command",
                Kind::Kubernetes => "write activeDeadlineSeconds under jobTemplate.spec",
                Kind::Systemd => "write TimeoutStartSec= (Type=oneshot) or RuntimeMaxSec= in the service",
            };
            let period = period.map_or(String::new(), |period| format!(", with a period of {}", spelled(period)));
            job.findings.push(codes::UNBOUNDED.with(format!("nothing bounds a run{period}"), fix));
        }
        (Some((bound, by)), Some(period)) if overruns => {
            let then = match (job.platform.meanwhile, told.lock) {
                (_, Some(Lock::Waits)) => "runs then queue up behind the lock",
                (Meanwhile::Skips, _) | (_, Some(Lock::Leaves)) => "slots in between are left out",
                (Meanwhile::Replaces, _) => "the next slot ends it unfinished",
                (Meanwhile::Starts, None) => "the next run then starts beside it",
            };
            let message = format!("{by} allows {}, and the period is {}: {then}", spelled(*bound), spelled(period));
            job.findings.push(codes::BOUND_PAST_PERIOD.says(message));
        }
        _ => {}
    }
    let skips = job.platform.meanwhile == Meanwhile::Skips || told.lock == Some(Lock::Leaves);
    if !overruns || !skips {
        return;
    }
    match job.platform.late {
        Some(late) => {
            let message = format!(
                "a run that lasts past the next slot holds it up: it may start as late as {} after its time, when the run before it ends",
                spelled(late)
            );
            job.findings.push(codes::LATE_START.says(message));
        }
        None => {
            let what = match job.platform.kind {
                Kind::Kubernetes => {
                    "slots that come while a run goes on are left out, but for the last one, which starts when the run ends"
                }
                _ => "slots that come while a run goes on are left out without a word",
            };
            job.findings.push(codes::SKIPPED_WHILE_RUNNING.says(what));
        }
    }
}

fn scale(job: &mut Found, told: &Told) {
    if job.platform.kind == Kind::Kubernetes || told.once {
        return;
    }
    if told.lock.is_some() {
        job.findings.push(codes::LOCK_PER_HOST.says("the lock is a file of this host; a second host runs the job beside it"));
        return;
    }
    let what = if job.platform.kind == Kind::Cron { "crontab" } else { "timer" };
    job.findings.push(codes::SECOND_HOST.says(format!("every host that has this {what} runs the job")));
}

/// Slots that nobody was there for.
fn missed(job: &mut Found) {
    let Platform { kind, catches_up, late, .. } = job.platform;
    match (kind, job.period) {
        (Kind::Kubernetes, Some(period)) if late.is_none() && period < Duration::from_secs(8 * 3600) && !job.timing.refused => {
            let minutes = (period * 101).as_secs() / 60;
            let message = format!(
                "without startingDeadlineSeconds older clusters stop for good after more than 100 missed starts, here after {minutes} minutes without a controller"
            );
            job.findings.push(codes::MISSED_STOP.says(message));
        }
        (Kind::Systemd, _) if !catches_up && job.timing.by_calendar => {
            job.findings.push(codes::MISSED_LOST.says("Persistent= is off: a slot that comes while the host is off is lost"));
        }
        _ => {}
    }
}

/// The same work at the same times in two places.
pub(super) fn across(jobs: &mut [Found]) {
    let mut places: BTreeMap<String, String> = BTreeMap::new();
    for job in jobs.iter_mut().filter(|job| job.is_job && !job.paused && !job.steps.is_empty()) {
        let same = format!("{:?} {} {:?} {:?}", job.platform.kind, job.timing.text, job.timing.zone, job.steps);
        if let Some(first) = places.get(&same) {
            job.findings.push(codes::DEFINED_TWICE.says(format!("the same command at the same times stands at {first} too")));
        } else {
            places.insert(same, job.place());
        }
    }
}
