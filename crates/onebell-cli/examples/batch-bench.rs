//! What files of events cost: records applied per second by the program as people run it, beside the database's own limit in the
//! same run. Numbers as measured, on the machine and under the load that it has; nothing is asserted. Run by `scripts/bench batch`.
//!
//! `batch-bench PROGRAM [URL] [--records N] [--deep N]`: a built `onebell`, and an empty PostgreSQL database; none: SQLite alone.
//! `--deep N` measures the cost of a record instead, over ledgers of ten thousand to N effects.
#![expect(clippy::disallowed_methods, reason = "a bench reads the real clock")]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench that cannot go on ends; its numbers are its answer")]

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use onebell_cli::limit::records::{fingerprint, key, payload, write};
use onebell_cli::limit::{postgres, sqlite};
use rusqlite::Connection;
use tokio_postgres::{Client, NoTls};

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
        write(&path, from..from + count).unwrap();
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

/// The raw chunked insert: what is parsed already goes into a table of the ledger's shape.
fn sqlite_limit(path: &Path, records: usize) -> f64 {
    sqlite::insert(&mut sqlite::open(path).unwrap(), "s", 0..records, || true).unwrap().unwrap()
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
    sqlite::insert(&mut sqlite::open(limit).unwrap(), "s", size..size + NEXT, || true).unwrap().unwrap()
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
        postgres::copy(&client, into, lines).await.unwrap();
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
    postgres::insert(&client, "s", size..size + NEXT).await.unwrap()
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
    client.batch_execute("DROP TABLE IF EXISTS public.ledger").await.unwrap();
    postgres::make_ledger(&client).await.unwrap();
    let rate = postgres::insert(&client, "s", 0..records).await.unwrap();
    client.batch_execute("DROP TABLE public.ledger").await.unwrap();
    rate
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}
