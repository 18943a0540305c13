//! Commands that only look.

use std::collections::BTreeMap;
use std::time::Duration;

use onebell::model::Moment;
use onebell::model::run::RunStatus;
use onebell::store::{RunFilter, RunView, Store, Waiting};
use serde::Serialize;

use super::durations::{Ink, milliseconds, second, took};
use super::{doctor, store};
use crate::answer::{Answer, Failure, Table, cell, json, line};
use crate::args::{Common, Format, Runs, Since};

/// What has been due for less is being taken just now.
const SHOWN_US: u64 = 1_000_000;

#[derive(Serialize)]
struct Status {
    runs: BTreeMap<String, u64>,
    steps: BTreeMap<String, u64>,
    outbox: BTreeMap<String, u64>,
    effects: u64,
    replicas: u64,
    waiting: Waiting,
    duplicates_prevented: Prevented,
    took: Vec<Took>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<doctor::Finding>,
}

/// How long the newest runs of a job took, the newest last.
#[derive(Serialize)]
struct Took {
    job: String,
    duration_ms: Vec<u64>,
}

#[derive(Serialize)]
struct Prevented {
    slots: u64,
    effects: u64,
    messages: u64,
    superseded: u64,
}

/// `onebell status`
pub async fn status(common: &Common) -> Answer {
    let store = store(common).await?;
    let view = store.status().await?;
    let clock = doctor::clock(store.scheduler_now().await?, store.newest_renewal().await?);
    let newest = store.runs(&RunFilter { limit: LATELY, ..RunFilter::default() }).await?;
    let prevented = view.prevented;
    let status = Status {
        runs: view.runs,
        steps: view.steps,
        outbox: view.outbox,
        effects: view.effects,
        replicas: view.replicas,
        waiting: view.waiting,
        duplicates_prevented: Prevented {
            slots: prevented.slots,
            effects: prevented.effects,
            messages: prevented.messages,
            superseded: prevented.superseded,
        },
        took: lately(&newest),
        clock,
    };
    if common.format == Format::Json {
        return json(&status);
    }
    let counts = |counts: &BTreeMap<String, u64>| {
        let some: Vec<String> = counts.iter().filter(|(_, n)| **n > 0).map(|(word, n)| format!("{n} {word}")).collect();
        if some.is_empty() { "none".to_owned() } else { some.join(", ") }
    };
    line(format!("runs      {}", counts(&status.runs)));
    line(format!("steps     {}", counts(&status.steps)));
    line(format!("outbox    {}", counts(&status.outbox)));
    line(format!("effects   {}", status.effects));
    line(format!("replicas  {} live", status.replicas));
    let waiting = &status.waiting;
    let due = [("a step", waiting.step_us), ("a message", waiting.message_us), ("a slot", waiting.slot_us)];
    let due: Vec<String> = due
        .iter()
        .filter(|(_, span_us)| *span_us >= SHOWN_US)
        .map(|(what, span_us)| format!("{what} for {} s", span_us / 1_000_000))
        .collect();
    if !due.is_empty() {
        line(format!("waiting   {}", due.join(", ")));
    }
    let d = &status.duplicates_prevented;
    line(format!(
        "duplicates prevented  {} slots, {} effects, {} messages, {} superseded writes",
        d.slots, d.effects, d.messages, d.superseded
    ));
    show_lately(&status.took);
    if let Some(clock) = &status.clock {
        line(format!("{}; {}", clock.message, clock.fix));
    }
    if status.outbox.get("in_doubt").is_some_and(|n| *n > 0) {
        line("messages are in doubt: nobody can know whether they arrived. See: onebell outbox list");
    }
    if status.runs.get("parked").is_some_and(|n| *n > 0) {
        line("runs are parked: they wait for a person. See: onebell runs --status parked");
    }
    Ok(())
}

/// So many runs are looked at for how long they took.
const LATELY: u32 = 200;

/// Of each job with a run that succeeded lately.
fn lately(newest: &[RunView]) -> Vec<Took> {
    let mut by_job: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for run in newest.iter().rev().filter(|run| run.status == RunStatus::Succeeded.as_str()) {
        by_job.entry(&run.job).or_default().extend(milliseconds(run.started_at, run.finished_at));
    }
    by_job.into_iter().map(|(job, duration_ms)| Took { job: job.to_owned(), duration_ms }).collect()
}

/// A row of bars for each job, where a terminal is.
fn show_lately(took: &[Took]) {
    const JOBS: usize = 10;
    const RUNS: usize = 20;
    let Some(ink) = Ink::of_stdout() else { return };
    for Took { job, duration_ms } in took.iter().take(JOBS) {
        let spans: Vec<Duration> = duration_ms.iter().rev().take(RUNS).rev().map(|ms| Duration::from_millis(*ms)).collect();
        let last = spans.last().copied().unwrap_or_default();
        line(format!("took      {} {last:.1?} {job}", ink.row(&spans)));
    }
}

/// `onebell jobs`
pub async fn jobs(common: &Common) -> Answer {
    let jobs = store(common).await?.jobs().await?;
    if common.format == Format::Json {
        return json(&serde_json::json!({ "jobs": jobs }));
    }
    let mut table = Table::new(["job", "next slot", "last run", "status", "description"]);
    for job in jobs {
        let next = if job.paused_at.is_some() { "paused".to_owned() } else { cell(job.next_slot) };
        table.row([job.name, next, cell(job.last_run), cell(job.last_status), job.description]);
    }
    print(&table, "no job is registered yet; a replica registers those of its job file: onebell run")
}

/// By the store's clock.
pub(super) async fn instant(store: &dyn Store, since: Option<Since>) -> Result<Option<Moment>, Failure> {
    Ok(match since {
        None => None,
        Some(Since::At(at)) => Some(at),
        Some(Since::Ago(span)) => Some(store.scheduler_now().await? - span),
    })
}

/// `onebell runs`
pub async fn runs(common: &Common, args: &Runs) -> Answer {
    let store = store(common).await?;
    let since = instant(store.as_ref(), args.since).await?;
    let filter = RunFilter { job: args.job.clone(), status: args.status, since, limit: args.limit };
    let runs = store.runs(&filter).await?;
    if common.format == Format::Json {
        let runs = runs.iter().map(with_duration).collect::<Result<Vec<_>, _>>().map_err(Failure::usage)?;
        return json(&serde_json::json!({ "runs": runs }));
    }
    let longest = longest_by_job(&runs);
    let ink = Ink::of_stdout();
    let mut table = Table::new(["run", "job", "status", "took", "origin", "scheduled for", "started", "reason"]);
    for run in runs {
        let took = bar(&run, ink, &longest);
        let (slot, started) = (cell(run.scheduled_for), cell(run.started_at.map(second)));
        table.row([run.id, run.job, run.status, took, run.origin, slot, started, run.reason.unwrap_or_default()]);
    }
    print(&table, "no such run")
}

fn with_duration(run: &RunView) -> Result<serde_json::Value, serde_json::Error> {
    let mut value = serde_json::to_value(run)?;
    value["duration_ms"] = serde_json::json!(milliseconds(run.started_at, run.finished_at));
    Ok(value)
}

fn longest_by_job(runs: &[RunView]) -> BTreeMap<String, Duration> {
    let mut longest: BTreeMap<String, Duration> = BTreeMap::new();
    for run in runs {
        let took = span(run).unwrap_or_default();
        let known = longest.entry(run.job.clone()).or_default();
        *known = took.max(*known);
    }
    longest
}

fn span(run: &RunView) -> Option<Duration> {
    Some(run.finished_at?.since(run.started_at?))
}

/// How long a run took, on a terminal beside the longest of its job.
fn bar(run: &RunView, ink: Option<Ink>, longest: &BTreeMap<String, Duration>) -> String {
    let words = took(run.started_at, run.finished_at);
    let bar = ink.zip(span(run)).zip(longest.get(&run.job)).map(|((ink, span), longest)| ink.bar(span, *longest));
    bar.map_or_else(|| words.clone(), |bar| format!("{words:>7} {bar}"))
}

/// `onebell replicas`
pub async fn replicas(common: &Common) -> Answer {
    let replicas = store(common).await?.replicas().await?;
    if common.format == Format::Json {
        return json(&serde_json::json!({ "replicas": replicas }));
    }
    let zones = doctor::zones(&replicas, "");
    let mut table = Table::new(["replica", "state", "label", "version", "zones", "last beat", "running"]);
    for replica in replicas {
        let state = match (replica.lost_at, replica.left_at) {
            (Some(at), _) => format!("lost {at}"),
            (None, Some(at)) => format!("left {at}"),
            (None, None) => match replica.clock_behind_s {
                Some(seconds) => format!("live, plans nothing: its clock is {seconds} s behind"),
                None => "live".to_owned(),
            },
        };
        let running = replica.running.to_string();
        let zones = if replica.tzdata.is_empty() { "–".to_owned() } else { replica.tzdata };
        let beat_at = replica.beat_at.to_string();
        table.row([short(&replica.id).to_owned(), state, replica.label, replica.version, zones, beat_at, running]);
    }
    print(&table, "no replica has been here yet; start one: onebell run")?;
    zones.iter().filter(|finding| finding.code == "zone-data-differs").for_each(|finding| line(finding.message.clone()));
    Ok(())
}

/// `onebell recoveries`
pub async fn recoveries(common: &Common, limit: u32) -> Answer {
    let requests = store(common).await?.recoveries(limit).await?;
    if common.format == Format::Json {
        return json(&serde_json::json!({ "recoveries": requests }));
    }
    let mut table = Table::new(["kind", "id", "attempt", "asked by", "at", "status", "reason"]);
    for request in requests {
        table.row([
            request.kind.to_string(),
            request.id.clone(),
            request.attempt.to_string(),
            short(request.requested_by.as_str()).to_owned(),
            request.requested_at.to_string(),
            request.status.to_string(),
            request.reason,
        ]);
    }
    print(&table, "nothing has had to be recovered")
}

/// `onebell skips`
pub async fn skips(common: &Common, job: Option<&str>, limit: u32) -> Answer {
    let skips = store(common).await?.skips(job, limit).await?;
    if common.format == Format::Json {
        return json(&serde_json::json!({ "skips": skips }));
    }
    let mut table = Table::new(["job", "from", "to", "slots", "reason", "recorded"]);
    for skip in skips {
        let count = skip.count.map_or_else(|| "many".to_owned(), |count| count.to_string());
        table.row([skip.job, skip.from.to_string(), skip.to.to_string(), count, skip.reason, skip.recorded_at.to_string()]);
    }
    print(&table, "no slot was skipped")
}

fn print(table: &Table, nothing: &str) -> Answer {
    if table.is_empty() {
        line(nothing)
    } else {
        table.print()
    }
    Ok(())
}

/// Enough of a replica's random id to tell it from the others.
pub(super) fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}
