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
        (Port::Agent, "settle_steps") => &["runs", "steps", "attempts", "messages", "effects", "work", "late", "vigils"],
        (Port::Agent, _) => &["steps"],
        (Port::Scheduler, "define_job") => &["jobs", "vigils"],
        (Port::Scheduler, "set_pause") => &["jobs", "skips", "messages", "vigils"],
        (Port::Scheduler, "open_slots" | "open_slots_of_jobs") => {
            &["runs", "steps", "attempts", "messages", "skips", "jobs", "vigils"]
        }
        // A person may have called a step failed while its run was queued: then it fails when it is admitted.
        (Port::Scheduler, "admit_runs") => &["runs", "steps", "attempts", "messages", "skips", "vigils"],
        (Port::Scheduler, "tell_late_finishes") => &["runs", "messages"],
        (Port::Scheduler, "tell_silences") => &["messages", "vigils"],
        (Port::Scheduler, "close_deliveries") => &["runs", "steps", "attempts", "messages", "vigils"],
        (Port::Scheduler, "grant") => &["runs", "steps", "attempts", "messages", "requests", "replicas", "vigils"],
        (Port::Scheduler, _) => &[],
        (Port::Batch, "apply_chunk") => &["batches", "effects", "findings", "loads"],
        (Port::Batch, "withhold_batch") => &["batches", "findings"],
        (Port::Batch, _) => &["batches"],
        // Its admission takes up whatever waits for a place, and a run whose steps people have decided is over at once.
        (Port::Operator, "trigger") => &["runs", "steps", "attempts", "messages", "keys", "vigils"],
        (Port::Operator, "resolve_message") => &["messages"],
        (Port::Operator, _) => &["runs", "steps", "attempts", "messages", "vigils"],
    }
}
