//! `onebell check`: validates the job file and prints what each step promises; where there is a history, how its limits fit to it.

use onebell::model::schedule::{Schedule, advice, next_slot};
use serde::Serialize;

use super::times;
use crate::answer::{Answer, Failure, json, line};
use crate::args::{Common, Format};
use crate::database::Database;
use crate::jobfile::{JobFile, StepPromise, doubts, promises};

#[derive(Serialize)]
struct Checked {
    job: String,
    schedules: Vec<String>,
    next: Vec<onebell::model::Moment>,
    warnings: Vec<String>,
    steps: Vec<StepPromise>,
}

/// Every problem of the file at once, or every job with its promises and next slots.
pub async fn check(common: &Common) -> Answer {
    let file = JobFile::load(&common.file).map_err(Failure::usage)?;
    let now = onebell::time::host_now();
    let mut checked = file.jobs.iter().map(|job| checked(job, &file, now)).collect::<Result<Vec<_>, _>>()?;
    let history = compare(common, &file, &mut checked).await?;
    if common.format == Format::Json {
        return json(&serde_json::json!({ "jobs": checked, "history": history }));
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
        for warning in &job.warnings {
            line(format!("  warning: {warning}"));
        }
        for step in &job.steps {
            line(format!("  {:<8} {}: {}", step.step, step.promise, step.meaning));
            for warning in &step.warnings {
                line(format!("           warning: {warning}"));
            }
        }
    }
    if checked.is_empty() {
        line("  warning: there is no job in it; one begins with [jobs.NAME]");
    }
    let jobs = if checked.len() == 1 { "1 job".to_owned() } else { format!("{} jobs", checked.len()) };
    line(format!("{} is good: {jobs}", common.file.display()));
    Ok(())
}

/// Adds what the history says to the warnings. It is a help, not a check: a database that is away spoils nothing.
async fn compare(common: &Common, file: &JobFile, checked: &mut [Checked]) -> Result<&'static str, Failure> {
    if common.database.is_none() && file.database.is_none() {
        return Ok("not named");
    }
    let database = Database::choose(common, file.database.as_deref())?;
    let advised = match database.look().await {
        Ok(store) => times::advise(store.as_ref(), &file.jobs).await,
        Err(error) => Err(error),
    };
    let advised = match advised {
        Ok(advised) => advised,
        Err(error) => {
            tracing::info!(%error, "timeouts are not compared with the history");
            return Ok("away");
        }
    };
    for (job, advice) in advised {
        let Some(checked) = checked.iter_mut().find(|checked| checked.job == job) else { continue };
        let warning = format!("{}; write {}", advice.message, advice.paste);
        match advice.step.and_then(|step| checked.steps.iter_mut().find(|checked| checked.step == step)) {
            Some(step) => step.warnings.push(warning),
            None => checked.warnings.push(warning),
        }
    }
    Ok("compared")
}

/// So many slots are looked at for the next ones that run.
const LOOKED_AT: usize = 10_000;

fn checked(job: &onebell::model::JobDefinition, file: &JobFile, now: onebell::model::Moment) -> Result<Checked, Failure> {
    let parsed = Schedule::of_job(job, onebell::replica::ZoneData::newest().zones()).map_err(Failure::usage)?;
    let slots = std::iter::successors(next_slot(&parsed, now), |slot| next_slot(&parsed, slot.at));
    // Slots of every second may be excluded for years.
    let next = slots.take(LOOKED_AT).filter(|slot| slot.opens()).map(|slot| slot.at).take(3).collect::<Vec<_>>();
    let queues = file.replica.queues.clone().unwrap_or_else(|| onebell::replica::Settings::default().queues);
    Ok(Checked {
        job: job.name.clone(),
        schedules: job.schedules.iter().map(crate::jobfile::describe).collect(),
        warnings: warnings(job, &parsed, now, next.is_empty()).into_iter().chain(doubts(job, &queues)).collect(),
        next,
        steps: promises(job),
    })
}

/// What the schedules say and do not mean.
fn warnings(job: &onebell::model::JobDefinition, parsed: &[Schedule], now: onebell::model::Moment, idle: bool) -> Vec<String> {
    let mut warnings: Vec<String> = job.schedules.iter().flat_map(advice).collect();
    if !parsed.is_empty() && next_slot(parsed, now).is_none() {
        warnings.push("it is not due any more; remove it, or change at or until".to_owned());
    } else if !parsed.is_empty() && idle {
        warnings.push("none of its next slots runs: all are left out by except or dst; onebell explain names them".to_owned());
    }
    warnings
}
