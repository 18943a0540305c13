//! Ends that the agent wants, down to the last process.

use std::fs;
use std::time::{Duration, Instant};

use onebell_cli::keeper::{End, Reason};
use tempfile::TempDir;

use crate::support::{a_minute, exists, line, ms, over, pids, pids_in, run, shell, start, text, until};

#[tokio::test]
async fn a_stop_lets_the_command_tidy_up_and_ends_its_children() {
    let folder = TempDir::new().expect("folder");
    let file = folder.path().join("pids");
    let script = format!("trap 'echo tidy; exit 0' TERM; sleep 300 & echo $$ $! >{}; echo ready; wait", file.display());
    let kept = start(shell(&script)).await;
    line(&kept).await;
    kept.stop();
    let end = kept.wait().await;
    assert_eq!((end.end, text(&end.stdout).as_str()), (End::EndedByKeeper(Reason::Stopped), "ready\ntidy\n"));
    for pid in pids(&file) {
        assert!(!exists(pid), "{pid}");
    }
}

#[tokio::test]
async fn what_ignores_term_is_killed_after_the_grace_and_not_before() {
    let mut spec = shell("trap '' TERM; echo ready; while :; do sleep 0.05; done");
    spec.grace = ms(400);
    let kept = start(spec).await;
    line(&kept).await;
    let (pid, begun) = (kept.pid(), Instant::now());
    kept.stop();
    let end = kept.wait().await;
    assert_eq!((end.end, exists(pid)), (End::EndedByKeeper(Reason::Stopped), false));
    assert!(begun.elapsed() >= ms(400));
}

#[tokio::test]
async fn a_second_stop_shortens_the_grace() {
    let mut spec = shell("trap '' TERM; echo ready; while :; do sleep 0.05; done");
    spec.grace = ms(600_000);
    let kept = start(spec).await;
    line(&kept).await;
    kept.stop();
    kept.renewals().stop(Duration::ZERO);
    assert_eq!(kept.wait().await.end, End::EndedByKeeper(Reason::Stopped));
}

#[tokio::test]
async fn a_stopped_process_is_continued_to_take_its_term() {
    let mut spec = shell("trap 'echo tidy; exit 0' TERM; echo ready; kill -STOP $$; sleep 300");
    spec.grace = ms(60_000);
    let kept = start(spec).await;
    let stat = format!("/proc/{}/stat", kept.pid());
    until("stopped", || fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") T "))).await;
    kept.stop();
    let end = kept.wait().await;
    assert_eq!((end.end, text(&end.stdout).as_str()), (End::EndedByKeeper(Reason::Stopped), "ready\ntidy\n"));
}

#[tokio::test]
async fn children_that_left_group_and_session_are_ended_too() {
    let folder = TempDir::new().expect("folder");
    let file = folder.path().join("pids");
    // One in a session of its own that ignores TERM, one forked twice into another, one in the group.
    let script = "setsid sh -c 'trap \"\" TERM; echo $$ >>F; while :; do sleep 0.05; done' &
        (setsid sh -c '(sleep 301 & echo $! >>F)' &)
        sleep 302 & echo $! >>F; wait"
        .replace('F', file.to_str().expect("path"));
    let kept = start(shell(&script)).await;
    let found = pids_in(&file, 3).await;
    kept.stop();
    let end = kept.wait().await;
    assert_eq!((end.end, end.survivors), (End::EndedByKeeper(Reason::Stopped), 0));
    for pid in found {
        assert!(!exists(pid), "{pid}");
    }
}

#[tokio::test]
async fn daemons_left_by_a_command_that_succeeded_are_ended_and_counted() {
    let folder = TempDir::new().expect("folder");
    let file = folder.path().join("pids");
    let script =
        "(setsid sh -c 'trap \"\" TERM; echo $$ >>F; while :; do sleep 0.05; done' &) ; while ! [ -s F ]; do sleep 0.01; done";
    let end = run(shell(&script.replace('F', file.to_str().expect("path")))).await;
    assert_eq!((end.end, end.survivors), (End::Exited(0), 0));
    assert!(end.leftovers >= 1);
    assert!(pids(&file).into_iter().all(|pid| !exists(pid)));
}

#[tokio::test]
async fn dropping_the_command_ends_it() {
    let kept = start(shell("exec sleep 60")).await;
    let (pid, keeper, handle) = (kept.pid(), kept.keeper_pid(), kept.renewals());
    drop(kept);
    until("command and keeper gone", || over(pid) && over(keeper)).await;
    handle.renew(a_minute());
}
