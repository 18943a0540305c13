//! A folder with a job file of many small jobs, and replicas as processes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use onebell::model::{Key, RunId};
use onebell::store::sqlite::SqliteStore;
use onebell::store::{Actor, OperatorStore as _, ReadStore as _, Trigger, Triggered};

/// Nothing in these rows takes longer than this, on a slow machine too.
const LIMIT: Duration = Duration::from_secs(120);

/// A replica's process; killed when the test ends.
pub(crate) struct Process(Child);

impl Process {
    /// Whether it ended by itself, and how.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.0.try_wait().unwrap()
    }

    /// Ends it in the middle of whatever it does.
    pub(crate) fn kill(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// `count` jobs, each of which books its own number in the settling transaction.
pub(crate) struct Site {
    folder: tempfile::TempDir,
    pub(crate) count: u32,
}

impl Site {
    /// `replica`: the settings of that table. `bytes`: how much each booking writes.
    pub(crate) fn new(count: u32, replica: &str, bytes: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut jobs = format!("[replica]\n{replica}\n");
        for n in 0..count {
            let sql = format!("INSERT INTO booked VALUES ('pay-{n}', randomblob({bytes}))");
            write!(jobs, "[jobs.pay-{n}]\nretry = {{ attempts = 100, backoff = \"1ms..1ms\" }}\nsql = \"{sql}\"\n").unwrap();
        }
        let site = Self { folder, count };
        std::fs::create_dir(site.files()).unwrap();
        std::fs::write(site.folder().join("onebell.toml"), jobs).unwrap();
        site
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The folder of the database, and of what replicas say.
    pub(crate) fn files(&self) -> PathBuf {
        self.folder().join("files")
    }

    pub(crate) fn database(&self) -> PathBuf {
        self.files().join("jobs.db")
    }

    pub(crate) fn store(&self) -> Arc<SqliteStore> {
        Arc::new(SqliteStore::builder(self.database()).open_and_migrate().unwrap())
    }

    /// The command of one replica whose words go to `NAME.log` beside the database.
    pub(crate) fn replica(&self, name: &str) -> Command {
        let log = std::fs::File::create(self.files().join(format!("{name}.log"))).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_onebell"));
        command.args(["run", "-v", "--until-idle", "--database"]).arg(format!("sqlite:{}", self.database().display()));
        command.current_dir(self.folder()).env_remove("ONEBELL_FAULT").env_remove("ONEBELL_LOG");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        command
    }

    pub(crate) fn start(&self, mut command: Command) -> Process {
        Process(command.spawn().unwrap())
    }

    /// Registers the jobs, makes the user's table and asks for a run of each. Nobody works on them yet.
    pub(crate) async fn prepare(&self) -> BTreeMap<RunId, String> {
        self.store().execute("CREATE TABLE booked (id TEXT NOT NULL, ballast BLOB)").await.unwrap();
        let mut registers = self.replica("registers");
        registers.args(["--roles", "scheduler"]);
        let mut registers = self.start(registers);
        until("the jobs are registered", || registers.ended()).await;
        let (store, mut runs) = (self.store(), BTreeMap::new());
        for n in 0..self.count {
            let actor = Actor { name: "test".to_owned(), reason: None };
            let job = format!("pay-{n}");
            let trigger = Trigger { job: job.clone(), key: Key::new(&job).unwrap(), input: None, actor };
            let Triggered::Opened(run) = store.trigger(&trigger).await.unwrap() else { panic!("{job}") };
            runs.insert(run, job);
        }
        runs
    }

    /// Every run succeeded, each booked once, and the file is sound.
    pub(crate) async fn everything_once(&self) {
        let status = self.store().status().await.unwrap();
        assert_eq!(status.runs["succeeded"], u64::from(self.count), "{status:?}\n{}", self.words());
        let (booked, twice) = booked(&self.database());
        assert_eq!((booked.len(), twice), (self.count as usize, 0));
    }

    /// What all replicas said.
    pub(crate) fn words(&self) -> String {
        let mut text = String::new();
        for entry in std::fs::read_dir(self.files()).unwrap().filter_map(Result::ok) {
            if entry.path().extension().is_some_and(|extension| extension == "log") {
                let words = std::fs::read_to_string(entry.path()).unwrap_or_default();
                let begin = words.len().saturating_sub(2_000);
                write!(text, "== {}\n{}\n", entry.path().display(), words.get(begin..).unwrap_or_default()).unwrap();
            }
        }
        text
    }
}

/// What is booked in a file that is sound, and how many bookings are there more than once.
pub(crate) fn booked(database: &Path) -> (BTreeSet<String>, usize) {
    let connection = rusqlite::Connection::open(database).unwrap();
    let sound: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    let mut all = connection.prepare("SELECT id FROM booked").unwrap();
    let all: Vec<String> = all.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let distinct: BTreeSet<String> = all.iter().cloned().collect();
    let twice = all.len() - distinct.len();
    (distinct, twice)
}

/// Waits for a state.
pub(crate) async fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begun.elapsed() < LIMIT, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
