//! When the keeper itself is attacked, and when it has much to reap.

use std::time::Duration;

use onebell_cli::keeper::End;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::support::{exists, line, over, pids, run, shell, signal, start, text};

#[tokio::test]
async fn a_killed_keeper_is_reported_and_its_session_ended() {
    let folder = TempDir::new().expect("folder");
    let file = folder.path().join("pids");
    let script = format!("trap '' TERM; sleep 300 & echo $$ $! >{}; echo ready; wait", file.display());
    let kept = start(shell(&script)).await;
    line(&kept).await;
    signal(kept.keeper_pid(), Signal::KILL);
    let end = kept.wait().await;
    assert_eq!((end.end, end.survivors, text(&end.stdout).as_str()), (End::KeeperLost, 0, "ready\n"));
    for pid in pids(&file) {
        assert!(over(pid), "{pid}");
    }
}

#[tokio::test]
async fn term_to_the_keeper_changes_nothing_and_is_not_ignored_by_the_command() {
    let kept = start(shell("echo ready; grep -E 'SigIgn|SigBlk' /proc/self/status >&2; sleep 0.5; exit 4")).await;
    line(&kept).await;
    for sent in [Signal::TERM, Signal::INT, Signal::HUP] {
        signal(kept.keeper_pid(), sent);
    }
    let end = kept.wait().await;
    assert_eq!(end.end, End::Exited(4));
    // Bit 14 of either mask is TERM; nothing of the keeper's handling may be inherited.
    for mask in text(&end.stderr).lines().filter_map(|line| line.split_whitespace().nth(1)) {
        let mask = u64::from_str_radix(mask, 16).expect("a mask");
        assert_eq!(mask & (1 << 14), 0, "{mask:x}");
    }
}

#[tokio::test]
async fn a_command_that_kills_its_own_group_does_not_hit_its_keeper() {
    assert_eq!(run(shell("sleep 300 & kill -KILL 0")).await.end, End::Signalled(9));
}

#[tokio::test]
async fn a_hanging_keeper_does_not_hang_a_stop() {
    let mut spec = shell("echo ready; exec sleep 300");
    spec.grace = Duration::ZERO;
    let kept = start(spec).await;
    line(&kept).await;
    let (pid, keeper) = (kept.pid(), kept.keeper_pid());
    signal(keeper, Signal::STOP);
    kept.stop();
    let end = kept.wait().await;
    assert_eq!((end.end, end.survivors), (End::KeeperLost, 0));
    assert!(over(pid) && !exists(keeper));
}

#[tokio::test]
async fn no_zombie_is_left_after_a_hundred_runs_with_orphans() {
    let mut runs = tokio::task::JoinSet::new();
    let (mut begun, mut seen) = (0, Vec::new());
    while begun < 100 || !runs.is_empty() {
        while begun < 100 && runs.len() < 10 {
            begun += 1;
            runs.spawn(async {
                let kept = start(shell("(sleep 0.2 & echo $!) ; exit 0")).await;
                let keeper = kept.keeper_pid();
                (keeper, kept.pid(), kept.wait().await)
            });
        }
        let (keeper, command, end) = runs.join_next().await.expect("one runs").expect("no panic");
        assert_eq!((end.end, end.survivors), (End::Exited(0), 0));
        seen.extend([keeper, command, text(&end.stdout).trim().parse().expect("pid")]);
    }
    assert_eq!(seen.len(), 300);
    for pid in seen {
        assert!(!exists(pid), "{pid}");
    }
}
