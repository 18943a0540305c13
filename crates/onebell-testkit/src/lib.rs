//! What Onebell's own tests share. It knows nothing of Onebell, and nothing that is published depends on it.
//!
//! A test that finds no server fails and names the remedy: nothing here skips.

mod cluster;
mod database;
mod wait;

pub use cluster::Cluster;
pub use database::{Database, VERSIONS, fresh_database, server};
pub use wait::until;
