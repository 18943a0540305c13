//! Which path breaks which rule of the rooms.

use crate::paths::{Crate, Named, Place};
use crate::rules::{RULES, Room, Rule, SHARED_BY_ROLES};
use crate::tokens::Kind;

fn room_of(path: &[String]) -> Option<Room> {
    let second = path.get(1).map(String::as_str);
    Some(match path.first().map(String::as_str) {
        None => Room::Root,
        Some("model") => Room::Model,
        Some("store") => match second {
            Some("sqlite") => Room::Sqlite,
            Some("postgres") => Room::Postgres,
            _ => Room::Port,
        },
        Some("roles") => Room::Roles,
        Some("handler") => Room::Handler,
        Some("time") => Room::Time,
        Some("fault") => Room::Fault,
        Some("replica") => Room::Replica,
        Some(_) => return None,
    })
}

/// Every import that breaks a rule, with the rule's reason.
pub(crate) fn violations(house: &Crate) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (file, module, _) in &house.sources {
        if room_of(module).is_none() {
            found.push(format!("src/{file}: belongs to no room; move it into one, or give it a rule in tests/house/rules.rs"));
        }
    }
    for named in &house.named {
        let Some(room) = room_of(&named.module) else { continue };
        let at = format!("src/{}:{}: `{}`", named.file, named.line, named.segments.join("::"));
        found.extend(path_violation(house, room, named).map(|wrong| format!("{at}: {wrong}")));
    }
    found.extend(word_violations(house));
    found.sort();
    found.dedup();
    found
}

fn path_violation(house: &Crate, room: Room, named: &Named) -> Option<String> {
    let rule = RULES.iter().find(|rule| rule.room == room)?;
    match house.place(named) {
        Place::Inside(path) => inside_violation(house, rule, named, &path),
        Place::Outside(path) if !named.test => {
            let within =
                |part: &&str| path.join("::").strip_prefix(*part).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"));
            let allowed = rule.crates.is_none_or(|crates| crates.iter().any(within));
            let refused = !allowed || rule.except.iter().any(within);
            refused.then(|| format!("{room} may not use {}: {}", path.join("::"), rule.why))
        }
        Place::Outside(_) | Place::Unknown => None,
    }
}

fn inside_violation(house: &Crate, rule: &Rule, named: &Named, path: &[String]) -> Option<String> {
    let Some(target) = room_of(path).filter(|room| *room != Room::Root) else {
        // The root itself may be named by a glob; what it re-exports was followed to its room.
        let whole = path.join("::");
        return Some(format!("{} names `crate::{whole}`, which is in no room: name it where it lives", rule.room));
    };
    // `store.rs` declares both backends; everybody else takes the port for itself.
    if target == rule.room {
        return (target == Room::Roles).then(|| role_violation(house, named, path)).flatten();
    }
    (!rule.rooms.contains(&target)).then(|| format!("{} may not import {target}: {}", rule.room, rule.why))
}

fn role_violation(house: &Crate, named: &Named, path: &[String]) -> Option<String> {
    let (here, there) = (named.module.get(1)?, path.get(1)?);
    let is_role = house.has(&path[..2]) && !SHARED_BY_ROLES.iter().any(|(file, _)| file == there);
    (is_role && here != there)
        .then(|| format!("role {here} names role {there}: roles never call one another and meet only in the store"))
}

/// What a room must not say though it is no path: SQL outside the backends, `async` in the model.
fn word_violations(house: &Crate) -> Vec<String> {
    let mut found = Vec::new();
    for (file, module, tokens) in &house.sources {
        let room = room_of(module);
        if matches!(room, Some(Room::Sqlite | Room::Postgres) | None) {
            continue;
        }
        for token in tokens.iter().filter(|token| !token.test) {
            let at = format!("src/{file}:{}", token.line);
            match &token.kind {
                Kind::Text(text) if is_sql(text) => found.push(format!("{at}: SQL outside the stores' folders: {text:.60}")),
                Kind::Word(word) if room == Some(Room::Model) && matches!(word.as_str(), "async" | "await") => {
                    found.push(format!("{at}: `{word}` in the model, which only decides"));
                }
                _ => {}
            }
        }
    }
    found
}

fn is_sql(text: &str) -> bool {
    let text = text.trim_start_matches(|c: char| c.is_whitespace() || c == '\\').to_lowercase();
    let both = |verb: &str, part: &str| text.starts_with(verb) && text.contains(part);
    text.ends_with(".sql")
        || both("select ", " from ")
        || both("insert ", " into ")
        || both("insert into ", "values")
        || both("update ", " set ")
        || both("delete from ", " ")
        || both("with ", " as (")
        || ["begin immediate", "savepoint ", "create table ", "listen ", "notify "]
            .iter()
            .any(|verb| text.starts_with(verb) && !text.contains(": "))
}

const CLOCKS: &[&str] = &["SystemTime::now", "Instant::now", "Timestamp::now", "Zoned::now", "TimeZone::system"];
const SLEEPS: &[&str] = &["thread::sleep", "time::sleep", "time::sleep_until", "time::interval"];

/// Every place but `time` that asks the system for the time or waits for it.
pub(crate) fn clock_violations(house: &Crate) -> Vec<String> {
    let mut found = Vec::new();
    for named in house.named.iter().filter(|named| !named.test && room_of(&named.module) != Some(Room::Time)) {
        let written = match house.place(named) {
            Place::Outside(path) => path.join("::"),
            Place::Inside(_) => continue,
            Place::Unknown => named.segments.join("::"),
        };
        let ends = |part: &&&str| format!("::{written}").ends_with(&format!("::{part}"));
        let at = format!("src/{}:{}: `{written}`", named.file, named.line);
        if CLOCKS.iter().find(ends).is_some() {
            found.push(format!("{at}: only src/time.rs asks the system for the time; take a Clock or a Timer"));
        } else if SLEEPS.iter().find(ends).is_some() {
            found.push(format!("{at}: only src/time.rs sleeps; take a Timer"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUSE: &[(&str, &str)] = &[
        ("lib.rs", "pub mod model; pub use store::sqlite::Sqlite;"),
        ("model/step.rs", ""),
        ("store.rs", "mod port { pub(crate) mod agent; } pub use port::agent::Agent; pub mod sqlite; pub mod postgres;"),
        ("store/port/agent.rs", ""),
        ("store/sqlite/claim.rs", ""),
        ("store/postgres/claim.rs", ""),
        ("roles.rs", "pub mod agent; pub mod relay;"),
        ("roles/relay.rs", ""),
        ("replica.rs", "use crate::roles::relay; use crate::store::sqlite; use tokio::time;"),
        ("time.rs", "fn f() { std::time::Instant::now(); tokio::time::sleep(x) }"),
        ("fault.rs", ""),
        ("handler.rs", ""),
    ];

    fn house(file: &str, text: &str) -> Crate {
        let mut files: Vec<(String, String)> =
            HOUSE.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect();
        files.retain(|(path, _)| path != file);
        files.push((file.to_owned(), text.to_owned()));
        Crate::new(&files, &["tokio", "rusqlite", "tokio_postgres", "jiff", "serde_json", "tracing"].map(str::to_owned))
    }

    fn caught(file: &str, text: &str) -> String {
        violations(&house(file, text)).join("\n")
    }

    #[track_caller]
    fn breaks(file: &str, text: &str, reason: &str) {
        let found = caught(file, text);
        assert!(found.contains(reason), "{file}: {text}: expected {reason:?}, got {found:?}");
    }

    #[test]
    fn what_the_rules_allow_passes() {
        assert_eq!(caught("lib.rs", HOUSE[0].1), "");
        assert_eq!(
            caught(
                "roles/agent.rs",
                "use crate::store::Agent; use crate::model::step; use tokio::sync::Notify; use super::super::handler;"
            ),
            ""
        );
        assert_eq!(
            caught("model/run.rs", "use super::step::S; #[cfg(test)] mod tests { use serde_json::json; use std::fs; }"),
            ""
        );
        assert_eq!(
            caught("store/sqlite/settle.rs", "use super::claim; use rusqlite::params; const S: &str = \"SELECT 1 FROM t\";"),
            ""
        );
    }

    #[test]
    fn the_model_imports_no_room_no_world_and_no_clock() {
        breaks("model/run.rs", "use crate::store::Agent;", "model may not import the store's port");
        breaks("model/run.rs", "fn f() { crate::time::now() }", "model may not import time");
        breaks("model/run.rs", "use serde_json::Value;", "model may not use serde_json::Value");
        breaks("model/run.rs", "use std::{fs, fmt};", "model may not use std::fs");
        breaks("model/run.rs", "fn f() { jiff::tz::TimeZone::get(x) }", "zone data is handed in");
        breaks("model/run.rs", "async fn f() {}", "`async` in the model");
        breaks("model/run.rs", "#[cfg(test)] mod tests { use crate::store::Agent; }", "model may not import");
    }

    #[test]
    fn a_role_names_no_other_role_no_backend_no_runtime_and_no_sql() {
        breaks("roles/agent.rs", "use crate::roles::relay;", "role agent names role relay");
        breaks("roles/agent.rs", "use super::{relay::pass};", "role agent names role relay");
        breaks("roles/agent.rs", "use super::*; fn f() { relay::pass() }", "role agent names role relay");
        breaks("roles/agent/batch.rs", "fn f() { super::super::relay::pass() }", "role agent names role relay");
        breaks("roles/agent.rs", "fn f() { crate::store::sqlite::claim() }", "roles may not import store/sqlite");
        breaks("roles/agent.rs", "use crate::Sqlite;", "roles may not import store/sqlite");
        breaks("roles/agent.rs", "use crate::store as s; fn f() { s::postgres::x() }", "roles may not import store/postgres");
        breaks("roles/agent.rs", "fn f() { tokio::spawn(x) }", "roles may not use tokio::spawn");
        breaks("roles/agent.rs", "use tokio::{sync::Notify, time};", "roles may not use tokio::time");
        breaks("roles/agent.rs", "fn f() { q(\"UPDATE t SET a = 1\") }", "SQL outside");
        breaks("roles/agent.rs", "const S: &str = include_str!(\"../a.sql\");", "SQL outside");
        breaks("roles/agent.rs", "use crate::replica::Replica;", "roles may not import replica");
    }

    #[test]
    fn backends_never_meet_and_the_port_names_none() {
        breaks("store/sqlite/claim.rs", "use crate::store::postgres::claim;", "store/sqlite may not import store/postgres");
        breaks("store/sqlite/claim.rs", "use super::super::postgres;", "store/sqlite may not import store/postgres");
        breaks("store/sqlite/claim.rs", "use crate::roles::agent;", "store/sqlite may not import roles");
        breaks("store/postgres/claim.rs", "use rusqlite::Row;", "store/postgres may not use rusqlite::Row");
        breaks("store/port/agent.rs", "fn f(t: tokio_postgres::Transaction) {}", "the store's port may not use tokio_postgres");
        breaks("store/port/agent.rs", "use crate::store::sqlite::X;", "the store's port may not import store/sqlite");
        breaks("handler.rs", "use crate::store::sqlite::X;", "handler may not import store/sqlite");
        breaks("fault.rs", "use crate::model::step;", "fault may not import model");
        breaks("time.rs", "use crate::store::Agent;", "time may not import");
    }

    #[test]
    fn a_file_outside_every_room_is_found() {
        breaks("common.rs", "", "belongs to no room");
        breaks("roles/agent.rs", "use crate::common::X;", "in no room");
    }

    #[test]
    fn the_clock_is_found_however_it_is_named() {
        let found = |file: &str, text: &str| clock_violations(&house(file, text)).join("\n");
        assert!(found("replica.rs", "fn f() { std::time::SystemTime::now() }").contains("asks the system"));
        assert!(found("replica.rs", "use std::time::Instant as I; fn f() { I::now() }").contains("asks the system"));
        assert!(found("replica.rs", "use std::time::*; fn f() { Instant::now() }").contains("asks the system"));
        assert!(found("replica.rs", "use tokio::time; fn f() { time::sleep(x) }").contains("sleeps"));
        assert!(found("replica.rs", "use tokio::time::sleep;").contains("sleeps"));
        assert_eq!(found("replica.rs", "#[cfg(test)] mod t { fn f() { std::thread::sleep(x) } }"), "");
        assert_eq!(found("time.rs", HOUSE[9].1), "");
    }
}
