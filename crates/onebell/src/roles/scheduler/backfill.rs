//! Slots of the past, opened because a person asks: under their own keys, so that one that ran is not run again, and one that was
//! skipped becomes a run.

use jiff::tz::TimeZoneDatabase;

use super::plan::{account, schedules, the_job};
use crate::model::Moment;
use crate::model::overlap::Origin;
use crate::model::schedule::{OPEN_MAX, Schedule, next_slot};
use crate::store::{Actor, JobState, Opened, PlannedSlot, Result, SchedulerStore, SlotPlan, StoreError};

/// Most slots of one backfill: a longer interval is asked for in parts.
pub const BACKFILL_MAX: usize = 10_000;

/// What became of a backfill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backfilled {
    /// The slots of the interval, oldest first, and how many of them were opened: the others have runs already.
    Done {
        /// What the schedules name, without excluded days and times that do not exist.
        slots: Vec<Moment>,
        /// New runs; they are admitted as others are, oldest first.
        opened: u32,
    },
    /// No such job.
    NotFound,
    /// Why not, and what to write instead.
    Refused(String),
}

/// Opens the slots of a job from `from` to `to`, both included. Without an actor it only names them.
pub async fn backfill(
    store: &dyn SchedulerStore,
    zones: &TimeZoneDatabase,
    name: &str,
    (from, to): (Moment, Moment),
    actor: Option<&Actor>,
) -> Result<Backfilled> {
    let Some(job) = the_job(store, name).await? else { return Ok(Backfilled::NotFound) };
    let schedules = schedules(&job.definition, zones).map_err(|error| StoreError::broken(error.to_string()))?;
    let now = store.scheduler_now().await?;
    let slots = match refusal(&job, from, to, now) {
        Some(refusal) => return Ok(Backfilled::Refused(refusal)),
        None => slots(&schedules, from, to),
    };
    if slots.len() > BACKFILL_MAX {
        let last = slots[BACKFILL_MAX - 1];
        return Ok(Backfilled::Refused(format!("more than {BACKFILL_MAX} slots; begin with --to {last}, then go on after it")));
    }
    let mut opened = 0;
    if let Some(actor) = actor {
        for part in slots.chunks(OPEN_MAX) {
            opened += open(store, zones, name, part, actor).await?;
        }
    }
    Ok(Backfilled::Done { slots, opened })
}

fn refusal(job: &JobState, from: Moment, to: Moment, now: Moment) -> Option<String> {
    if job.definition.schedules.is_empty() {
        return Some("the job has no schedule; trigger it with a key of your own".to_owned());
    }
    if from > to {
        return Some("the interval ends before it begins".to_owned());
    }
    if to > now {
        return Some(format!("the interval ends in the future; it is {now} now"));
    }
    if let Some(mark) = job.pruned_before.filter(|mark| from <= *mark) {
        return Some(format!(
            "runs up to {mark} were removed, and a slot that may have run is never opened again; begin after it"
        ));
    }
    // What came due in a pause is accounted for when it ends.
    let since = job.paused_at.filter(|_| to > job.cursor)?;
    Some(format!("the job is paused since {since}; resume it first, or end the interval at {}", job.cursor))
}

fn slots(schedules: &[Schedule], from: Moment, to: Moment) -> Vec<Moment> {
    let before = Moment::from_micros(from.micros().saturating_sub(1));
    let named = std::iter::successors(next_slot(schedules, before), |slot| next_slot(schedules, slot.at));
    named.take_while(|slot| slot.at <= to).filter(|slot| slot.opens()).map(|slot| slot.at).take(BACKFILL_MAX + 1).collect()
}

async fn open(store: &dyn SchedulerStore, zones: &TimeZoneDatabase, name: &str, slots: &[Moment], actor: &Actor) -> Result<u32> {
    for _ in 0..100 {
        let Some(job) = the_job(store, name).await? else { break };
        // Planning goes first: what is due anyway is not opened as a backfill.
        let Some(cursor) = account(store, zones, &job).await? else { continue };
        let Some(job) = the_job(store, name).await?.filter(|job| job.cursor == cursor) else { continue };
        let plan = SlotPlan {
            job: job.id,
            version: job.version,
            cursor_seen: cursor,
            cursor,
            next_slot: job.next_slot,
            open: slots.iter().map(|at| PlannedSlot { at: *at, origin: Origin::Backfill }).collect(),
            skips: Vec::new(),
            actor: Some(actor.clone()),
        };
        if let Opened::Applied { opened, .. } = store.open_slots(&plan).await? {
            return Ok(opened);
        }
    }
    Err(StoreError::contended(format!("job {name:?} changes all the time")))
}
