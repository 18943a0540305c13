//! I1: one run per slot. I11: every slot is a run or a recorded skip.

use std::collections::{BTreeMap, BTreeSet};

use onebell::model::Moment;

use super::super::cast::every;
use super::super::evidence::Evidence;
use super::super::timeline;
use super::{Verdict, Violation};
use crate::jobfile::JobFile;

pub(super) fn judge(file: &JobFile, evidence: &Evidence, verdict: &mut Verdict) {
    one_run_per_slot(evidence, verdict);
    let mut lost = Vec::new();
    let mut looked_at = 0;
    for job in &file.jobs {
        let every = i64::try_from(every(job.overlap, file.jobs.len() as u64).as_micros()).unwrap_or(i64::MAX);
        let (slots, missing) = lost_slots(evidence, &job.name, every);
        looked_at += slots;
        lost.extend(missing);
    }
    verdict.check("I11", "every slot is a run or a recorded skip", looked_at, lost);
}

fn one_run_per_slot(evidence: &Evidence, verdict: &mut Verdict) {
    let mut by_slot: BTreeMap<(&str, Moment), Vec<&str>> = BTreeMap::new();
    for run in &evidence.runs {
        if let Some(slot) = run.run.scheduled_for {
            by_slot.entry((&run.run.job, slot)).or_default().push(&run.run.id);
        }
    }
    let found = by_slot.iter().filter(|(_, runs)| runs.len() > 1);
    let found = found.map(|((job, slot), runs)| Violation {
        invariant: "I1",
        what: format!("slot {slot} of job {job:?} has {} runs: {}", runs.len(), runs.join(", ")),
        advice: None,
        timeline: runs.iter().flat_map(|run| timeline::of_run(evidence, run)).collect(),
    });
    let found = found.collect();
    verdict.check("I1", "one run per slot", by_slot.len(), found);
}

fn lost_slots(evidence: &Evidence, job: &str, every: i64) -> (usize, Vec<Violation>) {
    let runs: BTreeSet<i64> = evidence
        .runs
        .iter()
        .filter(|run| run.run.job == job)
        .filter_map(|run| run.run.scheduled_for)
        .map(Moment::micros)
        .collect();
    let skips: Vec<(i64, i64)> =
        evidence.skips.iter().filter(|skip| skip.job == job).map(|skip| (skip.from.micros(), skip.to.micros())).collect();
    let first = runs.iter().copied().chain(skips.iter().map(|skip| skip.0)).min();
    let (Some(first), Some(last)) = (first, runs.last().copied()) else { return (0, Vec::new()) };
    let grid: Vec<i64> = std::iter::successors(Some(first), |at| at.checked_add(every)).take_while(|at| *at <= last).collect();
    let accounted = |at: &i64| runs.contains(at) || skips.iter().any(|(from, to)| (*from..=*to).contains(at));
    let lost = grid.iter().filter(|at| !accounted(at)).map(|at| Violation {
        invariant: "I11",
        what: format!("slot {} of job {job:?} is neither a run nor a recorded skip", Moment::from_micros(*at)),
        advice: None,
        timeline: timeline::around(evidence, Moment::from_micros(*at)),
    });
    let lost = lost.collect();
    (grid.len(), lost)
}
