//! Opening what is due: many jobs in one transaction, each scheduler from another place of the list.

use futures_util::future::join_all;

use super::rules::{self, Rules};
use super::{LIMIT, Report, plan};
use crate::model::JobId;
use crate::model::turn::Turn;
use crate::model::zone_version::Left;
use crate::store::{JobState, Opened, Result, SchedulerStore, SlotPlan, StoreError};

/// Jobs whose slots are opened side by side, each in its own transaction: their commits share a write to the disk.
const AT_ONCE: usize = 4;
/// Slots of one transaction, unless one job alone has more.
const SLOTS_MAX: usize = 500;

/// What one job is to be given, and its name for people.
struct Planned {
    job: String,
    plan: SlotPlan,
}

/// Opens what is due of the carried jobs. One that cannot be planned or opened is logged and does not stop the others.
pub(super) async fn due(
    store: &dyn SchedulerStore,
    rules: &Rules<'_>,
    left: &mut Left,
    carried: &[JobId],
    report: &mut Report,
) -> Result<()> {
    let mut due = store.due_jobs(carried, LIMIT).await?;
    let elsewhere = rules::elsewhere(store, rules, left, &due, report.now).await?;
    report.newer_zones = elsewhere.newest;
    let found = due.len();
    due.retain(|job| !elsewhere.jobs.contains(&job.id));
    report.left += count(found - due.len());
    let turn = Turn::of(rules.replica, &elsewhere.planners, due.len());
    due.rotate_left(turn.first);
    let mut busy = Vec::new();
    for some in due.chunks(turn.at_once) {
        let (planned, lost) = (report.planned, report.stale as usize + busy.len());
        for set in sets(planned_by(some, rules, report)) {
            open_set(store, set, report, &mut busy).await?;
        }
        // Others are ahead of this one here: what is due is better read again.
        if report.planned == planned && report.stale as usize + busy.len() > lost {
            break;
        }
    }
    match busy.into_iter().next() {
        Some(first) if report.planned + report.stale == 0 => wait_for(store, &first, report).await,
        _ => Ok(()),
    }
}

fn planned_by(jobs: &[JobState], rules: &Rules<'_>, report: &Report) -> Vec<Planned> {
    let mut planned = Vec::new();
    for job in jobs {
        let name = &job.definition.name;
        match plan::slots_until(job, rules.zones, report.now) {
            Ok(plan) => planned.push(Planned { job: name.clone(), plan }),
            Err(error) => tracing::error!(job = name, %error, "the job cannot be planned; the others go on"),
        }
    }
    planned
}

/// Cut where the slots of a transaction would be too many.
fn sets(planned: Vec<Planned>) -> Vec<Vec<Planned>> {
    let mut sets: Vec<Vec<Planned>> = Vec::new();
    let mut slots = SLOTS_MAX;
    for one in planned {
        slots += one.plan.open.len();
        match sets.last_mut().filter(|_| slots <= SLOTS_MAX) {
            Some(set) => set.push(one),
            None => {
                slots = one.plan.open.len();
                sets.push(vec![one]);
            }
        }
    }
    sets
}

/// Opens a set in one transaction; what cannot be opened so, one by one.
async fn open_set(store: &dyn SchedulerStore, set: Vec<Planned>, report: &mut Report, busy: &mut Vec<Planned>) -> Result<()> {
    if set.len() < 2 {
        return one_by_one(store, &set, report).await;
    }
    let (names, plans): (Vec<String>, Vec<SlotPlan>) = set.into_iter().map(|one| (one.job, one.plan)).unzip();
    let answers = match store.open_slots_of_jobs(&plans).await {
        Ok(answers) => answers,
        Err(error @ StoreError::Unavailable { .. }) => return Err(error),
        Err(error) => {
            tracing::warn!(jobs = plans.len(), %error, "slots could not be opened together; they are opened job by job");
            vec![Opened::Alone; plans.len()]
        }
    };
    let mut alone = Vec::new();
    for ((job, plan), answer) in names.into_iter().zip(plans).zip(answers) {
        match answer {
            Opened::Alone => alone.push(Planned { job, plan }),
            Opened::Busy => busy.push(Planned { job, plan }),
            answer => count_opened(report, &job, Ok(answer))?,
        }
    }
    one_by_one(store, &alone, report).await
}

async fn one_by_one(store: &dyn SchedulerStore, planned: &[Planned], report: &mut Report) -> Result<()> {
    for some in planned.chunks(AT_ONCE) {
        let answers = join_all(some.iter().map(|one| store.open_slots(&one.plan))).await;
        for (one, answer) in some.iter().zip(answers) {
            count_opened(report, &one.job, answer)?;
        }
    }
    Ok(())
}

/// There was nothing else to do: whoever holds the job is waited for, and asked no sooner.
async fn wait_for(store: &dyn SchedulerStore, one: &Planned, report: &mut Report) -> Result<()> {
    match store.open_slots(&one.plan).await {
        Err(StoreError::Contended { message }) => {
            tracing::debug!(job = one.job, message, "somebody holds the job; it is looked at again");
            Ok(())
        }
        answer => count_opened(report, &one.job, answer),
    }
}

fn count_opened(report: &mut Report, job: &str, answer: Result<Opened>) -> Result<()> {
    match answer {
        Ok(Opened::Applied { opened, skipped }) => {
            report.planned += 1;
            report.opened += opened;
            report.skipped += skipped;
        }
        Ok(Opened::Stale | Opened::Busy | Opened::Alone) => report.stale += 1,
        Err(error) if error.is_passing() => return Err(error),
        Err(error) => tracing::error!(job, %error, "slots could not be opened; the other jobs go on"),
    }
    Ok(())
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Moment;
    use crate::model::overlap::Origin;
    use crate::store::PlannedSlot;

    fn planned(slots: usize) -> Planned {
        let at = Moment::from_micros(0);
        let plan = SlotPlan {
            job: JobId::of_name("j"),
            version: 1,
            cursor_seen: at,
            cursor: at,
            next_slot: None,
            open: vec![PlannedSlot { at, origin: Origin::CatchUp }; slots],
            skips: Vec::new(),
            actor: None,
        };
        Planned { job: "j".to_owned(), plan }
    }

    #[test]
    fn i10_the_slots_of_one_transaction_are_bounded() {
        let cut = |slots: &[usize]| {
            let sets = sets(slots.iter().map(|slots| planned(*slots)).collect());
            sets.iter().map(|set| set.iter().map(|one| one.plan.open.len()).collect::<Vec<_>>()).collect::<Vec<_>>()
        };
        assert_eq!(cut(&[]), Vec::<Vec<usize>>::new());
        assert_eq!(cut(&[1, 0, 499]), [vec![1, 0, 499]]);
        assert_eq!(cut(&[1, 500, 1]), [vec![1], vec![500], vec![1]]);
        assert_eq!(cut(&[900, 900, 3, 4]), [vec![900], vec![900], vec![3, 4]]);
    }
}
