//! Rows for `job_steps`, as columns: steps of opened runs, undo steps, steps taken back from the history.

use std::collections::BTreeMap;

use super::columns::{int, json, micros, stamp, values};
use super::error::{Failure, Outcome};
use super::statements as sql;
use super::transaction::Tx;
use crate::model::job::{OnLost, OnMessageFailed, UNDO_MARK, UndoDefinition};
use crate::model::retry::RetryPolicy;
use crate::model::step::StepStatus;
use crate::model::{JobDefinition, JobId, Moment, RunId, StepDefinition, StepId};

/// Steps to be inserted, column by column.
#[derive(Debug, Default)]
pub(super) struct NewSteps {
    step_id: Vec<String>,
    run_id: Vec<String>,
    job_id: Vec<String>,
    name: Vec<String>,
    rank: Vec<i32>,
    handler: Vec<String>,
    spec: Vec<String>,
    after: Vec<String>,
    undoable: Vec<bool>,
    queue: Vec<String>,
    priority: Vec<i32>,
    timeout_us: Vec<i64>,
    hard_limit_us: Vec<i64>,
    retry: Vec<String>,
    on_lost: Vec<&'static str>,
    on_message_failed: Vec<&'static str>,
    status: Vec<&'static str>,
    attempt: Vec<i64>,
}

/// Where a step belongs and where it starts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'r> {
    pub(super) run: &'r RunId,
    pub(super) job: &'r JobId,
    pub(super) status: StepStatus,
    pub(super) attempt: u64,
}

impl NewSteps {
    /// All steps of a run that is opened with `definition`.
    pub(super) fn add_run(&mut self, run: &RunId, job: &JobId, definition: &JobDefinition) -> Outcome<()> {
        let place = Place { run, job, status: StepStatus::Waiting, attempt: 0 };
        let ranks = definition.ranks();
        definition.steps.iter().try_for_each(|step| self.add(place, step, &ranks))
    }

    /// One step of a definition.
    pub(super) fn add(&mut self, place: Place<'_>, step: &StepDefinition, ranks: &BTreeMap<&str, u32>) -> Outcome<()> {
        let rank = ranks.get(step.name.as_str()).copied().unwrap_or(0);
        self.add_place(place, StepId::of(place.run, &step.name), &step.name, rank, step);
        self.add_work(&step.handler, &step.spec, step.timeout, step.hard_limit);
        self.add_policies(&step.after, step.undo.is_some(), &step.retry, step.on_lost, step.on_message_failed)
    }

    /// The step that undoes `step`. `position`: where it stands in the order of undoing.
    pub(super) fn add_undo(&mut self, place: Place<'_>, step: &StepDefinition, position: usize, after: &[String]) -> Outcome<()> {
        let missing = || Failure::broken(format!("step {} of run {} declares no undo", step.name, place.run));
        let undo: &UndoDefinition = step.undo.as_ref().ok_or_else(missing)?;
        let name = format!("{}{UNDO_MARK}", step.name);
        self.add_place(place, StepId::of_undo(place.run, &step.name), &name, u32::try_from(position).unwrap_or(u32::MAX), step);
        self.add_work(&undo.handler, &undo.spec, undo.timeout, undo.hard_limit);
        self.add_policies(after, false, &undo.retry, OnLost::Retry, OnMessageFailed::Continue)
    }

    fn add_place(&mut self, place: Place<'_>, id: StepId, name: &str, rank: u32, step: &StepDefinition) {
        self.step_id.push(id.as_str().to_owned());
        self.run_id.push(place.run.as_str().to_owned());
        self.job_id.push(place.job.as_str().to_owned());
        self.name.push(name.to_owned());
        self.rank.push(i32::try_from(rank).unwrap_or(i32::MAX));
        self.queue.push(step.queue.clone());
        self.priority.push(step.priority);
        self.status.push(place.status.as_str());
        self.attempt.push(int(place.attempt));
    }

    fn add_work(&mut self, handler: &str, spec: &str, timeout: std::time::Duration, hard_limit: std::time::Duration) {
        self.handler.push(handler.to_owned());
        self.spec.push(spec.to_owned());
        self.timeout_us.push(micros(timeout).max(1));
        self.hard_limit_us.push(micros(hard_limit));
    }

    fn add_policies(
        &mut self,
        after: &[String],
        undoable: bool,
        retry: &RetryPolicy,
        on_lost: OnLost,
        on_message_failed: OnMessageFailed,
    ) -> Outcome<()> {
        self.after.push(json(after)?);
        self.undoable.push(undoable);
        self.retry.push(json(retry)?);
        self.on_lost.push(on_lost.as_str());
        self.on_message_failed.push(on_message_failed.as_str());
        Ok(())
    }

    /// Writes them.
    pub(super) async fn insert(&self, tx: &Tx, now: Moment) -> Outcome<()> {
        if self.step_id.is_empty() {
            return Ok(());
        }
        let now = stamp(now);
        let values = values![
            now,
            self.step_id,
            self.run_id,
            self.job_id,
            self.name,
            self.rank,
            self.handler,
            self.spec,
            self.after,
            self.undoable,
            self.queue,
            self.priority,
            self.timeout_us,
            self.hard_limit_us,
            self.retry,
            self.on_lost,
            self.on_message_failed,
            self.status,
            self.attempt,
        ];
        tx.execute_all(&sql::INSERT_STEPS, values, self.step_id.len()).await
    }
}
