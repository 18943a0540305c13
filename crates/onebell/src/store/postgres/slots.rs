//! Opening slots: under the jobs' locks, compared with what the plans saw; overlap is the model's decision.

use std::collections::{BTreeMap, BTreeSet};

use super::admission;
use super::alarms::{self, Standing};
use super::columns::{int, stamp, values};
use super::error::Outcome;
use super::jobs::{self, LockedJob};
use super::new_steps::NewSteps;
use super::operator::audit;
use super::run_graph::{self, Subject};
use super::statements as sql;
use super::transaction::{End, Tx};
use crate::model::alarm::Alarm;
use crate::model::overlap::{Admission, Origin, SkipReason, admit};
use crate::model::{JobId, Moment, RunId};
use crate::store::{Opened, PlannedSlot, SkipRange, SlotPlan};

/// Recorded for a slot whose run may have existed and was pruned.
const PRUNED: &str = "pruned";

/// Opens what a plan says.
pub(super) async fn open(tx: &Tx, plan: &SlotPlan) -> Outcome<End<Opened>> {
    let Some(job) = jobs::lock(tx, &plan.job).await? else {
        return Ok(End::Rollback(Opened::Stale));
    };
    if !is_made_for(plan, &job) {
        return Ok(End::Rollback(Opened::Stale));
    }
    let now = tx.now().await?;
    admission::leave_late(tx, now, &job).await?;
    let standing = Standing::of(tx, &job).await?;
    let decided = Seen::of(tx, &[plan]).await?.decide(now, &job, &plan.open);
    let runs: Vec<NewRun> = decided.open.iter().map(|slot| NewRun::of_slot(&job, slot)).collect();
    let opened = open_runs(tx, now, &runs).await?;
    if decided.replaces {
        replace(tx, now, &job, &decided.open).await?;
    }
    let mut skips = plan.skips.clone();
    skips.extend(decided.skips.iter().cloned());
    jobs::insert_skips(tx, now, skips.iter().map(|skip| (&job.id, skip))).await?;
    let late: Vec<Moment> = decided.skips.iter().filter(|skip| skip.is_for(SkipReason::Late)).map(|skip| skip.from).collect();
    alarms::tell(tx, now, &job, Alarm::late_starts(&late).as_slice()).await?;
    if let Some(standing) = standing {
        let with_run = decided.open.iter().filter_map(PlannedSlot::opened);
        standing.tell(tx, now, &job, skips.iter().filter_map(SkipRange::counted).chain(with_run).collect()).await?;
    }
    move_cursors(tx, &[plan]).await?;
    if let Some(actor) = &plan.actor {
        let detail = format!("{} slots", opened.len());
        audit(tx, now, actor, "backfill", job.id.as_str(), Some(&detail)).await?;
    }
    admission::admit(tx, now, &job, admission::ALL).await?;
    Ok(End::Commit(answer(opened.len(), &decided)))
}

/// Whether a job under its lock stands as the plan saw it.
pub(super) fn is_made_for(plan: &SlotPlan, job: &LockedJob) -> bool {
    let moves = plan.cursor != plan.cursor_seen;
    job.version == plan.version && job.cursor == plan.cursor_seen && !(moves && job.paused_at.is_some())
}

pub(super) fn answer(opened: usize, decided: &Decided) -> Opened {
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Opened::Applied { opened: count(opened), skipped: count(decided.skips.len()) }
}

/// Planning goes on where plans of locked jobs say.
pub(super) async fn move_cursors(tx: &Tx, plans: &[&SlotPlan]) -> Outcome<()> {
    let job: Vec<&str> = plans.iter().map(|plan| plan.job.as_str()).collect();
    let cursor: Vec<_> = plans.iter().map(|plan| stamp(plan.cursor)).collect();
    let next: Vec<_> = plans.iter().map(|plan| plan.next_slot.map(stamp)).collect();
    let version: Vec<i64> = plans.iter().map(|plan| int(plan.version)).collect();
    let seen: Vec<_> = plans.iter().map(|plan| stamp(plan.cursor_seen)).collect();
    tx.execute_all(&sql::MOVE_CURSOR, values![job, cursor, next, version, seen], plans.len()).await
}

/// What becomes of the slots of a plan.
#[derive(Debug, Default)]
pub(super) struct Decided {
    pub(super) open: Vec<PlannedSlot>,
    pub(super) skips: Vec<SkipRange>,
    /// What is active, and what waited, is cancelled for the newest of them.
    replaces: bool,
}

/// How locked jobs stand before their slots are opened.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Slots that were opened before.
    known: BTreeMap<JobId, BTreeSet<Moment>>,
    /// Whether a run is active, and whether a slot's run waits.
    busy: BTreeMap<JobId, (bool, bool)>,
}

impl Seen {
    pub(super) async fn of(tx: &Tx, plans: &[&SlotPlan]) -> Outcome<Self> {
        let mut seen = Self::default();
        let slots = plans.iter().flat_map(|plan| plan.open.iter().map(|slot| (plan.job.as_str(), stamp(slot.at))));
        let (of_job, slot): (Vec<&str>, Vec<_>) = slots.unzip();
        if of_job.is_empty() {
            return Ok(seen);
        }
        for row in tx.rows(&sql::READ_SLOT_RUN, values![of_job, slot]).await? {
            let job = JobId::from_text(row.get::<&str>("job_id")?);
            seen.known.entry(job).or_default().insert(row.moment("scheduled_for")?);
        }
        let jobs: Vec<&str> = plans.iter().map(|plan| plan.job.as_str()).collect();
        for row in tx.rows(&sql::READ_OVERLAP, values![jobs]).await? {
            let job = JobId::from_text(row.get::<&str>("job_id")?);
            seen.busy.insert(job, (row.get("active")?, row.get("slot_waits")?));
        }
        Ok(seen)
    }

    /// The oldest slot first.
    pub(super) fn decide(&self, now: Moment, job: &LockedJob, slots: &[PlannedSlot]) -> Decided {
        let mut decided = Decided::default();
        let mut known = self.known.get(&job.id).cloned().unwrap_or_default();
        let (active, mut slot_waits) = self.busy.get(&job.id).copied().unwrap_or_default();
        let mut slots = slots.to_vec();
        slots.sort_by_key(|slot| slot.at);
        for slot in slots {
            if job.pruned_before.is_some_and(|mark| slot.at <= mark) {
                decided.skips.push(skip(slot.at, PRUNED));
                continue;
            }
            if !known.insert(slot.at) {
                continue;
            }
            if job.definition.is_too_late(slot.at, slot.origin, now) {
                decided.skips.push(skip(slot.at, SkipReason::Late.as_str()));
                continue;
            }
            match admit(job.definition.overlap, active, slot_waits, slot.origin) {
                Admission::Skip(reason) => {
                    decided.skips.push(skip(slot.at, reason.as_str()));
                    continue;
                }
                Admission::Replace => decided.replaces = true,
                Admission::Open | Admission::Queue => {}
            }
            slot_waits |= slot.origin == Origin::Slot;
            decided.open.push(slot);
        }
        decided
    }
}

fn skip(at: Moment, reason: &str) -> SkipRange {
    SkipRange { from: at, to: at, count: Some(1), reason: reason.to_owned() }
}

/// Cancels what a newer slot replaces: everything but the newest slot that was opened now.
async fn replace(tx: &Tx, now: Moment, job: &LockedJob, opened: &[PlannedSlot]) -> Outcome<()> {
    let newest = opened.iter().rev().find(|slot| slot.origin == Origin::Slot);
    let Some(newest) = newest.map(|slot| RunId::of_slot(&job.id, slot.at)) else {
        return Ok(());
    };
    let id = job.id.as_str();
    let rows = tx.rows(&sql::READ_REPLACED_RUNS, values![id]).await?;
    let mut runs: Vec<RunId> = rows.iter().map(|row| row.get::<&str>("run_id").map(RunId::from_text)).collect::<Outcome<_>>()?;
    runs.retain(|run| *run != newest);
    let locked = run_graph::lock(tx, &runs).await?;
    let reason = format!("replaced by {newest}");
    let subjects: Vec<Subject> = locked.into_values().filter_map(|run| Subject::cancelled(run, reason.clone())).collect();
    run_graph::advance(tx, now, &subjects).await.map(|_| ())
}

/// A run to be opened.
#[derive(Debug)]
pub(super) struct NewRun<'j> {
    pub(super) job: &'j LockedJob,
    pub(super) id: RunId,
    pub(super) scheduled_for: Option<Moment>,
    pub(super) origin: Origin,
    pub(super) input: Option<String>,
}

impl<'j> NewRun<'j> {
    pub(super) fn of_slot(job: &'j LockedJob, slot: &PlannedSlot) -> Self {
        Self { job, id: RunId::of_slot(&job.id, slot.at), scheduled_for: Some(slot.at), origin: slot.origin, input: None }
    }
}

/// Inserts runs with all their steps. Answers those that are new.
pub(super) async fn open_runs(tx: &Tx, now: Moment, runs: &[NewRun<'_>]) -> Outcome<BTreeSet<RunId>> {
    if runs.is_empty() {
        return Ok(BTreeSet::new());
    }
    let at = stamp(now);
    let job: Vec<&str> = runs.iter().map(|run| run.job.id.as_str()).collect();
    let version: Vec<i64> = runs.iter().map(|run| int(run.job.version)).collect();
    let id: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    let scheduled_for: Vec<_> = runs.iter().map(|run| run.scheduled_for.map(stamp)).collect();
    let origin: Vec<&str> = runs.iter().map(|run| run.origin.as_str()).collect();
    let input: Vec<Option<&str>> = runs.iter().map(|run| run.input.as_deref()).collect();
    let finish_by = |run: &NewRun<'_>| run.job.definition.finish_by(run.scheduled_for, run.origin, now).map(stamp);
    let finish_by: Vec<_> = runs.iter().map(finish_by).collect();
    let rows = tx.rows(&sql::INSERT_RUNS, values![at, job, version, id, scheduled_for, origin, input, finish_by]).await?;
    let new: BTreeSet<RunId> = rows.iter().map(|row| row.get::<&str>("run_id").map(RunId::from_text)).collect::<Outcome<_>>()?;
    let mut steps = NewSteps::default();
    for run in runs.iter().filter(|run| new.contains(&run.id)) {
        steps.add_run(&run.id, &run.job.id, &run.job.definition)?;
    }
    steps.insert(tx, now).await?;
    Ok(new)
}
