//! `onebell show RUN`: a run with its steps, and what happened to it in the order of time.

mod timeline;

use onebell::model::RunId;
use onebell::model::job::UNDO_MARK;
use onebell::model::message::MessageStatus;
use onebell::model::shown::shell_word;
use onebell::store::{MessageFilter, RunDetail, Store};
use serde_json::{Value, json};

use super::durations::{milliseconds, took};
use super::read::short;
use super::store;
use crate::answer::{Answer, Failure, Table, cell, json as print_json, line};
use crate::args::{Common, Format};

/// So many messages and recoveries are looked through.
const LOOKED_THROUGH: u32 = 1_000;

/// All of it.
pub async fn show(common: &Common, run: &str) -> Answer {
    let store = store(common).await?;
    let detail = find_in(store.as_ref(), run).await?;
    let filter = MessageFilter { run: Some(detail.run.id.clone()), limit: LOOKED_THROUGH, ..MessageFilter::default() };
    let messages = store.messages(&filter).await?;
    let timeline = timeline::of(&detail, &messages, &store.recoveries(LOOKED_THROUGH).await?);
    if common.format == Format::Json {
        return print_json(&for_programs(&detail, &timeline)?);
    }
    head(&detail);
    steps(&detail).print();
    if !detail.messages.is_empty() {
        let counts: Vec<String> = detail.messages.iter().map(|(word, n)| format!("{n} {word}")).collect();
        line(format!("messages  {}", counts.join(", ")));
    }
    line("");
    let (table, left_out) = timeline::table(&timeline);
    table.print();
    if left_out > 0 {
        line(format!("and {left_out} more messages: onebell outbox list --run {}", detail.run.id));
    }
    advise(&detail);
    Ok(())
}

/// The run, or an error that says where to look.
pub(super) async fn find(common: &Common, run: &str) -> Result<RunDetail, Failure> {
    find_in(store(common).await?.as_ref(), run).await
}

async fn find_in(store: &dyn Store, run: &str) -> Result<RunDetail, Failure> {
    let found = store.run(&RunId::from_text(run)).await?;
    found.ok_or_else(|| Failure::usage(format!("no run {run:?}; see: onebell runs")))
}

/// With what people see as words: spans as numbers, and the timeline.
fn for_programs(detail: &RunDetail, timeline: &[timeline::Entry]) -> Result<Value, Failure> {
    let mut value = serde_json::to_value(detail).map_err(Failure::usage)?;
    value["timeline"] = serde_json::to_value(timeline).map_err(Failure::usage)?;
    value["run"]["duration_ms"] = json!(milliseconds(detail.run.started_at, detail.run.finished_at));
    for (step, of_step) in detail.steps.iter().enumerate() {
        for (number, attempt) in of_step.attempts.iter().enumerate() {
            let from = attempt.started_at.or(attempt.claimed_at);
            value["steps"][step]["attempts"][number]["duration_ms"] = json!(milliseconds(from, Some(attempt.ended_at)));
        }
    }
    Ok(value)
}

fn head(detail: &RunDetail) {
    let head = &detail.run;
    let reason = head.reason.as_ref().map(|reason| format!("  ({reason})")).unwrap_or_default();
    line(format!("{}  {}{reason}", head.id, head.status));
    line(format!("job {}  origin {}  scheduled for {}", head.job, head.origin, cell(head.scheduled_for)));
    line(format!("created {}  started {}  finished {}", head.created_at, cell(head.started_at), cell(head.finished_at)));
    if let Some(input) = &detail.input {
        line(format!("input {input}"));
    }
}

fn steps(detail: &RunDetail) -> Table {
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
    table
}

/// What to type next.
fn advise(detail: &RunDetail) {
    let head = &detail.run;
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
            line(format!("its finished steps were undone; for another try: onebell trigger {}", shell_word(&head.job)));
        }
        "failed" => line(format!("try it again: onebell retry {}", head.id)),
        _ => {}
    }
}
