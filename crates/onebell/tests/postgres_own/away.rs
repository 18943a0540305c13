//! A server that goes away, in every place where that matters.

use std::time::Duration;

use onebell::model::step::StepStatus;
use onebell::store::postgres::PostgresStore;
use onebell::store::{AgentStore, Cause, Prevented, ReadStore, Renewal, ReplicaStore, SchedulerStore, Settled, StoreError};
use onebell_testkit::{Cluster, fresh_database};

use super::given::{applied, asks, claimed, client, does, open, prepare, replica, run_status, settle, succeeds};
use super::proxy::{Cut, Proxy};

fn is_away<T: std::fmt::Debug>(answer: &Result<T, StoreError>) -> bool {
    matches!(answer, Err(StoreError::Unavailable { cause: Cause::Away, .. }))
}

/// A cluster with a proxy in front, and a store that knows only the proxy.
async fn behind_a_proxy(version: u32) -> (Cluster, Proxy, PostgresStore) {
    let cluster = Cluster::start(version);
    let proxy = Proxy::before(cluster.socket_folder());
    let store = PostgresStore::builder(proxy.url("postgres"))
        .timeouts(Duration::from_millis(600), Duration::from_millis(400), Duration::from_secs(2))
        .connect_and_migrate()
        .await
        .unwrap();
    prepare(&store).await;
    (cluster, proxy, store)
}

#[tokio::test(flavor = "multi_thread")]
async fn i0_a_settlement_whose_answer_was_lost_is_unknown_and_then_already() {
    let (_cluster, proxy, store) = behind_a_proxy(18).await;
    let step = claimed(&store, "k").await;
    proxy.arm(Cut::Answer, "COMMIT\0");
    let settled = settle(&store, succeeds(&step)).await;
    assert!(is_away(&settled) && proxy.cut(), "{settled:?}");
    assert_eq!(settle(&store, succeeds(&step)).await.unwrap(), Settled::Already);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settlement_whose_commit_never_arrived_is_unknown_and_then_applied_once() {
    let (_cluster, proxy, store) = behind_a_proxy(15).await;
    store.execute("CREATE TABLE paid (id integer PRIMARY KEY)").await.unwrap();
    let step = claimed(&store, "k").await;
    proxy.arm(Cut::Question, "COMMIT\0");
    let settlement = does(&step, "INSERT INTO paid VALUES (1)");
    // Not the transaction that only looks at what is left of the claim: it ends with ROLLBACK.
    assert!(is_away(&settle(&store, settlement.clone()).await) && proxy.cut());
    assert_eq!(applied(&settle(&store, settlement.clone()).await.unwrap()), (StepStatus::Succeeded, None));
    assert_eq!(settle(&store, settlement).await.unwrap(), Settled::Already);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_whose_answer_was_lost_is_found_among_what_is_held() {
    let (_cluster, proxy, store) = behind_a_proxy(18).await;
    open(&store, "k").await;
    proxy.arm(Cut::Answer, "COMMIT\0");
    assert!(is_away(&store.claim_steps(&asks(1)).await) && proxy.cut());
    let held = loop {
        // The server may still be about to commit what it heard.
        let held = store.held_steps(&replica()).await.unwrap();
        if !held.is_empty() {
            break held;
        }
    };
    assert_eq!(applied(&settle(&store, succeeds(&held[0])).await.unwrap()).0, StepStatus::Succeeded);
}

#[tokio::test(flavor = "multi_thread")]
async fn i10_a_server_that_says_nothing_is_away_in_time_and_its_connection_is_not_used_again() {
    let (_cluster, proxy, store) = behind_a_proxy(18).await;
    proxy.arm(Cut::Silence, "renew_replica");
    let renewed = tokio::time::timeout(Duration::from_secs(6), store.renew(&replica(), &Prevented::default())).await;
    assert!(is_away(&renewed.expect("an answer in time")) && proxy.cut());
    assert!(matches!(store.renew(&replica(), &Prevented::default()).await, Ok(Renewal::Renewed { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn i10_after_one_silence_no_other_connection_is_waited_for() {
    let database = fresh_database(18).await;
    let proxy = onebell_testkit::Proxy::before_url(&database.url);
    let builder = PostgresStore::builder(proxy.url(database.name())).timeouts(
        Duration::from_millis(600),
        Duration::from_millis(400),
        Duration::from_secs(2),
    );
    let store = std::sync::Arc::new(builder.connect_and_migrate().await.unwrap());
    prepare(&store).await;
    let look = || store.is_idle();
    let looks = tokio::join!(look(), look(), look(), look());
    assert!(looks.0.is_ok() && looks.3.is_ok(), "several connections are idle now");
    proxy.lose_commits(Some((1, onebell_testkit::Loss::Silence)));
    let renewing = std::sync::Arc::clone(&store);
    let renewing = tokio::spawn(async move { renewing.renew(&replica(), &Prevented::default()).await });
    while proxy.hits() == 0 {
        tokio::task::yield_now().await;
    }
    proxy.freeze_all();
    proxy.lose_commits(None);
    assert!(is_away(&renewing.await.unwrap()));
    let next = tokio::time::timeout(Duration::from_secs(2), store.renew(&replica(), &Prevented::default())).await;
    assert!(matches!(next, Ok(Ok(Renewal::Renewed { .. }))), "the next beat waited for a dead connection: {next:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_died_while_idle_are_replaced_without_an_error() {
    let (mut cluster, _proxy, store) = behind_a_proxy(15).await;
    let step = claimed(&store, "k").await;
    cluster.stop_immediate();
    assert!(is_away(&store.scheduler_now().await));
    assert!(is_away(&settle(&store, succeeds(&step)).await));
    cluster.restart();
    assert_eq!(applied(&settle(&store, succeeds(&step)).await.unwrap()).0, StepStatus::Succeeded);
    cluster.restart();
    assert_eq!(run_status(&store, step.claim.run()).await, "succeeded", "nothing was asked of the dead ones yet");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_a_free_connection_is_away() {
    let cluster = Cluster::start_with(18, &["max_connections=5", "superuser_reserved_connections=0"]);
    let store = PostgresStore::builder(cluster.url()).connect_and_migrate().await.unwrap();
    let client = client(&cluster.url()).await;
    let others = client.query_one(
        "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'",
        &[],
    );
    let others: i64 = others.await.unwrap().get(0);
    let mut held = Vec::new();
    while held.len() < usize::try_from(5 - 1 - others).unwrap() {
        held.push(super::given::client(&cluster.url()).await);
    }
    let stranger = PostgresStore::builder(cluster.url()).connect().await;
    assert!(is_away(&stranger.map(drop)));
    assert!(store.status().await.is_ok(), "who has a connection keeps it");
    drop(held);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_refuses_writes_as_away_and_answers_reads() {
    let database = fresh_database(18).await;
    let store = PostgresStore::builder(&database.url).connect_and_migrate().await.unwrap();
    prepare(&store).await;
    let name = database.url.rsplit('/').next().unwrap();
    let read_only = format!("ALTER DATABASE {name} SET default_transaction_read_only = on");
    client(&database.url).await.batch_execute(&read_only).await.unwrap();
    let store = PostgresStore::builder(&database.url).connect().await.unwrap();
    assert!(is_away(&store.claim_steps(&asks(1)).await));
    assert!(store.is_idle().await.unwrap());
    let claim =
        onebell::store::ClaimMessages { replica: replica(), channels: Vec::new(), limit: 1, timeout: Duration::from_secs(1) };
    assert!(is_away(&onebell::store::RelayStore::claim_messages(&store, &claim).await));
}

#[tokio::test(flavor = "multi_thread")]
async fn several_replicas_bring_the_schema_up_at_once() {
    let database = fresh_database(15).await;
    let starts = (0..6).map(|_| {
        let builder = PostgresStore::builder(&database.url);
        tokio::spawn(async move { builder.connect_and_migrate().await.map(drop) })
    });
    let starts: Vec<_> = starts.collect();
    for start in starts {
        start.await.unwrap().unwrap();
    }
    assert_eq!(PostgresStore::builder(&database.url).migrate(true).await.unwrap(), Vec::<String>::new());
    let versions = client(&database.url).await.query_one("SELECT count(*) FROM onebell.schema", &[]).await.unwrap();
    assert_eq!(versions.get::<_, i64>(0), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_schema_is_brought_up_and_keeps_its_effects() {
    let older = [
        include_str!("../../src/store/postgres/migrations/0001.sql"),
        include_str!("../../src/store/postgres/migrations/0002.sql"),
        include_str!("../../src/store/postgres/migrations/0003.sql"),
    ];
    for version in 1..=older.len() {
        let database = fresh_database(15).await;
        let client = client(&database.url).await;
        client.batch_execute("CREATE SCHEMA onebell").await.unwrap();
        client.batch_execute(&older[..version].concat()).await.unwrap();
        let effect = "INSERT INTO onebell.effects (scope, key, fingerprint, amount, payload, created_at) VALUES ('s', 'k', 'f', 7, '{}', now())";
        client.batch_execute(&format!("INSERT INTO onebell.schema VALUES ({version}, now()); {effect}")).await.unwrap();
        let steps = PostgresStore::builder(&database.url).migrate(false).await.unwrap();
        assert_eq!(steps, ["0002", "0003", "0004"][version - 1..]);
        let store = PostgresStore::builder(&database.url).connect().await.unwrap();
        assert_eq!(onebell::store::ReadStore::effects_total(&store, "s").await.unwrap(), (1, 7));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_that_does_not_fit_is_refused_with_its_remedy() {
    let database = fresh_database(18).await;
    let connect = async || PostgresStore::builder(&database.url).connect().await.map(drop).unwrap_err().to_string();
    assert!(connect().await.contains("onebell migrate"));
    assert_eq!(PostgresStore::builder(&database.url).migrate(true).await.unwrap(), ["0001", "0002", "0003", "0004"]);
    assert_eq!(PostgresStore::builder(&database.url).migrate(false).await.unwrap(), ["0001", "0002", "0003", "0004"]);
    client(&database.url).await.batch_execute("INSERT INTO onebell.schema VALUES (99, now())").await.unwrap();
    assert!(connect().await.contains("update onebell"));
    assert!(PostgresStore::builder(&database.url).migrate(false).await.is_err());
    let url = database.url.replace("postgres@", "nobody_of_that_name@");
    let stranger = PostgresStore::builder(url).connect().await.map(drop);
    assert!(matches!(stranger, Err(StoreError::Broken { .. })), "{stranger:?}");
}
