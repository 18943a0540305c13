//! Somebody else's open transaction on PostgreSQL, and waiting until the store is seen to wait for it.

use tokio_postgres::Client;

use super::world::World;

/// A transaction past the store that holds what its statement locked until it is ended.
pub(crate) struct Held {
    client: Client,
    watcher: Client,
    pid: i32,
}

impl Held {
    /// Begins a transaction and runs `statement` (`{runs}` names a table).
    pub(crate) async fn by(world: &World, statement: &str) -> Self {
        let (client, watcher) = (world.client().await, world.client().await);
        let pid = client.query_one("SELECT pg_backend_pid()", &[]).await.unwrap().get(0);
        client.batch_execute("BEGIN").await.unwrap();
        client.batch_execute(&world.named(statement)).await.unwrap();
        Self { client, watcher, pid }
    }

    /// Returns when `count` others wait for a lock and at least one of them for this transaction, as the server itself says.
    pub(crate) async fn until_waiting(&self, count: i64) {
        let sees = "SELECT count(*) FILTER (WHERE cardinality(pg_blocking_pids(pid)) > 0) >= $1 \
                    AND bool_or($2 = ANY (pg_blocking_pids(pid))) \
                    FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()";
        until("the store waits for a lock held by another transaction", async || {
            let row = self.watcher.query_one(sees, &[&count, &self.pid]).await.unwrap();
            row.get::<_, Option<bool>>(0) == Some(true)
        })
        .await;
    }

    /// Commits.
    pub(crate) async fn commit(self) {
        self.client.batch_execute("COMMIT").await.unwrap();
    }

    /// Takes it all back.
    pub(crate) async fn roll_back(self) {
        self.client.batch_execute("ROLLBACK").await.unwrap();
    }
}

/// Looks every few milliseconds until it holds, for twenty seconds at most. The only place of the suite that waits for time.
#[expect(clippy::disallowed_methods, reason = "another connection is waited for, and it knows nothing of a Timer")]
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..4_000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    panic!("in vain: {what}");
}
