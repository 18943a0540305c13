//! What a command leaves when it ends by itself.

use std::fs;
use std::time::Instant;

use onebell_cli::keeper::{CommandSpec, End, StartError};
use tempfile::TempDir;

use crate::support::{ms, refused, run, shell, spec, start, text, until};

#[tokio::test]
async fn code_and_bytes_of_both_streams_arrive_as_they_were() {
    let end = run(shell(r"printf 'ok\0\377\nH\350'; printf 'e\0' >&2; exit 3")).await;
    assert_eq!(end.end, End::Exited(3));
    assert_eq!(end.stdout.to_bytes(), b"ok\0\xff\nH\xe8");
    assert_eq!(end.stderr.to_bytes(), b"e\0");
    assert_eq!((end.leftovers, end.survivors), (0, 0));
}

#[tokio::test]
async fn stdin_is_empty_and_a_pipeline_is_as_good_as_its_last_part() {
    let end = run(shell("cat; false | cat")).await;
    assert_eq!((end.end, end.stdout.total), (End::Exited(0), 0));
}

#[tokio::test]
async fn a_signal_is_a_signal_and_137_is_only_a_code() {
    assert_eq!(run(shell("kill -9 $$")).await.end, End::Signalled(9));
    assert_eq!(run(shell("kill -TERM $$")).await.end, End::Signalled(15));
    assert_eq!(run(shell("exit 137")).await.end, End::Exited(137));
}

#[tokio::test]
async fn sleep_in_the_background_does_not_hold_the_run_up() {
    let begun = Instant::now();
    let end = run(shell("sleep 30 & echo done")).await;
    assert!(begun.elapsed() < ms(5_000), "{:?}", begun.elapsed());
    assert_eq!((end.end, text(&end.stdout).as_str(), end.leftovers), (End::Exited(0), "done\n", 1));
}

#[tokio::test]
async fn a_leftover_may_finish_its_last_line() {
    let end = run(shell("(sleep 0.05; echo late) & echo done")).await;
    assert_eq!((text(&end.stdout).as_str(), end.leftovers), ("done\nlate\n", 0));
}

#[tokio::test]
async fn much_output_keeps_its_ends_and_never_blocks_the_command() {
    let mut spec = shell("head -c 3000000 /dev/zero; printf end");
    spec.output_cap = 100;
    let end = run(spec).await;
    assert_eq!((end.end, end.stdout.total, end.stdout.omitted), (End::Exited(0), 3_000_003, 2_999_903));
    assert!(end.stdout.tail.ends_with(b"\0end"));
}

#[tokio::test]
async fn environment_folder_and_path_are_the_commands_own() {
    let folder = TempDir::new().expect("folder");
    let mut spec = shell("env; pwd");
    spec.env = vec![("SHOWN".into(), "1".into()), ("PATH".into(), "/usr/bin:/bin".into())];
    spec.clear_env = true;
    spec.cwd = Some(folder.path().into());
    let output = text(&run(spec).await.stdout);
    assert!(output.contains("SHOWN=1\n") && output.ends_with(&format!("{}\n", folder.path().display())), "{output}");
    assert!(!output.contains("CARGO"), "{output}");

    let mut elsewhere = spec_with_path("sh", "/nonexistent");
    assert!(matches!(refused(elsewhere.clone()).await, StartError::NotFound { .. }));
    elsewhere.env.clear();
    assert_eq!(run(elsewhere).await.end, End::Exited(0));
}

fn spec_with_path(program: &str, path: &str) -> CommandSpec {
    let mut spec = spec(&[program, "-c", "exit 0"]);
    spec.env.push(("PATH".into(), path.into()));
    spec
}

#[tokio::test]
async fn no_file_of_the_agent_reaches_keeper_or_command() {
    let secret = tempfile::NamedTempFile::new().expect("file");
    let kept = start(shell("readlink /proc/$$/fd/*; echo; exec sleep 60")).await;
    until("the list", || kept.so_far().0.head.ends_with(b"\n\n")).await;
    let path = secret.path().display().to_string();
    assert!(!text(&kept.so_far().0).contains(&path));
    for fd in fs::read_dir(format!("/proc/{}/fd", kept.keeper_pid())).expect("fds") {
        let target = fs::read_link(fd.expect("fd").path()).unwrap_or_default();
        assert!(!target.ends_with(secret.path()), "{}", target.display());
    }
    kept.stop();
    kept.wait().await;
}
