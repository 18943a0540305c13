//! `onebell demo`: what it answers to programs, and that it leaves nothing behind in a database that is not its own.

use std::collections::BTreeMap;

use onebell_testkit::until;
use serde_json::{Value, json};

use crate::world::{LIMIT, Place, World};

/// In the order of the contract.
const KEYS: [&str; 13] = [
    "customers",
    "naive",
    "accepted",
    "distinct",
    "duplicates",
    "missing",
    "in_doubt",
    "confirmed",
    "replicas",
    "killed",
    "recoveries",
    "seed",
    "elapsed_ms",
];

/// Runs it with these flags, and holds its answer against the contract.
fn shown(world: &World, seed: u64, flags: &[&str]) {
    let number = seed.to_string();
    let mut args = vec!["demo", "--format", "json", "--seed", &number];
    args.extend(flags);
    let text = world.onebell(&args);
    let demo: Value = serde_json::from_str(&text).unwrap();
    let keys: Vec<&String> = demo.as_object().unwrap().keys().collect();
    let mut expected = KEYS.to_vec();
    expected.sort_unstable();
    assert_eq!(keys, expected);
    let place = |key: &str| text.find(&format!("\n  \"{key}\": ")).unwrap_or_else(|| panic!("{key}: {text}"));
    assert!(KEYS.is_sorted_by_key(|key| place(key)), "{text}");
    assert_eq!((&demo["customers"], &demo["naive"]), (&json!(120), &json!({"accepted": 360, "duplicates": 240})), "{text}");
    for (key, value) in [("accepted", 120), ("distinct", 120), ("duplicates", 0), ("missing", 0), ("replicas", 3), ("killed", 1)]
    {
        assert_eq!(demo[key], value, "{key}: {text}");
    }
    let count = |key: &str| demo[key].as_u64().unwrap_or_else(|| panic!("{key}: {text}"));
    assert!(count("confirmed") <= count("in_doubt") && count("recoveries") >= 1 && count("elapsed_ms") > 0, "{text}");
    assert_eq!(demo["seed"], seed);
}

/// Rows of every table, ours and others. What tells of replicas and of acts is history, and stays; terms are nobody's rows.
async fn rows(world: &World) -> BTreeMap<String, String> {
    let tables = match world.url.starts_with("sqlite:") {
        true => world.sql("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").await,
        false => {
            let listed = "SELECT table_schema || '.' || table_name FROM information_schema.tables \
                          WHERE table_schema NOT IN ('pg_catalog', 'information_schema')";
            world.sql(listed).await
        }
    };
    let mut rows = BTreeMap::new();
    for table in tables {
        let plain = table.trim_start_matches("onebell_").trim_start_matches("onebell.").to_owned();
        let only = match plain.as_str() {
            "replicas" | "audit_log" | "terms" => continue,
            "recovery_requests" => " WHERE kind <> 'replica'",
            _ => "",
        };
        let count = world.sql(&format!("SELECT count(*) FROM {table}{only}")).await.remove(0);
        rows.insert(plain, count);
    }
    rows
}

/// A database with work of its own in it, before and after.
async fn a_shared_database_keeps_its_own_rows_and_none_of_the_demos(place: Place) {
    let world = World::new(place).await;
    let jobs = "[jobs.own]\nsql = \"CREATE TABLE IF NOT EXISTS mine (a int); INSERT INTO mine VALUES (1)\"\n";
    std::fs::write(world.path("onebell.toml"), jobs).unwrap();
    world.onebell(&["run", "--until-idle"]);
    world.onebell(&["trigger", "own", "--key", "k"]);
    world.onebell(&["run", "--until-idle"]);
    let before = rows(&world).await;
    assert_eq!((before["runs"].as_str(), before["attempts"].as_str()), ("1", "1"));
    shown(&world, 1, &["--database", &world.url]);
    assert_eq!(rows(&world).await, before);
    assert_eq!(world.json(&["runs"])["runs"].as_array().unwrap().len(), 1);
}

#[test]
fn sqlite_demo_shows_no_duplicate_and_nobody_missing_and_takes_its_folder_away() {
    let world = World::without_database();
    for seed in [1, 2] {
        shown(&world, seed, &[]);
        assert_eq!(std::fs::read_dir(world.path("tmp")).unwrap().count(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_demo_that_is_interrupted_leaves_nothing_either() {
    let world = World::new(Place::Sqlite).await;
    world.onebell(&["migrate"]);
    let before = rows(&world).await;
    let mut demo = world.start("demo", &["demo", "--database", &world.url]);
    until("mails are under way", LIMIT, || world.json(&["status"])["outbox"]["sent"].as_u64() > Some(0));
    demo.interrupt();
    assert_eq!(demo.wait().code(), Some(1));
    assert_eq!(rows(&world).await, before);
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_shared_database_keeps_its_own_rows_and_none_of_the_demos() {
    a_shared_database_keeps_its_own_rows_and_none_of_the_demos(Place::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_15_shared_database_keeps_its_own_rows_and_none_of_the_demos() {
    a_shared_database_keeps_its_own_rows_and_none_of_the_demos(Place::Postgres(15)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_18_shared_database_keeps_its_own_rows_and_none_of_the_demos() {
    a_shared_database_keeps_its_own_rows_and_none_of_the_demos(Place::Postgres(18)).await;
}
