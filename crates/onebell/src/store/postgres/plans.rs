//! Every hot statement, explained over many rows: it goes by a key or by a small partial index, with fresh statistics and
//! with none.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use onebell_testkit::{VERSIONS, fresh_database};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Config, NoTls};

use super::PostgresStore;
use super::statements::{self as sql, Statement};
use super::transaction::Limits;

type Value = (Box<dyn ToSql + Sync + Send>, Type);

fn value<T: ToSql + Sync + Send + 'static>(value: T, of: Type) -> Value {
    (Box::new(value), of)
}

fn texts(texts: Vec<String>) -> Value {
    value(texts, Type::TEXT_ARRAY)
}

/// The plan as the server would take it for these values, in a transaction as the verbs begin it.
async fn plan(client: &Client, statement: &Statement, values: &[Value]) -> String {
    let second = Duration::from_secs(60);
    client.batch_execute(&Limits { statement: second, lock: second, idle: second }.begin_write()).await.unwrap();
    let values: Vec<_> = values.iter().map(|(value, of)| (value.as_ref() as &(dyn ToSql + Sync), of.clone())).collect();
    let rows = client.query_typed(&format!("EXPLAIN {}", statement.text), &values).await.unwrap();
    client.batch_execute("ROLLBACK").await.unwrap();
    rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
}

/// Thirty thousand steps: a few ready, many not due, many running; a history as long.
const FILLED: &str = "
    INSERT INTO onebell.runs (run_id, job_id, version, origin, status, created_at, changed_at)
    SELECT 'r' || n, 'j', 1, 'request', 'running', now(), now() FROM generate_series(1, 30000) n;
    INSERT INTO onebell.job_steps (step_id, run_id, job_id, name, rank, handler, spec, after, undoable, queue, priority, timeout_us,
        hard_limit_us, retry, on_lost, on_message_failed, status, ready_at, attempt, tries, locked_by, claimed_at, first_claimed_at,
        complete_by, hard_complete_by, changed_at)
    SELECT 'r' || n || '.s', 'r' || n, 'j', 's', 0, 'h', 'null', '[]', false, 'default', 0, 1000000, 1000000, '{}', 'retry', 'continue',
        CASE WHEN n <= 5000 THEN 'running' ELSE 'pending' END, now() + (n - 5500) * interval '1 minute', 1, 1,
        CASE WHEN n <= 5000 THEN 'a' || n % 100 END, CASE WHEN n <= 5000 THEN now() END, now(),
        CASE WHEN n <= 5000 THEN now() END, CASE WHEN n <= 5000 THEN now() END, now()
    FROM generate_series(1, 30000) n;
    INSERT INTO onebell.attempts (step_id, attempt, run_id, job_id, name, final, rank, undoable, after, tries, ended_at, outcome)
    SELECT 'o' || n || '.s', 1, 'o' || n, 'j', 's', 'succeeded', 0, false, '[]', 1, now(), 'succeeded' FROM generate_series(1, 30000) n;
    INSERT INTO onebell.outbox (key, fingerprint, channel, payload, on_in_doubt, retry, run_id, step_id, status, ready_at, attempt,
        finished_at, locked_by, complete_by, created_at, changed_at)
    SELECT 'm' || n, 'f', 'mail', '{}', 'hold', '{}', 'r' || n, 'r' || n || '.s',
        CASE WHEN n <= 1000 THEN 'ready' WHEN n <= 2000 THEN 'claimed' ELSE 'sent' END, now(), 1,
        CASE WHEN n > 2000 THEN now() END, CASE WHEN n BETWEEN 1001 AND 2000 THEN 'a1' END,
        CASE WHEN n BETWEEN 1001 AND 2000 THEN now() END, now(), now()
    FROM generate_series(1, 30000) n;
    INSERT INTO onebell.effects (scope, key, fingerprint, payload, created_at)
    SELECT 's', 'e' || n, 'f', '{}', now() FROM generate_series(1, 30000) n";

/// A set of settlements: steps, attempts, owners, then `columns` text columns and the rest of a history row.
fn ends(columns: &[&str]) -> Vec<Value> {
    let steps: Vec<String> = (1..=500).map(|n| format!("r{}.s", n * 7)).collect();
    let owners: Vec<String> = (1..=500).map(|n| format!("a{}", (n * 7) % 100)).collect();
    let mut values = vec![value(UNIX_EPOCH + Duration::from_secs(1_795_978_800), Type::TIMESTAMPTZ), texts(steps)];
    values.extend([value(vec![1_i64; 500], Type::INT8_ARRAY), texts(owners)]);
    values.extend(columns.iter().map(|word| texts(vec![(*word).to_owned(); 500])));
    values
}

fn finished() -> Vec<Value> {
    let mut values = ends(&["succeeded", "succeeded"]);
    values.push(value(vec![1_i64; 500], Type::INT8_ARRAY));
    values.extend([texts(vec![String::new(); 500]), texts(vec![String::new(); 500]), texts(vec![String::new(); 500])]);
    values.extend([value(vec![Vec::<u8>::new(); 500], Type::BYTEA_ARRAY), value(vec![Vec::<u8>::new(); 500], Type::BYTEA_ARRAY)]);
    values
}

fn released() -> Vec<Value> {
    let mut values = finished();
    values.push(value(vec![UNIX_EPOCH; 500], Type::TIMESTAMPTZ_ARRAY));
    values.push(value(vec![false; 500], Type::BOOL_ARRAY));
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
        value(None::<String>, Type::TEXT),
    ]
}

fn late_starts() -> Vec<Value> {
    let (job, slot) = (value("j".to_owned(), Type::TEXT), value(UNIX_EPOCH, Type::TIMESTAMPTZ));
    vec![job, texts(vec!["slot".to_owned()]), slot, value(100_i64, Type::INT8)]
}

async fn every_hot_statement_stays_on_its_index(client: &Client, when: &str) {
    let none = || value(None::<SystemTime>, Type::TIMESTAMPTZ);
    let keys = |prefix: &str| texts((1..=500).map(|n| format!("{prefix}{n}")).collect());
    let fence = ends(&[]).into_iter().skip(1);
    let fence: Vec<Value> = std::iter::once(none()).chain(fence).collect();
    let look = vec![
        none(),
        value("a1".to_owned(), Type::TEXT),
        value(true, Type::BOOL),
        value(60_000_000_i64, Type::INT8),
        value(500_i64, Type::INT8),
    ];
    let expected: [(&Statement, Vec<Value>, &[&str]); 19] = [
        (&sql::REQUEST_CARRIERS, look, &["job_steps_claim", "runs_pkey", "job_steps_delivering"]),
        (&sql::RELEASE_STEPS, released(), &["job_steps_pkey"]),
        (&sql::FENCE_STEPS, fence, &["job_steps_pkey"]),
        (&sql::FINISH_STEPS, finished(), &["job_steps_pkey"]),
        (&sql::CLAIM_STEPS, claim(), &["job_steps_claim", "job_steps_pkey", "runs_pkey"]),
        (&sql::READ_RUN_STEPS, vec![keys("r")], &["job_steps_run", "attempts_run"]),
        (&sql::LOCK_RUNS, vec![keys("r")], &["runs_pkey"]),
        (&sql::READ_EFFECTS, vec![texts(vec!["s".to_owned(); 500]), keys("e")], &["effects_pkey"]),
        (&sql::LOCK_MESSAGES, vec![keys("m")], &["outbox_pkey"]),
        (
            &sql::CLAIM_MESSAGES,
            vec![
                none(),
                value("a1".to_owned(), Type::TEXT),
                texts(vec!["mail".to_owned()]),
                value(100_i64, Type::INT8),
                value(1_000_000_i64, Type::INT8),
            ],
            &["outbox_claim", "outbox_pkey"],
        ),
        (&sql::READ_LATE_FINISHES, vec![none(), value(200_i64, Type::INT8)], &["runs_finish_by"]),
        (&sql::READ_SILENCES, vec![none(), value(200_i64, Type::INT8)], &["vigils_expected"]),
        (&sql::READ_WORKED, vec![keys("o")], &["attempts_run"]),
        (&sql::KEEP_VIGIL, vec![none(), value("j".to_owned(), Type::TEXT), value(1_i64, Type::INT8)], &["runs_one_per_slot"]),
        (&sql::READ_LATE_STARTS, late_starts(), &["runs_open"]),
        (&sql::READ_OVERLAP, vec![keys("j")], &["runs_open"]),
        (&sql::READ_SLOT_RUN, vec![keys("j"), value(vec![UNIX_EPOCH; 500], Type::TIMESTAMPTZ_ARRAY)], &["runs_one_per_slot"]),
        (&sql::READ_QUEUED_RUNS, vec![keys("j"), value(vec![1_i64; 500], Type::INT8_ARRAY)], &["runs_open"]),
        (&sql::READ_HELD_STEPS, vec![value("a1".to_owned(), Type::TEXT)], &["job_steps_owner"]),
    ];
    for (statement, values, indexes) in expected {
        let (name, plan) = (statement.name, plan(client, statement, &values).await);
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
        let (client, connection) = database.url.parse::<Config>().unwrap().connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(FILLED).await.unwrap();
        every_hot_statement_stays_on_its_index(&client, &format!("on {version} without statistics")).await;
        client
            .batch_execute("VACUUM ANALYZE onebell.runs, onebell.job_steps, onebell.attempts, onebell.outbox, onebell.effects")
            .await
            .unwrap();
        every_hot_statement_stays_on_its_index(&client, &format!("on {version}")).await;
    }
}

/// A hundred thousand jobs; the first thousand are due, the others from an hour on. A run of some of them waits.
const SCHEDULED: &str = "
    INSERT INTO onebell.jobs (job_id, name, definition, version, hash, registered_by, registered_at, cursor, next_slot)
    SELECT md5(n::text), 'job ' || n, '{\"overlap\":\"skip\"}', 1, 'h', 'r', now(), now(),
        CASE WHEN n <= 1000 THEN now() - interval '1 second' ELSE now() + n * interval '1 hour' END
    FROM generate_series(1, 100000) n;
    INSERT INTO onebell.runs (run_id, job_id, version, origin, status, created_at, changed_at, finished_at)
    SELECT 'r' || n, md5(n::text), 1, 'request', CASE WHEN n <= 10 THEN 'queued' WHEN n <= 20 THEN 'running' ELSE 'succeeded' END,
        now(), now(), CASE WHEN n > 20 THEN now() END
    FROM generate_series(1, 100000) n";

/// The plan as it was carried out, with what each part of it read.
async fn carried_out(client: &Client, statement: &Statement, values: &[Value]) -> String {
    let values: Vec<_> = values.iter().map(|(value, of)| (value.as_ref() as &(dyn ToSql + Sync), of.clone())).collect();
    let text = format!("EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) {}", statement.text);
    let rows = client.query_typed(&text, &values).await.unwrap();
    rows.iter().map(|row| row.get::<_, String>(0)).collect::<Vec<_>>().join("\n")
}

/// The most rows that one part of a plan gave or threw away.
fn most_rows(plan: &str) -> u64 {
    let after = |mark: &str| {
        plan.split(mark)
            .skip(1)
            .filter_map(|rest| rest.split([' ', '.', ')', '\n']).next()?.parse::<u64>().ok())
            .collect::<Vec<_>>()
    };
    [after(" rows="), after("Rows Removed by Filter: ")].concat().into_iter().max().unwrap()
}

async fn a_pass_reads_what_is_due(client: &Client, when: &str) {
    let none = || value(None::<SystemTime>, Type::TIMESTAMPTZ);
    let start = || [value(UNIX_EPOCH, Type::TIMESTAMPTZ), value(String::new(), Type::TEXT)];
    let [epoch, first] = start();
    let due = vec![none(), epoch, first, value(500_i64, Type::INT8)];
    let [epoch, first] = start();
    let next = vec![epoch, first, value(1_i64, Type::INT8)];
    let expected: [(&Statement, Vec<Value>, &str, u64); 4] = [
        (&sql::READ_DUE_OF_MANY, due, "jobs_due", 1_000),
        // Also when all of them share the earliest instant.
        (&sql::READ_FIRST_OF_MANY, Vec::new(), "jobs_due", 1),
        // Those that share the earliest instant are sorted by their ids.
        (&sql::READ_NEXT_OF_MANY, next, "jobs_due", 1_001),
        (&sql::READ_QUEUED_OF_MANY, Vec::new(), "runs_open", 22),
    ];
    for (statement, values, index, most) in expected {
        let (name, plan) = (statement.name, carried_out(client, statement, &values).await);
        assert!(plan.contains(index), "{name} {when} does not use {index}:\n{plan}");
        assert!(!plan.contains("Seq Scan on jobs") && !plan.contains("Seq Scan on runs"), "{name} {when}:\n{plan}");
        assert!(most_rows(&plan) <= most, "{name} {when} reads more than {most} rows:\n{plan}");
    }
}

#[tokio::test]
async fn a_pass_over_a_hundred_thousand_schedules_reads_only_what_is_due() {
    for version in VERSIONS {
        let database = fresh_database(version).await;
        drop(PostgresStore::builder(&database.url).connect_and_migrate().await.unwrap());
        let (client, connection) = database.url.parse::<Config>().unwrap().connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        client.batch_execute(SCHEDULED).await.unwrap();
        a_pass_reads_what_is_due(&client, &format!("on {version} without statistics")).await;
        client.batch_execute("VACUUM ANALYZE onebell.jobs, onebell.runs").await.unwrap();
        a_pass_reads_what_is_due(&client, &format!("on {version}")).await;
    }
}

/// A scope that came after the last look at the statistics counts as one row to the planner, and may have many.
#[tokio::test]
async fn a_scope_that_no_statistics_know_is_read_by_its_identities() {
    for version in VERSIONS {
        let database = fresh_database(version).await;
        drop(PostgresStore::builder(&database.url).connect_and_migrate().await.unwrap());
        let (client, connection) = database.url.parse::<Config>().unwrap().connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        let fill = |scope: &str| {
            format!(
                "INSERT INTO onebell.effects (scope, key, fingerprint, payload, created_at) \
                 SELECT '{scope}', 'e' || n, 'f', '{{}}', now() FROM generate_series(1, 30000) n"
            )
        };
        client.batch_execute(&fill("known")).await.unwrap();
        client.batch_execute("ALTER TABLE onebell.effects SET (autovacuum_enabled = off)").await.unwrap();
        client.batch_execute("VACUUM ANALYZE onebell.effects").await.unwrap();
        client.batch_execute(&fill("late")).await.unwrap();
        let keys = || texts((1..=500).map(|n| format!("e{n}")).collect());
        let second = Duration::from_secs(60);
        client.batch_execute(&Limits { statement: second, lock: second, idle: second }.begin_write()).await.unwrap();
        let values = [value("late".to_owned(), Type::TEXT), keys(), keys()];
        let plan = carried_out(&client, &sql::READ_BATCH_EFFECTS, &values).await;
        client.batch_execute("ROLLBACK").await.unwrap();
        assert!(most_rows(&plan) <= 500, "on {version}:\n{plan}");
    }
}
