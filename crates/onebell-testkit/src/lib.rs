//! What Onebell's own tests share. It knows nothing of Onebell, and nothing that is published depends on it.
//!
//! A test that finds no server fails and names the remedy: nothing here skips.

mod cluster;
mod database;
mod pooler;
mod proxy;
mod small_disk;
mod wait;

pub use cluster::Cluster;
pub use database::{Database, VERSIONS, fresh_database, from_script, server};
pub use pooler::Pooler;
pub use proxy::{Loss, Proxy};
pub use small_disk::SmallDisk;
pub use wait::until;
