//! What files of events cost: records applied per second by the program as people run it, beside the database's own limit in the
//! same run. Numbers as measured, on the machine and under the load that it has; nothing is asserted. Run by `scripts/bench batch`.
//!
//! `batch-bench PROGRAM [URL] [--records N] [--deep N]`: a built `onebell`, and an empty PostgreSQL database; none: SQLite alone.
//! `--deep N` measures the cost of a record instead, over ledgers of ten thousand to N effects.
#![expect(clippy::disallowed_methods, reason = "a bench reads the real clock")]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench that cannot go on ends; its numbers are its answer")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use futures_util::SinkExt;
use hyper::body::Bytes;
use rusqlite::Connection;
use tokio_postgres::{Client, NoTls};

/// As `apply` commits them unless it is told otherwise.
const CHUNK: usize = 1_000;
const ROUNDS: usize = 3;
/// Measured over a ledger of some size.
const NEXT: usize = 50_000;

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let deep = number(&mut args, "--deep");
    let records = number(&mut args, "--records").unwrap_or(200_000);
    let program = args.first().expect("batch-bench PROGRAM [URL]");
    let program = std::fs::canonicalize(program).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let bench = Bench { program, folder: folder.path().to_owned(), records };
    if let Some(most) = deep {
        return bench.deep(args.get(1).map(String::as_str), most);
    }
    let events = bench.file("events.ndjson", 0, records);
    println!(
        "{records} records, {} MB of NDJSON; fsync on, {ROUNDS} rounds",
        std::fs::metadata(&events).unwrap().len() / 1_000_000
    );
    println!("| database | limit, records/s | apply | ratio | again, all already | all or nothing | ratio |");
    println!("|---|---|---|---|---|---|---|");
    for round in 0..ROUNDS {
        let raw = sqlite_limit(&bench.folder.join(format!("raw{round}.db")), records);
        bench.row("SQLite", raw, &format!("sqlite:{}", bench.folder.join(format!("apply{round}.db")).display()), round);
    }
    if let Some(url) = args.get(1) {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        for round in 0..ROUNDS {
            let raw = runtime.block_on(postgres_limit(url, records));
            bench.row("PostgreSQL", raw, url, round);
        }
    }
}

fn number(args: &mut Vec<String>, flag: &str) -> Option<usize> {
    let at = args.iter().position(|arg| arg == flag)?;
    args.remove(at);
    Some(args.remove(at).parse().unwrap())
}

struct Bench {
    program: std::path::PathBuf,
    folder: std::path::PathBuf,
    records: usize,
}

impl Bench {
    fn file(&self, name: &str, from: usize, count: usize) -> std::path::PathBuf {
        let path = self.folder.join(name);
        let mut file = BufWriter::new(File::create(&path).unwrap());
        for n in from..from + count {
            writeln!(file, "{}", payload(n)).unwrap();
        }
        file.flush().unwrap();
        path
    }

    /// Records per second of one reading.
    fn apply(&self, database: &str, scope: &str, file: &str, count: usize, more: &[&str]) -> f64 {
        let begun = Instant::now();
        let mut command = Command::new(&self.program);
        command.args(["apply", file, "--scope", scope, "--id", "event_id", "--amount", "amount_cents", "--format", "json"]);
        command.args(more).current_dir(&self.folder).env("ONEBELL_DATABASE", database);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        count as f64 / begun.elapsed().as_secs_f64()
    }

    fn row(&self, name: &str, limit: f64, database: &str, round: usize) {
        let apply = |scope: &str, more: &[&str]| self.apply(database, scope, "events.ndjson", self.records, more);
        let scope = format!("chunks{round}");
        let (first, again) = (apply(&scope, &[]), apply(&scope, &[]));
        let whole = apply(&format!("whole{round}"), &["--atomic", "--timeout", "10m"]);
        let (ratio, whole_ratio) = (first / limit, whole / limit);
        println!("| {name} | {limit:.0} | {first:.0} | {ratio:.2} | {again:.0} | {whole:.0} | {whole_ratio:.2} |");
    }

    /// New records over an ever larger ledger, beside the limit over a table as large.
    fn deep(&self, postgres: Option<&str>, most: usize) {
        println!("| effects in the ledger | limit, records/s of the next {NEXT} | apply | ratio |");
        println!("|---|---|---|---|");
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let mut there = 0;
        for size in [10_000, 100_000, 1_000_000, 10_000_000].into_iter().filter(|size| *size <= most) {
            self.file("next.ndjson", size, NEXT);
            let path = self.folder.join(format!("deep{size}.db"));
            let database = postgres.map_or_else(|| format!("sqlite:{}", path.display()), str::to_owned);
            let migrated =
                Command::new(&self.program).arg("migrate").env("ONEBELL_DATABASE", &database).current_dir(&self.folder).output();
            assert!(migrated.unwrap().status.success());
            let limit = match postgres {
                None => sqlite_filled(&path, &self.folder.join(format!("limit{size}.db")), size),
                Some(url) => runtime.block_on(postgres_filled(url, there, size)),
            };
            settle();
            let rate = self.apply(&database, "deep", "next.ndjson", NEXT, &[]);
            there = size + NEXT;
            println!("| {size} | {limit:.0} | {rate:.0} | {:.2} |", rate / limit);
        }
    }
}

/// Identities in no order, as people's are.
fn key(n: usize) -> String {
    format!("E{:016x}", (n as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

fn payload(n: usize) -> String {
    format!(
        "{{\"event_id\":\"{}\",\"customer\":\"C{:05}\",\"amount_cents\":{},\"note\":\"payment {n}\"}}",
        key(n),
        n % 10_000,
        n % 5_000
    )
}

/// A fingerprint's size and randomness, without its cost.
fn fingerprint(n: usize) -> String {
    (0..4).map(|part| format!("{:016x}", (n as u64 * 4 + part).wrapping_mul(0xD6E8_FEB8_6659_FD93))).collect()
}

/// The raw chunked insert: what is parsed already goes into a table of the ledger's shape.
fn sqlite_limit(path: &Path, records: usize) -> f64 {
    let mut connection = Connection::open(path).unwrap();
    connection
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
             CREATE TABLE ledger (scope TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, amount INTEGER, \
             payload TEXT NOT NULL, created_at INTEGER NOT NULL, PRIMARY KEY (scope, key)) STRICT, WITHOUT ROWID",
        )
        .unwrap();
    sqlite_chunks(&mut connection, 0, records)
}

fn sqlite_chunks(connection: &mut Connection, from: usize, records: usize) -> f64 {
    let rows: Vec<(String, String, String)> = (from..from + records).map(|n| (key(n), fingerprint(n), payload(n))).collect();
    let begun = Instant::now();
    for (at, chunk) in rows.chunks(CHUNK).enumerate() {
        let transaction = connection.transaction().unwrap();
        {
            let mut insert = transaction
                .prepare_cached(
                    "INSERT INTO ledger (scope, key, fingerprint, amount, payload, created_at) VALUES ('s', ?1, ?2, ?3, ?4, 0) \
                     ON CONFLICT (scope, key) DO NOTHING",
                )
                .unwrap();
            for (n, (key, fingerprint, payload)) in chunk.iter().enumerate() {
                insert.execute((key, fingerprint, (at * CHUNK + n) as i64, payload)).unwrap();
            }
        }
        transaction.commit().unwrap();
    }
    records as f64 / begun.elapsed().as_secs_f64()
}

/// Fills the ledger of one file and a table of its shape in another, alike; then the limit over that table.
fn sqlite_filled(ledger: &Path, limit: &Path, size: usize) -> f64 {
    let shape: String = Connection::open(ledger)
        .unwrap()
        .query_row("SELECT sql FROM sqlite_schema WHERE name = 'onebell_effects'", [], |row| row.get(0))
        .unwrap();
    let table = Connection::open(limit).unwrap();
    table.execute_batch(&format!("PRAGMA journal_mode = WAL; {}", shape.replacen("onebell_effects", "ledger", 1))).unwrap();
    let mut numbers: Vec<usize> = (0..size).collect();
    numbers.sort_unstable_by_key(|n| key(*n));
    for (path, table, scope) in [(ledger, "onebell_effects", "deep"), (limit, "ledger", "s")] {
        let mut connection = Connection::open(path).unwrap();
        let transaction = connection.transaction().unwrap();
        {
            let mut fill = transaction
                .prepare(&format!(
                    "INSERT INTO {table} (scope, key, fingerprint, amount, payload, created_at) VALUES ('{scope}', ?1, ?2, 1, ?3, 0)"
                ))
                .unwrap();
            for n in &numbers {
                fill.execute((key(*n), fingerprint(*n), payload(*n))).unwrap();
            }
        }
        transaction.commit().unwrap();
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    }
    settle();
    let mut connection = Connection::open(limit).unwrap();
    connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA cache_size = -16000").unwrap();
    sqlite_chunks(&mut connection, size, NEXT)
}

/// The same over PostgreSQL.
async fn postgres_filled(url: &str, there: usize, size: usize) -> f64 {
    let client = connect(url).await;
    client.batch_execute("ALTER TABLE onebell.effects DROP CONSTRAINT IF EXISTS effects_pkey").await.unwrap();
    for from in (there..size).step_by(1_000_000) {
        let mut lines = String::new();
        for n in from..size.min(from + 1_000_000) {
            lines.push_str(&format!("deep\t{}\t{}\t1\t{}\t2026-01-01Z\n", key(n), fingerprint(n), payload(n)));
        }
        let into = "COPY onebell.effects (scope, key, fingerprint, amount, payload, created_at) FROM STDIN";
        copy(&client, into, lines).await;
    }
    client
        .batch_execute(
            "ALTER TABLE onebell.effects ADD CONSTRAINT effects_pkey PRIMARY KEY (scope, key); DROP TABLE IF EXISTS public.ledger; \
             CREATE TABLE public.ledger AS SELECT 's'::text COLLATE \"C\" AS scope, key, decode(fingerprint, 'hex') AS fingerprint, amount, payload::jsonb, \
             created_at FROM onebell.effects; ALTER TABLE public.ledger ADD PRIMARY KEY (scope, key)",
        )
        .await
        .unwrap();
    for quiet in ["VACUUM ANALYZE onebell.effects", "VACUUM ANALYZE public.ledger", "CHECKPOINT"] {
        client.batch_execute(quiet).await.unwrap();
    }
    settle();
    postgres_next(&client, size, NEXT).await
}

/// What was written before is not written on somebody else's time.
fn settle() {
    assert!(Command::new("sync").status().unwrap().success());
}

/// COPY of everything, and one INSERT from it into a table of the ledger's shape.
async fn postgres_limit(url: &str, records: usize) -> f64 {
    let client = connect(url).await;
    let fsync: String = client.query_one("SHOW fsync", &[]).await.unwrap().get(0);
    assert_eq!(fsync, "on", "a server that does without is no measure");
    client
        .batch_execute(
            "DROP TABLE IF EXISTS public.ledger; CREATE TABLE public.ledger (scope text COLLATE \"C\" NOT NULL, \
             key text COLLATE \"C\" NOT NULL, fingerprint bytea NOT NULL, amount bigint, payload jsonb NOT NULL, \
             created_at timestamptz NOT NULL, PRIMARY KEY (scope, key))",
        )
        .await
        .unwrap();
    let rate = postgres_next(&client, 0, records).await;
    client.batch_execute("DROP TABLE public.ledger").await.unwrap();
    rate
}

async fn postgres_next(client: &Client, from: usize, records: usize) -> f64 {
    let mut lines = String::new();
    for n in from..from + records {
        lines.push_str(&format!("{}\t\\\\x{}\t{}\t{}\n", key(n), fingerprint(n), n, payload(n)));
    }
    let begun = Instant::now();
    client
        .batch_execute(
            "BEGIN; CREATE TEMPORARY TABLE items (key text, fingerprint bytea, amount bigint, payload jsonb) ON COMMIT DROP",
        )
        .await
        .unwrap();
    copy(client, "COPY items FROM STDIN", lines).await;
    client
        .batch_execute(
            "INSERT INTO public.ledger SELECT 's', key, fingerprint, amount, payload, now() FROM items ON CONFLICT DO NOTHING; COMMIT",
        )
        .await
        .unwrap();
    records as f64 / begun.elapsed().as_secs_f64()
}

async fn copy(client: &Client, into: &str, lines: String) {
    let sink = client.copy_in(into).await.unwrap();
    let mut sink = std::pin::pin!(sink);
    let all = Bytes::from(lines);
    for at in (0..all.len()).step_by(1 << 20) {
        sink.send(all.slice(at..all.len().min(at + (1 << 20)))).await.unwrap();
    }
    sink.finish().await.unwrap();
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}
