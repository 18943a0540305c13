//! A run with all its steps, read under the write lock, and the writing of what follows from it.
//! What follows, `model::run::advance` decides.

use std::collections::BTreeSet;

use super::alarms::tell_of_move;
use super::columns::{count, from_json, to_json};
use super::new_steps;
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use crate::model::alarm::RunMoved;
use crate::model::job::UNDO_MARK;
use crate::model::run::{Change, RunEvent, RunGoal, RunStatus, RunView, StepView, advance};
use crate::model::step::{StepEvent, StepStatus};
use crate::model::{JobId, Moment, RunId, StepId};
use crate::store::StoreError;

/// A row of `runs`.
#[derive(Debug, Clone)]
pub(super) struct RunRow {
    pub(super) id: RunId,
    pub(super) job: JobId,
    pub(super) version: u64,
    pub(super) status: RunStatus,
    pub(super) goal: Option<RunGoal>,
    pub(super) reason: Option<String>,
    pub(super) slot: Option<Moment>,
    /// By when it should be over, until that was told.
    pub(super) finish_by: Option<Moment>,
    /// Whether a vigil is kept over its job.
    pub(super) vigil: bool,
}

/// A step of the graph.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) id: StepId,
    pub(super) attempt: u64,
    pub(super) view: StepView,
}

/// A run with all its steps.
#[derive(Debug, Clone)]
pub(super) struct RunGraph {
    pub(super) row: RunRow,
    pub(super) nodes: Vec<Node>,
}

impl RunRow {
    /// The run as it stands.
    pub(super) fn locked(tx: &Tx<'_>, run: &RunId) -> Outcome<Option<Self>> {
        tx.first(S::LockRuns, &[("run", run)], |row| {
            Ok(Self {
                id: row.get("run_id")?,
                job: row.get("job_id")?,
                version: count(row, "version")?,
                status: row.get("status")?,
                goal: row.get("goal")?,
                reason: row.get("reason")?,
                slot: row.get("scheduled_for")?,
                finish_by: row.get("finish_by")?,
                vigil: row.get("vigil")?,
            })
        })
    }

    /// Writes one transition of the run. A new goal also decides over its messages.
    pub(super) fn go(
        &mut self,
        tx: &Tx<'_>,
        event: RunEvent,
        to: RunStatus,
        reason: Option<&str>,
        goal: Option<RunGoal>,
    ) -> Outcome<()> {
        debug_assert_eq!(self.status.on(event), Some(to), "the table has no line for {event} from {}", self.status);
        let kept = match event {
            RunEvent::Undo | RunEvent::EndFailed | RunEvent::EndCancelled => self.reason.take(),
            _ => None,
        };
        let reason = reason.map(str::to_owned).or(kept);
        let goal_after = if event == RunEvent::Retry { None } else { goal.or(self.goal) };
        let changed = tx.execute(
            S::MoveRuns,
            &[
                ("run", &self.id),
                ("from", &self.status),
                ("to", &to),
                ("goal", &goal_after),
                ("reason", &reason),
                ("over", &to.is_over()),
                ("now", &tx.now),
            ],
        )?;
        if changed == 0 {
            return Err(
                StoreError::broken(format!("run {} moved while the store was locked; a defect of Onebell", self.id)).into()
            );
        }
        (self.status, self.goal, self.reason) = (to, goal_after, reason);
        if goal.is_some() { self.drop_messages(tx) } else { Ok(()) }
    }

    /// Its messages that never were in `sending` are dropped, now or when they come back.
    fn drop_messages(&self, tx: &Tx<'_>) -> Outcome<()> {
        tx.execute(S::DropRunMessages, &[("run", &self.id), ("now", &tx.now)])?;
        tx.execute(S::MarkRunGone, &[("run", &self.id), ("now", &tx.now)])?;
        Ok(())
    }
}

impl RunGraph {
    /// The run with its steps, if there is such a run.
    pub(super) fn locked(tx: &Tx<'_>, run: &RunId) -> Outcome<Option<Self>> {
        let Some(row) = RunRow::locked(tx, run)? else { return Ok(None) };
        let nodes = tx.rows(S::ReadRunSteps, &[("run", run)], |row| {
            let after = row.get_ref("after")?.as_str().map_err(rusqlite::Error::from)?;
            let view = StepView {
                name: row.get("name")?,
                status: row.get("status")?,
                after: from_json(after, "list of steps")?,
                rank: row.get::<_, i64>("rank").map(|rank| u32::try_from(rank).unwrap_or(0))?,
                undoable: row.get("undoable")?,
                delivered: row.get("delivered")?,
            };
            Ok(Node { id: row.get("step_id")?, attempt: count(row, "attempt")?, view })
        })?;
        Ok(Some(Self { row, nodes }))
    }

    pub(super) fn node(&self, name: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.view.name == name)
    }

    /// Whether any undo step exists, in whatever state.
    pub(super) fn undo_began(&self) -> bool {
        self.nodes.iter().any(|node| node.view.name.ends_with(UNDO_MARK))
    }

    /// Cancels the run, and what follows from it.
    pub(super) fn cancel(&mut self, tx: &Tx<'_>, reason: &str) -> Outcome<()> {
        self.row.go(tx, RunEvent::Cancel, RunStatus::Cancelling, Some(reason), Some(RunGoal::Cancelled))?;
        self.advance(tx).map(drop)
    }

    /// Writes everything that follows from the present state: how many changes.
    pub(super) fn advance(&mut self, tx: &Tx<'_>) -> Outcome<usize> {
        // A step that ended while its run fails or is cancelled may have put messages: they go the way of the others.
        if matches!(self.row.status, RunStatus::Failing | RunStatus::Cancelling) {
            self.row.drop_messages(tx)?;
        }
        let view = RunView {
            status: self.row.status,
            goal: self.row.goal,
            steps: self.nodes.iter().map(|node| node.view.clone()).collect(),
        };
        let changes = advance(&view);
        let mut rest = changes.as_slice();
        while let [first, after @ ..] = rest {
            rest = match first {
                Change::Step(_, event) => {
                    let same = |change: &&Change| matches!(change, Change::Step(_, other) if other == event);
                    let many = rest.iter().take_while(same).count();
                    self.move_steps(tx, *event, &rest[..many])?;
                    &rest[many..]
                }
                Change::Run(event, to, reason) => {
                    // The row wants its goal in the statement that needs it.
                    let goal = if let Some(Change::Goal(goal)) = after.first() { Some(*goal) } else { None };
                    self.row.go(tx, *event, *to, reason.as_deref(), goal)?;
                    self.tell(tx, *event)?;
                    &after[usize::from(goal.is_some())..]
                }
                Change::Goal(goal) => {
                    return Err(StoreError::broken(format!("a goal ({goal}) without a transition; a defect of Onebell")).into());
                }
                Change::OpenUndo(names) => {
                    self.nodes.extend(new_steps::open_undo(tx, &self.row, names)?);
                    after
                }
            };
        }
        Ok(changes.len())
    }

    fn tell(&self, tx: &Tx<'_>, event: RunEvent) -> Outcome<()> {
        let RunRow { id, slot, reason, finish_by, .. } = self.row.clone();
        let attempts = self.nodes.iter().map(|node| node.attempt).sum();
        tell_of_move(tx, &self.row, RunMoved { run: id, slot, attempts, event, reason, finish_by, success: None })
    }

    fn move_steps(&mut self, tx: &Tx<'_>, event: StepEvent, changes: &[Change]) -> Outcome<()> {
        let names: BTreeSet<&str> = changes
            .iter()
            .filter_map(|change| if let Change::Step(name, _) = change { Some(name.as_str()) } else { None })
            .collect();
        let mut ids = Vec::with_capacity(changes.len());
        for node in self.nodes.iter_mut().filter(|node| names.contains(node.view.name.as_str())) {
            node.view.status = node.view.status.on(event).unwrap_or(node.view.status);
            ids.push(node.id.as_str());
        }
        let (steps, now) = (to_json(&ids)?, tx.now);
        let moved = match event {
            StepEvent::Ready => tx.execute(S::ReadySteps, &[("steps", &steps), ("now", &now)])?,
            StepEvent::Cancel => {
                tx.execute(S::RecordCancelledSteps, &[("steps", &steps), ("now", &now)])?;
                tx.execute(S::CancelSteps, &[("steps", &steps)])?
            }
            other => return Err(StoreError::broken(format!("{other} is no consequence; a defect of Onebell")).into()),
        };
        if moved != ids.len() {
            return Err(StoreError::broken(format!("{moved} of {} steps could {event}; a defect of Onebell", ids.len())).into());
        }
        Ok(())
    }
}

/// Writes everything that follows inside a run: how many changes. Nothing for a run that is not there.
pub(super) fn advance_run(tx: &Tx<'_>, run: &RunId) -> Outcome<usize> {
    RunGraph::locked(tx, run)?.map_or(Ok(0), |mut graph| graph.advance(tx))
}

/// A node for a step that was just written as waiting.
pub(super) fn waiting(id: StepId, view: StepView) -> Node {
    Node { id, attempt: 0, view: StepView { status: StepStatus::Waiting, ..view } }
}
