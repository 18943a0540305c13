//! Opening slots: under the job's lock, compared with what the plan saw; overlap is the model's decision.

use std::collections::BTreeSet;

use super::admission;
use super::alarms::{self, Standing};
use super::columns::{int, moment, stamp, values};
use super::error::Outcome;
use super::jobs::{self, LockedJob};
use super::new_steps::NewSteps;
use super::operator::audit;
use super::run_graph::{self, Subject};
use super::statements as sql;
use super::transaction::{End, Tx};
use crate::model::alarm::Alarm;
use crate::model::overlap::{Admission, Origin, SkipReason, admit};
use crate::model::{Moment, RunId};
use crate::store::{Opened, PlannedSlot, SkipRange, SlotPlan};

/// Recorded for a slot whose run may have existed and was pruned.
const PRUNED: &str = "pruned";

/// Opens what a plan says.
pub(super) async fn open(tx: &Tx, plan: &SlotPlan) -> Outcome<End<Opened>> {
    let Some(job) = jobs::lock(tx, &plan.job).await? else {
        return Ok(End::Rollback(Opened::Stale));
    };
    let moves = plan.cursor != plan.cursor_seen;
    if job.version != plan.version || job.cursor != plan.cursor_seen || (moves && job.paused_at.is_some()) {
        return Ok(End::Rollback(Opened::Stale));
    }
    let now = tx.now().await?;
    admission::leave_late(tx, now, &job).await?;
    let standing = Standing::of(tx, &job).await?;
    let decided = decide(tx, now, &job, &plan.open).await?;
    let runs: Vec<NewRun> = decided.open.iter().map(|slot| NewRun::of_slot(&job, slot)).collect();
    let opened = open_runs(tx, now, &job, &runs).await?;
    if decided.replaces {
        replace(tx, now, &job, &decided.open).await?;
    }
    let mut skips = plan.skips.clone();
    skips.extend(decided.skips.iter().cloned());
    jobs::insert_skips(tx, now, &job.id, &skips).await?;
    let late: Vec<Moment> = decided.skips.iter().filter(|skip| skip.is_for(SkipReason::Late)).map(|skip| skip.from).collect();
    alarms::tell(tx, now, &job, Alarm::late_starts(&late).as_slice()).await?;
    if let Some(standing) = standing {
        let with_run = decided.open.iter().filter_map(PlannedSlot::opened);
        standing.tell(tx, now, &job, skips.iter().filter_map(SkipRange::counted).chain(with_run).collect()).await?;
    }
    let (id, cursor, next) = (job.id.as_str(), stamp(plan.cursor), plan.next_slot.map(stamp));
    let (version, seen) = (int(plan.version), stamp(plan.cursor_seen));
    tx.execute_all(&sql::MOVE_CURSOR, values![id, cursor, next, version, seen], 1).await?;
    if let Some(actor) = &plan.actor {
        let detail = format!("{} slots", opened.len());
        audit(tx, now, actor, "backfill", id, Some(&detail)).await?;
    }
    admission::admit(tx, now, &job, admission::ALL).await?;
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Ok(End::Commit(Opened::Applied { opened: count(opened.len()), skipped: count(decided.skips.len()) }))
}

/// What becomes of the slots of a plan.
#[derive(Debug, Default)]
struct Decided {
    open: Vec<PlannedSlot>,
    skips: Vec<SkipRange>,
    /// What is active, and what waited, is cancelled for the newest of them.
    replaces: bool,
}

async fn decide(tx: &Tx, now: Moment, job: &LockedJob, slots: &[PlannedSlot]) -> Outcome<Decided> {
    let mut decided = Decided::default();
    if slots.is_empty() {
        return Ok(decided);
    }
    let id = job.id.as_str();
    let instants: Vec<_> = slots.iter().map(|slot| stamp(slot.at)).collect();
    let rows = tx.rows(&sql::READ_SLOT_RUN, values![id, instants]).await?;
    let mut known: BTreeSet<Moment> = rows.iter().map(|row| row.get("scheduled_for").map(moment)).collect::<Outcome<_>>()?;
    let standing = tx.one(&sql::READ_OVERLAP, values![id]).await?;
    let (active, mut slot_waits) = (standing.get("active")?, standing.get("slot_waits")?);
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
    Ok(decided)
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
pub(super) struct NewRun {
    pub(super) id: RunId,
    pub(super) scheduled_for: Option<Moment>,
    pub(super) origin: Origin,
    pub(super) input: Option<String>,
}

impl NewRun {
    fn of_slot(job: &LockedJob, slot: &PlannedSlot) -> Self {
        Self { id: RunId::of_slot(&job.id, slot.at), scheduled_for: Some(slot.at), origin: slot.origin, input: None }
    }
}

/// Inserts runs with all their steps. Answers those that are new.
pub(super) async fn open_runs(tx: &Tx, now: Moment, job: &LockedJob, runs: &[NewRun]) -> Outcome<Vec<RunId>> {
    if runs.is_empty() {
        return Ok(Vec::new());
    }
    let (at, job_id, version) = (stamp(now), job.id.as_str(), int(job.version));
    let id: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    let scheduled_for: Vec<_> = runs.iter().map(|run| run.scheduled_for.map(stamp)).collect();
    let origin: Vec<&str> = runs.iter().map(|run| run.origin.as_str()).collect();
    let input: Vec<Option<&str>> = runs.iter().map(|run| run.input.as_deref()).collect();
    let finish_by: Vec<_> =
        runs.iter().map(|run| job.definition.finish_by(run.scheduled_for, run.origin, now).map(stamp)).collect();
    let rows = tx.rows(&sql::INSERT_RUNS, values![at, job_id, version, id, scheduled_for, origin, input, finish_by]).await?;
    let new: Vec<RunId> = rows.iter().map(|row| row.get::<&str>("run_id").map(RunId::from_text)).collect::<Outcome<_>>()?;
    let mut steps = NewSteps::default();
    for run in &new {
        steps.add_run(run, &job.id, &job.definition)?;
    }
    steps.insert(tx, now).await?;
    Ok(new)
}
