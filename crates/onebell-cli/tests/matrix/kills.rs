//! A replica is killed inside a commit, on SQLite: by half a write to the log, and right before and after the commit.

use crate::hits::{met, rounds};
use crate::recorder::{Recorder, What};
use crate::site::{Site, until};

/// Half a frame of the log is written when the process dies. The next one finds everything whole.
async fn a_process_killed_inside_a_write_to_the_log_leaves_nothing_half_done() {
    let site = Site::new(40, "lease = \"1s\"\nconcurrency = 2", 9_000);
    site.prepare().await;
    let recorder = Recorder::new(&site.files(), site.folder());
    for round in 0..u64::from(rounds(8)) {
        let mut dies = site.replica(&format!("dies-{round}"));
        // Later each time: in the first transaction of a process, and deep in its work.
        recorder.preload(&mut dies, Some(1 + round * 9));
        let mut dies = site.start(dies);
        until("it dies, or has nothing left to do", || dies.ended()).await;
    }
    let mut last = site.start(site.replica("last"));
    until("everything is done", || last.ended()).await;
    site.everything_once().await;
    met("a_process_killed_inside_a_write_to_the_log_leaves_nothing_half_done", "SQLite", recorder.count(&What::Killed));
}

/// The named points around the commits of claims and settlements.
async fn a_process_killed_around_a_commit_does_everything_once() {
    let site = Site::new(40, "lease = \"1s\"\nconcurrency = 2", 10);
    site.prepare().await;
    let points = ["claim.before_commit", "claim.after_commit", "settle.before_commit", "settle.after_commit"];
    let mut killed = 0;
    for round in 0..rounds(8) as usize {
        let mut dies = site.replica(&format!("dies-{round}"));
        dies.env("ONEBELL_FAULT", format!("{}:{}", points[round % points.len()], 1 + round / points.len()));
        let mut dies = site.start(dies);
        let status = until("it dies, or has nothing left to do", || dies.ended()).await;
        killed += u64::from(std::os::unix::process::ExitStatusExt::signal(&status) == Some(9));
    }
    let mut last = site.start(site.replica("last"));
    until("everything is done", || last.ended()).await;
    site.everything_once().await;
    met("a_process_killed_around_a_commit_does_everything_once", "SQLite", killed);
}

on_sqlite!(
    a_process_killed_inside_a_write_to_the_log_leaves_nothing_half_done,
    a_process_killed_around_a_commit_does_everything_once,
);
