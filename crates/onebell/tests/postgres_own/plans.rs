//! Every hot statement, explained over many rows: it goes by a key or by a small partial index, with fresh statistics and
//! with none.

use std::time::{Duration, SystemTime};

use onebell::store::postgres::PostgresStore;
use onebell_testkit::{VERSIONS, fresh_database};
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use super::given::client;

type Value = (Box<dyn ToSql + Sync + Send>, Type);

fn value<T: ToSql + Sync + Send + 'static>(value: T, of: Type) -> Value {
    (Box::new(value), of)
}

fn texts(texts: Vec<String>) -> Value {
    value(texts, Type::TEXT_ARRAY)
}

fn text(name: &str) -> String {
    let path = format!("{}/src/store/postgres/sql/{name}.sql", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).unwrap()
}

/// The plan as the server would take it for these values.
async fn plan(client: &Client, name: &str, values: &[Value]) -> String {
    let values: Vec<_> = values.iter().map(|(value, of)| (value.as_ref() as &(dyn ToSql + Sync), of.clone())).collect();
    let rows = client.query_typed(&format!("EXPLAIN {}", text(name)), &values).await.unwrap();
    rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
}

/// Sixty thousand steps: a few ready, many not due, many running; a history as long.
const FILLED: &str = "
    INSERT INTO onebell.runs (run_id, job_id, version, origin, status, created_at, changed_at)
    SELECT 'r' || n, 'j', 1, 'request', 'running', now(), now() FROM generate_series(1, 60000) n;
    INSERT INTO onebell.job_steps (step_id, run_id, job_id, name, rank, handler, spec, after, undoable, queue, priority, timeout_us,
        hard_limit_us, retry, on_lost, on_message_failed, status, ready_at, attempt, tries, locked_by, claimed_at, first_claimed_at,
        complete_by, hard_complete_by, changed_at)
    SELECT 'r' || n || '.s', 'r' || n, 'j', 's', 0, 'h', 'null', '[]', false, 'default', 0, 1000000, 1000000, '{}', 'retry', 'continue',
        CASE WHEN n <= 10000 THEN 'running' ELSE 'pending' END, now() + (n - 10500) * interval '1 minute', 1, 1,
        CASE WHEN n <= 10000 THEN 'a' || n % 100 END, CASE WHEN n <= 10000 THEN now() END, now(),
        CASE WHEN n <= 10000 THEN now() END, CASE WHEN n <= 10000 THEN now() END, now()
    FROM generate_series(1, 60000) n;
    INSERT INTO onebell.attempts (step_id, attempt, run_id, job_id, name, final, rank, undoable, after, tries, ended_at, outcome)
    SELECT 'o' || n || '.s', 1, 'o' || n, 'j', 's', 'succeeded', 0, false, '[]', 1, now(), 'succeeded' FROM generate_series(1, 60000) n;
    INSERT INTO onebell.outbox (key, fingerprint, channel, payload, on_in_doubt, retry, run_id, step_id, status, ready_at, attempt,
        finished_at, locked_by, complete_by, created_at, changed_at)
    SELECT 'm' || n, 'f', 'mail', '{}', 'hold', '{}', 'r' || n, 'r' || n || '.s',
        CASE WHEN n <= 1000 THEN 'ready' WHEN n <= 2000 THEN 'claimed' ELSE 'sent' END, now(), 1,
        CASE WHEN n > 2000 THEN now() END, CASE WHEN n BETWEEN 1001 AND 2000 THEN 'a1' END,
        CASE WHEN n BETWEEN 1001 AND 2000 THEN now() END, now(), now()
    FROM generate_series(1, 60000) n;
    INSERT INTO onebell.effects (scope, key, fingerprint, payload, created_at)
    SELECT 's', 'e' || n, 'f', '{}', now() FROM generate_series(1, 60000) n";

/// A set of settlements: steps, attempts, owners, then `columns` text columns and the rest of a history row.
fn ends(columns: &[&str]) -> Vec<Value> {
    let steps: Vec<String> = (1..=500).map(|n| format!("r{}.s", n * 7)).collect();
    let owners: Vec<String> = (1..=500).map(|n| format!("a{}", (n * 7) % 100)).collect();
    let mut values = vec![value(SystemTime::now_for_a_test(), Type::TIMESTAMPTZ), texts(steps)];
    values.extend([value(vec![1_i64; 500], Type::INT8_ARRAY), texts(owners)]);
    values.extend(columns.iter().map(|word| texts(vec![(*word).to_owned(); 500])));
    values
}

trait ForATest {
    fn now_for_a_test() -> Self;
}

impl ForATest for SystemTime {
    fn now_for_a_test() -> Self {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_978_800)
    }
}

fn finished() -> Vec<Value> {
    let mut values = ends(&["succeeded", "succeeded"]);
    values.push(value(vec![1_i64; 500], Type::INT8_ARRAY));
    values.extend([texts(vec![String::new(); 500]), texts(vec![String::new(); 500]), texts(vec![String::new(); 500])]);
    values.extend([value(vec![Vec::<u8>::new(); 500], Type::BYTEA_ARRAY), value(vec![Vec::<u8>::new(); 500], Type::BYTEA_ARRAY)]);
    values
}

fn claim() -> Vec<Value> {
    let one = |word: &str| texts(vec![word.to_owned()]);
    vec![
        value(None::<SystemTime>, Type::TIMESTAMPTZ),
        value("a1".to_owned(), Type::TEXT),
        one("j"),
        one("h"),
        one("default"),
        value(500_i64, Type::INT8),
        value(500_i64, Type::INT8),
        value(false, Type::BOOL),
    ]
}

async fn every_hot_statement_stays_on_its_index(client: &Client, when: &str) {
    let none = || value(None::<SystemTime>, Type::TIMESTAMPTZ);
    let keys = |prefix: &str| texts((1..=500).map(|n| format!("{prefix}{n}")).collect());
    let fence = ends(&[]).into_iter().skip(1);
    let fence: Vec<Value> = std::iter::once(none()).chain(fence).collect();
    let expected: [(&str, Vec<Value>, &[&str]); 9] = [
        ("fence_steps", fence, &["job_steps_pkey"]),
        ("finish_steps", finished(), &["job_steps_pkey"]),
        ("claim_steps", claim(), &["job_steps_claim", "job_steps_pkey", "runs_pkey"]),
        ("read_run_steps", vec![keys("r")], &["job_steps_run", "attempts_run"]),
        ("lock_runs", vec![keys("r")], &["runs_pkey"]),
        ("read_effects", vec![texts(vec!["s".to_owned(); 500]), keys("e")], &["effects_pkey"]),
        ("lock_messages", vec![keys("m")], &["outbox_pkey"]),
        (
            "claim_messages",
            vec![
                none(),
                value("a1".to_owned(), Type::TEXT),
                texts(vec!["mail".to_owned()]),
                value(100_i64, Type::INT8),
                value(1_000_000_i64, Type::INT8),
            ],
            &["outbox_claim", "outbox_pkey"],
        ),
        ("read_held_steps", vec![value("a1".to_owned(), Type::TEXT)], &["job_steps_owner"]),
    ];
    for (name, values, indexes) in expected {
        let plan = plan(client, name, &values).await;
        for table in ["runs", "job_steps", "attempts", "outbox", "effects"] {
            assert!(!plan.contains(&format!("Seq Scan on {table}")), "{name} {when}:\n{plan}");
        }
        for index in indexes {
            assert!(plan.contains(index), "{name} {when} does not use {index}:\n{plan}");
        }
        for index in ["job_steps_overdue", "job_steps_owner"] {
            assert!(
                name == "read_held_steps" || !plan.contains(index),
                "{name} {when} left the primary key for {index}:\n{plan}"
            );
        }
    }
}

#[tokio::test]
async fn every_hot_statement_stays_on_its_index_over_many_rows() {
    for version in VERSIONS {
        let database = fresh_database(version).await;
        drop(PostgresStore::builder(&database.url).connect_and_migrate().await.unwrap());
        let client = client(&database.url).await;
        client.batch_execute(FILLED).await.unwrap();
        every_hot_statement_stays_on_its_index(&client, &format!("on {version} without statistics")).await;
        client
            .batch_execute("VACUUM ANALYZE onebell.runs, onebell.job_steps, onebell.attempts, onebell.outbox, onebell.effects")
            .await
            .unwrap();
        every_hot_statement_stays_on_its_index(&client, &format!("on {version}")).await;
    }
}
