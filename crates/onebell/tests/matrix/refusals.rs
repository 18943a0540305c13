//! A server that is there and refuses: no writes, no more connections.

use onebell_testkit::{Cluster, Proxy, fresh_database, server};
use tokio_postgres::Client;

use crate::fleet::{Fleet, Place, aside, client};
use crate::hits::{met, postgres, rounds};

/// Statements of an administrator, and every session anew, so that they hold.
async fn says(administrator: &Client, statement: &str, database: &str) {
    administrator.batch_execute(statement).await.unwrap();
    let ends = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()";
    administrator.execute(ends, &[&database]).await.unwrap();
}

/// Reads are answered, writes are refused with 25006: nobody may be taken for dead because his beat cannot be written.
async fn a_database_that_takes_no_writes_burns_no_try_and_kills_no_fleet(version: u32) {
    let database = fresh_database(version).await;
    let proxy = Proxy::before_url(&server(version));
    let fleet = Fleet::over(&database.url, &proxy.url(database.name()), 2).await;
    let administrator = client(&server(version)).await;
    let name = database.name();
    for _ in 0..rounds(2) {
        fleet.in_hand().await;
        let before = fleet.asker.troubles();
        says(&administrator, &format!("ALTER DATABASE {name} SET default_transaction_read_only = on"), name).await;
        fleet.troubled(before, 15).await;
        says(&administrator, &format!("ALTER DATABASE {name} RESET default_transaction_read_only"), name).await;
        fleet.more(5).await;
    }
    let hits = proxy.refusals("25006");
    fleet.all_is_well(&Place::Postgres(database.url.clone())).await;
    met("a_database_that_takes_no_writes_burns_no_try_and_kills_no_fleet", &postgres(version), hits);
}

/// A connection, if the server has one left.
async fn stranger(url: &str) -> Option<Client> {
    let config: tokio_postgres::Config = url.parse().unwrap();
    let (client, connection) = config.connect(tokio_postgres::NoTls).await.ok()?;
    tokio::spawn(connection);
    Some(client)
}

/// Strangers take every connection that the server has (53300), for a while.
async fn a_server_without_a_free_connection_is_waited_for(version: u32) {
    let settings = &["max_connections=40", "superuser_reserved_connections=0"];
    let cluster = aside(move || Cluster::start_with(version, settings)).await;
    let proxy = Proxy::before(cluster.socket_folder());
    let fleet = Fleet::over(&cluster.url(), &proxy.url("postgres"), 2).await;
    let direct = cluster.url();
    for _ in 0..rounds(2) {
        let mut strangers = Vec::new();
        let (before, refused) = (fleet.asker.troubles(), proxy.refusals("53300"));
        while fleet.asker.troubles() == before || proxy.refusals("53300") < refused + 10 {
            // Whoever is faster has the place: strangers, until nothing is left for whoever asks.
            proxy.end_all();
            while let Some(stranger) = stranger(&direct).await {
                strangers.push(stranger);
            }
        }
        drop(strangers);
        fleet.more(5).await;
    }
    let hits = proxy.refusals("53300");
    fleet.all_is_well(&Place::Postgres(direct)).await;
    met("a_server_without_a_free_connection_is_waited_for", &postgres(version), hits);
}

on_postgres!(a_database_that_takes_no_writes_burns_no_try_and_kills_no_fleet, a_server_without_a_free_connection_is_waited_for,);
