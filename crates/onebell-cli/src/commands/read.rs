//! Commands that only look.

use onebell::model::job::UNDO_MARK;
use onebell::model::message::MessageStatus;
use onebell::model::{Moment, RunId};
use onebell::store::{RunDetail, RunFilter, Store, Waiting};
use serde::Serialize;

use super::{doctor, store};
use crate::answer::{Answer, Failure, Table, cell, json, line};
use crate::args::{Common, Format, Runs, Since};

/// What has been due for less is being taken just now.
const SHOWN_US: u64 = 1_000_000;

#[derive(Serialize)]
struct Status {
    runs: std::collections::BTreeMap<String, u64>,
    steps: std::collections::BTreeMap<String, u64>,
    outbox: std::collections::BTreeMap<String, u64>,
    effects: u64,
    replicas: u64,
    waiting: Waiting,
    duplicates_prevented: Prevented,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<doctor::Finding>,
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
        clock,
    };
    if common.format == Format::Json {
        return json(&status);
    }
    let counts = |counts: &std::collections::BTreeMap<String, u64>| {
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
        return json(&serde_json::json!({ "runs": runs }));
    }
    let mut table = Table::new(["run", "job", "status", "origin", "scheduled for", "started", "took", "reason"]);
    for run in runs {
        let took = took(run.started_at, run.finished_at);
        let reason = run.reason.unwrap_or_default();
        table.row([run.id, run.job, run.status, run.origin, cell(run.scheduled_for), cell(run.started_at), took, reason]);
    }
    print(&table, "no such run")
}

/// `onebell show RUN`
pub async fn show(common: &Common, run: &str) -> Answer {
    let detail = find(common, run).await?;
    if common.format == Format::Json {
        return json(&detail);
    }
    let head = &detail.run;
    line(format!(
        "{}  {}{}",
        head.id,
        head.status,
        head.reason.as_ref().map(|reason| format!("  ({reason})")).unwrap_or_default()
    ));
    line(format!("job {}  origin {}  scheduled for {}", head.job, head.origin, cell(head.scheduled_for)));
    line(format!("created {}  started {}  finished {}", head.created_at, cell(head.started_at), cell(head.finished_at)));
    if let Some(input) = &detail.input {
        line(format!("input {input}"));
    }
    let mut table = Table::new(["step", "status", "attempt", "tries", "replica", "from", "took", "outcome"]);
    for step in &detail.steps {
        for attempt in &step.attempts {
            let outcome = format!("{} {}", attempt.outcome, attempt.error.as_deref().unwrap_or(&attempt.summary));
            table.row([
                step.name.clone(),
                String::new(),
                attempt.attempt.to_string(),
                String::new(),
                cell(attempt.replica.as_ref().map(|id| short(id))),
                cell(attempt.claimed_at),
                took(attempt.started_at.or(attempt.claimed_at), Some(attempt.ended_at)),
                outcome,
            ]);
        }
        table.row([
            step.name.clone(),
            step.status.clone(),
            step.attempt.to_string(),
            step.tries.to_string(),
            cell(step.locked_by.as_ref().map(|id| short(id))),
            cell(step.complete_by.map(|at| format!("until {at}"))),
            String::new(),
            step.error.clone().unwrap_or_default(),
        ]);
    }
    table.print();
    if !detail.messages.is_empty() {
        let counts: Vec<String> = detail.messages.iter().map(|(word, n)| format!("{n} {word}")).collect();
        line(format!("messages  {}", counts.join(", ")));
    }
    match head.status.as_str() {
        "parked" if detail.messages.contains_key(MessageStatus::InDoubt.as_str()) => line(format!(
            "a message is in doubt: ask its receiver, then onebell outbox list --run {0} and onebell outbox resolve KEY --as …",
            head.id
        )),
        "parked" => line(format!(
            "it waits for a person: onebell retry {0}, onebell resolve {0} STEP --as …, or onebell cancel {0}",
            head.id
        )),
        "failed" if detail.steps.iter().any(|step| step.name.ends_with(UNDO_MARK)) => {
            line(format!("its finished steps were undone; for another try: onebell trigger {}", head.job));
        }
        "failed" => line(format!("try it again: onebell retry {}", head.id)),
        _ => {}
    }
    Ok(())
}

/// The run, or an error that says where to look.
pub(super) async fn find(common: &Common, run: &str) -> Result<RunDetail, Failure> {
    let found = store(common).await?.run(&RunId::from_text(run)).await?;
    found.ok_or_else(|| Failure::usage(format!("no run {run:?}; see: onebell runs")))
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
fn short(id: &str) -> &str {
    id.get(..8).unwrap_or(id)
}

fn took(from: Option<Moment>, to: Option<Moment>) -> String {
    match (from, to) {
        (Some(from), Some(to)) => format!("{:.1?}", to.since(from)),
        _ => "–".to_owned(),
    }
}
