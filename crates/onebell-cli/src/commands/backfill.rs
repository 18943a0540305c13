//! `onebell backfill`: slots of the past that did not run.

use onebell::model::schedule::{Schedule, ScheduleError};
use onebell::model::shown::shell_word;
use onebell::replica::ZoneData;
use onebell::roles::scheduler::{self, Backfilled};

use super::trigger::no_such_job;
use super::{actor, store};
use crate::answer::{Answer, Failure, json, line};
use crate::args::{Backfill, Common, Format};

/// Opens them, or only names them.
pub async fn backfill(common: &Common, args: &Backfill) -> Answer {
    let store = store(common).await?;
    let zones = ZoneData::newest().zones();
    let Some(job) = store.jobs_named(Some(std::slice::from_ref(&args.job))).await?.into_iter().next() else {
        return Err(no_such_job(store.as_ref(), &args.job).await);
    };
    let schedules = Schedule::of_job(&job.definition, zones).map_err(Failure::usage)?;
    let Some(schedule) = schedules.first() else {
        return Err(Failure::usage(format!("job {:?} has no schedule; trigger it with a key of your own", args.job)));
    };
    let interval = schedule.interval(&args.from, &args.to).map_err(|error| Failure::usage(as_flag(error)))?;
    let actor = (!args.dry_run).then(|| actor(&args.acting));
    match scheduler::backfill(store.as_ref(), zones, &args.job, interval, actor.as_ref()).await? {
        Backfilled::NotFound => Err(no_such_job(store.as_ref(), &args.job).await),
        Backfilled::Refused(reason) => Err(Failure::usage(format!("job {:?}: {reason}", args.job))),
        Backfilled::Done { slots, opened } if common.format == Format::Json => {
            json(&serde_json::json!({ "job": args.job, "slots": slots, "opened": opened, "dry_run": args.dry_run }))
        }
        Backfilled::Done { slots, .. } if slots.is_empty() => {
            line(format!(
                "no slot of that interval runs; onebell explain {} --from {} names those after it and what is left out",
                shell_word(&args.job),
                args.from
            ));
            Ok(())
        }
        Backfilled::Done { slots, .. } if args.dry_run => {
            slots.iter().for_each(|slot| line(slot.to_string()));
            line(format!("{}; those that ran are left alone, each of the others becomes a run", counted(slots.len())));
            Ok(())
        }
        Backfilled::Done { slots, opened } if slots.len() == opened as usize => {
            line(format!("{} opened", counted(slots.len())));
            Ok(())
        }
        Backfilled::Done { slots, opened } => {
            line(format!("{opened} of {} opened; the others have runs already", counted(slots.len())));
            Ok(())
        }
    }
}

fn counted(slots: usize) -> String {
    if slots == 1 { "1 slot".to_owned() } else { format!("{slots} slots") }
}

/// The end of an interval is a job's `until` in its file, and `--to` here.
fn as_flag(error: ScheduleError) -> ScheduleError {
    let place = error.place.strip_prefix("until").map(|value| format!("--to{value}"));
    ScheduleError { place: place.unwrap_or_else(|| error.place.clone()), ..error }
}
