//! Rows of the fault matrix that need whole processes, and those of mail: a relay, a channel and a server at odds.
//!
//! Processes run with `storage.c` preloaded: it tells what reached the files in which order, counts refused locks, and kills
//! inside a write. What is asserted is order and counts, never speed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]
#![expect(
    clippy::disallowed_methods,
    reason = "real processes run by the real clock; what is waited for are states, each with a limit"
)]

/// Instantiates rows on SQLite.
macro_rules! on_sqlite {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name().await; })+
        }
    };
}
/// Instantiates rows on every database.
macro_rules! everywhere {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(crate::relay::Base::Sqlite).await; })+
        }
        mod postgres_15 {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(crate::relay::Base::Postgres(15)).await; })+
        }
        mod postgres_18 {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(crate::relay::Base::Postgres(18)).await; })+
        }
    };
}

#[path = "../../../onebell/tests/matrix/hits.rs"]
mod hits;

mod image;
mod kills;
mod mail;

mod power;
mod recorder;
mod relay;

mod site;
mod storms;
