//! Alarms: what happens to a watched job is told once, in the commit in which it happens, and nothing else is.

use std::collections::{BTreeMap, BTreeSet};

use onebell::model::alarm::KEY_PREFIX;

use super::{Check, Commit, must};
use crate::jobs::WATCHED;
use crate::snapshot::{Change, RunRow, VigilRow};

/// Skips are told by rows and starts by slots: of those only that each is told once.
const UNCOUNTED: [&str; 2] = ["skipped/", "late_start/"];
/// A success after these is a recovery.
const FAILURES: [&str; 2] = ["failed", "parked"];

#[derive(Default)]
pub(super) struct Alarms {
    /// Keys that are there.
    told: BTreeSet<String>,
    /// Attempts of a run when it was told that it failed, or is parked.
    tried: BTreeMap<String, i64>,
}

impl Check for Alarms {
    fn name(&self) -> &'static str {
        "alarms"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        let alarms = || commit.changes.messages.iter().filter_map(|change| Some((change.key.strip_prefix(KEY_PREFIX)?, change)));
        for (key, _) in alarms().filter(|(_, change)| change.after.is_none()) {
            self.told.remove(key);
        }
        let put: Vec<&str> = alarms().filter(|(_, change)| change.before.is_none()).map(|(key, _)| key).collect();
        let mut due = self.of_runs(commit, &put);
        // A run that was pruned may be asked for again under its key, while what was told of the first one is still there.
        due.retain(|key| !self.told.contains(key));
        let known: Vec<String> = self.told.iter().filter(|key| key.starts_with("recovered/")).cloned().collect();
        for key in &put {
            must(self.told.insert((*key).to_owned()), || format!("{key} is told a second time"))?;
        }
        let mut recoveries = put.iter().filter(|key| key.starts_with("recovered/")).count();
        for job in WATCHED {
            recoveries -= of_success(commit, job, &put, &due, &known)?;
        }
        must(recoveries == 0, || format!("{put:?}: a recovery is told of a run that did not succeed"))?;
        due.extend(of_messages(commit));
        due.extend(of_silences(commit)?);
        for key in put.iter().filter(|key| !UNCOUNTED.iter().any(|kind| key.starts_with(kind)) && !key.starts_with("recovered/"))
        {
            let found = due.iter().position(|due| key.starts_with(due.as_str()));
            must(found.is_some(), || format!("{key} is told, but nothing of the kind happened"))?;
            found.map(|at| due.remove(at));
        }
        must(due.is_empty(), || format!("nobody is told of {due:?}"))
    }
}

impl Alarms {
    /// Alarms, or how they begin, that the moves of runs tell.
    fn of_runs(&mut self, commit: &Commit<'_>, put: &[&str]) -> Vec<String> {
        let mut due = Vec::new();
        for change in watched_runs(commit) {
            let run = &change.key;
            for status in FAILURES.into_iter().filter(|status| became(change, &[status])) {
                // With nothing tried in between it is told of once.
                let (event, tried) = (format!("{status}/{run}/"), attempts(commit, run));
                let again = self.tried.get(&event).is_some_and(|before| tried <= *before);
                if !again || put.iter().any(|key| key.starts_with(&event)) {
                    self.tried.insert(event.clone(), tried);
                    due.push(event);
                }
            }
            let until = change.before.as_ref().and_then(|before| before.finish_by);
            let told = change.after.as_ref().is_some_and(|after| after.finish_by.is_none() && after.finished_at.is_none());
            let ended_late = became(change, &["succeeded", "failed"]) && until.is_some_and(|until| until < commit.at.micros());
            if until.is_some() && told || ended_late {
                due.push(format!("late_finish/{run}"));
            }
            if became(change, &["succeeded"]) && worked(commit, run) < least(commit, change) {
                due.push(format!("too_short/{run}"));
            }
        }
        due
    }
}

/// Of all steps of the run together.
fn attempts(commit: &Commit<'_>, run: &str) -> i64 {
    let open = commit.now.steps.iter().filter(|(_, step)| step.run == run).map(|(id, step)| (id.to_owned(), step.attempt));
    let ended = commit.now.attempts.iter().filter(|(_, attempt)| attempt.run == run);
    let mut of_step = BTreeMap::<String, i64>::new();
    for (step, attempt) in open.chain(ended.map(|(_, attempt)| (attempt.step.clone(), attempt.attempt))) {
        let most = of_step.entry(step).or_default();
        *most = attempt.max(*most);
    }
    of_step.values().sum()
}

fn is_watched(job: &str) -> bool {
    WATCHED.contains(&job)
}

/// The run got this status in this commit.
fn became(change: &Change<RunRow>, statuses: &[&str]) -> bool {
    let now = change.after.as_ref().is_some_and(|run| statuses.contains(&run.status.as_str()));
    now && change.before.as_ref().is_none_or(|before| Some(&before.status) != change.after.as_ref().map(|run| &run.status))
}

fn watched_runs<'c>(commit: &'c Commit<'_>) -> impl Iterator<Item = &'c Change<RunRow>> {
    commit.changes.runs.iter().filter(|change| change.after.as_ref().is_some_and(|run| is_watched(&run.job)))
}

fn worked(commit: &Commit<'_>, run: &str) -> i64 {
    let spans = commit.now.attempts.iter().filter(|(_, attempt)| attempt.run == run);
    spans.filter_map(|(_, attempt)| Some((attempt.ended_at - attempt.began_at?).max(0))).sum()
}

/// All versions say the same.
fn least(commit: &Commit<'_>, change: &Change<RunRow>) -> i64 {
    let job = change.after.as_ref().and_then(|run| commit.now.jobs.get(&run.job));
    let definition = job.and_then(|job| commit.shadow.definitions.get(&job.hash));
    let least = definition.and_then(|definition| definition.runs_at_least).unwrap_or_default();
    i64::try_from(least.as_micros()).unwrap_or(i64::MAX)
}

/// A message of a run that is still there, whose outcome became unknown.
fn of_messages(commit: &Commit<'_>) -> Vec<String> {
    let doubts = commit.changes.messages.iter().filter(|change| {
        let before = change.before.as_ref().map(|before| before.status.as_str());
        change.after.as_ref().is_some_and(|row| row.status == "in_doubt" && row.step.is_some()) && before != Some("in_doubt")
    });
    let of_watched = doubts.filter(|change| {
        let run = change.after.as_ref().and_then(|row| row.run.as_deref()).and_then(|run| commit.now.runs.get(run));
        run.is_some_and(|run| is_watched(&run.job))
    });
    of_watched.map(|change| format!("in_doubt/{}/", change.key)).collect()
}

/// A silence is told when it is longer than was expected.
fn of_silences(commit: &Commit<'_>) -> Result<Vec<String>, String> {
    let mut due = Vec::new();
    for change in &commit.changes.vigils {
        let (Some(before), Some(after)) = (&change.before, &change.after) else { continue };
        if after.is_silent() && !before.is_silent() {
            let over = before.expect_by.is_some_and(|by| by < commit.at.micros());
            must(over, || format!("{} is called silent before its time: {before:?}", change.key))?;
            due.push(format!("overdue/{}/", change.key));
        }
    }
    Ok(due)
}

/// The first success after failures that were told, or after a silence, is a recovery; and nothing else is.
fn of_success(commit: &Commit<'_>, job: &str, put: &[&str], due: &[String], known: &[String]) -> Result<usize, String> {
    let of_job = |status: &'static str| {
        watched_runs(commit)
            .filter(move |change| became(change, &[status]))
            .filter(|change| change.after.as_ref().is_some_and(|run| run.job == job))
    };
    let failed = FAILURES.into_iter().flat_map(of_job).filter(|change| {
        due.iter().any(|due| FAILURES.iter().any(|status| due.starts_with(&format!("{status}/{}/", change.key))))
    });
    let failures = i64::try_from(failed.count()).unwrap_or(i64::MAX);
    let successes: Vec<String> = of_job("succeeded").map(|change| format!("recovered/{}", change.key)).collect();
    let recoveries = put.iter().filter(|key| successes.iter().any(|success| success == *key)).count();
    must(recoveries <= 1, || format!("{recoveries} successes of {job} are a recovery at once"))?;
    let Some(now) = commit.now.vigils.get(job) else {
        must(failures == 0 && successes.is_empty(), || format!("no vigil is kept over {job}"))?;
        return Ok(0);
    };
    let before: &VigilRow = match commit.changes.vigils.iter().find(|change| change.key == job) {
        Some(change) => change.before.as_deref().unwrap_or(now),
        None => now,
    };
    if successes.is_empty() {
        let told = now.failures - before.failures;
        must(told == failures, || format!("{failures} failures of {job} were told, {told} are counted"))?;
        return Ok(0);
    }
    let wanted = before.failures > 0 || before.is_silent();
    // In one commit a success may come before a failure, or after it.
    let either = failures > 0 && !wanted || successes.iter().any(|success| known.contains(success));
    must(either || (recoveries == 1) == wanted, || format!("{job}: {recoveries} recoveries after {before:?}"))?;
    must(!now.is_silent(), || format!("{job} succeeded and is still called silent"))?;
    Ok(recoveries)
}
