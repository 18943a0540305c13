//! Commands to try, and waiting for events.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use onebell_cli::keeper::{Allowance, BootTime, Captured, CommandEnd, CommandSpec, Kept, StartError};
use rustix::process::{Pid, Signal, kill_process};

/// How long an event may take on a busy machine before it counts as never.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn spec(argv: &[&str]) -> CommandSpec {
    let argv = argv.iter().map(OsString::from).collect();
    CommandSpec {
        argv,
        env: vec![],
        clear_env: false,
        cwd: None,
        grace: ms(300),
        output_cap: 64 * 1024,
        pass_on: false,
        scratch: None,
    }
}

pub(crate) fn shell(script: &str) -> CommandSpec {
    spec(&["sh", "-c", script])
}

pub(crate) async fn try_start(spec: CommandSpec, allowance: Allowance) -> Result<Kept, StartError> {
    Kept::start_with(env!("CARGO_BIN_EXE_onebell").as_ref(), spec, allowance).await
}

pub(crate) fn a_minute() -> Allowance {
    Allowance::since(BootTime::now(), ms(60_000), ms(62_000))
}

pub(crate) async fn start(spec: CommandSpec) -> Kept {
    try_start(spec, a_minute()).await.expect("starts")
}

pub(crate) async fn run(spec: CommandSpec) -> CommandEnd {
    start(spec).await.wait().await
}

pub(crate) async fn refused(spec: CommandSpec) -> StartError {
    try_start(spec, a_minute()).await.expect_err("is refused")
}

/// Neither running nor a zombie that nobody reaped.
pub(crate) fn exists(pid: i32) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Not running: this sandbox's process 1 may take its time to reap what was re-parented to it.
pub(crate) fn over(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_none_or(|(_, fields)| fields.trim_start().starts_with(['Z', 'X']))
}

pub(crate) fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).expect("a pid"), signal).expect("signalled");
}

pub(crate) async fn until(what: &str, mut happened: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !happened() {
        assert!(begun.elapsed() < LIMIT, "never: {what}");
        tokio::time::sleep(ms(5)).await;
    }
}

pub(crate) async fn line(kept: &Kept) -> String {
    until("a line", || kept.so_far().0.head.contains(&b'\n')).await;
    String::from_utf8_lossy(&kept.so_far().0.head).trim().to_owned()
}

pub(crate) fn text(captured: &Captured) -> String {
    String::from_utf8_lossy(&captured.to_bytes()).into_owned()
}

pub(crate) fn pids(path: &Path) -> Vec<i32> {
    fs::read_to_string(path).unwrap_or_default().split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Waits for that many pids in a file that a script fills.
pub(crate) async fn pids_in(path: &Path, count: usize) -> Vec<i32> {
    until("pids", || pids(path).len() >= count && fs::read(path).is_ok_and(|bytes| bytes.ends_with(b"\n"))).await;
    pids(path)
}
