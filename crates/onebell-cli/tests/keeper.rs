//! What the keeper promises, tried with real processes. Waiting is for events (a line, a file, a process that is gone), each with
//! a limit.

#![expect(clippy::disallowed_methods, reason = "real processes run by the real clock")]

#[path = "keeper/attacks.rs"]
mod attacks;
#[path = "keeper/ends.rs"]
mod ends;
#[path = "keeper/orphans.rs"]
mod orphans;
#[path = "keeper/starts.rs"]
mod starts;
#[path = "keeper/stops.rs"]
mod stops;
#[path = "keeper/support.rs"]
mod support;
