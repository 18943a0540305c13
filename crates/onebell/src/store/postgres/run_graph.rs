//! What follows inside a run: its graph is read under its lock, `model::run::advance` decides, the answer is written.
//!
//! It decides nothing. Runs are locked by [`lock`] in an earlier statement, always before their steps.

use std::collections::{BTreeMap, BTreeSet};

use super::alarms::{self, Moved};
use super::columns::{Record, stamp, values};
use super::error::{Failure, Outcome};
use super::new_steps::{NewSteps, Place};
use super::statements as sql;
use super::transaction::Tx;
use crate::model::alarm::RunMoved;
use crate::model::job::UNDO_MARK;
use crate::model::run::{self, Change, RunEvent, RunGoal, RunStatus, RunView, StepView};
use crate::model::step::{StepEvent, StepStatus};
use crate::model::{JobDefinition, JobId, Moment, RunId};

/// A run under its lock.
#[derive(Debug, Clone)]
pub(super) struct LockedRun {
    pub(super) id: RunId,
    pub(super) job: JobId,
    pub(super) status: RunStatus,
    pub(super) goal: Option<RunGoal>,
    reason: Option<String>,
    slot: Option<Moment>,
    /// By when it should be over, until that was told.
    pub(super) finish_by: Option<Moment>,
    /// Whether a vigil is kept over its job.
    vigil: bool,
}

/// Locks runs, sorted. Those that do not exist are left out.
pub(super) async fn lock(tx: &Tx, ids: impl IntoIterator<Item = &RunId>) -> Outcome<BTreeMap<RunId, LockedRun>> {
    let ids: BTreeSet<&str> = ids.into_iter().map(RunId::as_str).collect();
    let ids: Vec<&str> = ids.into_iter().collect();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let rows = tx.rows(&sql::LOCK_RUNS, values![ids]).await?;
    rows.iter().map(|row| locked(row).map(|run| (run.id.clone(), run))).collect()
}

fn locked(row: &Record) -> Outcome<LockedRun> {
    Ok(LockedRun {
        id: RunId::from_text(row.get::<&str>("run_id")?),
        job: JobId::from_text(row.get::<&str>("job_id")?),
        status: row.word("status", RunStatus::from_word)?,
        goal: row.word_opt("goal", RunGoal::from_word)?,
        reason: row.get("reason")?,
        slot: row.moment_opt("scheduled_for")?,
        finish_by: row.moment_opt("finish_by")?,
        vigil: row.get("vigil")?,
    })
}

/// A move of the run itself, made before its consequences are asked for.
#[derive(Debug, Clone)]
pub(super) struct Move {
    event: RunEvent,
    to: RunStatus,
    goal: Option<RunGoal>,
    reason: Option<String>,
}

/// A locked run, and the move that is made first.
#[derive(Debug, Clone)]
pub(super) struct Subject {
    run: LockedRun,
    first: Option<Move>,
}

impl Subject {
    /// Only what follows from how it stands.
    pub(super) fn as_it_stands(run: LockedRun) -> Self {
        Self { run, first: None }
    }

    /// It is cancelled, if its state allows it.
    pub(super) fn cancelled(run: LockedRun, reason: String) -> Option<Self> {
        Self::moved(run, RunEvent::Cancel, Some(RunGoal::Cancelled), Some(reason))
    }

    /// It starts, if it is queued.
    pub(super) fn admitted(run: LockedRun) -> Option<Self> {
        let goal = run.goal;
        Self::moved(run, RunEvent::Admit, goal, None)
    }

    /// It failed and is tried again.
    pub(super) fn retried(run: LockedRun) -> Option<Self> {
        Self::moved(run, RunEvent::Retry, None, None)
    }

    fn moved(run: LockedRun, event: RunEvent, goal: Option<RunGoal>, reason: Option<String>) -> Option<Self> {
        let to = run.status.on(event)?;
        Some(Self { run, first: Some(Move { event, to, goal, reason }) })
    }
}

/// Writes everything that follows from how the runs and their steps stand now. Returns how many changes that were.
pub(super) async fn advance(tx: &Tx, now: Moment, subjects: &[Subject]) -> Outcome<u32> {
    if subjects.is_empty() {
        return Ok(0);
    }
    let mut plan = Plan::of(tx, now, subjects).await?;
    if !plan.cancel.is_empty() {
        // Runs are locked, but a claim locks only the step: what is to be cancelled is held first, then looked at again.
        tx.rows(&sql::LOCK_CANCELLABLE, values![plan.cancel_runs]).await?;
        plan = Plan::of(tx, now, subjects).await?;
    }
    plan.write(tx, now).await?;
    alarms::tell_of_moves(tx, now, &mut plan.moves).await?;
    Ok(plan.changes)
}

/// Undo steps of one run.
#[derive(Debug)]
struct Undo {
    run: RunId,
    job: JobId,
    /// The steps to be undone, in the order of undoing.
    names: Vec<String>,
    /// Undo steps that may be claimed at once.
    ready: BTreeSet<String>,
}

/// The changes of all runs, gathered for set statements.
#[derive(Debug, Default)]
struct Plan {
    ready: Vec<String>,
    cancel: Vec<String>,
    cancel_runs: Vec<String>,
    undo: Vec<Undo>,
    drop_messages: Vec<String>,
    moves: Vec<Moved>,
    run_id: Vec<String>,
    was: Vec<&'static str>,
    status: Vec<&'static str>,
    goal: Vec<Option<&'static str>>,
    reason: Vec<Option<String>>,
    changes: u32,
}

impl Plan {
    async fn of(tx: &Tx, now: Moment, subjects: &[Subject]) -> Outcome<Self> {
        let ids: Vec<&str> = subjects.iter().map(|subject| subject.run.id.as_str()).collect();
        let mut steps: BTreeMap<String, Vec<(StepView, String)>> = BTreeMap::new();
        let mut attempts: BTreeMap<String, u64> = BTreeMap::new();
        for row in tx.rows(&sql::READ_RUN_STEPS, values![ids]).await? {
            *attempts.entry(row.get("run_id")?).or_default() += row.number::<u64>("attempt")?;
            steps.entry(row.get("run_id")?).or_default().push((view(&row)?, row.get("step_id")?));
        }
        let mut plan = Self::default();
        for subject in subjects {
            let mut of_run = steps.remove(subject.run.id.as_str()).unwrap_or_default();
            of_run.sort_by(|(a, _), (b, _)| order(a).cmp(&order(b)));
            let facts = Facts { now, attempts: attempts.remove(subject.run.id.as_str()).unwrap_or(0) };
            plan.add(subject, &of_run, &facts)?;
        }
        Ok(plan)
    }

    fn add(&mut self, subject: &Subject, steps: &[(StepView, String)], facts: &Facts) -> Outcome<()> {
        let run = &subject.run;
        let mut end = Standing { status: run.status, goal: run.goal, reason: run.reason.clone(), moved: false };
        let mut undo: Option<Undo> = None;
        let (mut drop_messages, mut cancels) = (false, false);
        if let Some(first) = &subject.first {
            end.go(first.event, first.to, first.reason.as_deref());
            end.goal = first.goal;
            drop_messages = first.event == RunEvent::Cancel;
            self.changes += 1;
        }
        let ids: BTreeMap<&str, &String> = steps.iter().map(|(step, id)| (step.name.as_str(), id)).collect();
        let id_of = |name: &str| {
            ids.get(name).map(|id| (*id).clone()).ok_or_else(|| Failure::broken(format!("run {} has no step {name:?}", run.id)))
        };
        let steps = steps.iter().map(|(step, _)| step.clone()).collect();
        let changes = run::advance(&RunView { status: end.status, goal: end.goal, steps });
        // A step that ended while its run was failing or being cancelled may have put messages just now.
        drop_messages |= matches!(end.status, RunStatus::Failing | RunStatus::Cancelling);
        for change in changes {
            self.changes += 1;
            match change {
                Change::Step(name, StepEvent::Ready) => match undo.as_mut().filter(|_| name.ends_with(UNDO_MARK)) {
                    Some(opened) => drop(opened.ready.insert(name)),
                    None => self.ready.push(id_of(&name)?),
                },
                Change::Step(name, StepEvent::Cancel) => {
                    self.cancel.push(id_of(&name)?);
                    cancels = true;
                }
                Change::Step(name, event) => {
                    return Err(Failure::broken(format!("run {}: {event} of step {name:?} is no consequence", run.id)));
                }
                Change::Run(event, to, reason) => {
                    end.go(event, to, reason.as_deref());
                    self.moves.extend(facts.of(run, event, &end));
                }
                Change::Goal(goal) => {
                    end.goal = Some(goal);
                    drop_messages = true;
                }
                Change::OpenUndo(names) => {
                    undo = Some(Undo { run: run.id.clone(), job: run.job.clone(), names, ready: BTreeSet::new() });
                }
            }
        }
        self.undo.extend(undo);
        if drop_messages {
            self.drop_messages.push(run.id.as_str().to_owned());
        }
        if cancels {
            self.cancel_runs.push(run.id.as_str().to_owned());
        }
        self.end(run, end);
        Ok(())
    }

    fn end(&mut self, run: &LockedRun, end: Standing) {
        if !end.moved && end.goal == run.goal {
            return;
        }
        self.run_id.push(run.id.as_str().to_owned());
        self.was.push(run.status.as_str());
        self.status.push(end.status.as_str());
        self.goal.push(end.goal.map(RunGoal::as_str));
        self.reason.push(end.reason);
    }

    async fn write(&self, tx: &Tx, now: Moment) -> Outcome<()> {
        let at = stamp(now);
        if !self.ready.is_empty() {
            tx.execute_all(&sql::READY_STEPS, values![at, self.ready], self.ready.len()).await?;
        }
        if !self.cancel.is_empty() {
            tx.execute_all(&sql::CANCEL_STEPS, values![at, self.cancel], self.cancel.len()).await?;
        }
        if !self.undo.is_empty() {
            self.open_undo(tx, now).await?;
        }
        if !self.drop_messages.is_empty() {
            tx.execute(&sql::DROP_RUN_MESSAGES, values![at, self.drop_messages]).await?;
        }
        if !self.run_id.is_empty() {
            let values = values![at, self.run_id, self.was, self.status, self.goal, self.reason];
            tx.execute_all(&sql::MOVE_RUNS, values, self.run_id.len()).await?;
        }
        Ok(())
    }

    async fn open_undo(&self, tx: &Tx, now: Moment) -> Outcome<()> {
        let runs: Vec<&RunId> = self.undo.iter().map(|undo| &undo.run).collect();
        let definitions = definitions(tx, &runs).await?;
        let mut steps = NewSteps::default();
        for undo in &self.undo {
            let definition = definition_of(&definitions, &undo.run)?;
            for (position, (name, view)) in undo.names.iter().zip(run::undo_steps(&undo.names)).enumerate() {
                let status = if undo.ready.contains(&view.name) { StepStatus::Pending } else { view.status };
                let place = Place { run: &undo.run, job: &undo.job, status, attempt: 0 };
                let step = definition.step(name);
                let step = step.ok_or_else(|| Failure::broken(format!("run {}: step {name:?} is not defined", undo.run)))?;
                steps.add_undo(place, step, position, &view.after)?;
            }
        }
        steps.insert(tx, now).await
    }
}

/// What is told besides the move.
struct Facts {
    now: Moment,
    /// Of all steps of the run.
    attempts: u64,
}

impl Facts {
    /// Nothing when nobody can want to know.
    fn of(&self, run: &LockedRun, event: RunEvent, end: &Standing) -> Option<Moved> {
        let LockedRun { id, job, slot, finish_by, vigil, .. } = run.clone();
        let reason = end.reason.clone();
        let moved = RunMoved { run: id, slot, attempts: self.attempts, event, reason, finish_by, success: None };
        moved.may_tell(vigil, self.now).then_some(Moved { job, vigil, moved })
    }
}

/// Where a run will stand.
struct Standing {
    status: RunStatus,
    goal: Option<RunGoal>,
    reason: Option<String>,
    moved: bool,
}

impl Standing {
    fn go(&mut self, event: RunEvent, to: RunStatus, reason: Option<&str>) {
        self.status = to;
        self.moved = true;
        self.reason = match event {
            RunEvent::Undo | RunEvent::EndFailed | RunEvent::EndCancelled => self.reason.take(),
            RunEvent::Park | RunEvent::Fail | RunEvent::Cancel => reason.map(str::to_owned),
            RunEvent::Admit | RunEvent::Succeed | RunEvent::Requeue | RunEvent::ResumeUndo | RunEvent::Retry => None,
        };
    }
}

fn order(step: &StepView) -> (bool, u32, &str) {
    (step.name.ends_with(UNDO_MARK), step.rank, &step.name)
}

fn view(row: &Record) -> Outcome<StepView> {
    Ok(StepView {
        name: row.get("name")?,
        status: row.word("status", StepStatus::from_word)?,
        after: row.json("after")?,
        rank: u32::try_from(row.get::<i32>("rank")?).unwrap_or(0),
        undoable: row.get("undoable")?,
        delivered: row.get("delivered")?,
    })
}

/// The definitions that runs were opened with, by run.
pub(super) async fn definitions(tx: &Tx, runs: &[&RunId]) -> Outcome<BTreeMap<RunId, JobDefinition>> {
    let ids: Vec<&str> = runs.iter().map(|run| run.as_str()).collect();
    let rows = tx.rows(&sql::READ_DEFINITION, values![ids]).await?;
    rows.iter().map(|row| Ok((RunId::from_text(row.get::<&str>("run_id")?), row.json("definition")?))).collect()
}

/// One of them.
pub(super) fn definition_of<'d>(definitions: &'d BTreeMap<RunId, JobDefinition>, run: &RunId) -> Outcome<&'d JobDefinition> {
    definitions.get(run).ok_or_else(|| Failure::broken(format!("the definition that run {run} was opened with is missing")))
}
