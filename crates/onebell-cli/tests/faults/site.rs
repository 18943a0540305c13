//! A folder with a job file, a database, and replicas as processes.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use onebell::model::{Key, RunId};
use onebell::store::postgres::PostgresStore;
use onebell::store::sqlite::SqliteStore;
use onebell::store::{Actor, RunDetail, Store, Trigger, Triggered};
use rustix::process::{Pid, Signal, kill_process};

/// Which database.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    Sqlite,
    Postgres(u32),
}

pub(crate) struct Site {
    folder: tempfile::TempDir,
    pub(crate) url: String,
    _database: Option<onebell_testkit::Database>,
}

/// A replica's process; it is killed when the test ends.
pub(crate) struct Process {
    child: Child,
}

/// Nothing in these tests takes longer than this, on a slow machine too.
const LIMIT: Duration = Duration::from_secs(60);

/// The program; `ONEBELL_TEST_PROGRAM` names a copy that no build replaces in the middle of a long run.
fn program() -> std::ffi::OsString {
    std::env::var_os("ONEBELL_TEST_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_onebell").into())
}

impl Site {
    pub(crate) async fn new(place: Place, jobs: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (url, database) = match place {
            Place::Sqlite => (format!("sqlite:{}", folder.path().join("onebell.db").display()), None),
            Place::Postgres(version) => {
                let database = onebell_testkit::fresh_database(version).await;
                (database.url.clone(), Some(database))
            }
        };
        Self::over(folder, url, database, jobs)
    }

    pub(crate) fn on_url(url: String, jobs: &str) -> Self {
        Self::over(tempfile::tempdir().unwrap(), url, None, jobs)
    }

    fn over(folder: tempfile::TempDir, url: String, database: Option<onebell_testkit::Database>, jobs: &str) -> Self {
        std::fs::write(folder.path().join("onebell.toml"), jobs).unwrap();
        Self { folder, url, _database: database }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(args).arg("--database").arg(&self.url).current_dir(self.folder.path()).env_remove("ONEBELL_FAULT");
        command
    }

    /// The program by a clock that is so many seconds off; time passes as it does.
    pub(crate) fn shifted(&self, args: &[&str], seconds: i64) -> Command {
        let mut command = self.command(args);
        if seconds != 0 {
            let library = onebell_testkit::from_script("ONEBELL_TEST_FAKETIME");
            command.env("LD_PRELOAD", library).env("FAKETIME", format!("{seconds:+}"));
            command.env("FAKETIME_DONT_FAKE_MONOTONIC", "1").env("DONT_FAKE_MONOTONIC", "1").env("NO_FAKE_STAT", "1");
        }
        command
    }

    /// Starts a replica by such a clock.
    pub(crate) fn replica_off(&self, name: &str, seconds: i64) -> Process {
        let log = std::fs::File::create(self.path(&format!("{name}.log"))).unwrap();
        let mut command = self.shifted(&["run", "-v"], seconds);
        Process { child: command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap() }
    }

    /// Starts a replica; its log is kept beside the job file.
    pub(crate) fn replica(&self, name: &str, args: &[&str]) -> Process {
        self.armed(name, args, "")
    }

    /// The same with a fault point armed; none: "".
    pub(crate) fn armed(&self, name: &str, args: &[&str], fault: &str) -> Process {
        let log = std::fs::File::create(self.path(&format!("{name}.log"))).unwrap();
        let mut command = self.command(&["run", "-v"]);
        if !fault.is_empty() {
            command.env("ONEBELL_FAULT", fault);
        }
        command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        Process { child: command.spawn().unwrap() }
    }

    pub(crate) async fn store(&self) -> Arc<dyn Store> {
        match self.url.strip_prefix("sqlite:") {
            Some(path) => Arc::new(SqliteStore::builder(Path::new(path)).open_and_migrate().unwrap()),
            None => Arc::new(PostgresStore::builder(&self.url).connect_and_migrate().await.unwrap()),
        }
    }

    /// Asks for a run as soon as a replica has registered the job.
    pub(crate) async fn trigger(&self, store: &dyn Store, job: &str, key: &str) -> RunId {
        let actor = Actor { name: "test".to_owned(), reason: None };
        let request = Trigger { job: job.to_owned(), key: Key::new(key).unwrap(), input: None, actor };
        self.until("the job is registered", async || match store.trigger(&request).await.unwrap() {
            Triggered::Opened(run) | Triggered::Already(run) => Some(run),
            Triggered::NoSuchJob => None,
            Triggered::Conflict(conflict) => panic!("{conflict}"),
        })
        .await
    }

    /// Waits until `look` finds something; on failure shows the replicas' logs.
    pub(crate) async fn until<T>(&self, what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(found) = look().await {
                return found;
            }
            assert!(begun.elapsed() < LIMIT, "waited {LIMIT:?} in vain until {what}\n{}", self.logs());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Stops a replica as if its machine stood still, between two writes: one that is frozen inside a write keeps the lock of
    /// an SQLite file, and everybody waits for it (`a_write_lock_of_sqlite_kept_longer_…`).
    pub(crate) async fn freeze(&self, replica: &Process) {
        let Some(path) = self.url.strip_prefix("sqlite:") else { return replica.signal(Signal::STOP) };
        let lock = rusqlite::Connection::open(path).unwrap();
        lock.busy_timeout(Duration::from_secs(1)).unwrap();
        let frozen = async || {
            replica.signal(Signal::STOP);
            self.until("it stands still", async || replica.is_stopped().then_some(())).await;
            if lock.execute_batch("BEGIN IMMEDIATE; ROLLBACK").is_ok() {
                return Some(());
            }
            replica.signal(Signal::CONT);
            None
        };
        self.until("it is frozen between two writes", frozen).await;
    }

    pub(crate) async fn until_line(&self, file: &str, lines: usize) -> Vec<String> {
        self.until(&format!("{file} has {lines} lines"), async || {
            let text = self.read(file);
            let found: Vec<String> = text.lines().map(str::to_owned).collect();
            (found.len() >= lines && text.ends_with('\n')).then_some(found)
        })
        .await
    }

    pub(crate) async fn until_status(&self, store: &dyn Store, run: &RunId, status: &str) -> RunDetail {
        self.until(&format!("{run} is {status}"), async || {
            let detail = store.run(run).await.unwrap().unwrap();
            (detail.run.status == status).then_some(detail)
        })
        .await
    }

    pub(crate) fn logs(&self) -> String {
        let mut text = String::new();
        for entry in std::fs::read_dir(self.folder.path()).unwrap().filter_map(Result::ok) {
            if entry.path().extension().is_some_and(|extension| extension == "log") {
                text.push_str(&format!(
                    "== {}\n{}\n",
                    entry.path().display(),
                    std::fs::read_to_string(entry.path()).unwrap_or_default()
                ));
            }
        }
        text
    }
}

impl Process {
    pub(crate) fn of(child: Child) -> Self {
        Self { child }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap(), signal).unwrap();
    }

    /// Whether all of it stands still: a signal takes effect some time after it was sent.
    fn is_stopped(&self) -> bool {
        let states = std::fs::read_dir(format!("/proc/{}/task", self.id())).unwrap().filter_map(Result::ok);
        let mut states = states.filter_map(|thread| std::fs::read_to_string(thread.path().join("stat")).ok());
        // The state follows the name, which is in brackets.
        states.all(|stat| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T')))
    }

    /// Whether it ended by itself, and how.
    pub(crate) fn ended(&mut self) -> Option<std::process::ExitStatus> {
        self.child.try_wait().unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Which of the processes claimed the step: the replica's label ends with its process id.
pub(crate) async fn owner(store: &dyn Store, detail: &RunDetail) -> u32 {
    let id = detail.steps.iter().find_map(|step| step.locked_by.clone()).expect("a running step");
    let replicas = store.replicas().await.unwrap();
    let label = replicas.into_iter().find(|replica| replica.id == id).unwrap().label;
    label.rsplit('/').next().unwrap().parse().unwrap()
}
