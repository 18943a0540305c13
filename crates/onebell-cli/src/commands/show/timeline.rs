//! What happened to a run, in the order of time: its own moves, claims and ends of attempts, recoveries, messages.

use onebell::model::Moment;
use onebell::model::recovery::{RecoveryRequest, RequestKind};
use onebell::store::{AttemptView, MessageView, RunDetail, StepDetail};
use serde::Serialize;

use crate::answer::Table;
use crate::commands::durations::took;

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Entry {
    at: Moment,
    /// Since the run was opened.
    offset_ms: i64,
    kind: Kind,
    who: Option<String>,
    what: String,
}

/// What a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Run,
    Claim,
    Attempt,
    Recovery,
    Message,
}

/// All of it that is known. What is pruned, or claimed and not yet ended, has left no instant.
pub(super) fn of(detail: &RunDetail, messages: &[MessageView], recoveries: &[RecoveryRequest]) -> Vec<Entry> {
    let opened = detail.run.created_at;
    let mut entries = Vec::new();
    let mut add = |at: Moment, kind, who: Option<&str>, what: String| {
        let offset_ms = (at.micros() - opened.micros()).div_euclid(1000);
        entries.push(Entry { at, offset_ms, kind, who: who.map(str::to_owned), what });
    };
    let run = &detail.run;
    let slot = run.scheduled_for.map(|slot| format!(" for slot {slot}")).unwrap_or_default();
    add(opened, Kind::Run, None, format!("run opened{slot} ({})", run.origin));
    if let Some(at) = run.started_at {
        add(at, Kind::Run, None, "run started".to_owned());
    }
    for (step, attempt) in detail.steps.iter().flat_map(|step| step.attempts.iter().map(move |attempt| (step, attempt))) {
        let who = attempt.replica.as_deref();
        if let Some(at) = attempt.claimed_at {
            add(at, Kind::Claim, who, format!("step {}: attempt {} claimed", step.name, attempt.attempt));
        }
        add(attempt.ended_at, Kind::Attempt, who, ended(step, attempt));
    }
    for request in recoveries.iter().filter(|request| concerns(request, detail, messages)) {
        let what = format!("{} {}, attempt {}", request.kind, named(request, detail), request.attempt);
        let who = Some(request.requested_by.as_str());
        add(request.requested_at, Kind::Recovery, who, format!("recovery asked for: {what}: {}", request.reason));
        if let Some(at) = request.granted_at {
            add(at, Kind::Recovery, None, format!("recovery granted: {what}"));
        }
    }
    for message in messages {
        let at = message.finished_at.or(message.sending_at).unwrap_or(message.created_at);
        let resent = if message.resent { ", sent again" } else { "" };
        let what = format!("message {} over {}: {}{resent}", message.key, message.channel, message.status);
        add(at, Kind::Message, message.locked_by.as_deref(), what);
    }
    if let Some(at) = run.finished_at {
        let reason = run.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        add(at, Kind::Run, None, format!("run {}{reason}", run.status));
    }
    // What happened at one instant stays in the order of the protocol.
    entries.sort_by_key(|entry| entry.at);
    entries
}

fn ended(step: &StepDetail, attempt: &AttemptView) -> String {
    let words = attempt.error.as_deref().unwrap_or(&attempt.summary);
    let words = if words.is_empty() { String::new() } else { format!(": {words}") };
    let after = match attempt.started_at.or(attempt.claimed_at) {
        Some(from) => format!(" after {}", took(Some(from), Some(attempt.ended_at))),
        None => String::new(),
    };
    format!("step {}: attempt {} {}{after}{words}", step.name, attempt.attempt, attempt.outcome)
}

/// Whether a recovery was about the run, or about a replica that it lost an attempt with.
fn concerns(request: &RecoveryRequest, detail: &RunDetail, messages: &[MessageView]) -> bool {
    let attempts = || detail.steps.iter().flat_map(|step| &step.attempts);
    match request.kind {
        RequestKind::Run => request.id == detail.run.id,
        RequestKind::Step => detail.steps.iter().any(|step| step.id == request.id),
        RequestKind::Message => messages.iter().any(|message| message.key == request.id),
        RequestKind::Replica => {
            let lost = |attempt: &AttemptView| attempt.replica.as_deref() == Some(&request.id) && attempt.outcome == "lost";
            attempts().any(lost)
        }
    }
}

/// A step by its name.
fn named<'d>(request: &'d RecoveryRequest, detail: &'d RunDetail) -> &'d str {
    let step = detail.steps.iter().find(|step| request.kind == RequestKind::Step && step.id == request.id);
    step.map_or(&request.id, |step| &step.name)
}

/// So many messages have a line of their own on a terminal.
const MESSAGES: usize = 20;

/// As a table, and how many messages are left out of it.
pub(super) fn table(entries: &[Entry]) -> (Table, usize) {
    let mut table = Table::new(["after", "who", "what"]);
    let mut messages = 0;
    for entry in entries {
        messages += usize::from(entry.kind == Kind::Message);
        if entry.kind == Kind::Message && messages > MESSAGES {
            continue;
        }
        let seconds = format!("+{}.{:03}s", entry.offset_ms.max(0) / 1000, entry.offset_ms.max(0) % 1000);
        let who = entry.who.as_deref().map_or("-", super::super::read::short);
        table.row([seconds, who.to_owned(), entry.what.clone()]);
    }
    (table, messages.saturating_sub(MESSAGES))
}
