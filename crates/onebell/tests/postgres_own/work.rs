//! Statements of the user's own inside the settling transaction.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use onebell::model::step::StepStatus;
use onebell::store::postgres::{PostgresStore, work};
use onebell::store::{AgentStore, Settled, StoreError};
use onebell_testkit::{Database, fresh_database};

use super::given::{applied, claimed, client, does, open, prepare, run_status, settle, succeeds};

async fn store(version: u32) -> (Database, PostgresStore) {
    let database = fresh_database(version).await;
    let store = PostgresStore::builder(&database.url).connect_and_migrate().await.unwrap();
    prepare(&store).await;
    store.execute("CREATE TABLE paid (id integer PRIMARY KEY)").await.unwrap();
    (database, store)
}

async fn paid(database: &Database) -> i64 {
    client(&database.url).await.query_one("SELECT count(*) FROM public.paid", &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn a_programs_own_statements_commit_with_the_step_and_run_again_with_the_whole_transaction() {
    let (database, store) = store(18).await;
    let step = claimed(&store, "k").await;
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let mut done = succeeds(&step);
    done.work = Some(work(move |transaction| {
        let first = counted.fetch_add(1, Ordering::SeqCst) == 0;
        Box::pin(async move {
            transaction.execute("INSERT INTO paid VALUES ($1)", &[&7]).await?;
            // What a deadlock victim sees.
            let fails = "DO $$ BEGIN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END $$";
            if first { transaction.batch_execute(fails).await } else { Ok(()) }
        })
    }));
    assert_eq!(applied(&settle(&store, done.clone()).await.unwrap()), (StepStatus::Succeeded, None));
    assert_eq!((calls.load(Ordering::SeqCst), paid(&database).await), (2, 1));
    assert_eq!(settle(&store, done).await.unwrap(), Settled::Already);
    assert_eq!((calls.load(Ordering::SeqCst), paid(&database).await), (2, 1), "a lost acknowledgement runs nothing again");
}

#[tokio::test]
async fn statements_that_end_the_transaction_fail_the_step_and_do_not_settle_it() {
    for (number, text) in ["COMMIT", "ROLLBACK", "COMMIT; BEGIN", "COMMIT AND CHAIN"].into_iter().enumerate() {
        let (_database, store) = store(15).await;
        let step = claimed(&store, &format!("k{number}")).await;
        let settled = settle(&store, does(&step, &format!("INSERT INTO paid VALUES (1); {text}; SELECT 1"))).await.unwrap();
        let (status, why) = applied(&settled);
        assert_eq!(status, StepStatus::Failed, "{text}");
        assert!(why.is_some_and(|why| why.contains("remove COMMIT and ROLLBACK")), "{text}: {why:?}");
    }
}

#[tokio::test]
async fn a_refusal_names_the_servers_words_and_code_and_a_passing_one_costs_a_try() {
    let (database, store) = store(18).await;
    let refused = [
        ("INSERT INTO paid VALUES (1), (1)", "23505", StepStatus::Failed),
        ("INSERT INTO paid VALUES (1/0)", "22012", StepStatus::Failed),
        ("INSERT INTO unpaid VALUES (1)", "42P01", StepStatus::Failed),
        ("DO $$ BEGIN RAISE EXCEPTION 'not today'; END $$", "P0001", StepStatus::Pending),
    ];
    for (number, (text, code, expected)) in refused.into_iter().enumerate() {
        let step = claimed(&store, &format!("k{number}")).await;
        let settled = settle(&store, does(&step, text)).await.unwrap();
        let (status, why) = applied(&settled);
        assert_eq!(status, expected, "{text}");
        assert!(why.is_some_and(|why| why.contains(code)), "{text}: {why:?}");
    }
    assert_eq!(paid(&database).await, 0);
}

#[tokio::test]
async fn a_deferred_constraint_fails_the_step_like_any_other() {
    let (database, store) = store(15).await;
    store.execute("CREATE TABLE child (id integer REFERENCES paid DEFERRABLE INITIALLY DEFERRED)").await.unwrap();
    let step = claimed(&store, "k").await;
    let settled = settle(&store, does(&step, "INSERT INTO paid VALUES (1); INSERT INTO child VALUES (2)")).await.unwrap();
    let (status, why) = applied(&settled);
    assert_eq!(status, StepStatus::Failed);
    assert!(why.is_some_and(|why| why.contains("23503")), "{why:?}");
    assert_eq!(paid(&database).await, 0);
}

#[tokio::test]
async fn an_error_that_the_program_keeps_to_itself_settles_nothing() {
    let (database, store) = store(18).await;
    let step = claimed(&store, "k").await;
    let mut done = succeeds(&step);
    done.work = Some(work(|transaction| {
        Box::pin(async move {
            transaction.batch_execute("INSERT INTO paid VALUES (1)").await?;
            drop(transaction.batch_execute("INSERT INTO nowhere VALUES (1)").await);
            Ok(())
        })
    }));
    let settled = settle(&store, done).await.unwrap();
    let (status, why) = applied(&settled);
    assert_eq!(status, StepStatus::Pending);
    assert!(why.is_some_and(|why| why.contains("return every error")), "{why:?}");
    assert_eq!(paid(&database).await, 0);
}

#[tokio::test]
async fn what_statements_set_is_gone_with_them() {
    let (database, store) = store(18).await;
    client(&database.url).await.batch_execute("CREATE SCHEMA elsewhere").await.unwrap();
    for n in 0..4 {
        let step = claimed(&store, &format!("k{n}")).await;
        let text = format!(
            "INSERT INTO paid VALUES ({n}); SET search_path = elsewhere; SET statement_timeout = 1; SET lock_timeout = 1; \
             SET default_transaction_isolation = 'serializable'"
        );
        assert_eq!(applied(&settle(&store, does(&step, &text)).await.unwrap()), (StepStatus::Succeeded, None));
    }
    assert_eq!(
        store.query_rows("SELECT current_setting('search_path') AS path").await.unwrap(),
        r#"[{"path":"\"$user\", public"}]"#
    );
}

#[tokio::test]
async fn sql_steps_run_under_the_role_that_is_configured_and_the_settlement_under_our_own() {
    let (database, plain) = store(15).await;
    let role = format!("role_{}", database.url.rsplit('/').next().unwrap());
    let admin = client(&database.url).await;
    admin.batch_execute(&format!("CREATE ROLE {role}; GRANT ALL ON public.paid TO {role}")).await.unwrap();
    let store = PostgresStore::builder(&database.url).sql_role(&role).connect().await.unwrap();
    let step = claimed(&plain, "good").await;
    assert_eq!(applied(&settle(&store, does(&step, "INSERT INTO paid VALUES (1)")).await.unwrap()).0, StepStatus::Succeeded);
    let step = claimed(&plain, "bad").await;
    let settled = settle(&store, does(&step, "UPDATE onebell.job_steps SET status = 'pending'")).await.unwrap();
    assert!(applied(&settled).1.is_some_and(|why| why.contains("42501")), "{settled:?}");
    let looked = store.query_rows("SELECT * FROM onebell.runs").await;
    assert!(matches!(looked, Err(StoreError::Broken { .. })), "{looked:?}");
    drop((store, plain));
    admin.batch_execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}")).await.unwrap();
}

#[tokio::test]
async fn statements_have_what_is_left_of_the_claim_and_no_more() {
    let (database, store) = store(18).await;
    let run = open(&store, "k").await;
    let step = store.claim_steps(&super::given::asks(1)).await.unwrap().claimed.remove(0);
    // The rest of the minute is taken away: a second stays.
    let hurry = "UPDATE onebell.job_steps SET complete_by = clock_timestamp() + interval '0.2 s'";
    client(&database.url).await.batch_execute(hurry).await.unwrap();
    let settled = settle(&store, does(&step, "INSERT INTO paid VALUES (1); SELECT pg_sleep(20)")).await.unwrap();
    let (status, why) = applied(&settled);
    assert_eq!(status, StepStatus::Pending);
    assert!(why.is_some_and(|why| why.contains("57014")), "{why:?}");
    assert_eq!((paid(&database).await, run_status(&store, &run).await.as_str()), (0, "running"));
}

#[tokio::test]
async fn a_query_is_one_statement_and_cannot_leave_its_read_only_transaction() {
    let (database, store) = store(18).await;
    for text in
        ["SELECT 1; INSERT INTO paid VALUES (1)", "COMMIT; INSERT INTO paid VALUES (1)", "SELECT 1) q; DROP TABLE paid; --"]
    {
        assert!(matches!(store.query_rows(text).await, Err(StoreError::Broken { .. })), "{text}");
    }
    let typed = store.query_rows("SELECT 1 AS n, 'x' AS t, NULL AS z, 1.50 AS d, true AS b -- all of them\n;\n").await.unwrap();
    assert_eq!(typed, r#"[{"n":1,"t":"x","z":null,"d":1.50,"b":true}]"#);
    let many = store.query_rows("SELECT n FROM generate_series(1, 2500) n").await.unwrap();
    assert_eq!(many.matches("\"n\":").count(), 2500);
    let too_many = store.query_rows("SELECT n FROM generate_series(1, 100001) n").await;
    assert!(too_many.is_err_and(|error| error.to_string().contains("select fewer")));
    assert_eq!((store.query_rows("SELECT 1 WHERE false").await.unwrap().as_str(), paid(&database).await), ("[]", 0));
}

#[tokio::test]
async fn rows_beyond_what_is_kept_fail_the_step() {
    let (_database, store) = store(15).await;
    let step = claimed(&store, "k").await;
    let settled = settle(&store, does(&step, "SELECT repeat('x', 1000) FROM generate_series(1, 20000)")).await.unwrap();
    let (status, why) = applied(&settled);
    assert_eq!(status, StepStatus::Failed);
    assert!(why.is_some_and(|why| why.contains("16 MiB")), "{why:?}");
}

#[tokio::test]
async fn long_statements_of_users_do_not_keep_a_replica_from_renewing() {
    use onebell::store::{Prevented, ReplicaStore as _};
    let database = fresh_database(18).await;
    let store = Arc::new(PostgresStore::builder(&database.url).connections(1).connect_and_migrate().await.unwrap());
    prepare(&store).await;
    let mut busy = Vec::new();
    for n in 0..3 {
        let step = claimed(&store, &format!("k{n}")).await;
        let store = Arc::clone(&store);
        busy.push(tokio::spawn(async move { settle(&store, does(&step, "SELECT pg_sleep(1)")).await.unwrap() }));
    }
    let (replica, none) = (super::given::replica(), Prevented::default());
    for _ in 0..5 {
        let renewed = tokio::time::timeout(Duration::from_secs(2), store.renew(&replica, &none));
        renewed.await.expect("a connection for the beat").unwrap();
    }
    for call in busy {
        assert_eq!(applied(&call.await.unwrap()).0, StepStatus::Succeeded);
    }
}
