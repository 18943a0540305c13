//! Which messages there have to be, worked out apart from the engine: each finished message step's rows, rendered again.

use std::collections::{BTreeMap, BTreeSet};

use onebell::model::RunId;
use onebell::store::{RunDetail, Store};

use super::super::evidence::Evidence;
use super::super::rows::objects;
use crate::answer::Failure;
use crate::jobfile::JobFile;
use crate::steps::spec::{MESSAGE, MessageStep, Rows};
use crate::template::{RunFacts, Scope, Templates};

/// What finished steps put.
#[derive(Debug, Default)]
pub(in super::super) struct Expected {
    /// Keys, and the step that put it first.
    keys: BTreeMap<String, String>,
    /// How many messages were put, repeated keys included.
    pub(super) put: u64,
}

impl Expected {
    /// From the rows that the store keeps of each finished step. Rows of files and queries cannot be had again as they were.
    pub(in super::super) async fn of(file: &JobFile, store: &dyn Store, evidence: &Evidence) -> Result<Self, Failure> {
        let mut expected = Self::default();
        for run in &evidence.runs {
            let Some(job) = file.jobs.iter().find(|job| job.name == run.run.job) else { continue };
            for step in job.steps.iter().filter(|step| step.handler == MESSAGE && has_put(run, &step.name)) {
                let Ok(spec) = serde_json::from_str::<MessageStep>(&step.spec) else { continue };
                let rows = match &spec.rows {
                    None => vec!["{}".to_owned()],
                    Some(Rows::OutputOf(source)) => rows(store, &run.run.id, source).await?,
                    Some(_) => continue,
                };
                expected.add(run, &step.name, &spec.key, &rows);
            }
        }
        Ok(expected)
    }

    fn add(&mut self, run: &RunDetail, step: &str, key: &str, rows: &[String]) {
        let facts = RunFacts {
            id: run.run.id.clone(),
            scheduled_for: run.run.scheduled_for.map(|at| at.to_string()),
            input: run.input.clone(),
        };
        let mut templates = Templates::new();
        if templates.add("key", key).is_err() {
            return;
        }
        let mut own = BTreeSet::new();
        for row in rows {
            // The step rendered the same rows: it would have failed otherwise.
            own.extend(templates.render("key", &Scope::new(&run.run.job, step, &facts, row)));
        }
        self.put += own.len() as u64;
        for key in own {
            self.keys.entry(key).or_insert_with(|| format!("{}.{step}", run.run.id));
        }
    }

    /// Messages with different keys.
    pub(super) fn distinct(&self) -> u64 {
        self.keys.len() as u64
    }

    /// Keys that are not in the outbox, with the step that put them.
    pub(super) fn lost(&self, evidence: &Evidence) -> Vec<(String, String)> {
        let there: BTreeSet<&str> = evidence.messages.iter().map(|message| message.key.as_str()).collect();
        let lost = self.keys.iter().filter(|(key, _)| !there.contains(key.as_str()));
        lost.map(|(key, step)| (step.clone(), key.clone())).collect()
    }
}

/// Whether a settlement of the step was committed with its messages.
fn has_put(run: &RunDetail, step: &str) -> bool {
    let put = |outcome: &str| matches!(outcome, "succeeded" | "delivering");
    let own = run.steps.iter().filter(|own| own.name == step);
    own.flat_map(|own| &own.attempts).any(|attempt| put(&attempt.outcome))
}

async fn rows(store: &dyn Store, run: &str, step: &str) -> Result<Vec<String>, Failure> {
    let text = store.step_rows(&RunId::from_text(run), step).await?.unwrap_or_else(|| "[]".to_owned());
    Ok(objects(&text).map_err(Failure::usage)?.iter().map(ToString::to_string).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn i4_a_message_that_is_not_in_the_outbox_is_lost() {
        let mut expected = Expected::default();
        expected.keys.insert("k/1".to_owned(), "run.step".to_owned());
        assert_eq!(expected.lost(&Evidence::default()), [("run.step".to_owned(), "k/1".to_owned())]);
    }
}
