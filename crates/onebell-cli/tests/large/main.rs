//! Large files of events: two hundred deaths, and a gigabyte. Minutes of real time: `scripts/prove large`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]
#![expect(clippy::disallowed_methods, reason = "real processes run by the real clock")]
#![expect(clippy::print_stderr, reason = "what was measured goes into docs/proof.md")]

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use onebell_testkit::fresh_database;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// A folder, a database, and the program over both.
struct Site {
    folder: tempfile::TempDir,
    url: String,
    _database: Option<onebell_testkit::Database>,
}

/// `None`: SQLite; else a version of PostgreSQL.
async fn site(version: Option<u32>) -> Site {
    let folder = tempfile::tempdir().unwrap();
    let database = match version {
        None => None,
        Some(version) => Some(fresh_database(version).await),
    };
    let sqlite = || format!("sqlite:{}", folder.path().join("onebell.db").display());
    let url = database.as_ref().map_or_else(sqlite, |database| database.url.clone());
    Site { folder, url, _database: database }
}

/// Numbers that are the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

impl Site {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onebell"));
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.env_remove("ONEBELL_FAULT").env_remove("ONEBELL_LOG").env("ONEBELL_DATABASE", &self.url);
        command
    }

    fn apply(&self, scope: &str, more: &[&str]) -> Command {
        let args = [
            "apply",
            "events.csv",
            "--scope",
            scope,
            "--id",
            "id",
            "--amount",
            "cents",
            "--fail-if",
            "cents < 0",
            "--format",
            "json",
        ];
        self.command(&[&args[..], more].concat())
    }

    fn json(&self, mut command: Command, code: i32) -> Value {
        let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn effects(&self, scope: &str) -> Value {
        let mut effects = self.json(self.command(&["effects", "--scope", scope, "--format", "json"]), 0);
        effects["scope"].take();
        effects
    }

    fn newest(&self, scope: &str) -> Value {
        let mut all = self.json(self.command(&["batches", "--scope", scope, "--limit", "1", "--format", "json"]), 0);
        all["batches"][0].take()
    }

    /// What was found, without its batch.
    fn findings(&self, batch: &Value) -> Value {
        let args = ["batches", "show", batch.as_str().unwrap(), "--limit", "1000000", "--format", "json"];
        let mut shown = self.json(self.command(&args), 0);
        shown["findings"].take()
    }
}

/// A process that is gone when the test ends.
struct Running(Child);

impl Running {
    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    /// Waits; the most memory that it ever had, in KiB.
    fn wait(&mut self) -> (ExitStatus, u64) {
        let mut most = 0;
        loop {
            let status = std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).unwrap_or_default();
            let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
            most = most.max(peak.unwrap_or(0));
            if let Some(ended) = self.0.try_wait().unwrap() {
                return (ended, most);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Most are new; some come again, alike or not, some are negative, some are torn.
fn mixed(site: &Site, records: u64) {
    let mut file = BufWriter::new(File::create(site.path("events.csv")).unwrap());
    let mut dice = Dice(7);
    writeln!(file, "id,cents,note").unwrap();
    for n in 0..records {
        match dice.below(100) {
            0..90 => writeln!(file, "E{n},{},\"a, note of {n}\"", n % 997),
            90..94 => writeln!(file, "E{},{},again", n / 2, n),
            94..97 => writeln!(file, "N{n},-{},", n % 7 + 1),
            _ => writeln!(file, "E{n},{n}.5,torn"),
        }
        .unwrap();
    }
    file.flush().unwrap();
}

/// Deaths at drawn commits and at drawn moments, each after the one before, until there were two hundred.
async fn two_hundred_deaths(version: Option<u32>) {
    const RECORDS: u64 = 150_000;
    const DEATHS: u64 = 200;
    let site = site(version).await;
    mixed(&site, RECORDS);
    let undisturbed = site.json(site.apply("calm", &[]), 3);
    let mut dice = Dice(11);
    let (mut deaths, mut between) = (0, 0);
    let how = ["--timeout", "50ms", "--chunk", "250"];
    while deaths < DEATHS {
        let mut command = site.apply("storm", &how);
        let at = dice.below(3);
        if at < 2 {
            let point = ["chunk.before_commit", "chunk.after_commit"][at as usize];
            command.env("ONEBELL_FAULT", format!("{point}:{}:kill", dice.below(4) + 1));
        }
        let mut running = Running(command.spawn().unwrap());
        if at == 2 {
            std::thread::sleep(Duration::from_millis(60 + dice.below(120)));
            running.signal(Signal::KILL);
            between += 1;
        }
        let (ended, _) = running.wait();
        assert_eq!(ended.signal(), Some(9), "it came to its end after {deaths} deaths; make the file larger");
        deaths += 1;
    }
    let read = site.newest("storm")["checkpoint"]["position"]["line"].as_u64().unwrap_or(0);
    let whole = site.json(site.apply("storm", &[]), 3);
    for key in ["applied", "already", "conflicts", "rejected", "failed", "position"] {
        assert_eq!(whole[key], undisturbed[key], "{key}");
    }
    assert_eq!(site.effects("storm"), site.effects("calm"));
    assert_eq!(site.findings(&whole["batch"]), site.findings(&undisturbed["batch"]));
    eprintln!("{version:?}: {deaths} deaths, {between} of them at a drawn moment, the last one near line {read} of {RECORDS}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_two_hundred_deaths_leave_the_same_ledger() {
    two_hundred_deaths(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_15_two_hundred_deaths_leave_the_same_ledger() {
    two_hundred_deaths(Some(15)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_18_two_hundred_deaths_leave_the_same_ledger() {
    two_hundred_deaths(Some(18)).await;
}

/// A gigabyte of records of a kilobyte, interrupted in the middle.
async fn a_gigabyte(version: Option<u32>) {
    const RECORDS: u64 = 1_000_000;
    const MOST_KIB: u64 = 64 * 1024;
    let site = site(version).await;
    let mut file = BufWriter::new(File::create(site.path("events.csv")).unwrap());
    let note = "n".repeat(1_070);
    writeln!(file, "id,cents,note").unwrap();
    for n in 0..RECORDS {
        writeln!(file, "E{n},{},{n} {note}", n % 100).unwrap();
    }
    file.flush().unwrap();
    let size = std::fs::metadata(site.path("events.csv")).unwrap().len();
    assert!(size > 1 << 30, "{size}");
    let begun = Instant::now();
    let mut first = Running(site.apply("g", &[]).spawn().unwrap());
    let some = || site.newest("g")["applied"].as_u64().unwrap_or(0);
    while some() < RECORDS / 3 {
        assert!(begun.elapsed() < Duration::from_secs(1_800), "it does not get on");
        std::thread::sleep(Duration::from_millis(300));
    }
    first.signal(Signal::INT);
    let (ended, before) = first.wait();
    assert_eq!(ended.code(), Some(1), "interrupted");
    let batch = site.newest("g");
    assert_eq!(batch["status"], "pending");
    let mut second = Running(site.apply("g", &[]).spawn().unwrap());
    let (ended, after) = second.wait();
    assert_eq!(ended.code(), Some(0));
    let whole = site.newest("g");
    assert_eq!((&whole["id"], &whole["applied"], &whole["already"]), (&batch["id"], &RECORDS.into(), &0.into()));
    assert_eq!(site.effects("g")["total"], (RECORDS / 100 * 4_950).to_string());
    assert!(before < MOST_KIB && after < MOST_KIB, "{before} and {after} KiB");
    let seconds = begun.elapsed().as_secs();
    eprintln!(
        "{version:?}: {size} bytes in {seconds} s, interrupted after {} records; at most {before} and {after} KiB",
        batch["applied"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn sqlite_a_gigabyte_is_read_within_64_mib_and_gone_on_with_after_an_interruption() {
    a_gigabyte(None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_18_a_gigabyte_is_read_within_64_mib_and_gone_on_with_after_an_interruption() {
    a_gigabyte(Some(18)).await;
}
