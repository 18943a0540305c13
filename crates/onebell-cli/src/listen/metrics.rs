//! The metrics: their names do not change. Those of the database are the same on every replica; those of the replica are its own.

use std::fmt::Write;
use std::time::Duration;

use onebell::replica::Health;
use onebell::store::StatusView;
use onebell::time::{SystemTimer, Timer};

use super::{Open, Watched};

/// A metric's name, kind, and what it tells.
pub type Metric = (&'static str, &'static str, &'static str);

/// All of them.
pub const METRICS: &[Metric] = &[
    ("onebell_build_info", "gauge", "1, with the program's version and that of the zone data"),
    ("onebell_store_up", "gauge", "whether the database answered this look"),
    ("onebell_runs", "gauge", "runs in the database by status"),
    ("onebell_steps", "gauge", "steps in the database by status"),
    ("onebell_messages", "gauge", "messages in the outbox by status; in_doubt wants a person"),
    ("onebell_effects", "gauge", "effects in the ledger"),
    ("onebell_live_replicas", "gauge", "replicas that are neither lost nor gone"),
    ("onebell_duplicates_prevented_total", "counter", "slots, effects, messages and late writes that were there already"),
    ("onebell_waiting_seconds", "gauge", "how long the longest waiting step, message or slot has been due"),
    ("onebell_replica_ready", "gauge", "what /readyz says"),
    ("onebell_replica_pass_age_seconds", "gauge", "since each loop of this replica finished a pass"),
    ("onebell_replica_attempts_total", "counter", "attempts that ended on this replica, by the step's status after it"),
    ("onebell_replica_messages_total", "counter", "deliveries that ended on this replica, by the message's status after it"),
    ("onebell_replica_slots_total", "counter", "slots that this replica opened or skipped"),
    ("onebell_replica_recoveries_total", "counter", "recoveries that this replica asked for or granted"),
];

/// A look at the database may take so long.
const LIMIT: Duration = Duration::from_secs(5);

/// The page.
pub(super) async fn text(watched: &Watched) -> String {
    let mut page = Writer::default();
    let version = env!("CARGO_PKG_VERSION");
    let Some(Open { health, store, .. }) = watched.0.get() else {
        page.metric("onebell_build_info", &[("version", version), ("tzdata", "")], 1.0);
        page.metric("onebell_store_up", &[], 0.0);
        page.metric("onebell_replica_ready", &[], 0.0);
        return page.text;
    };
    page.metric("onebell_build_info", &[("version", version), ("tzdata", health.tzdata())], 1.0);
    let status = tokio::select! {
        status = store.status() => status.ok(),
        () = SystemTimer.sleep(LIMIT) => None,
    };
    page.metric("onebell_store_up", &[], f64::from(u8::from(status.is_some())));
    if let Some(status) = status {
        of_database(&mut page, &status);
    }
    of_replica(&mut page, health);
    page.text
}

#[expect(clippy::cast_precision_loss, reason = "Prometheus has no other numbers")]
fn of_database(page: &mut Writer, status: &StatusView) {
    for (name, counts) in [("onebell_runs", &status.runs), ("onebell_steps", &status.steps), ("onebell_messages", &status.outbox)]
    {
        counts.iter().for_each(|(word, count)| page.metric(name, &[("status", word)], *count as f64));
    }
    page.metric("onebell_effects", &[], status.effects as f64);
    page.metric("onebell_live_replicas", &[], status.replicas as f64);
    let prevented = &status.prevented;
    let kinds = [
        ("slot", prevented.slots),
        ("effect", prevented.effects),
        ("message", prevented.messages),
        ("late_write", prevented.superseded),
    ];
    kinds.iter().for_each(|(kind, count)| page.metric("onebell_duplicates_prevented_total", &[("kind", kind)], *count as f64));
    let waiting = [("step", status.waiting.step_us), ("message", status.waiting.message_us), ("slot", status.waiting.slot_us)];
    waiting.iter().for_each(|(what, span)| page.metric("onebell_waiting_seconds", &[("what", what)], *span as f64 / 1e6));
}

#[expect(clippy::cast_precision_loss, reason = "Prometheus has no other numbers")]
fn of_replica(page: &mut Writer, health: &Health) {
    page.metric("onebell_replica_ready", &[], f64::from(u8::from(health.unready().is_empty())));
    for (of, age) in health.ages() {
        if let Some(age) = age {
            page.metric("onebell_replica_pass_age_seconds", &[("role", of.as_str())], age.as_secs_f64());
        }
    }
    for (name, word, count) in health.counts() {
        page.metric(&format!("onebell_replica_{name}_total"), &[("outcome", word)], count as f64);
    }
}

/// Writes metrics with their heads, each name's lines together.
#[derive(Default)]
struct Writer {
    text: String,
    last: String,
}

impl Writer {
    fn metric(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        if self.last != name {
            name.clone_into(&mut self.last);
            if let Some((_, kind, help)) = METRICS.iter().find(|(known, ..)| *known == name) {
                self.line(format_args!("# HELP {name} {help}"));
                self.line(format_args!("# TYPE {name} {kind}"));
            }
        }
        let labels: Vec<String> = labels.iter().map(|(label, value)| format!("{label}=\"{}\"", escaped(value))).collect();
        match labels.as_slice() {
            [] => self.line(format_args!("{name} {value}")),
            labels => self.line(format_args!("{name}{{{}}} {value}", labels.join(","))),
        }
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // A string takes everything.
        let _ = writeln!(self.text, "{line}");
    }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
