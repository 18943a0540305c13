//! Every statement of the stores: its header names the transitions it makes, as the model's tables have them, and its database
//! accepts its text.
//!
//! Header: `-- FILE: what it does`, or `-- FILE: step waiting, pending → cancelled (cancel); step running → …`. A recovery
//! request has two words and one way between them, and no table.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use onebell::model::batch::BATCH;
use onebell::model::message::MESSAGE;
use onebell::model::run::RUN;
use onebell::model::step::STEP;
use onebell::model::transition::Transition;
use onebell_testkit::fresh_database;

/// The one way of a recovery request.
const GRANT: &str = "request open → granted";

/// machine, from, event, to
type Line = (String, String, String, String);

/// Every line of the three machines, one for each state it leaves.
fn table() -> BTreeSet<Line> {
    fn lines<S: Copy + ToString, E: Copy + ToString>(machine: &str, table: &[Transition<S, E>]) -> Vec<Line> {
        let mut lines = Vec::new();
        for line in table {
            for from in line.from {
                lines.push((machine.to_owned(), from.to_string(), line.event.to_string(), line.to.to_string()));
            }
        }
        lines
    }
    [lines("step", STEP), lines("run", RUN), lines("message", MESSAGE), lines("batch", BATCH)].concat().into_iter().collect()
}

fn folder(database: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store").join(database).join("sql")
}

/// Every statement of a database by the name of its file.
fn statements(database: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder(database)).expect("the folder of statements") {
        let path = entry.expect("an entry of it").path();
        assert_eq!(path.extension().and_then(|end| end.to_str()), Some("sql"), "{}", path.display());
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
        found.insert(name, fs::read_to_string(&path).expect("a text"));
    }
    assert!(found.len() > 20, "{database}: {} statements", found.len());
    found
}

/// The transitions that a header names.
fn named(name: &str, text: &str) -> Vec<Line> {
    let header = text.lines().next().unwrap_or_default();
    let Some(said) = header.strip_prefix(&format!("-- {name}: ")) else {
        panic!("{name}.sql begins with {header:?}, not with \"-- {name}: …\"");
    };
    let clauses = said.split(';').map(str::trim).filter(|clause| clause.contains('→'));
    clauses.filter(|clause| *clause != GRANT).flat_map(|clause| clause_of(name, clause)).collect()
}

fn clause_of(name: &str, clause: &str) -> Vec<Line> {
    let parts = clause
        .split_once('→')
        .and_then(|(left, right)| Some((left.trim().split_once(' ')?, right.trim().strip_suffix(')')?.split_once('(')?)));
    let Some(((machine, froms), (to, events))) = parts else {
        panic!("{name}.sql: {clause:?} is not \"machine from, from → to (event, event)\"");
    };
    let mut lines = Vec::new();
    for from in froms.split(',') {
        for event in events.split(',') {
            lines.push((machine.trim().to_owned(), from.trim().to_owned(), event.trim().to_owned(), to.trim().to_owned()));
        }
    }
    lines
}

/// Words that the text writes into a status column, as far as they are literal.
fn written(text: &str) -> BTreeSet<String> {
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("--")).collect::<Vec<_>>().join("\n");
    code.split("SET status = '").skip(1).filter_map(|rest| rest.split('\'').next()).map(str::to_owned).collect()
}

fn every_header_is_in_the_tables(database: &str) {
    let table = table();
    for (name, text) in statements(database) {
        for line in named(&name, &text) {
            assert!(
                table.contains(&line),
                "{database}/sql/{name}.sql makes {line:?}, which no line of the model's tables allows"
            );
        }
    }
}

fn every_literal_status_is_in_its_header(database: &str) {
    for (name, text) in statements(database) {
        let targets: BTreeSet<_> = named(&name, &text).into_iter().map(|line| line.3).collect();
        for word in written(&text).into_iter().filter(|word| !matches!(word.as_str(), "open" | "granted")) {
            assert!(targets.contains(&word), "{database}/sql/{name}.sql sets {word:?}, and its header does not say so");
        }
    }
}

fn every_line_of_the_tables_is_made_somewhere(database: &str) {
    let made: BTreeSet<_> = statements(database).iter().flat_map(|(name, text)| named(name, text)).collect();
    let missing: Vec<_> = table().into_iter().filter(|line| !made.contains(line)).collect();
    assert!(missing.is_empty(), "{database}: no header names {missing:#?}");
}

#[test]
fn a_statement_makes_no_transition_that_the_tables_do_not_have() {
    every_header_is_in_the_tables("sqlite");
    every_header_is_in_the_tables("postgres");
}

#[test]
fn a_status_written_by_a_statement_is_named_by_its_header() {
    every_literal_status_is_in_its_header("sqlite");
    every_literal_status_is_in_its_header("postgres");
}

#[test]
fn every_transition_of_the_tables_is_made_by_a_statement() {
    every_line_of_the_tables_is_made_somewhere("sqlite");
    every_line_of_the_tables_is_made_somewhere("postgres");
}

#[test]
fn a_header_with_an_invented_transition_is_caught() {
    let line = clause_of("x", "step failed → running (claim)").remove(0);
    assert!(!table().contains(&line));
    assert_eq!(clause_of("x", "run queued, parked → cancelling (cancel)").len(), 2);
    assert_eq!(written("UPDATE t\nSET status = 'held', a = 1\n-- SET status = 'no'").into_iter().collect::<Vec<_>>(), ["held"]);
}

/// `now()` stands still from the beginning of a transaction: a deadline counted from it may be born expired.
#[test]
fn k02_08_no_statement_goes_by_the_time_at_which_its_transaction_began() {
    let frozen = ["now()", "current_timestamp", "transaction_timestamp", "localtimestamp", "statement_timestamp"];
    for (name, text) in statements("postgres") {
        let lower = text.to_lowercase();
        let found: Vec<_> = frozen.iter().filter(|word| lower.contains(**word)).collect();
        assert!(found.is_empty(), "postgres/sql/{name}.sql reads {found:?}; use clock_timestamp()");
    }
}

#[test]
fn sqlite_accepts_every_statement() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("onebell.db");
    drop(onebell::store::sqlite::SqliteStore::builder(&path).inline().open_and_migrate().unwrap());
    let connection = rusqlite::Connection::open(&path).unwrap();
    for (name, text) in statements("sqlite") {
        if let Err(error) = connection.prepare(&text) {
            panic!("sqlite/sql/{name}.sql: {error}");
        }
    }
}

async fn postgres_accepts_every_statement(version: u32) {
    let database = fresh_database(version).await;
    drop(onebell::store::postgres::PostgresStore::builder(&database.url).connect_and_migrate().await.expect("a schema"));
    let config = database.url.parse::<tokio_postgres::Config>().expect("a URL");
    let (client, connection) = config.connect(tokio_postgres::NoTls).await.expect("a connection");
    tokio::spawn(connection);
    // The relation that the transaction of a chunk makes for itself.
    let chunk = "CREATE TEMPORARY TABLE chunk (key text, amount bigint, payload text, line bigint, byte bigint)";
    client.batch_execute(chunk).await.expect("a relation");
    for (name, text) in statements("postgres") {
        if let Err(error) = client.prepare(&text).await {
            panic!("postgres/sql/{name}.sql on {version}: {error:?}");
        }
    }
}

#[tokio::test]
async fn postgres_15_accepts_every_statement() {
    postgres_accepts_every_statement(15).await;
}

#[tokio::test]
async fn postgres_18_accepts_every_statement() {
    postgres_accepts_every_statement(18).await;
}
