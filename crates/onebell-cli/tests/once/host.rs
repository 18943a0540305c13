//! Hosts that share a database and a folder.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use onebell_testkit::{Database, fresh_database};
use rustix::process::{Pid, Signal, kill_process};

/// Nothing in these tests takes longer than this, on a slow machine too.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Hosts {
    folder: tempfile::TempDir,
    pub(crate) url: String,
    _database: Option<Database>,
}

/// One invocation; it is killed when the test ends.
pub(crate) struct Running(Child);

/// What it came to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Hosts {
    pub(crate) async fn new(version: Option<u32>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        match version {
            None => {
                let url = format!("sqlite:{}", folder.path().join("shared.db").display());
                Self { folder, url, _database: None }
            }
            Some(version) => {
                let database = fresh_database(version).await;
                Self { folder, url: database.url.clone(), _database: Some(database) }
            }
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(crate) fn onebell(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onebell"));
        command.args(args).current_dir(self.folder.path()).env("ONEBELL_DATABASE", &self.url);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env_remove("ONEBELL_FAULT").env_remove("ONEBELL_LOG");
        command
    }

    /// `onebell once --key KEY FLAGS -- sh -c SCRIPT`, begun.
    pub(crate) fn begin(&self, key: &str, flags: &[&str], script: &str) -> Running {
        let start = ["once", "--lease", "2s", "--key", key];
        let args: Vec<&str> = start.iter().chain(flags).chain(&["--", "sh", "-c", script]).copied().collect();
        Running(self.onebell(&args).spawn().unwrap())
    }

    /// The same, to its end.
    pub(crate) fn once(&self, key: &str, flags: &[&str], script: &str) -> Ended {
        self.begin(key, flags, script).end()
    }

    /// Another command, which has to succeed.
    pub(crate) fn typed(&self, args: &[&str]) -> String {
        let ended = Running(self.onebell(args).spawn().unwrap()).end();
        assert_eq!(ended.code, Some(0), "{args:?}: {ended:?}");
        ended.stdout
    }

    pub(crate) async fn until(&self, what: &str, look: impl FnMut() -> bool) {
        self.until_within(LIMIT, what, look).await;
    }

    pub(crate) async fn until_within(&self, limit: Duration, what: &str, mut look: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !look() {
            assert!(begun.elapsed() < limit, "waited in vain until {what}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Until a file that a command writes has so many lines.
    pub(crate) async fn until_lines(&self, file: &str, lines: usize) {
        self.until(&format!("{file} has {lines} lines"), || self.read(file).lines().count() >= lines).await;
    }

    /// Until so many invocations are there.
    pub(crate) async fn until_here(&self, count: usize) {
        let live = || {
            let text = self.typed(&["replicas", "--format", "json"]);
            let answer: serde_json::Value = serde_json::from_str(&text).unwrap();
            answer["replicas"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|one| one["left_at"].is_null() && one["lost_at"].is_null())
                .count()
        };
        self.until(&format!("{count} are here"), || live() >= count).await;
    }
}

impl Running {
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(i32::try_from(self.0.id()).unwrap()).unwrap(), signal).unwrap();
    }

    pub(crate) fn end(mut self) -> Ended {
        let (stdout, stderr) = (self.0.stdout.take().unwrap(), self.0.stderr.take().unwrap());
        let text = |mut from: Box<dyn std::io::Read + Send>| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                from.read_to_end(&mut bytes).unwrap();
                String::from_utf8(bytes).unwrap()
            })
        };
        let (stdout, stderr) = (text(Box::new(stdout)), text(Box::new(stderr)));
        let begun = Instant::now();
        let status = loop {
            match self.0.try_wait().unwrap() {
                Some(status) => break status,
                None if begun.elapsed() > LIMIT => panic!("it does not end"),
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        Ended { code: status.code(), stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
