//! Slots of many jobs in one transaction, for jobs whose opening touches no run that was there before. Locks are taken in the
//! order of everywhere: all jobs, then all runs, then their steps.

use super::admission;
use super::error::Outcome;
use super::jobs::{self, LockedJob};
use super::slots::{Decided, NewRun, Seen, answer, is_made_for, move_cursors, open_runs};
use super::transaction::{End, Tx};
use crate::model::{JobId, RunId};
use crate::store::{Opened, SkipRange, SlotPlan};

/// A plan that is carried out, its job, and where its answer belongs.
struct Taken<'p> {
    place: usize,
    plan: &'p SlotPlan,
    job: LockedJob,
}

/// Opens what the plans of different jobs say; of jobs that others hold nothing.
pub(super) async fn open(tx: &Tx, plans: &[SlotPlan]) -> Outcome<End<Vec<Opened>>> {
    let mut free = jobs::lock_free(tx, plans.iter().map(|plan| &plan.job)).await?;
    let mut answers = vec![Opened::Busy; plans.len()];
    let mut taken: Vec<Taken<'_>> = Vec::new();
    for (place, plan) in plans.iter().enumerate() {
        let Some(job) = free.remove(&plan.job) else { continue };
        if !is_made_for(plan, &job) {
            answers[place] = Opened::Stale;
        } else if plan.actor.is_some() || !job.definition.opens_with_others() {
            answers[place] = Opened::Alone;
        } else {
            taken.push(Taken { place, plan, job });
        }
    }
    if taken.is_empty() {
        return Ok(End::Rollback(answers));
    }
    for (place, answer) in carry_out(tx, &taken).await? {
        answers[place] = answer;
    }
    Ok(End::Commit(answers))
}

async fn carry_out(tx: &Tx, taken: &[Taken<'_>]) -> Outcome<Vec<(usize, Opened)>> {
    let now = tx.now().await?;
    let plans: Vec<&SlotPlan> = taken.iter().map(|one| one.plan).collect();
    let seen = Seen::of(tx, &plans).await?;
    let decided: Vec<Decided> = taken.iter().map(|one| seen.decide(now, &one.job, &one.plan.open)).collect();
    let runs: Vec<NewRun<'_>> = taken
        .iter()
        .zip(&decided)
        .flat_map(|(one, decided)| decided.open.iter().map(|slot| NewRun::of_slot(&one.job, slot)))
        .collect();
    let opened = open_runs(tx, now, &runs).await?;
    let mut skips: Vec<(&JobId, &SkipRange)> = Vec::new();
    for (one, decided) in taken.iter().zip(&decided) {
        skips.extend(one.plan.skips.iter().chain(&decided.skips).map(|skip| (&one.job.id, skip)));
    }
    jobs::insert_skips(tx, now, skips).await?;
    move_cursors(tx, &plans).await?;
    let locked: Vec<&LockedJob> = taken.iter().map(|one| &one.job).collect();
    // What is left over is admitted by the same pass.
    let each = admission::ALL / u32::try_from(locked.len()).unwrap_or(u32::MAX);
    admission::start(tx, now, &locked, each.max(1)).await?;
    let answers = taken.iter().zip(&decided).map(|(one, decided)| {
        let new = decided.open.iter().filter(|slot| opened.contains(&RunId::of_slot(&one.job.id, slot.at)));
        (one.place, answer(new.count(), decided))
    });
    Ok(answers.collect())
}
