//! A folder with a job file, a database beside it, and the program typed in it.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use onebell_cli::mailbox::{Behaviour, Mailbox};
use onebell_testkit::{fresh_database, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Which database.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    Sqlite,
    Postgres(u32),
}

/// Nothing in these tests takes longer than this, on a slow machine too.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Site {
    folder: tempfile::TempDir,
    pub(crate) url: String,
    answers: AtomicU32,
    _database: Option<onebell_testkit::Database>,
}

impl Site {
    pub(crate) async fn new(place: Place, jobs: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (url, database) = match place {
            Place::Sqlite => (format!("sqlite:{}", folder.path().join("onebell.db").display()), None),
            Place::Postgres(version) => {
                let database = fresh_database(version).await;
                (database.url.clone(), Some(database))
            }
        };
        Self::over(folder, url, database, jobs)
    }

    /// Without a word on the database: the job file's, or the usual one, is used.
    pub(crate) fn plain(jobs: &str) -> Self {
        Self::over(tempfile::tempdir().unwrap(), String::new(), None, jobs)
    }

    pub(crate) fn on_url(url: String, jobs: &str) -> Self {
        Self::over(tempfile::tempdir().unwrap(), url, None, jobs)
    }

    fn over(folder: tempfile::TempDir, url: String, database: Option<onebell_testkit::Database>, jobs: &str) -> Self {
        let site = Self { folder, url, answers: AtomicU32::new(0), _database: database };
        if !jobs.is_empty() {
            site.write("onebell.toml", jobs);
        }
        site
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        self.read(name).lines().map(str::to_owned).collect()
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), text).unwrap();
        if name.ends_with(".sh") {
            std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    /// The program with these arguments, in the folder, over the site's database.
    pub(crate) fn command<A: AsRef<OsStr>>(&self, args: &[A]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onebell"));
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null());
        for name in ["ONEBELL_DATABASE", "ONEBELL_FAULT", "ONEBELL_LOG", "ONEBELL_ACTOR", "ONEBELL_PROGRESS", "NO_COLOR"] {
            command.env_remove(name);
        }
        if !self.url.is_empty() {
            command.env("ONEBELL_DATABASE", &self.url);
        }
        command
    }

    /// Types a command and waits for its end.
    pub(crate) fn onebell(&self, args: &[&str]) -> Answer {
        self.answer(self.command(args))
    }

    pub(crate) fn answer(&self, mut command: Command) -> Answer {
        let number = self.answers.fetch_add(1, Ordering::Relaxed);
        let kept = tempfile::tempdir().unwrap();
        let (out, err) = (kept.path().join("out"), kept.path().join("err"));
        let file = |path: &Path| std::fs::File::create(path).unwrap();
        let mut child = Process { child: command.stdout(file(&out)).stderr(file(&err)).spawn().unwrap() };
        let mut ended = None;
        until(&format!("answer {number}, {command:?}"), LIMIT, || {
            ended = child.ended();
            ended.is_some()
        });
        let read = |path: &Path| std::fs::read(path).unwrap();
        let typed = command.get_args().map(|arg| arg.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ");
        Answer {
            typed,
            code: ended.and_then(|status| status.code()).expect("an exit code"),
            stdout: read(&out),
            stderr: String::from_utf8_lossy(&read(&err)).into_owned(),
        }
    }

    /// Runs one replica until nothing is left to do.
    pub(crate) fn until_idle(&self) -> Answer {
        self.onebell(&["run", "--until-idle"]).ended(0)
    }

    /// A run of `job` by a replica that works until nothing is left: the run's id.
    pub(crate) fn run_once(&self, job: &str, key: &str) -> String {
        if self.onebell(&["jobs", "--format", "json"]).ended(0).json()["jobs"].as_array().unwrap().is_empty() {
            self.until_idle();
        }
        let run =
            self.onebell(&["trigger", job, "--key", key, "--format", "json"]).ended(0).json()["run"].as_str().unwrap().to_owned();
        self.until_idle();
        run
    }

    /// Starts a replica; its log is kept beside the job file.
    pub(crate) fn replica(&self, name: &str) -> Process {
        self.replica_with(name, &[], &[])
    }

    pub(crate) fn replica_with(&self, name: &str, args: &[&str], env: &[(&str, &str)]) -> Process {
        let log = std::fs::File::create(self.path(&format!("{name}.log"))).unwrap();
        let mut command = self.command(&["run", "--drain", "5s"]);
        command.args(args).envs(env.iter().copied()).stdout(Stdio::null()).stderr(log);
        Process { child: command.spawn().unwrap() }
    }

    /// Waits until `look` holds.
    pub(crate) fn until(&self, what: &str, look: impl FnMut() -> bool) {
        until(what, LIMIT, look);
    }

    /// Waits until that run has the status; the answer of `show --format json`.
    pub(crate) fn until_status(&self, run: &str, status: &str) -> Value {
        let begun = Instant::now();
        loop {
            let shown = self.onebell(&["show", run, "--format", "json"]).ended(0).json();
            if shown["run"]["status"] == status {
                return shown;
            }
            assert!(begun.elapsed() < LIMIT, "{run} did not become {status}: {shown:#}");
        }
    }

    /// The only run of the database.
    pub(crate) fn the_run(&self) -> Value {
        let runs = self.onebell(&["runs", "--format", "json"]).ended(0).json()["runs"].clone();
        assert_eq!(runs.as_array().map(Vec::len), Some(1), "{runs:#}");
        runs[0].clone()
    }

    pub(crate) fn status(&self) -> Value {
        self.onebell(&["status", "--format", "json"]).ended(0).json()
    }

    /// Raw SQL, for what no command shows; `{}` before a table's name stands for its schema or prefix.
    pub(crate) async fn sql(&self, statement: &str) -> Vec<Vec<String>> {
        match self.url.strip_prefix("sqlite:") {
            Some(path) => sqlite(path, &statement.replace("{}", "onebell_")),
            None => postgres(&self.url, &statement.replace("{}", "onebell.")).await,
        }
    }

    /// Action, target, actor and reason of every act, in order.
    pub(crate) async fn audit(&self) -> Vec<Vec<String>> {
        self.sql("SELECT action, target, actor, coalesce(reason, '') FROM {}audit_log ORDER BY id").await
    }
}

fn sqlite(path: &str, statement: &str) -> Vec<Vec<String>> {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(10)).unwrap();
    let mut statement = connection.prepare(statement).unwrap();
    let columns = statement.column_count();
    let text = |value: rusqlite::types::Value| match value {
        rusqlite::types::Value::Null => String::new(),
        rusqlite::types::Value::Integer(n) => n.to_string(),
        rusqlite::types::Value::Real(n) => n.to_string(),
        rusqlite::types::Value::Text(text) => text,
        rusqlite::types::Value::Blob(bytes) => format!("{bytes:?}"),
    };
    let rows = statement.query_map([], |row| (0..columns).map(|at| row.get(at).map(text)).collect());
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

async fn postgres(url: &str, statement: &str) -> Vec<Vec<String>> {
    let config: tokio_postgres::Config = url.parse().unwrap();
    let (client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let mut rows = Vec::new();
    for message in client.simple_query(statement).await.unwrap() {
        if let tokio_postgres::SimpleQueryMessage::Row(row) = message {
            rows.push((0..row.len()).map(|at| row.get(at).unwrap_or_default().to_owned()).collect());
        }
    }
    rows
}

/// What a command answered.
#[derive(Debug)]
pub(crate) struct Answer {
    typed: String,
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Answer {
    /// With this exit code.
    #[track_caller]
    pub(crate) fn ended(self, code: i32) -> Self {
        assert_eq!(self.code, code, "onebell {}\n{}\n{}", self.typed, self.out(), self.stderr);
        self
    }

    pub(crate) fn out(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    /// All of stdout as one JSON value.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout)
            .unwrap_or_else(|error| panic!("onebell {}: {error}: {}\n{}", self.typed, self.out(), self.stderr))
    }

    /// Each of these is in stdout.
    #[track_caller]
    pub(crate) fn says(self, words: &[&str]) -> Self {
        let out = self.out();
        words
            .iter()
            .for_each(|word| assert!(out.contains(word), "onebell {}: no {word:?} in:\n{out}\n{}", self.typed, self.stderr));
        self
    }

    /// Each of these is in stderr.
    #[track_caller]
    pub(crate) fn complains(self, words: &[&str]) -> Self {
        let err = &self.stderr;
        words.iter().for_each(|word| assert!(err.contains(word), "onebell {}: no {word:?} in:\n{err}", self.typed));
        self
    }
}

/// A replica's process; it is killed when the test ends.
pub(crate) struct Process {
    child: Child,
}

impl Process {
    pub(crate) fn of(child: Child) -> Self {
        Self { child }
    }

    /// What it is doing, as `/proc` tells it.
    pub(crate) fn state(&self) -> Option<char> {
        onebell_cli::signals::state(self.child.id())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap(), signal).unwrap();
    }

    /// Whether it ended by itself, and how.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn stop(mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        let mut status = None;
        until("a replica that was told to stop ends", LIMIT, || {
            status = self.ended();
            status.is_some()
        });
        status.unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// A mail server and the channel that leads to it.
pub(crate) struct Mail {
    pub(crate) mailbox: Mailbox,
}

impl Mail {
    pub(crate) async fn new() -> Self {
        Self::behaving(Behaviour::default()).await
    }

    pub(crate) async fn behaving(behaviour: Behaviour) -> Self {
        let behaviour = Behaviour { keep_content: true, ..behaviour };
        Self { mailbox: Mailbox::start(([127, 0, 0, 1], 0), behaviour).await.unwrap() }
    }

    pub(crate) fn port(&self) -> u16 {
        self.mailbox.address().port()
    }

    /// `[channels.mail]` of a job file.
    pub(crate) fn channel(&self) -> String {
        format!(
            "[channels.mail]\nkind = \"smtp\"\nhost = \"127.0.0.1\"\nport = {}\nfrom = \"Onebell <ob@example.com>\"\n",
            self.port()
        )
    }

    /// Recipients and how many mails each got.
    pub(crate) fn got(&self) -> Vec<(String, u64)> {
        self.mailbox.accepted_by_recipient().into_iter().collect()
    }

    /// Subjects, in order.
    pub(crate) fn subjects(&self) -> Vec<String> {
        let mut subjects: Vec<String> = self.mailbox.received().into_iter().filter_map(|mail| mail.subject).collect();
        subjects.sort();
        subjects
    }
}
