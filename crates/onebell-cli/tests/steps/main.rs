//! What the handlers of a job file's steps promise, over a store that this test wrote.

#![expect(clippy::disallowed_methods, reason = "real processes run by the real clock")]

mod callback;
mod command;
mod example;
mod fake;
mod http;
mod message;
