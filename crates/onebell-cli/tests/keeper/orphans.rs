//! Ends without an agent: it fell silent, died or was stopped.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use onebell_cli::keeper::{Allowance, BootTime, End, Reason};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::support::{ms, over, pids_in, shell, signal, try_start, until};

/// Tells [`agent_role`] what to run.
const AGENT_SCRIPT: &str = "ONEBELL_TEST_AGENT_SCRIPT";

#[tokio::test]
async fn renewals_carry_the_command_and_their_absence_ends_it() {
    let soon = || Allowance::since(BootTime::now(), ms(500), ms(700));
    let kept = try_start(shell("echo ready; exec sleep 60"), soon()).await.expect("starts");
    let (handle, begun) = (kept.renewals(), Instant::now());
    while begun.elapsed() < ms(1_500) {
        handle.renew(soon());
        tokio::time::sleep(ms(50)).await;
    }
    assert!(!over(kept.pid()));
    let end = kept.wait().await;
    assert_eq!(end.end, End::EndedByKeeper(Reason::Lapsed));
    assert!(begun.elapsed() >= ms(1_900), "{:?}", begun.elapsed());
}

/// A real agent in a process of its own, to be killed or stopped: this test binary again, see [`agent_role`].
struct Agent {
    process: Child,
    command: i32,
    keeper: i32,
}

impl Agent {
    fn start(script: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().expect("path"))
            .args(["--exact", "orphans::agent_role", "--nocapture", "--test-threads=1"])
            .env(AGENT_SCRIPT, script)
            .stdout(Stdio::piped())
            .spawn()
            .expect("agent");
        let output = BufReader::new(process.stdout.take().expect("piped"));
        let started = output.lines().map_while(Result::ok).find_map(|line| {
            let (_, pids) = line.split_once("started ")?;
            let (command, keeper) = pids.split_once(' ')?;
            Some((command.parse().ok()?, keeper.parse().ok()?))
        });
        let (command, keeper) = started.expect("the agent tells its pids");
        Self { process, command, keeper }
    }

    fn pid(&self) -> i32 {
        i32::try_from(self.process.id()).expect("pid")
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The agent's part; alone it has nothing to do. The tests below start it in a process of its own.
#[tokio::test]
async fn agent_role() {
    let Ok(script) = std::env::var(AGENT_SCRIPT) else { return };
    let allowance = || Allowance::since(BootTime::now(), ms(1_000), ms(1_400));
    let kept = try_start(shell(&script), allowance()).await.expect("starts");
    println!("started {} {}", kept.pid(), kept.keeper_pid());
    let handle = kept.renewals();
    loop {
        handle.renew(allowance());
        tokio::time::sleep(ms(50)).await;
    }
}

#[tokio::test]
async fn a_killed_agent_takes_its_command_along_also_what_left_the_group() {
    let folder = TempDir::new().expect("folder");
    let (file, tidied) = (folder.path().join("pids"), folder.path().join("tidied"));
    // It writes to its closed stdout while it tidies up, more than a pipe holds: that must neither kill nor block it half-way.
    let script = "X=$(head -c 1000 /dev/zero | tr '\\0' x)
        trap 'for i in 1 2 3 4 5 6 7 8 9; do for j in 1 2 3 4 5 6 7 8 9; do echo $X; done; done; echo yes >TIDIED; exit' TERM
        setsid sh -c 'trap \"\" TERM; echo $$ >>FILE; while :; do sleep 0.05; done' & sleep 300 & echo $! >>FILE; wait; wait"
        .replace("TIDIED", tidied.to_str().expect("path"))
        .replace("FILE", file.to_str().expect("path"));
    let mut agent = Agent::start(&script);
    let found = pids_in(&file, 2).await;
    agent.process.kill().expect("killed");
    agent.process.wait().expect("reaped");
    until("everything gone", || found.iter().chain([&agent.command, &agent.keeper]).all(|pid| over(*pid))).await;
    assert_eq!(fs::read_to_string(&tidied).expect("tidied up"), "yes\n");
}

#[tokio::test]
async fn a_stopped_agents_command_is_ended_by_the_keepers_clock_and_writes_nothing_after() {
    let folder = TempDir::new().expect("folder");
    let file = folder.path().join("written");
    let script = "trap '' TERM; while :; do echo x >>FILE; sleep 0.01; done".replace("FILE", file.to_str().expect("path"));
    let agent = Agent::start(&script);
    let size = || fs::metadata(&file).map_or(0, |meta| meta.len());
    // Longer than the first allowance: so the renewals do arrive.
    tokio::time::sleep(ms(1_800)).await;
    assert!(!over(agent.command) && size() > 0);
    signal(agent.pid(), Signal::STOP);
    let stopped = Instant::now();
    until("command and keeper gone", || over(agent.command) && over(agent.keeper)).await;
    let (took, written) = (stopped.elapsed(), size());
    assert!(took < ms(3_000), "{took:?}");
    tokio::time::sleep(ms(300)).await;
    assert_eq!(size(), written);
    // The agent wakes into a world where its command is gone.
    signal(agent.pid(), Signal::CONT);
    tokio::time::sleep(ms(300)).await;
    assert_eq!(size(), written);
}
