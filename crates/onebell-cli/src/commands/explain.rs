//! `onebell explain`: when a job, or an expression, is due next, and what clock changes and excluded days do to it.

use jiff::tz::TimeZone;
use onebell::model::job::{JobDefinition, ScheduleDefinition, When};
use onebell::model::schedule::{Schedule, Slot, advice, next_slot};
use onebell::replica::ZoneData;
use serde::Serialize;

use crate::answer::{Answer, Failure, Table, json, line};
use crate::args::{Common, Explain, Format};
use crate::jobfile::{JobFile, describe};

#[derive(Serialize)]
struct Explained {
    time_zone: String,
    tzdata: String,
    schedules: Vec<String>,
    advice: Vec<String>,
    slots: Vec<ExplainedSlot>,
}

#[derive(Serialize)]
struct ExplainedSlot {
    scheduled_for: onebell::model::Moment,
    local: String,
    note: Option<&'static str>,
}

/// Names slots; writes nothing and asks no database.
pub fn explain(common: &Common, args: &Explain) -> Answer {
    let job = match (&args.cron, &args.rrule, &args.job) {
        (Some(expression), ..) => of_schedule(When::Cron { expression: expression.clone(), seconds: args.seconds }, args),
        (_, Some(rule), _) => {
            let start = args.start.clone().unwrap_or_default();
            of_schedule(When::Rrule { rule: rule.clone(), start }, args)
        }
        (.., Some(name)) => of_file(common, name)?,
        (None, None, None) => return Err(Failure::usage("name a job, or write --cron EXPR")),
    };
    let explained = explained(&job, args)?;
    if common.format == Format::Json { json(&explained) } else { tell(&explained) }
}

fn of_schedule(when: When, args: &Explain) -> JobDefinition {
    let time_zone = args.time_zone.clone().unwrap_or_else(|| "UTC".to_owned());
    let mut job = JobDefinition::new("expression");
    job.schedules.push(ScheduleDefinition { when, time_zone, dst: args.dst.unwrap_or_default() });
    job
}

fn of_file(common: &Common, name: &str) -> Result<JobDefinition, Failure> {
    let file = JobFile::load_partly(&common.file).map_err(Failure::usage)?;
    if let Some(problem) = file.bad_jobs.iter().find(|problem| problem.job.as_deref() == Some(name)) {
        return Err(Failure::usage(problem));
    }
    let names: Vec<&str> = file.jobs.iter().map(|job| job.name.as_str()).collect();
    let found = file.jobs.iter().find(|job| job.name == name).cloned();
    found.ok_or_else(|| Failure::usage(format!("no job {name:?} in {}; it has {}", common.file.display(), names.join(", "))))
}

fn explained(job: &JobDefinition, args: &Explain) -> Result<Explained, Failure> {
    let data = ZoneData::newest();
    let schedules = Schedule::of_job(job, data.zones()).map_err(Failure::usage)?;
    let Some(first) = schedules.first() else {
        return Err(Failure::usage(format!("job {:?} has no schedule; it runs on request: onebell trigger", job.name)));
    };
    let after = match &args.from {
        // A slot at that very instant counts.
        Some(text) => first.interval(text, text).map_err(Failure::usage)?.0 - std::time::Duration::from_micros(1),
        None => onebell::time::host_now(),
    };
    let slots = std::iter::successors(next_slot(&schedules, after), |slot| next_slot(&schedules, slot.at));
    Ok(Explained {
        time_zone: job.schedules[0].time_zone.clone(),
        tzdata: data.version().to_owned(),
        schedules: job.schedules.iter().map(describe).collect(),
        advice: job.schedules.iter().flat_map(advice).collect(),
        slots: slots.take(args.count as usize).map(|slot| in_zone(slot, first.zone())).collect(),
    })
}

fn in_zone(slot: Slot, zone: &TimeZone) -> ExplainedSlot {
    let local = slot.at.timestamp().to_zoned_datetime(zone.clone());
    ExplainedSlot {
        scheduled_for: slot.at,
        local: local.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string(),
        note: slot.note.map(|note| note.as_str()),
    }
}

fn tell(explained: &Explained) -> Answer {
    for schedule in &explained.schedules {
        line(schedule);
    }
    for advice in &explained.advice {
        line(format!("note: it {advice}"));
    }
    let mut table = Table::new(["SLOT (UTC)", "LOCAL", "NOTE"]);
    for slot in &explained.slots {
        table.row([slot.scheduled_for.to_string(), slot.local.clone(), slot.note.unwrap_or_default().to_owned()]);
    }
    table.print();
    if explained.slots.is_empty() {
        line("it is not due any more");
    }
    line(format!("{}, time-zone data {}", explained.time_zone, explained.tzdata));
    Ok(())
}
