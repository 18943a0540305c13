//! HTTP from our side against our own receiver, against scripted ones and against some that nobody here wrote: what is known of a
//! webhook after every kind of end, and that nothing of it goes out before `sending` is committed.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail as loudly as the test")]

/// Instantiates a promise on every database.
macro_rules! everywhere {
    ($($name:ident),+ $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(None).await; })+
        }
        mod postgres_15 {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(Some(15)).await; })+
        }
        mod postgres_18 {
            $(#[tokio::test(flavor = "multi_thread")] async fn $name() { super::$name(Some(18)).await; })+
        }
    };
}
pub(crate) use everywhere;

mod certificate;
mod kills;
mod order;
mod outcomes;
mod proxy;
mod python;
mod question;
mod relay;
mod signature;
mod tls;
mod world;
