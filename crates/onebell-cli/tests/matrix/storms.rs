//! Many processes want the one write lock of a file.

use onebell::store::ReadStore as _;

use crate::hits::{met, rounds};
use crate::recorder::{Recorder, What};
use crate::site::{Process, Site, until};

/// Eight replicas, one file: who finds it locked waits, and nothing is done twice, burnt or given up.
async fn eight_processes_on_one_file_wait_for_one_another_and_lose_nothing() {
    let mut refused = 0;
    for _ in 0..rounds(1) {
        refused += storm().await;
    }
    met("eight_processes_on_one_file_wait_for_one_another_and_lose_nothing", "SQLite", refused);
}

/// How many locks were refused in it.
async fn storm() -> u64 {
    let site = Site::new(80, "concurrency = 2", 10);
    site.prepare().await;
    let recorder = Recorder::new(&site.files(), site.folder());
    let start = |n| {
        let mut works = site.replica(&format!("works-{n}"));
        recorder.preload(&mut works, None);
        site.start(works)
    };
    let mut all: Vec<Process> = (0..8).map(start).collect();
    for works in &mut all {
        let status = until("everything is done", || works.ended()).await;
        assert!(status.success(), "{status} {}", site.words());
    }
    site.everything_once().await;
    let connection = rusqlite::Connection::open(site.database()).unwrap();
    let attempts: u32 = connection.query_row("SELECT count(*) FROM onebell_attempts", [], |row| row.get(0)).unwrap();
    assert_eq!(attempts, site.count, "one attempt each");
    let store = site.store();
    assert!(store.recoveries(10).await.unwrap().is_empty());
    assert!(store.replicas().await.unwrap().iter().all(|replica| replica.lost_at.is_none()));
    recorder.count(&What::LockRefused)
}

on_sqlite!(eight_processes_on_one_file_wait_for_one_another_and_lose_nothing);
