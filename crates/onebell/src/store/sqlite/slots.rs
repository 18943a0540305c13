//! Opens runs: for slots as planned, under the job lock. Whether a run may start beside others, `model::overlap` decides.

use super::admission::{admit_job, leave_late};
use super::alarms::{Standing, tell};
use super::columns::int;
use super::define::audit;
use super::job_row::lock_job;
use super::new_steps::open_run;
use super::run_graph::RunGraph;
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use crate::model::alarm::Alarm;
use crate::model::overlap::{Admission, Origin, SkipReason, admit};
use crate::model::{JobId, Moment, RunId};
use crate::store::{JobState, Opened, PlannedSlot, SkipRange, SlotPlan};

/// A slot at or below the mark of what was pruned is never opened again.
const PRUNED: &str = "pruned";
/// So many runs are admitted in the transaction that opens slots; the rest by the next pass.
const ADMITTED_AT_ONCE: u32 = 1_000;

/// Writes one planning pass for one job.
pub(super) fn open_slots(tx: &Tx<'_>, plan: &SlotPlan) -> Outcome<Opened> {
    let job = lock_job(tx, &plan.job)?.filter(|job| is_made_for(plan, job));
    job.map_or(Ok(Opened::Stale), |job| carry_out(tx, plan, &job))
}

/// As [`open_slots`] for jobs whose opening moves no older run, all in one transaction.
pub(super) fn open_of_jobs(tx: &Tx<'_>, plans: &[SlotPlan]) -> Outcome<Vec<Opened>> {
    let open = |plan: &SlotPlan| match lock_job(tx, &plan.job)?.filter(|job| is_made_for(plan, job)) {
        None => Ok(Opened::Stale),
        Some(job) if plan.actor.is_some() || !job.definition.opens_with_others() => Ok(Opened::Alone),
        Some(job) => carry_out(tx, plan, &job),
    };
    plans.iter().map(open).collect()
}

/// Whether a job stands as the plan saw it.
fn is_made_for(plan: &SlotPlan, job: &JobState) -> bool {
    let moves = plan.cursor != plan.cursor_seen;
    job.version == plan.version && job.cursor == plan.cursor_seen && !(moves && job.paused_at.is_some())
}

fn carry_out(tx: &Tx<'_>, plan: &SlotPlan, job: &JobState) -> Outcome<Opened> {
    leave_late(tx, job)?;
    let standing = Standing::of(tx, job)?;
    let (opened, skips) = open_each(tx, job, plan)?;
    for skip in skips.iter().chain(&plan.skips) {
        record_skip(tx, &job.id, skip)?;
    }
    let late: Vec<Moment> = skips.iter().filter(|skip| skip.is_for(SkipReason::Late)).map(|skip| skip.from).collect();
    tell(tx, &job.id, &job.definition, Alarm::late_starts(&late).as_slice())?;
    if let Some(standing) = standing {
        let skipped = skips.iter().chain(&plan.skips).filter_map(SkipRange::counted);
        standing.tell(tx, skipped.chain(opened.iter().filter_map(|slot| slot.opened())).collect())?;
    }
    let moved = tx.execute(
        S::MoveCursor,
        &[
            ("job", &job.id),
            ("version", &int(plan.version)),
            ("cursor_seen", &plan.cursor_seen),
            ("cursor", &plan.cursor),
            ("next_slot", &plan.next_slot),
        ],
    )?;
    debug_assert_eq!(moved, 1, "the job was compared under the same lock");
    if let Some(actor) = &plan.actor {
        audit(tx, actor, "backfill", job.id.as_str(), Some(&format!("{} slots", opened.len())))?;
    }
    admit_job(tx, job, ADMITTED_AT_ONCE)?;
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Ok(Opened::Applied { opened: count(opened.len()), skipped: count(skips.len()) })
}

/// Opens what a plan says, the oldest first: the slots that have a run now, and those that were skipped instead.
fn open_each<'p>(tx: &Tx<'_>, job: &JobState, plan: &'p SlotPlan) -> Outcome<(Vec<&'p PlannedSlot>, Vec<SkipRange>)> {
    let mut slots: Vec<&PlannedSlot> = plan.open.iter().collect();
    slots.sort_by_key(|slot| slot.at);
    let (mut opened, mut skips) = (Vec::new(), Vec::new());
    for slot in slots {
        match open_slot(tx, job, slot)? {
            Some(Ok(())) => opened.push(slot),
            Some(Err(reason)) => skips.push(SkipRange { from: slot.at, to: slot.at, count: Some(1), reason }),
            None => {}
        }
    }
    Ok((opened, skips))
}

/// Opens one slot, or says why not. None: it has a run already.
fn open_slot(tx: &Tx<'_>, job: &JobState, slot: &PlannedSlot) -> Outcome<Option<Result<(), String>>> {
    if job.pruned_before.is_some_and(|mark| slot.at <= mark) {
        return Ok(Some(Err(PRUNED.to_owned())));
    }
    if tx.any(S::ReadSlotRun, &[("job", &job.id), ("slot", &slot.at)])? {
        return Ok(None);
    }
    if job.definition.is_too_late(slot.at, slot.origin, tx.now) {
        return Ok(Some(Err(skip_word(SkipReason::Late))));
    }
    let busy = tx.first(S::ReadOverlap, &[("job", &job.id)], |row| Ok((row.get("active")?, row.get("slot_waits")?)))?;
    let (active, slot_waits) = busy.unwrap_or_default();
    match admit(job.definition.overlap, active, slot_waits, slot.origin) {
        Admission::Skip(reason) => return Ok(Some(Err(skip_word(reason)))),
        Admission::Replace => replace(tx, &job.id, slot.at)?,
        Admission::Open | Admission::Queue => {}
    }
    let run = RunId::of_slot(&job.id, slot.at);
    Ok(open(tx, job, &run, Some(slot.at), slot.origin, None)?.then_some(Ok(())))
}

/// Inserts a run with all its steps, queued. False: it exists.
pub(super) fn open(
    tx: &Tx<'_>,
    job: &JobState,
    run: &RunId,
    slot: Option<Moment>,
    origin: Origin,
    input: Option<&str>,
) -> Outcome<bool> {
    let finish_by = job.definition.finish_by(slot, origin, tx.now);
    let inserted = tx.execute(
        S::InsertRuns,
        &[
            ("run", run),
            ("job", &job.id),
            ("version", &int(job.version)),
            ("scheduled_for", &slot),
            ("origin", &origin),
            ("input", &input),
            ("finish_by", &finish_by),
            ("now", &tx.now),
        ],
    )?;
    if inserted == 0 {
        return Ok(false);
    }
    open_run(tx, run, &job.id, &job.definition)?;
    Ok(true)
}

/// Cancels what a newer slot replaces.
fn replace(tx: &Tx<'_>, job: &JobId, slot: Moment) -> Outcome<()> {
    let runs = tx.rows(S::ReadReplacedRuns, &[("job", job)], |row| Ok(row.get::<_, RunId>("run_id")?))?;
    for run in runs {
        if let Some(mut graph) = RunGraph::locked(tx, &run)? {
            graph.cancel(tx, &format!("replaced by the slot {slot}"))?;
        }
    }
    Ok(())
}

/// Records slots that will not run.
pub(super) fn record_skip(tx: &Tx<'_>, job: &JobId, skip: &SkipRange) -> Outcome<()> {
    tx.execute(
        S::InsertSkips,
        &[
            ("job", job),
            ("from", &skip.from),
            ("to", &skip.to),
            ("count", &skip.count.map(int)),
            ("reason", &skip.reason),
            ("now", &tx.now),
        ],
    )?;
    Ok(())
}

fn skip_word(reason: SkipReason) -> String {
    reason.as_str().to_owned()
}
