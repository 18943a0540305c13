//! Steps as they begin: of a new run, of an undo, and those that a retried run opens again. They wait until the run's
//! graph says that they are ready; only a step whose messages go out again delivers at once.

use super::columns::{count, from_json, int, micros, to_json};
use super::run_graph::{Node, RunRow, waiting};
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use crate::model::job::{OnLost, OnMessageFailed, UndoDefinition};
use crate::model::run::undo_steps;
use crate::model::step::StepStatus;
use crate::model::{JobDefinition, JobId, RunId, StepDefinition, StepId};
use crate::store::StoreError;

/// The columns of a new step.
struct NewStep<'d> {
    id: StepId,
    run: &'d RunId,
    job: &'d JobId,
    rank: u32,
    status: StepStatus,
    attempt: u64,
    undoable: bool,
    definition: &'d StepDefinition,
}

impl NewStep<'_> {
    fn insert(&self, tx: &Tx<'_>) -> Outcome<()> {
        let definition = self.definition;
        let (after, retry) = (to_json(&definition.after)?, to_json(&definition.retry)?);
        tx.execute(
            S::InsertSteps,
            &[
                ("step", &self.id),
                ("run", self.run),
                ("job", self.job),
                ("name", &definition.name),
                ("rank", &self.rank),
                ("handler", &definition.handler),
                ("spec", &definition.spec),
                ("after", &after),
                ("undoable", &self.undoable),
                ("queue", &definition.queue),
                ("priority", &definition.priority),
                ("timeout_us", &micros(definition.timeout)),
                ("hard_limit_us", &micros(definition.hard_limit)),
                ("retry", &retry),
                ("on_lost", &definition.on_lost),
                ("on_message_failed", &definition.on_message_failed),
                ("status", &self.status),
                ("attempt", &int(self.attempt)),
                ("now", &tx.now),
            ],
        )?;
        Ok(())
    }
}

/// All steps of a run that was just inserted.
pub(super) fn open_run(tx: &Tx<'_>, run: &RunId, job: &JobId, definition: &JobDefinition) -> Outcome<()> {
    let ranks = definition.ranks();
    for step in &definition.steps {
        let rank = ranks.get(step.name.as_str()).copied().unwrap_or(0);
        let undoable = step.undo.is_some();
        let (id, status) = (StepId::of(run, &step.name), StepStatus::Waiting);
        NewStep { id, run, job, rank, status, attempt: 0, undoable, definition: step }.insert(tx)?;
    }
    Ok(())
}

/// The undo steps of these steps, the first one first.
pub(super) fn open_undo(tx: &Tx<'_>, run: &RunRow, names: &[String]) -> Outcome<Vec<Node>> {
    let definition = definition_of(tx, run)?;
    let mut nodes = Vec::with_capacity(names.len());
    for (rank, (name, view)) in (0_u32..).zip(names.iter().zip(undo_steps(names))) {
        let step = step_of(&definition, run, name)?;
        let undo = step.undo.as_ref().ok_or_else(|| missing(run, name, "no undo"))?;
        let as_step = undo_definition(step, undo, view.name.clone(), view.after.clone());
        let id = StepId::of_undo(&run.id, name);
        let (id_here, status) = (id.clone(), StepStatus::Waiting);
        let place =
            NewStep { id: id_here, run: &run.id, job: &run.job, rank, status, attempt: 0, undoable: false, definition: &as_step };
        place.insert(tx)?;
        nodes.push(waiting(id, view));
    }
    Ok(nodes)
}

/// Cancelled steps wait again, under the number of their last attempt.
pub(super) fn reopen(tx: &Tx<'_>, run: &RunRow, cancelled: &[&Node]) -> Outcome<()> {
    for node in cancelled {
        tx.execute(S::ReopenSteps, &[("step", &node.id)])?;
    }
    let cancelled: Vec<(&str, u64)> = cancelled.iter().map(|node| (node.view.name.as_str(), node.attempt)).collect();
    take_back(tx, run, StepStatus::Waiting, &cancelled)
}

/// Steps that were done deliver again: of their messages some were dropped with the run, and are ready now.
pub(super) fn redeliver(tx: &Tx<'_>, run: &RunRow) -> Outcome<()> {
    let done = tx.rows(S::RedeliverSteps, &[("run", &run.id)], |row| {
        // An end without an owner took a number of its own, and so does this.
        Ok((row.get::<_, String>("name")?, count(row, "attempt")? + 1))
    })?;
    let done: Vec<(&str, u64)> = done.iter().map(|(name, attempt)| (name.as_str(), *attempt)).collect();
    take_back(tx, run, StepStatus::Delivering, &done)?;
    tx.execute(S::RecordRedeliveredSteps, &[("run", &run.id), ("now", &tx.now)])?;
    Ok(())
}

/// Steps of the history, by name and attempt, are open once more.
fn take_back(tx: &Tx<'_>, run: &RunRow, status: StepStatus, steps: &[(&str, u64)]) -> Outcome<()> {
    if steps.is_empty() {
        return Ok(());
    }
    let definition = definition_of(tx, run)?;
    let ranks = definition.ranks();
    for (name, attempt) in steps.iter().copied() {
        let step = step_of(&definition, run, name)?;
        let rank = ranks.get(name).copied().unwrap_or(0);
        let (id, undoable) = (StepId::of(&run.id, name), step.undo.is_some());
        NewStep { id, run: &run.id, job: &run.job, rank, status, attempt, undoable, definition: step }.insert(tx)?;
    }
    Ok(())
}

/// The undo as a step of its own: it runs where the step it undoes ran, and may be run again when it is lost.
fn undo_definition(step: &StepDefinition, undo: &UndoDefinition, name: String, after: Vec<String>) -> StepDefinition {
    StepDefinition {
        name,
        handler: undo.handler.clone(),
        spec: undo.spec.clone(),
        after,
        timeout: undo.timeout,
        hard_limit: undo.hard_limit,
        retry: undo.retry,
        on_lost: OnLost::default(),
        queue: step.queue.clone(),
        priority: step.priority,
        undo: None,
        on_message_failed: OnMessageFailed::default(),
    }
}

/// The definition that the run was opened with.
fn definition_of(tx: &Tx<'_>, run: &RunRow) -> Outcome<JobDefinition> {
    let values: [(&str, &dyn rusqlite::ToSql); 2] = [("job", &run.job), ("version", &int(run.version))];
    let text = tx.first(S::ReadDefinition, &values, |row| Ok(row.get::<_, String>("definition")?))?;
    let gone = || StoreError::broken(format!("version {} of job {} is gone, but run {} needs it", run.version, run.job, run.id));
    from_json(&text.ok_or_else(gone)?, "job definition")
}

fn step_of<'d>(definition: &'d JobDefinition, run: &RunRow, name: &str) -> Outcome<&'d StepDefinition> {
    Ok(definition.step(name).ok_or_else(|| missing(run, name, "no such step"))?)
}

fn missing(run: &RunRow, name: &str, what: &str) -> StoreError {
    StoreError::broken(format!("{what} in version {} of job {}: step {name:?} of run {}", run.version, run.job, run.id))
}
