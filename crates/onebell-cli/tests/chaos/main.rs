//! `onebell chaos` as people type it: real replicas, killed and paused; what it says, what it finds, and that it leaves nothing.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod examples;
mod leftovers;
mod sabotage;
mod safety;
mod site;
mod wrong;
