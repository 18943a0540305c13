//! What `bench` measures, and that nothing of it stays. How fast anything is, is asserted nowhere.

use std::process::Stdio;

use onebell_testkit::{fresh_database, until};
use rustix::process::Signal;
use serde_json::Value;

use crate::site::{LIMIT, Place, Process, Site};

const FEW: [&str; 9] = ["bench", "--steps", "10", "--items", "300", "--starts", "2", "--concurrency", "4"];
const JOB: &str = "[jobs.work]\ncommand = [\"true\"]\n";

/// What is left of a bench: its folders, and the databases that name its process.
async fn leftovers(site: &Site, process: u32) -> Vec<String> {
    let folders = [site.path(""), site.path("tmp")].into_iter().filter_map(|folder| std::fs::read_dir(folder).ok());
    let names = folders.flatten().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut left: Vec<String> = names.filter(|name| name.starts_with("onebell-bench-")).collect();
    if !site.url.starts_with("sqlite:") {
        let databases = format!("SELECT datname FROM pg_database WHERE datname LIKE 'onebell_bench_%\\_{process:x}'");
        left.extend(site.sql(&databases).await.concat());
    }
    left
}

/// Starts one whose temporary files are the site's.
fn start(site: &Site, args: &[&str]) -> (Process, u32) {
    std::fs::create_dir_all(site.path("tmp")).unwrap();
    let log = std::fs::File::create(site.path("bench.log")).unwrap();
    let mut command = site.command(args);
    command.env("TMPDIR", site.path("tmp")).stdout(Stdio::null()).stderr(log);
    let child = command.spawn().unwrap();
    let id = child.id();
    (Process::of(child), id)
}

fn code(process: &mut Process) -> Option<i32> {
    let mut ended = None;
    until("the bench ends", LIMIT, || {
        ended = process.ended();
        ended.is_some()
    });
    ended.unwrap().code()
}

async fn the_numbers_come_alone_under_their_names_and_no_database_is_made(place: Place) {
    let site = Site::new(place, JOB).await;
    let before = tables(&site).await;
    let all = site.onebell(&[&FEW[..], &["--format", "json"]].concat()).ended(0).json();
    for name in ["steps_per_s", "items_per_s", "limit_steps_per_s", "limit_items_per_s", "steps_ratio", "items_ratio"] {
        assert!(all[name].as_f64().is_some_and(|number| number > 0.0), "{name}: {all:#}");
    }
    let start = |share: &str| all["start_ms"][share].as_f64().unwrap();
    assert!(start("p50") >= 0.0 && start("p50") <= start("p99"), "{all:#}");
    assert_eq!(
        ["steps", "items", "starts", "replicas", "concurrency"].map(|name| all[name].as_u64().unwrap()),
        [10, 300, 2, 1, 4],
        "{all:#}"
    );
    let (kind, synced) = match place {
        Place::Sqlite => ("sqlite", !onebell::store::sqlite::FsKind::is_memory(&site.path("onebell.db"))),
        Place::Postgres(_) => ("postgres", site.sql("SHOW fsync").await == [["on"]]),
    };
    assert_eq!((&all["database"]["kind"], &all["fsync"]), (&kind.into(), &synced.into()), "{all:#}");
    assert_eq!((tables(&site).await, std::fs::read_dir(site.folder()).unwrap().count()), (before, 1));
}

async fn people_read_the_limit_beside_the_number_and_a_warning_where_no_disk_is_waited_for(place: Place) {
    let site = Site::new(place, "").await;
    let answer = site.onebell(&[&FEW[..], &["--replicas", "2"]].concat()).ended(0).says(&[
        "WHAT     HERE",
        "LIMIT",
        "RATIO",
        "/s",
        "start of a request: half within",
        "2 replicas of 4 steps at once; medians of 3 rounds of 10 steps and 300 records; 2 starts",
        "The limit is what this database did in the same minutes",
    ]);
    assert_eq!(answer.out().contains("every commit waits for the disk"), !answer.stderr.contains("these numbers flatter"));
    assert!(!answer.stderr.contains("settled") && !answer.stderr.contains('\r'), "{}", answer.stderr);
}

/// Every table of the user's with its rows, as far as they can be counted from outside.
async fn tables(site: &Site) -> Vec<Vec<String>> {
    match site.url.strip_prefix("sqlite:") {
        Some(path) => vec![vec![format!("{:?}", std::fs::read(path).ok().map(|bytes| bytes.len()))]],
        None => site.sql("SELECT table_schema, table_name FROM information_schema.tables ORDER BY 1, 2").await,
    }
}

async fn a_database_with_work_in_it_is_not_touched(place: Place) {
    let site = Site::new(place, JOB).await;
    let run = site.run_once("work", "k");
    let look = |site: &Site| -> [Value; 4] {
        ["status", "runs", "jobs", "batches"].map(|of| site.onebell(&[of, "--format", "json"]).ended(0).json())
    };
    let (before, seen) = (tables(&site).await, look(&site));
    let (mut bench, process) = start(&site, &FEW);
    assert_eq!(code(&mut bench), Some(0), "{}", site.read("bench.log"));
    assert_eq!((tables(&site).await, look(&site)), (before, seen));
    assert_eq!(site.the_run()["id"], Value::from(run));
    assert_eq!(leftovers(&site, process).await, Vec::<String>::new());
}

async fn whoever_interrupts_it_finds_nothing_left(place: Place) {
    for (signal, [steps, items, starts]) in [
        (Signal::INT, ["--steps=1", "--items=1000000", "--starts=1"]),
        (Signal::TERM, ["--steps=1", "--items=1", "--starts=10000"]),
    ] {
        let site = Site::new(place, "").await;
        let (mut bench, process) = start(&site, &["bench", steps, items, starts]);
        // Far enough to have something: the file that it reads is there.
        let there = |folder: &str| {
            let entries = std::fs::read_dir(site.path(folder)).unwrap().map(|entry| entry.unwrap().path());
            entries.filter(|path| path.join("records.ndjson").exists()).count() == 1
        };
        site.until("it is at work", || {
            assert!(bench.ended().is_none(), "{}", site.read("bench.log"));
            there("") || there("tmp")
        });
        bench.signal(signal);
        assert_eq!(code(&mut bench), Some(1), "{}", site.read("bench.log"));
        assert!(site.read("bench.log").contains("interrupted"), "{}", site.read("bench.log"));
        assert_eq!(leftovers(&site, process).await, Vec::<String>::new());
    }
}

crate::everywhere!(
    a_database_with_work_in_it_is_not_touched,
    people_read_the_limit_beside_the_number_and_a_warning_where_no_disk_is_waited_for,
    the_numbers_come_alone_under_their_names_and_no_database_is_made,
    whoever_interrupts_it_finds_nothing_left,
);

#[test]
fn nothing_is_measured_where_a_number_or_a_place_is_wrong() {
    let site = Site::plain("");
    for flag in ["--steps", "--items", "--starts", "--replicas", "--concurrency"] {
        for wrong in ["0", "-1", "many", "99999999"] {
            site.onebell(&["bench", &format!("{flag}={wrong}")]).ended(2).complains(&[flag, wrong]);
        }
        site.onebell(&["bench", flag, "0"]).ended(2).complains(&["is not in 1.."]);
    }
    site.onebell(&["bench", "--database", "sqlite:none/a.db"]).ended(2).complains(&["none", "make that folder"]);
    site.onebell(&["bench", "--database", "mysql://h/d"]).ended(2).complains(&["postgres://"]);
    site.onebell(&["bench", "--database", "postgres://127.0.0.1:1/none"])
        .ended(2)
        .complains(&["bench cannot", "start the server"]);
    assert_eq!(std::fs::read_dir(site.folder()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_may_make_no_database_is_told_which_one_may() {
    let database = fresh_database(18).await;
    let site = Site::on_url(database.url.clone(), "");
    let role = format!("bench_{:x}", std::process::id());
    site.sql(&format!("CREATE ROLE {role} LOGIN")).await;
    let (_, rest) = database.url.split_once('@').unwrap();
    let refused = site.onebell(&["bench", "--database", &format!("postgres://{role}@{rest}")]);
    site.sql(&format!("DROP ROLE {role}")).await;
    refused.ended(2).complains(&["bench cannot create a database of its own there", "name a role that may (CREATEDB)"]);
}
