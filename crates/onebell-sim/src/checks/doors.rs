//! Each verb writes its own tables only.

use super::{Check, Commit, must};
use crate::call::Port;

#[derive(Default)]
pub(super) struct Doors;

impl Check for Doors {
    fn name(&self) -> &'static str {
        "doors"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        let open = doors(commit.call.port, commit.call.verb);
        let wrong = commit.changes.touched().into_iter().find(|table| !open.contains(table));
        must(wrong.is_none(), || format!("{} wrote {}", commit.call.verb, wrong.unwrap_or_default()))
    }
}

fn doors(port: Port, verb: &str) -> &'static [&'static str] {
    match (port, verb) {
        (Port::Replica, _) => &["replicas"],
        (Port::Leader, _) => &["terms"],
        (Port::Supervisor, _) => &["requests"],
        (Port::Relay, _) => &["messages"],
        (Port::Read, _) => &[],
        (Port::Janitor, _) => &[
            "runs", "steps", "attempts", "messages", "keys", "skips", "requests", "late", "replicas", "jobs", "batches",
            "findings",
        ],
        (Port::Agent, "settle_steps") => &["runs", "steps", "attempts", "messages", "effects", "work", "late"],
        (Port::Agent, _) => &["steps"],
        (Port::Scheduler, "define_job") => &["jobs"],
        (Port::Scheduler, "set_pause") => &["jobs", "skips"],
        (Port::Scheduler, "open_slots" | "open_slots_of_jobs") => &["runs", "steps", "attempts", "messages", "skips", "jobs"],
        // A person may have called a step failed while its run was queued: then it fails when it is admitted.
        (Port::Scheduler, "admit_runs") => &["runs", "steps", "attempts", "messages", "skips"],
        (Port::Scheduler, "tell_late_finishes") => &["runs", "messages"],
        (Port::Scheduler, "tell_silences") => &["messages"],
        (Port::Scheduler, "close_deliveries") => &["runs", "steps", "attempts", "messages"],
        (Port::Scheduler, "grant") => &["runs", "steps", "attempts", "messages", "requests", "replicas"],
        (Port::Scheduler, _) => &[],
        (Port::Batch, "apply_chunk") => &["batches", "effects", "findings", "loads"],
        (Port::Batch, "withhold_batch") => &["batches", "findings"],
        (Port::Batch, _) => &["batches"],
        (Port::Operator, "trigger") => &["runs", "steps", "keys"],
        (Port::Operator, "resolve_message") => &["messages"],
        (Port::Operator, _) => &["runs", "steps", "attempts", "messages"],
    }
}
