//! The database itself: what it is, whether it keeps what it says, and what will be in the way soon.

use std::path::Path;

use onebell::store::Store;
use onebell::store::sqlite::FsKind;
use serde_json::{Map, Value, json};

use super::Finding;
use crate::answer::Failure;
use crate::database::Database;

/// The oldest PostgreSQL that the tests know.
const OLDEST: i64 = 15;
/// So many connections should be left: a replica takes a few.
const SPARE: i64 = 10;
/// A transaction that is open for longer keeps dead rows everywhere.
const OPEN_S: i64 = 600;
/// A log as large as this is kept by a reader that never ends.
const LOG_MAX: u64 = 256 << 20;
/// Less space than this is soon none.
const SPACE_MIN: u64 = 200 << 20;

/// What is known of it, for people and programs, and what is wrong.
pub(super) struct Seen {
    pub(super) facts: Map<String, Value>,
    pub(super) findings: Vec<Finding>,
}

/// Looks at it through an open store.
pub(super) async fn look(database: &Database, store: &dyn Store) -> Result<Seen, Failure> {
    match database {
        Database::Sqlite(path) => Ok(sqlite(row(store, include_str!("sqlite.sql")).await?, path)),
        Database::Postgres(url) => Ok(postgres(row(store, include_str!("postgres.sql")).await?, url)),
    }
}

async fn row(store: &dyn Store, sql: &str) -> Result<Map<String, Value>, Failure> {
    let rows: Value = serde_json::from_str(&store.query_rows(sql).await?).map_err(Failure::usage)?;
    Ok(rows.get(0).and_then(Value::as_object).cloned().unwrap_or_default())
}

fn finding(code: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Finding {
    Finding { code, message: message.into(), fix: fix.into() }
}

fn postgres(mut facts: Map<String, Value>, url: &str) -> Seen {
    let text = |name: &str| facts.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let number = |name: &str| facts.get(name).and_then(Value::as_i64).unwrap_or_default();
    let mut findings = Vec::new();
    if number("major") < OLDEST {
        let message = format!("the server is PostgreSQL {}, older than any this program is tested with", text("version"));
        findings.push(finding("server-old", message, format!("use PostgreSQL {OLDEST} or newer")));
    }
    for setting in ["fsync", "full_page_writes"] {
        if text(setting) == "off" {
            let message =
                format!("{setting} is off: when the host fails, work that was said to be done may be gone, or the database");
            findings.push(finding(
                "not-durable",
                message,
                format!("write {setting} = on in postgresql.conf, and reload the server"),
            ));
        }
    }
    if facts.get("standby") == Some(&Value::Bool(true)) || text("read_only") == "on" {
        let message = "the database takes no writes: it is a standby, or set to be read only";
        findings.push(finding(
            "read-only",
            message,
            "name the primary in the URL: target_session_attrs=read-write finds it among several",
        ));
    }
    if text("encoding") != "UTF8" {
        let message = format!("the database's encoding is {}: what cannot be written in it fails steps", text("encoding"));
        findings.push(finding("encoding", message, "make a database with ENCODING 'UTF8' and move there"));
    }
    if text("autovacuum") == "off" {
        findings.push(finding(
            "no-autovacuum",
            "autovacuum is off: claims become slower with every step that was done",
            "turn it on",
        ));
    }
    let left = number("connections_most") - number("connections");
    if left < SPARE {
        let message = format!("{left} of {} connections are left", number("connections_most"));
        findings.push(finding("few-connections", message, "raise max_connections, end idle clients, or put a pooler in between"));
    }
    let open = number("open_transaction_s");
    if open > OPEN_S {
        let message =
            format!("a transaction has been open for {open} s: until it ends, dead rows are kept and claims become slower");
        let fix = "find it: SELECT pid, usename, state, xact_start, query FROM pg_stat_activity ORDER BY xact_start LIMIT 3";
        findings.push(finding("long-transaction", message, fix));
    }
    let asked = port(url);
    let between = number("port") != 0 && asked.is_some_and(|asked| asked != number("port"));
    facts.insert("pooler".to_owned(), Value::Bool(between));
    facts.insert("kind".to_owned(), json!("postgres"));
    Seen { facts, findings }
}

/// The port that is asked; none: the URL names a socket, or several hosts.
fn port(url: &str) -> Option<i64> {
    let rest = url.split_once("://")?.1;
    let authority = rest.split(['/', '?']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if host.is_empty() || host.contains(',') || host.starts_with('%') {
        return None;
    }
    let after = host.rsplit_once(']').map_or(host, |(_, after)| after);
    after.rsplit_once(':').map_or(Some(5432), |(_, port)| port.parse().ok())
}

fn sqlite(mut facts: Map<String, Value>, path: &Path) -> Seen {
    let mut findings = Vec::new();
    let log = std::fs::metadata(path.with_file_name(log_of(path))).map_or(0, |facts| facts.len());
    if log > LOG_MAX {
        let message = format!("the file's write-ahead log has {} MiB: somebody reads and does not end", log >> 20);
        findings.push(finding("log-large", message, "end shells and backups that hold the file open"));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let space = rustix::fs::statvfs(folder).ok().map(|found| found.f_bavail * found.f_frsize);
    if let Some(space) = space.filter(|space| *space < SPACE_MIN) {
        let message = format!("{} MiB are left on the file's disk: with none, nothing more is done", space >> 20);
        findings.push(finding("disk-nearly-full", message, "make room"));
    }
    let system = match FsKind::of(path) {
        FsKind::Local => "local".to_owned(),
        FsKind::Network(name) | FsKind::Served(name) => name.to_owned(),
    };
    facts.insert("file_system".to_owned(), json!(system));
    facts.insert("log_bytes".to_owned(), json!(log));
    facts.insert("space_bytes".to_owned(), json!(space));
    facts.insert("kind".to_owned(), json!("sqlite"));
    Seen { facts, findings }
}

fn log_of(path: &Path) -> std::ffi::OsString {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push("-wal");
    name
}

impl Seen {
    /// A line each.
    pub(super) fn lines(&self) -> Vec<String> {
        let text = |name: &str| match self.facts.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => String::new(),
        };
        if text("kind") == "sqlite" {
            let bytes = |name: &str| self.facts.get(name).and_then(Value::as_u64).unwrap_or_default() >> 10;
            return vec![
                format!(
                    "database        SQLite {}, {} KiB and a log of {} KiB",
                    text("version"),
                    bytes("bytes"),
                    bytes("log_bytes")
                ),
                format!("durability      journal {}; this program waits for the disk at each commit", text("journal_mode")),
                format!("file system     {}, {} MiB left", text("file_system"), bytes("space_bytes") >> 10),
            ];
        }
        let standbys = match text("synchronous_standby_names").as_str() {
            "" => "no synchronous standby: a failover may lose the last moment".to_owned(),
            names => format!("synchronous standbys {names}"),
        };
        let between = if self.facts.get("pooler") == Some(&Value::Bool(true)) {
            format!("; something stands between: the server itself is at port {}", text("port"))
        } else {
            String::new()
        };
        vec![
            format!(
                "database        PostgreSQL {}, {} of {} connections{between}",
                text("version"),
                text("connections"),
                text("connections_most")
            ),
            format!("durability      fsync {}, full_page_writes {}; {standbys}", text("fsync"), text("full_page_writes")),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(changed: Value, url: &str) -> Vec<&'static str> {
        let mut facts = json!({
            "version": "18.6", "major": 18, "fsync": "on", "full_page_writes": "on", "synchronous_commit": "on",
            "synchronous_standby_names": "", "encoding": "UTF8", "autovacuum": "on", "read_only": "off", "standby": false,
            "connections_most": 97, "connections": 12, "port": 5432, "open_transaction_s": 0,
        });
        changed.as_object().unwrap().iter().for_each(|(name, value)| facts[name] = value.clone());
        postgres(facts.as_object().unwrap().clone(), url).findings.iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn a_server_that_would_lose_work_or_stop_it_is_told() {
        let of = |changed| codes(changed, "postgres://h/db");
        assert!(of(json!({})).is_empty());
        for (changed, code) in [
            (json!({ "fsync": "off" }), "not-durable"),
            (json!({ "full_page_writes": "off" }), "not-durable"),
            (json!({ "major": 14 }), "server-old"),
            (json!({ "standby": true }), "read-only"),
            (json!({ "read_only": "on" }), "read-only"),
            (json!({ "encoding": "SQL_ASCII" }), "encoding"),
            (json!({ "autovacuum": "off" }), "no-autovacuum"),
            (json!({ "connections": 90 }), "few-connections"),
            (json!({ "open_transaction_s": 601 }), "long-transaction"),
        ] {
            assert_eq!(of(changed.clone()), [code], "{changed}");
        }
    }

    #[test]
    fn something_in_between_is_known_by_its_port() {
        for (url, known) in [
            ("postgres://u:p@h:6432/db", Some(6432)),
            ("postgres://u@h/db?x=1", Some(5432)),
            ("postgres://[::1]:6432/db", Some(6432)),
            ("postgres://[::1]/db", Some(5432)),
            ("postgres://u@%2Ftmp%2Fx:5433/db", None),
            ("postgres://a:1,b:2/db", None),
            ("postgres:///db?host=/tmp", None),
        ] {
            assert_eq!(port(url), known, "{url}");
        }
    }
}
