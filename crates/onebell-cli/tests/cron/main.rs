//! `onebell once` under Debian's own cron: three daemons of it, each with a crontab, a hostname and a `/run` of its own. Takes two
//! minutes of real time on each database, and root for the namespaces: `scripts/prove cron`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]
#![expect(clippy::disallowed_methods, reason = "real processes run by the real clock")]
#![expect(dead_code, reason = "the hosts are those of the tests of `once`, which ask more of them")]

#[path = "../once/host.rs"]
mod host;

use std::collections::BTreeMap;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use host::Hosts;

/// The slot's identity and the attempt; who holds it; and that it came to its end. The very first execution stays until it is killed.
const SCRIPT: &str = "echo $ONEBELL_IDEMPOTENCY_KEY $ONEBELL_ATTEMPT >> ran
awk '{print $4}' /proc/$PPID/stat >> owners
if [ $(wc -l < ran) = 1 ]; then while :; do sleep 0.1; done; fi
echo $ONEBELL_IDEMPOTENCY_KEY >> done
";

struct Daemon(Child);

impl Daemon {
    fn start(hosts: &Hosts, name: &str) -> Self {
        std::fs::write(hosts.path("tick.sh"), SCRIPT).unwrap();
        let line = format!(
            "MAILTO=\"\"\nSHELL=/bin/sh\nONEBELL_DATABASE={}\n* * * * * cd {} && {} once --key tick --slot '* * * * *' --lease 2s -- sh \
             tick.sh 2>> {name}.err\n",
            hosts.url,
            hosts.path("").display(),
            env!("CARGO_BIN_EXE_onebell"),
        );
        std::fs::write(hosts.path(name), line).unwrap();
        let script = format!(
            "set -e; hostname {name}; mount -t tmpfs none /var/spool/cron; mount -t tmpfs none /run; mkdir -m 700 \
             /var/spool/cron/crontabs; install -m 600 {} /var/spool/cron/crontabs/root; exec cron -f",
            hosts.path(name).display()
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "--uts", "sh", "-c", &script]).stdin(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

/// What a daemon started goes with it: all that is in its namespace.
impl Drop for Daemon {
    fn drop(&mut self) {
        let namespace = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/mnt")).ok();
        let own = namespace(&self.0.id().to_string());
        let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        for pid in all.filter(|pid| own.is_some() && namespace(pid) == own).filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
            // It may have ended by itself.
            let _ = kill_process(pid, Signal::KILL);
        }
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

async fn a_minutely_line_on_three_hosts_is_executed_once_a_minute_and_taken_over_after_a_kill(hosts: Hosts) {
    assert!(
        rustix::process::geteuid().is_root(),
        "three cron daemons need root for their namespaces; run scripts/prove cron as root"
    );
    let cron = Command::new("sh").args(["-c", "command -v cron"]).output().unwrap();
    assert!(cron.status.success(), "there is no cron; install Debian's package cron");
    let daemons = ["north", "south", "west"].map(|name| Daemon::start(&hosts, name));
    let minutes = Duration::from_secs(150);
    hosts.until_within(minutes, "the first minute is executed", || hosts.read("owners").lines().count() >= 1).await;
    hosts.until_here(3).await;
    let owner: i32 = hosts.read("owners").trim().parse().unwrap();
    kill_process(Pid::from_raw(owner).unwrap(), Signal::KILL).unwrap();
    hosts
        .until_within(minutes, "it was taken over, and the next minute is done", || hosts.read("done").lines().count() >= 2)
        .await;
    drop(daemons);
    let mut attempts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in hosts.read("ran").lines() {
        let (key, attempt) = line.split_once(' ').unwrap();
        attempts.entry(key.to_owned()).or_default().push(attempt.to_owned());
    }
    let mut attempts: Vec<Vec<String>> = attempts.into_values().collect();
    attempts.sort();
    assert_eq!(attempts, [vec!["1".to_owned()], vec!["1".to_owned(), "2".to_owned()]], "one execution a minute, and the heir's");
    assert_eq!(hosts.read("done").lines().collect::<std::collections::BTreeSet<_>>().len(), 2, "each minute came to its end");
    for name in ["north", "south", "west"] {
        assert!(hosts.typed(&["replicas"]).contains(name), "{name} took part");
        let said = hosts.read(&format!("{name}.err"));
        // The shell tells of the one that was killed.
        assert_eq!(said.replace("Killed\n", ""), "", "cron sends mail for every line");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_a_minutely_line_is_executed_once_a_minute() {
    a_minutely_line_on_three_hosts_is_executed_once_a_minute_and_taken_over_after_a_kill(Hosts::new(None).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_15_a_minutely_line_is_executed_once_a_minute() {
    a_minutely_line_on_three_hosts_is_executed_once_a_minute_and_taken_over_after_a_kill(Hosts::new(Some(15)).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_18_a_minutely_line_is_executed_once_a_minute() {
    a_minutely_line_on_three_hosts_is_executed_once_a_minute_and_taken_over_after_a_kill(Hosts::new(Some(18)).await).await;
}
