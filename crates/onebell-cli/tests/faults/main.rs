//! The trouble is real here: replicas are processes of the program, killed, stopped and cut off from their database.
//! Waiting is for events, each with a limit; what is asserted is order and counts, never speed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]
#![expect(clippy::disallowed_methods, reason = "real processes run by the real clock")]

mod away;
mod clocks;
mod crash_points;
mod drain;
mod kills;
mod site;
mod slots;
mod soak;
mod zones;

/// Instantiates a promise on every database.
macro_rules! everywhere {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(crate::site::Place::Sqlite).await; })+
        }
        mod postgres_15 {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(crate::site::Place::Postgres(15)).await; })+
        }
        mod postgres_18 {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(crate::site::Place::Postgres(18)).await; })+
        }
    };
}
pub(crate) use everywhere;
