//! `onebell logs RUN`: what the steps printed, as kept: head and tail, secrets masked.

use std::collections::BTreeSet;
use std::io::{IsTerminal, Write};

use base64::Engine;
use onebell::model::RunId;
use onebell::model::shown::{shown, shown_lines};
use onebell::store::{RunDetail, Store};

use super::show::find;
use super::store;
use crate::answer::{Answer, Failure, json};
use crate::args::{Common, Format};

/// Prints what is kept; with `follow`, goes on until the run is over.
pub async fn logs(common: &Common, run: &str, step: Option<&str>, follow: bool) -> Answer {
    let detail = find(common, run).await?;
    if let Some(step) = step
        && !detail.steps.iter().any(|known| known.name == step)
    {
        let names: Vec<&str> = detail.steps.iter().map(|step| step.name.as_str()).collect();
        return Err(Failure::usage(format!("run {run:?} has no step {step:?}; its steps are: {}", names.join(", "))));
    }
    if common.format == Format::Json {
        return json(&as_json(&detail, step));
    }
    let mut printed = BTreeSet::new();
    print_new(&detail, step, &mut printed);
    if follow {
        follow_run(store(common).await?.as_ref(), run, step, &mut printed).await?;
    }
    Ok(())
}

async fn follow_run(store: &dyn Store, run: &str, step: Option<&str>, printed: &mut BTreeSet<(String, u64)>) -> Answer {
    while let Some(detail) = store.run(&RunId::from_text(run)).await? {
        print_new(&detail, step, printed);
        if detail.run.finished_at.is_some() {
            break;
        }
        onebell::time::Timer::sleep(&onebell::time::SystemTimer, std::time::Duration::from_millis(500)).await;
    }
    Ok(())
}

fn print_new(detail: &RunDetail, only: Option<&str>, printed: &mut BTreeSet<(String, u64)>) {
    let mut out = std::io::stdout().lock();
    for step in detail.steps.iter().filter(|step| only.is_none_or(|only| only == step.name)) {
        for attempt in &step.attempts {
            if !printed.insert((step.name.clone(), attempt.attempt)) {
                continue;
            }
            let how = attempt.error.as_deref().unwrap_or(&attempt.summary);
            // A reader that went away is no error.
            let head = format!("== {} attempt {} {} {how}", step.name, attempt.attempt, attempt.outcome);
            drop(writeln!(out, "{}", shown(&head)));
            print_bytes(&mut out, &attempt.stdout);
            if !attempt.stderr.is_empty() {
                drop(writeln!(out, "-- stderr"));
                print_bytes(&mut out, &attempt.stderr);
            }
        }
    }
}

/// To a file or a pipe as they are; on a terminal what would act on it is spelled out. What follows begins on a line of its own.
fn print_bytes(out: &mut (impl Write + IsTerminal), bytes: &[u8]) {
    if out.is_terminal() {
        let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
        drop(out.write_all(shown_lines(&text).as_bytes()));
    } else {
        drop(out.write_all(bytes));
    }
    if bytes.last().is_some_and(|byte| *byte != b'\n') {
        drop(writeln!(out));
    }
}

fn as_json(detail: &RunDetail, only: Option<&str>) -> serde_json::Value {
    let attempts: Vec<serde_json::Value> = detail
        .steps
        .iter()
        .filter(|step| only.is_none_or(|only| only == step.name))
        .flat_map(|step| step.attempts.iter().map(move |attempt| (step, attempt)))
        .map(|(step, attempt)| {
            let mut told = serde_json::Map::new();
            told.insert("step".to_owned(), step.name.clone().into());
            told.insert("attempt".to_owned(), attempt.attempt.into());
            told.insert("outcome".to_owned(), attempt.outcome.clone().into());
            told.insert("error".to_owned(), attempt.error.clone().into());
            put(&mut told, "stdout", &attempt.stdout);
            put(&mut told, "stderr", &attempt.stderr);
            serde_json::Value::Object(told)
        })
        .collect();
    serde_json::json!({ "run": detail.run.id, "attempts": attempts })
}

/// What was printed, as text; what no text can hold also as it was, in base64.
fn put(told: &mut serde_json::Map<String, serde_json::Value>, name: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        told.insert(format!("{name}_base64"), base64::engine::general_purpose::STANDARD.encode(bytes).into());
    }
    told.insert(name.to_owned(), text.into());
}
