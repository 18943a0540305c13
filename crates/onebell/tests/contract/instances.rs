//! One body, every store.

/// Lists the promises of a file and makes a test of each for every store. The bodies stay plain functions beside the list:
/// a promise that is not listed is dead code, and the lints refuse it. `postgres only` is for those that hold a lock in the
/// middle of a transaction: SQLite has one writer, and nothing can stand there. `sqlite only` is for the host's clock as the store's.
macro_rules! contract {
    ($($promise:ident),+ $(,)?) => {
        mod sqlite { contract!(@ tests crate::contract::world::World::sqlite(), $($promise),+); }
        mod sqlite_threaded { contract!(@ tests crate::contract::world::World::sqlite_threaded(), $($promise),+); }
        contract!(postgres only: $($promise),+);
    };
    (sqlite only: $($promise:ident),+ $(,)?) => {
        mod sqlite { contract!(@ tests crate::contract::world::World::sqlite(), $($promise),+); }
        mod sqlite_threaded { contract!(@ tests crate::contract::world::World::sqlite_threaded(), $($promise),+); }
    };
    (postgres only: $($promise:ident),+ $(,)?) => {
        mod postgres_15 { contract!(@ tests crate::contract::world::World::postgres(15), $($promise),+); }
        mod postgres_18 { contract!(@ tests crate::contract::world::World::postgres(18), $($promise),+); }
    };
    (@ tests $world:expr, $($promise:ident),+) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() {
                super::$promise($world.await).await;
            }
        )+
    };
}
