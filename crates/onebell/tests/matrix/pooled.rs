//! Behind PgBouncer in transaction mode: no session is anybody's own.

use onebell_testkit::{Pooler, Proxy, fresh_database, server};

use crate::fleet::{Fleet, Place, client};
use crate::hits::{met, postgres, rounds};

/// K14-01: more clients than servers, and servers that end behind the pooler's back.
async fn k14_01_replicas_behind_a_transaction_pooler_keep_every_promise(version: u32) {
    let database = fresh_database(version).await;
    let behind = Proxy::before_url(&server(version));
    let pooler = Pooler::before(&behind.url("postgres"), 2);
    let fleet = Fleet::over(&database.url, &pooler.url(database.name()), 3).await;
    fleet.more(rounds(60) as usize).await;
    let servers = "SELECT count(DISTINCT pid) FROM pg_stat_activity WHERE datname = $1 AND pid <> pg_backend_pid()";
    let administrator = client(&server(version)).await;
    let servers: i64 = administrator.query_one(servers, &[&database.name()]).await.unwrap().get(0);
    assert!(servers <= 2, "all of them share two servers: {servers}");
    for _ in 0..rounds(6) {
        behind.end_all();
        fleet.more(3).await;
    }
    let hits = behind.hits();
    fleet.all_is_well(&Place::Postgres(database.url.clone())).await;
    met("k14_01_replicas_behind_a_transaction_pooler_keep_every_promise", &postgres(version), hits);
}

on_postgres!(k14_01_replicas_behind_a_transaction_pooler_keep_every_promise);
