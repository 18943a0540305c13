//! I2: one owner at a time, by the history and by the witness. I4: rows of `sql` steps as often as their completion.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::super::evidence::Evidence;
use super::super::timeline;
use super::{Verdict, Violation};
use crate::jobfile::JobFile;
use crate::steps::spec::SQL;

/// A step that was executed more than once for the same run: what *at least once* means.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in super::super) struct Repeated {
    /// `job/step`.
    pub(in super::super) step: String,
    /// Runs in which it was executed more than once.
    pub(in super::super) runs: u64,
    /// Executions beyond the first of each run.
    pub(in super::super) again: u64,
    /// All executions.
    pub(in super::super) executions: u64,
}

pub(super) fn judge(file: &JobFile, evidence: &Evidence, verdict: &mut Verdict) {
    let steps = evidence.runs.iter().map(|run| run.steps.len()).sum();
    verdict.check("I2", "one owner of a step at a time, by its history", steps, owners(evidence));
    verdict.check("I2", "one execution of a command at a time, by its witness", evidence.executions.len(), executions(evidence));
    let (looked_at, found) = commits(file, evidence);
    verdict.check("I4", "rows of an sql step are there as often as it succeeded", looked_at, found);
    verdict.repeated = repeated(evidence);
}

fn owners(evidence: &Evidence) -> Vec<Violation> {
    let mut found = Vec::new();
    for step in evidence.runs.iter().flat_map(|run| &run.steps) {
        let mut attempts: Vec<_> = step.attempts.iter().collect();
        attempts.sort_by_key(|attempt| attempt.attempt);
        for pair in attempts.windows(2) {
            let [before, after] = pair else { continue };
            let overlap = after.claimed_at.is_some_and(|claimed| claimed < before.ended_at);
            if overlap || before.attempt == after.attempt {
                found.push(Violation {
                    invariant: "I2",
                    what: format!(
                        "attempt {} of {} was claimed before attempt {} had ended",
                        after.attempt, step.id, before.attempt
                    ),
                    advice: None,
                    timeline: timeline::of_step(evidence, &step.id),
                });
            }
        }
    }
    found
}

fn executions(evidence: &Evidence) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for execution in &evidence.executions {
        let id = &execution.step_id;
        let what = if let Some(other) = execution.beside.and_then(|index| evidence.executions.get(index)) {
            format!("attempt {} of {id} began while attempt {} was still at work", execution.attempt, other.attempt)
        } else if !seen.insert((id, execution.attempt)) {
            format!("attempt {} of {id} was executed twice", execution.attempt)
        } else {
            continue;
        };
        found.push(Violation { invariant: "I2", what, advice: None, timeline: timeline::of_step(evidence, id) });
    }
    found
}

fn commits(file: &JobFile, evidence: &Evidence) -> (usize, Vec<Violation>) {
    let mut found = Vec::new();
    let mut looked_at = 0;
    for job in &file.jobs {
        for step in job.steps.iter().filter(|step| step.handler == SQL) {
            let name = format!("{}/{}", job.name, step.name);
            let of_job = evidence.runs.iter().filter(|run| run.run.job == job.name);
            let own = of_job.flat_map(|run| &run.steps).filter(|own| own.name == step.name);
            let succeeded = own.flat_map(|own| &own.attempts).filter(|attempt| attempt.outcome == "succeeded").count();
            let committed = evidence.commits.get(&name).copied().unwrap_or(0);
            looked_at += succeeded;
            if committed != succeeded as u64 {
                found.push(Violation {
                    invariant: "I4",
                    what: format!("step {name} succeeded {succeeded} times, and its rows were committed {committed} times"),
                    advice: None,
                    timeline: Vec::new(),
                });
            }
        }
    }
    (looked_at, found)
}

fn repeated(evidence: &Evidence) -> Vec<Repeated> {
    let mut by_step: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    for execution in &evidence.executions {
        *by_step.entry(&execution.step).or_default().entry(&execution.step_id).or_default() += 1;
    }
    let count = |(step, runs): (&&str, &BTreeMap<&str, u64>)| Repeated {
        step: (*step).to_owned(),
        runs: runs.values().filter(|count| **count > 1).count() as u64,
        again: runs.values().map(|count| count - 1).sum(),
        executions: runs.values().sum(),
    };
    by_step.iter().map(count).filter(|repeated| repeated.runs > 0).collect()
}

#[cfg(test)]
mod tests {
    use onebell::model::Moment;

    use super::super::super::scene::Execution;
    use super::*;

    fn execution(attempt: u64, beside: Option<usize>) -> Execution {
        Execution {
            step: "j/s".to_owned(),
            step_id: "j-1.s".to_owned(),
            attempt,
            replica: "r1".to_owned(),
            pid: 1,
            began: Moment::from_micros(0),
            ended: None,
            code: None,
            beside,
        }
    }

    fn judged(executions: Vec<Execution>) -> (Vec<Violation>, Vec<Repeated>) {
        let evidence = Evidence { executions, ..Evidence::default() };
        (super::executions(&evidence), repeated(&evidence))
    }

    #[test]
    fn an_attempt_after_another_is_a_fact_and_no_violation() {
        let (violations, repeated) = judged(vec![execution(1, None), execution(2, None)]);
        assert!(violations.is_empty());
        assert_eq!(repeated, [Repeated { step: "j/s".to_owned(), runs: 1, again: 1, executions: 2 }]);
    }

    #[test]
    fn i2_two_at_a_time_and_one_attempt_twice_are_violations() {
        let (violations, _) = judged(vec![execution(1, None), execution(2, Some(0))]);
        assert!(violations[0].what.contains("began while attempt 1 was still at work"), "{violations:?}");
        let (violations, _) = judged(vec![execution(1, None), execution(1, None)]);
        assert!(violations[0].what.contains("attempt 1 of j-1.s was executed twice"), "{violations:?}");
    }
}
