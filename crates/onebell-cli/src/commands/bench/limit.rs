//! The database alone, in sets as large as the engine may have with the same number of steps in hand.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onebell::store::postgres::PostgresStore;
use onebell::store::postgres::tokio_postgres::Client;
use onebell::store::sqlite::rusqlite::Connection;

use super::place::Place;
use crate::answer::Failure;
use crate::args::Bench;
use crate::database::Database;
use crate::limit::{postgres, sqlite};

/// A replica settles at most so many in one transaction.
const SET_MAX: usize = 500;

pub(super) struct Limit {
    database: Raw,
    /// Steps that a replica may have in hand.
    in_hand: usize,
}

enum Raw {
    Sqlite(PathBuf),
    Postgres { url: String, replicas: usize },
}

impl Limit {
    pub(super) fn of(place: &Place, args: &Bench) -> Self {
        let replicas = usize::try_from(args.replicas).unwrap_or(1);
        let database = match place.database() {
            Database::Sqlite(_) => Raw::Sqlite(place.path("limit.db")),
            Database::Postgres(url) => Raw::Postgres { url: url.clone(), replicas },
        };
        Self { database, in_hand: usize::try_from(args.concurrency).unwrap_or(SET_MAX) }
    }

    /// Steps per second.
    pub(super) async fn steps(&self, steps: usize) -> Result<f64, Failure> {
        let set = self.in_hand.min(SET_MAX);
        match &self.database {
            Raw::Sqlite(path) => {
                alone(path.clone(), move |connection, goes_on| sqlite::steps(connection, steps, set, goes_on)).await
            }
            Raw::Postgres { url, replicas } => {
                // A replica claims on one connection while it settles on another: then each has half of what is in hand.
                let callers = callers(url, replicas * 2).await?;
                let one = postgres::steps(&callers[..*replicas], steps, set).await.map_err(told)?;
                let two = postgres::steps(&callers, steps, self.in_hand.div_ceil(2).min(SET_MAX)).await.map_err(told)?;
                Ok(one.max(two))
            }
        }
    }

    /// Records per second.
    pub(super) async fn items(&self, round: usize, items: usize) -> Result<f64, Failure> {
        let scope = format!("round {round}");
        match &self.database {
            Raw::Sqlite(path) => {
                let work = move |connection: &mut Connection, goes_on: &dyn Fn() -> bool| {
                    sqlite::insert(connection, &scope, 0..items, goes_on).map_err(|error| error.to_string())
                };
                alone(path.clone(), work).await
            }
            Raw::Postgres { url, .. } => {
                let client = &caller(url).await?;
                postgres::make_ledger(client).await.map_err(told)?;
                postgres::insert(client, &scope, 0..items).await.map_err(told)
            }
        }
    }
}

fn told(error: impl std::fmt::Display) -> Failure {
    Failure::usage(format!("the database's limit could not be measured: {error}"))
}

async fn callers(url: &str, count: usize) -> Result<Vec<Client>, Failure> {
    let mut callers = Vec::new();
    for _ in 0..count {
        callers.push(caller(url).await?);
    }
    Ok(callers)
}

async fn caller(url: &str) -> Result<Client, Failure> {
    let client = PostgresStore::builder(url).client().await?;
    // As the store does for each of its transactions, whatever the server's own word is.
    client.batch_execute("SET synchronous_commit = on").await.map_err(told)?;
    Ok(client)
}

/// Says stop to a thread whose answer nobody waits for any longer.
struct Until(Arc<AtomicBool>);

impl Drop for Until {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// On a thread of its own that ends soon when this is dropped.
async fn alone<W>(path: PathBuf, work: W) -> Result<f64, Failure>
where
    W: FnOnce(&mut Connection, &dyn Fn() -> bool) -> Result<Option<f64>, String> + Send + 'static,
{
    let over = Arc::new(AtomicBool::new(false));
    let _until = Until(Arc::clone(&over));
    let measured = tokio::task::spawn_blocking(move || {
        let mut connection = sqlite::open(&path).map_err(|error| error.to_string())?;
        work(&mut connection, &|| !over.load(Ordering::SeqCst))
    });
    measured.await.map_err(told)?.map_err(told)?.ok_or_else(|| told("it was given up"))
}
