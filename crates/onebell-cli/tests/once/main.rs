//! `onebell once` as several hosts would type it: processes of the program over one database, killed and stopped.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]
#![expect(clippy::disallowed_methods, reason = "real processes run by the real clock")]

/// Instantiates a promise on every database.
macro_rules! everywhere {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(crate::host::Hosts::new(None).await).await; })+
        }
        mod postgres_15 {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(crate::host::Hosts::new(Some(15)).await).await; })+
        }
        mod postgres_18 {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(crate::host::Hosts::new(Some(18)).await).await; })+
        }
    };
}
pub(crate) use everywhere;

mod codes;
mod deaths;
mod host;
mod keys;
