//! `onebell check`: validates the job file and prints what each step promises.

use serde::Serialize;

use crate::answer::{Answer, Failure, json, line};
use crate::args::{Common, Format};
use crate::jobfile::{JobFile, StepPromise, promises};

#[derive(Serialize)]
struct Checked {
    job: String,
    schedules: Vec<String>,
    next: Vec<onebell::model::Moment>,
    steps: Vec<StepPromise>,
}

/// Every problem of the file at once, or every job with its promises and next slots.
pub fn check(common: &Common) -> Answer {
    let file = JobFile::load(&common.file).map_err(Failure::usage)?;
    let now = onebell::time::host_now();
    let checked = file.jobs.iter().map(|job| checked(job, now)).collect::<Result<Vec<_>, _>>()?;
    if common.format == Format::Json {
        return json(&serde_json::json!({ "jobs": checked }));
    }
    for job in &checked {
        line(format!(
            "{}  {}",
            job.job,
            if job.schedules.is_empty() { "on request".to_owned() } else { job.schedules.join(", ") }
        ));
        if !job.next.is_empty() {
            let next: Vec<String> = job.next.iter().map(ToString::to_string).collect();
            line(format!("  next     {}", next.join("  ")));
        }
        for step in &job.steps {
            line(format!("  {:<8} {}: {}", step.step, step.promise, step.meaning));
            for warning in &step.warnings {
                line(format!("           warning: {warning}"));
            }
        }
    }
    let jobs = if checked.len() == 1 { "1 job".to_owned() } else { format!("{} jobs", checked.len()) };
    line(format!("{} is good: {jobs}", common.file.display()));
    Ok(())
}

fn checked(job: &onebell::model::JobDefinition, now: onebell::model::Moment) -> Result<Checked, Failure> {
    use onebell::model::schedule::{Schedule, next_slot};
    let zones = jiff::tz::db();
    let parsed = job.schedules.iter().map(|schedule| Schedule::parse(schedule, &job.name, zones)).collect::<Result<Vec<_>, _>>();
    let parsed = parsed.map_err(Failure::usage)?;
    let next =
        std::iter::successors(next_slot(&parsed, now).map(|slot| slot.at), |at| next_slot(&parsed, *at).map(|slot| slot.at));
    Ok(Checked {
        job: job.name.clone(),
        schedules: job.schedules.iter().map(crate::jobfile::describe).collect(),
        next: next.take(3).collect(),
        steps: promises(job),
    })
}
