//! What follows inside a run from one change: readiness, end, parking, undo.
//! The store calls [`advance`] under the run's lock, in a statement later than the one that locked it.

use super::{RunEvent, RunGoal, RunStatus};
use crate::model::job::UNDO_MARK;
use crate::model::step::{StepEvent, StepStatus};

use RunEvent as E;
use RunStatus as S;

/// A step as its run sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepView {
    /// Its name; an undo step's ends with `~undo`.
    pub name: String,
    /// Where it stands.
    pub status: StepStatus,
    /// The steps that must have succeeded before it.
    pub after: Vec<String>,
    /// Topological rank in its job.
    pub rank: u32,
    /// It declares an undo.
    pub undoable: bool,
    /// Work of it is committed although it did not succeed: an attempt of it put messages, which went wrong later.
    pub delivered: bool,
}

impl StepView {
    fn is_undo(&self) -> bool {
        self.name.ends_with(UNDO_MARK)
    }

    /// Its effects stand in the ledger.
    fn is_committed(&self) -> bool {
        self.status == StepStatus::Succeeded || self.delivered
    }

    fn moves(&self) -> bool {
        matches!(self.status, StepStatus::Pending | StepStatus::Running | StepStatus::Delivering)
    }
}

/// A run with all its steps, read under the run's lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunView {
    /// Where it stands.
    pub status: RunStatus,
    /// Set from the moment it fails or is cancelled.
    pub goal: Option<RunGoal>,
    /// Open and done ones.
    pub steps: Vec<StepView>,
}

/// One consequence, to be written in the order given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A step moves.
    Step(String, StepEvent),
    /// The run moves; a reason for people where there is one.
    Run(RunEvent, RunStatus, Option<String>),
    /// The run's goal is set: its unsent messages are dropped.
    Goal(RunGoal),
    /// Undo steps are opened for these steps, the first one first; each waits for the one before.
    OpenUndo(Vec<String>),
}

/// Everything that follows from the present state of a run. Applying the changes and asking again gives none.
pub fn advance(run: &RunView) -> Vec<Change> {
    let mut run = run.clone();
    let mut changes = Vec::new();
    loop {
        let found = run.consequences();
        if found.is_empty() {
            return changes;
        }
        for change in &found {
            run.apply(change);
        }
        changes.extend(found);
    }
}

impl RunView {
    fn consequences(&self) -> Vec<Change> {
        match self.status {
            S::Running => self.of_running(),
            S::Parked => self.of_parked(),
            S::Failing | S::Cancelling => self.of_ending(),
            S::Undoing => self.of_undoing(),
            S::Queued | S::Succeeded | S::Failed | S::Cancelled => Vec::new(),
        }
    }

    fn of_running(&self) -> Vec<Change> {
        if let Some(failed) = self.first(false, StepStatus::Failed) {
            return self.fail(failed);
        }
        let ready = self.ready(false);
        if !ready.is_empty() {
            return ready;
        }
        if self.steps.iter().all(|step| step.status == StepStatus::Succeeded) {
            return vec![Change::Run(E::Succeed, S::Succeeded, None)];
        }
        self.park(false)
    }

    fn of_parked(&self) -> Vec<Change> {
        if self.goal.is_some() {
            let goes_on =
                self.steps.iter().any(|step| step.is_undo() && step.moves()) || self.undo_done() || !self.ready(true).is_empty();
            return if goes_on { vec![Change::Run(E::ResumeUndo, S::Undoing, None)] } else { Vec::new() };
        }
        if let Some(failed) = self.first(false, StepStatus::Failed) {
            return self.fail(failed);
        }
        let goes_on = self.steps.iter().any(StepView::moves)
            || !self.ready(false).is_empty()
            || self.steps.iter().all(|step| step.status == StepStatus::Succeeded);
        if goes_on { vec![Change::Run(E::Requeue, S::Queued, None)] } else { Vec::new() }
    }

    fn of_ending(&self) -> Vec<Change> {
        let open: Vec<Change> = self
            .steps
            .iter()
            .filter(|step| matches!(step.status, StepStatus::Waiting | StepStatus::Pending))
            .map(|step| Change::Step(step.name.clone(), StepEvent::Cancel))
            .collect();
        if !open.is_empty() {
            return open;
        }
        if self.steps.iter().any(StepView::moves) {
            return Vec::new();
        }
        let mut done: Vec<&StepView> = self.steps.iter().filter(|step| step.undoable && step.is_committed()).collect();
        done.sort_by(|a, b| (b.rank, &b.name).cmp(&(a.rank, &a.name)));
        let mut changes = vec![Change::Run(E::Undo, S::Undoing, None)];
        if !done.is_empty() {
            changes.push(Change::OpenUndo(done.iter().map(|step| step.name.clone()).collect()));
        }
        changes
    }

    fn of_undoing(&self) -> Vec<Change> {
        let ready = self.ready(true);
        if !ready.is_empty() {
            return ready;
        }
        if self.undo_done() {
            let end = match self.goal {
                Some(RunGoal::Cancelled) => Change::Run(E::EndCancelled, S::Cancelled, None),
                Some(RunGoal::Failed) | None => Change::Run(E::EndFailed, S::Failed, None),
            };
            return vec![end];
        }
        self.park(true)
    }

    fn undo_done(&self) -> bool {
        self.steps.iter().filter(|step| step.is_undo()).all(|step| step.status == StepStatus::Succeeded)
    }

    fn fail(&self, step: &StepView) -> Vec<Change> {
        let reason = format!("step {} failed", step.name);
        vec![Change::Run(E::Fail, S::Failing, Some(reason)), Change::Goal(RunGoal::Failed)]
    }

    /// Parks when nothing of the half in question moves and a step of it waits for a person.
    fn park(&self, undo: bool) -> Vec<Change> {
        let half = || self.steps.iter().filter(move |step| step.is_undo() == undo);
        if half().any(StepView::moves) {
            return Vec::new();
        }
        let waits = |step: &&StepView| {
            matches!(step.status, StepStatus::Exhausted | StepStatus::Held) || (undo && step.status == StepStatus::Failed)
        };
        half().find(waits).map_or_else(Vec::new, |step| {
            vec![Change::Run(E::Park, S::Parked, Some(format!("step {} is {}", step.name, step.status)))]
        })
    }

    fn ready(&self, undo: bool) -> Vec<Change> {
        let succeeded = |name: &String| self.steps.iter().any(|step| step.name == *name && step.status == StepStatus::Succeeded);
        self.steps
            .iter()
            .filter(|step| step.is_undo() == undo && step.status == StepStatus::Waiting && step.after.iter().all(succeeded))
            .map(|step| Change::Step(step.name.clone(), StepEvent::Ready))
            .collect()
    }

    fn first(&self, undo: bool, status: StepStatus) -> Option<&StepView> {
        self.steps.iter().find(|step| step.is_undo() == undo && step.status == status)
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::Step(name, event) => {
                for step in self.steps.iter_mut().filter(|step| step.name == *name) {
                    step.status = step.status.on(*event).unwrap_or(step.status);
                }
            }
            Change::Run(event, to, _) => {
                debug_assert_eq!(self.status.on(*event), Some(*to), "the table has no line for {event} from {}", self.status);
                self.status = *to;
            }
            Change::Goal(goal) => self.goal = Some(*goal),
            Change::OpenUndo(names) => self.steps.extend(undo_steps(names)),
        }
    }
}

/// The undo steps for `names`: each waits for the one before it.
pub fn undo_steps(names: &[String]) -> Vec<StepView> {
    let undo_of = |name: &String| format!("{name}{UNDO_MARK}");
    names
        .iter()
        .enumerate()
        .map(|(index, name)| StepView {
            name: undo_of(name),
            status: StepStatus::Waiting,
            after: index.checked_sub(1).map(|before| undo_of(&names[before])).into_iter().collect(),
            rank: 0,
            undoable: false,
            delivered: false,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(name: &str, status: StepStatus, after: &[&str], rank: u32) -> StepView {
        let after = after.iter().map(|s| (*s).into()).collect();
        StepView { name: name.into(), status, after, rank, undoable: false, delivered: false }
    }

    fn undoable(name: &str, status: StepStatus, rank: u32) -> StepView {
        StepView { undoable: true, ..step(name, status, &[], rank) }
    }

    fn view(status: RunStatus, steps: Vec<StepView>) -> RunView {
        RunView { status, goal: None, steps }
    }

    fn end_of(run: &RunView) -> RunStatus {
        advance(run).iter().rev().find_map(|c| if let Change::Run(_, to, _) = c { Some(*to) } else { None }).unwrap_or(run.status)
    }

    #[test]
    fn a_join_is_ready_when_the_last_of_its_predecessors_succeeded() {
        use StepStatus::{Running, Succeeded, Waiting};
        let mut run = view(
            RunStatus::Running,
            vec![step("a", Succeeded, &[], 0), step("b", Running, &[], 0), step("c", Waiting, &["a", "b"], 1)],
        );
        assert_eq!(advance(&run), []);
        run.steps[1].status = Succeeded;
        assert_eq!(advance(&run), [Change::Step("c".into(), StepEvent::Ready)]);
    }

    #[test]
    fn i14_a_failure_undoes_finished_steps_in_reverse_order_once() {
        use StepStatus::{Failed, Succeeded, Waiting};
        let run = view(
            RunStatus::Running,
            vec![
                undoable("a", Succeeded, 0),
                undoable("b", Succeeded, 1),
                undoable("c", Succeeded, 1),
                step("d", Failed, &[], 2),
                step("e", Waiting, &["d"], 3),
            ],
        );
        let changes = advance(&run);
        assert!(changes.contains(&Change::OpenUndo(vec!["c".into(), "b".into(), "a".into()])), "{changes:?}");
        assert!(changes.contains(&Change::Step("e".into(), StepEvent::Cancel)));
        assert!(changes.contains(&Change::Step("c~undo".into(), StepEvent::Ready)));
        assert!(!changes.contains(&Change::Step("b~undo".into(), StepEvent::Ready)));
        assert_eq!(end_of(&run), RunStatus::Undoing);
    }

    #[test]
    fn i14_a_step_held_for_its_message_is_undone_too_and_one_held_for_its_loss_is_not() {
        let held = StepView { delivered: true, ..undoable("b", StepStatus::Held, 1) };
        let lost = undoable("c", StepStatus::Held, 1);
        let mut run = view(RunStatus::Cancelling, vec![undoable("a", StepStatus::Succeeded, 0), held, lost]);
        run.goal = Some(RunGoal::Cancelled);
        assert!(advance(&run).contains(&Change::OpenUndo(vec!["b".into(), "a".into()])));
    }

    #[test]
    fn a_failure_without_an_undo_passes_straight_to_failed() {
        let run = view(RunStatus::Running, vec![step("a", StepStatus::Failed, &[], 0)]);
        assert_eq!(end_of(&run), RunStatus::Failed);
    }

    #[test]
    fn undo_waits_for_what_is_still_running() {
        use StepStatus::{Failed, Running, Succeeded};
        let run =
            view(RunStatus::Running, vec![undoable("a", Succeeded, 0), step("b", Failed, &[], 0), step("c", Running, &[], 0)]);
        assert_eq!(end_of(&run), RunStatus::Failing);
    }

    #[test]
    fn a_run_parks_only_when_nothing_of_it_moves() {
        use StepStatus::{Exhausted, Running, Succeeded, Waiting};
        let mut run = view(
            RunStatus::Running,
            vec![step("a", Exhausted, &[], 0), step("b", Running, &[], 0), step("c", Waiting, &["a"], 1)],
        );
        assert_eq!(advance(&run), []);
        run.steps[1].status = Succeeded;
        assert_eq!(end_of(&run), RunStatus::Parked);
    }

    #[test]
    fn a_parked_run_goes_through_admission_and_a_parked_undo_does_not() {
        let work = view(RunStatus::Parked, vec![step("a", StepStatus::Pending, &[], 0)]);
        assert_eq!(end_of(&work), RunStatus::Queued);
        let mut undo =
            view(RunStatus::Parked, vec![undoable("a", StepStatus::Succeeded, 0), step("a~undo", StepStatus::Pending, &[], 0)]);
        undo.goal = Some(RunGoal::Failed);
        assert_eq!(end_of(&undo), RunStatus::Undoing);
    }

    #[test]
    fn a_failed_undo_parks_the_run_instead_of_ending_it() {
        let mut run =
            view(RunStatus::Undoing, vec![undoable("a", StepStatus::Succeeded, 0), step("a~undo", StepStatus::Failed, &[], 0)]);
        run.goal = Some(RunGoal::Cancelled);
        assert_eq!(end_of(&run), RunStatus::Parked);
        run.status = RunStatus::Parked;
        run.steps[1].status = StepStatus::Succeeded;
        assert_eq!(end_of(&run), RunStatus::Cancelled);
    }

    #[test]
    fn advancing_an_advanced_run_changes_nothing() {
        use StepStatus::{Failed, Pending, Succeeded};
        let run =
            view(RunStatus::Running, vec![undoable("a", Succeeded, 0), step("b", Failed, &[], 0), step("c", Pending, &[], 0)]);
        let mut after = run.clone();
        for change in advance(&run) {
            after.apply(&change);
        }
        assert_eq!(advance(&after), []);
    }
}
