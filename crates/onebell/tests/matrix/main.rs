//! The fault matrix: real replicas at work over real databases while those fail in every way that databases fail. After each
//! row the same is asked: nothing acknowledged is lost, no effect is there twice, no try was spent on an outage, nobody took
//! the others for dead, and everything went on to its end.
//!
//! `docs/proof.md` lists every row with how often its fault was really met; `listed` compares that list with what is here.
//! Rows about processes and mail are in the program's own tests.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]
#![expect(
    clippy::disallowed_methods,
    reason = "the edge runs by the real clock; what is waited for are states, each with a limit"
)]

/// Instantiates rows on both PostgreSQL versions.
macro_rules! on_postgres {
    ($($name:ident),+ $(,)?) => {
        mod postgres_15 {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(15).await; })+
        }
        mod postgres_18 {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(18).await; })+
        }
    };
}
/// Instantiates rows on SQLite.
macro_rules! on_sqlite {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name().await; })+
        }
    };
}

mod asker;
mod clusters;
mod commits;
mod connections;
mod disk;
mod failover;
mod fleet;
mod hits;
mod listed;
mod locks;
mod pooled;
mod refusals;
mod work;
