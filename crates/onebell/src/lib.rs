//! Recurring and batch jobs that any number of replicas may run, that may be run again after any
//! failure, and whose effects still happen once. *Three replicas, one bell.*

pub mod fault;
pub mod handler;
pub mod model;
pub mod replica;
pub mod roles;
pub mod store;
pub mod time;
