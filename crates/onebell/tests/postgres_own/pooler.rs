//! Behind PgBouncer in transaction mode: servers are handed from client to client between any two transactions.

use std::sync::Arc;

use onebell::model::step::StepStatus;
use onebell::store::postgres::PostgresStore;
use onebell::store::{AgentStore, ReadStore, Settled, StepOutput};
use onebell_testkit::{Pooler, VERSIONS, fresh_database};

use super::given::{applied, asks, claimed, does, open, prepare, settle, succeeds};

/// Claims and settles until nothing is left; how many it settled.
async fn work_off(store: Arc<PostgresStore>) -> usize {
    let mut settled = 0;
    loop {
        let claimed = store.claim_steps(&asks(3)).await.unwrap().claimed;
        if claimed.is_empty() {
            return settled;
        }
        for step in claimed {
            let number = settled.to_string();
            let output = StepOutput { summary: number, ..StepOutput::default() };
            let answer = settle(&store, onebell::store::Settlement { output, ..succeeds(&step) }).await.unwrap();
            assert_eq!(applied(&answer), (StepStatus::Succeeded, None));
            settled += 1;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_clients_over_few_servers_settle_every_step_once() {
    for version in VERSIONS {
        let database = fresh_database(version).await;
        let pooler = Pooler::before(&database.url, 3);
        let url = pooler.url(database.name());
        let mut stores = Vec::new();
        for _ in 0..6 {
            stores.push(Arc::new(PostgresStore::builder(&url).connections(3).connect_and_migrate().await.unwrap()));
        }
        prepare(&stores[0]).await;
        for n in 0..60 {
            open(&stores[n % 6], &format!("k{n}")).await;
        }
        let mut workers: Vec<_> = stores.iter().map(|store| tokio::spawn(work_off(Arc::clone(store)))).collect();
        let mut settled = 0;
        for worker in workers.drain(..) {
            settled += worker.await.unwrap();
        }
        assert_eq!(settled, 60);
        assert_eq!(stores[0].status().await.unwrap().runs["succeeded"], 60);
        drop(stores);
        drop(pooler);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_statements_and_queries_work_through_a_pooler() {
    let database = fresh_database(15).await;
    let pooler = Pooler::before(&database.url, 3);
    let url = pooler.url(database.name());
    let store = PostgresStore::builder(&url).connect_and_migrate().await.unwrap();
    prepare(&store).await;
    store.execute("CREATE TABLE paid (id integer PRIMARY KEY)").await.unwrap();
    for n in 0..5 {
        let step = claimed(&store, &format!("k{n}")).await;
        let settlement = does(&step, &format!("INSERT INTO paid VALUES ({n}); SET search_path = nowhere; SELECT {n} AS n"));
        assert_eq!(applied(&settle(&store, settlement.clone()).await.unwrap()), (StepStatus::Succeeded, None));
        assert_eq!(settle(&store, settlement).await.unwrap(), Settled::Already);
    }
    assert_eq!(store.query_rows("SELECT count(*) AS n FROM paid").await.unwrap(), "[{\"n\":5}]");
}
