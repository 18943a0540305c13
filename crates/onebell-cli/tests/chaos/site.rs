//! A folder with a job file, temporary files of its own, and the program.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use onebell_testkit::until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Nothing in these tests takes longer than this, on a slow machine too.
pub(crate) const LIMIT: Duration = Duration::from_secs(240);

pub(crate) struct Site {
    folder: tempfile::TempDir,
}

/// What was answered.
pub(crate) struct Answer {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Site {
    /// A folder with this job file.
    pub(crate) fn new(jobs: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("tmp")).unwrap();
        std::fs::write(folder.path().join("onebell.toml"), jobs).unwrap();
        Self { folder }
    }

    /// A copy of an example of the repository.
    pub(crate) fn of_example(name: &str) -> Self {
        let site = Self::new("");
        for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)).unwrap() {
            let path = entry.unwrap().path();
            // With its mode: scripts are executable.
            std::fs::copy(&path, site.path(path.file_name().unwrap().to_str().unwrap())).unwrap();
        }
        site
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onebell"));
        command.arg("chaos").args(args).current_dir(self.folder.path()).stdin(Stdio::null()).env("TMPDIR", self.path("tmp"));
        command.env_remove("ONEBELL_FAULT").env_remove("ONEBELL_LOG").env_remove("ONEBELL_DATABASE");
        command
    }

    pub(crate) fn chaos(&self, args: &[&str]) -> Answer {
        answer(self.command(args).output().unwrap())
    }

    /// Its JSON, which has to come alone.
    #[track_caller]
    pub(crate) fn json(&self, code: i32, args: &[&str]) -> Value {
        let answer = self.chaos(&[args, &["--format", "json"]].concat());
        assert_eq!(answer.code, Some(code), "{}\n{}", answer.stdout, answer.stderr);
        serde_json::from_str(&answer.stdout).unwrap()
    }

    /// Starts it; everything that it says is kept in `name`.
    pub(crate) fn start(&self, name: &str, args: &[&str]) -> Running {
        let log = std::fs::File::create(self.path(name)).unwrap();
        let mut command = self.command(args);
        Running(command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap())
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// What is left of temporary files.
    pub(crate) fn leftovers(&self) -> Vec<PathBuf> {
        std::fs::read_dir(self.path("tmp")).unwrap().map(|entry| entry.unwrap().path()).collect()
    }

    /// Processes that were started with this folder in their arguments.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let folder = self.folder.path().to_str().unwrap();
        let pids = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let own = |pid: &u32| {
            let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&line).contains(folder)
        };
        pids.filter(own).collect()
    }
}

fn answer(output: Output) -> Answer {
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Answer { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// A process that is killed when the test ends.
pub(crate) struct Running(Child);

impl Running {
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let mut ended = None;
        until("chaos ends", LIMIT, || {
            ended = self.0.try_wait().unwrap();
            ended.is_some()
        });
        ended.unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Databases of a server whose name ends so.
pub(crate) async fn databases(url: &str, ending: &str) -> Vec<String> {
    let config: tokio_postgres::Config = url.parse().unwrap();
    let (client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let rows = client.query("SELECT datname FROM pg_database WHERE datname LIKE 'onebell_chaos_%'", &[]).await.unwrap();
    rows.iter().map(|row| row.get::<_, String>(0)).filter(|name| name.ends_with(ending)).collect()
}
