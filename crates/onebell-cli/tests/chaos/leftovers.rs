//! However it ends, nothing of it stays: no process, no folder, no database.

use onebell_testkit::until;
use rustix::process::Signal;

use crate::site::{LIMIT, Site, databases};

/// Goes on until somebody ends it.
const LONG: [&str; 8] = ["--kills", "0", "--pauses", "40", "--runs", "10000", "--seed", "771"];

fn under_way(site: &Site) {
    until("three replicas play", LIMIT, || site.processes().len() >= 3);
}

async fn interrupted(signal: Signal, more: &[&str]) -> Site {
    let site = Site::of_example("debt-reminders");
    let mut chaos = site.start("chaos.log", &[&LONG[..], more].concat());
    under_way(&site);
    chaos.signal(signal);
    assert_eq!(chaos.wait().code(), Some(1), "{}", site.read("chaos.log"));
    until("its processes are gone", LIMIT, || site.processes().is_empty());
    assert_eq!(site.leftovers().len(), 0);
    site
}

#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_leaves_nothing() {
    interrupted(Signal::INT, &[]).await;
}

#[test]
fn ctrl_c_while_the_tables_are_set_up_leaves_nothing() {
    let site = Site::of_example("debt-reminders");
    let slow = "CREATE TABLE begun (x); INSERT INTO begun WITH RECURSIVE c (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 5000000) SELECT count(*) FROM c;";
    std::fs::write(site.path("setup.sql"), slow).unwrap();
    let mut chaos = site.start("chaos.log", &["--setup", "setup.sql"]);
    let writing = |folder: &std::path::PathBuf| folder.join("onebell.db-wal").metadata().is_ok_and(|file| file.len() > 0);
    until("it has a database", LIMIT, || site.leftovers().first().is_some_and(writing));
    chaos.signal(Signal::INT);
    assert_eq!(chaos.wait().code(), Some(1), "{}", site.read("chaos.log"));
    assert_eq!(site.leftovers().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_sigterm_leaves_no_database() {
    let url = onebell_testkit::server(18);
    interrupted(Signal::TERM, &["--database", &url]).await;
    assert_eq!(databases(&url, "_303").await, Vec::<String>::new());
}

#[test]
fn replicas_die_with_a_chaos_that_was_killed_also_those_that_it_had_stopped() {
    let site = Site::of_example("debt-reminders");
    let mut chaos = site.start("chaos.log", &LONG);
    until("a replica is stopped", LIMIT, || site.processes().iter().any(|pid| is_stopped(*pid)));
    chaos.signal(Signal::KILL);
    chaos.wait();
    until("its replicas are gone", LIMIT, || site.processes().is_empty());
}

fn is_stopped(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
}

#[test]
fn keep_keeps_the_folder_with_every_replicas_log() {
    let site = Site::of_example("debt-reminders");
    site.json(0, &["--kills", "0", "--pauses", "0", "--runs", "1", "--seed", "1", "--keep"]);
    let folder = &site.leftovers()[0];
    assert!(folder.join("onebell.db").exists() && folder.join("r1.log").exists());
}
