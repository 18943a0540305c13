//! A database of its own for each test, on the servers that `scripts/test` starts.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use tokio_postgres::{Config, NoTls};

/// The major versions that every PostgreSQL test runs on.
pub const VERSIONS: [u32; 2] = [15, 18];

/// The URL of the running server of major version `version`: `postgres://…/postgres`, a superuser.
///
/// # Panics
/// When there is none; the message names the remedy.
pub fn server(version: u32) -> String {
    from_script(&format!("ONEBELL_TEST_POSTGRES_{version}"))
}

/// What `scripts/test` exports.
///
/// # Panics
/// When it is not set; the message names the remedy.
pub fn from_script(variable: &str) -> String {
    std::env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set. Run scripts/test: it starts the servers these tests need"))
}

/// A fresh, empty database; dropped with this value, with whatever is still connected to it.
#[derive(Debug)]
pub struct Database {
    /// Names the database, as a superuser.
    pub url: String,
    name: String,
    server: String,
}

impl Database {
    /// Its name alone, for another way to its server.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Creates an empty database on the server of major version `version`. The name is unique over processes and time.
///
/// # Panics
/// When there is no server, or it refuses.
pub async fn fresh_database(version: u32) -> Database {
    let server = server(version);
    let name = unique_name();
    execute(&server, &format!("CREATE DATABASE {name} TEMPLATE template0")).await.expect("a new database");
    let (base, _) = server.rsplit_once('/').expect("a server's URL ends in /postgres");
    Database { url: format!("{base}/{name}"), name, server }
}

fn unique_name() -> String {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let random = RandomState::new().build_hasher().finish();
    format!("t_{}_{}_{random:x}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed))
}

async fn execute(url: &str, statement: &str) -> Result<(), tokio_postgres::Error> {
    let (client, connection) = url.parse::<Config>()?.connect(NoTls).await?;
    let connection = tokio::spawn(connection);
    let outcome = client.batch_execute(statement).await;
    drop(client);
    connection.await.expect("the connection's task")?;
    outcome
}

impl Drop for Database {
    /// Runs on a thread of its own: it may be called inside a runtime, also while a test panics.
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        let dropping = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(execute(&server, &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")))
        });
        match dropping.join() {
            Ok(Ok(())) => {}
            Ok(Err(error)) => eprintln!("could not drop the test database {}: {error}", self.name),
            Err(_) => eprintln!("could not drop the test database {}", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn connect(url: &str) -> tokio_postgres::Client {
        let (client, connection) = url.parse::<Config>().unwrap().connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    async fn count(client: &tokio_postgres::Client, name: &str) -> i64 {
        client.query_one("SELECT count(*) FROM pg_database WHERE datname = $1", &[&name]).await.unwrap().get(0)
    }

    #[tokio::test]
    async fn each_server_is_of_the_version_that_its_name_says_and_keeps_commits_synchronous() {
        for version in VERSIONS {
            let client = connect(&server(version)).await;
            let number: String = client.query_one("SHOW server_version_num", &[]).await.unwrap().get(0);
            assert_eq!(number.parse::<u32>().unwrap() / 10_000, version);
            let commit: String = client.query_one("SHOW synchronous_commit", &[]).await.unwrap().get(0);
            assert_eq!(commit, "on");
        }
    }

    #[tokio::test]
    async fn a_database_is_empty_its_own_and_gone_afterwards_though_somebody_is_connected() {
        for version in VERSIONS {
            let (one, two) = (fresh_database(version).await, fresh_database(version).await);
            let client = connect(&one.url).await;
            client.batch_execute("CREATE TABLE t (a int)").await.unwrap();
            assert!(connect(&two.url).await.query("SELECT a FROM t", &[]).await.is_err());
            let name = one.name.clone();
            let watcher = connect(&server(version)).await;
            assert_eq!(count(&watcher, &name).await, 1);
            drop(one);
            assert_eq!(count(&watcher, &name).await, 0);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_database_is_dropped_though_its_test_panics() {
        let (tell, name) = std::sync::mpsc::channel();
        let failed = tokio::spawn(async move {
            let database = fresh_database(18).await;
            tell.send(database.name.clone()).unwrap();
            panic!("on purpose");
        });
        assert!(failed.await.unwrap_err().is_panic());
        assert_eq!(count(&connect(&server(18)).await, &name.recv().unwrap()).await, 0);
    }
}
