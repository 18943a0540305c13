//! The program as people use it: typed in a folder, answered on stdout and stderr, told by its exit code. Nothing here calls into
//! it; what a test knows, a user can know.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]
#![expect(clippy::disallowed_methods, reason = "another process is waited for here, by the real clock and with a limit")]

mod acts;
mod alarms;
mod answers;
mod apply;
mod bench;
mod doctor;
mod durations;
mod examples;
mod foreign;
mod history;
mod includes;
mod life;
mod mails;
mod output;
mod paths;
mod rehearsals;
mod reload;
mod requests;
mod restored;
mod secrets;
mod several;
mod site;
mod steps;
mod streams;
mod terminal;
mod times;
mod words;
mod wrong;
mod wrong_databases;
mod wrong_rows;

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
