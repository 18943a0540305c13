//! A folder, a database, the program in it, and a mail server that nobody here wrote.

use std::collections::BTreeMap;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

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
pub(crate) const LIMIT: Duration = Duration::from_secs(120);

pub(crate) struct World {
    folder: tempfile::TempDir,
    pub(crate) url: String,
    _database: Option<onebell_testkit::Database>,
}

impl World {
    pub(crate) async fn new(place: Place) -> Self {
        let folder = tempfile::tempdir().unwrap();
        match place {
            Place::Sqlite => {
                let url = format!("sqlite:{}", folder.path().join("onebell.db").display());
                Self { folder, url, _database: None }
            }
            Place::Postgres(version) => {
                let database = fresh_database(version).await;
                Self { folder, url: database.url.clone(), _database: Some(database) }
            }
        }
    }

    /// Nothing is said of a database; what is temporary is made in the folder `tmp`.
    pub(crate) fn without_database() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("tmp")).unwrap();
        Self { folder, url: String::new(), _database: None }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onebell"));
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env_remove("ONEBELL_FAULT").env_remove("ONEBELL_LOG").env_remove("ONEBELL_DATABASE");
        if self.url.is_empty() {
            command.env("TMPDIR", self.path("tmp"));
        } else {
            command.env("ONEBELL_DATABASE", &self.url);
        }
        command
    }

    /// Types a command that has to succeed: its stdout.
    #[track_caller]
    pub(crate) fn onebell(&self, args: &[&str]) -> String {
        let output = self.command(args).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(output.status.success(), "onebell {args:?}: {}\n{}{}", output.status, text(&output.stdout), text(&output.stderr));
        text(&output.stdout)
    }

    /// The same, read as JSON.
    #[track_caller]
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let mut with_format = args.to_vec();
        with_format.extend(["--format", "json"]);
        serde_json::from_str(&self.onebell(&with_format)).unwrap()
    }

    /// Starts a replica; its log is kept beside the job file.
    pub(crate) fn replica(&self, name: &str) -> Process {
        self.start(name, &["run", "--drain", "5s"])
    }

    /// Starts a command whose stderr is kept as `name.log`.
    pub(crate) fn start(&self, name: &str, args: &[&str]) -> Process {
        let log = std::fs::File::create(self.path(&format!("{name}.log"))).unwrap();
        Process(self.command(args).stdout(Stdio::null()).stderr(log).spawn().unwrap())
    }

    /// Raw SQL, for what no command shows: every row as one text.
    pub(crate) async fn sql(&self, statement: &str) -> Vec<String> {
        let Some(path) = self.url.strip_prefix("sqlite:") else { return postgres(&self.url, statement).await };
        let connection = rusqlite::Connection::open(path).unwrap();
        connection.busy_timeout(Duration::from_secs(10)).unwrap();
        let mut statement = connection.prepare(statement).unwrap();
        let text = |value: rusqlite::types::Value| match value {
            rusqlite::types::Value::Integer(n) => n.to_string(),
            rusqlite::types::Value::Text(text) => text,
            other => format!("{other:?}"),
        };
        statement.query_map([], |row| row.get(0).map(text)).unwrap().collect::<Result<_, _>>().unwrap()
    }
}

async fn postgres(url: &str, statement: &str) -> Vec<String> {
    let config: tokio_postgres::Config = url.parse().unwrap();
    let (client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let messages = client.simple_query(statement).await.unwrap();
    let rows = messages.iter().filter_map(|message| match message {
        tokio_postgres::SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().to_owned()),
        _ => None,
    });
    rows.collect()
}

/// A process that is killed when the test ends.
pub(crate) struct Process(Child);

impl Process {
    /// SIGKILL; returns when it is dead.
    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// SIGINT, as Ctrl-C sends it.
    pub(crate) fn interrupt(&self) {
        kill_process(Pid::from_child(&self.0), Signal::INT).unwrap();
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        let mut ended = None;
        until("the process ends", LIMIT, || {
            ended = self.0.try_wait().unwrap();
            ended.is_some()
        });
        ended.unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// aiosmtpd with its maildir: its own command line, its own handler.
pub(crate) struct MailServer {
    pub(crate) port: u16,
    maildir: PathBuf,
    _process: Process,
}

impl MailServer {
    pub(crate) fn start(folder: &Path) -> Self {
        let python = std::env::var("ONEBELL_TEST_AIOSMTPD")
            .unwrap_or_else(|_| panic!("ONEBELL_TEST_AIOSMTPD is not set; run scripts/test: it finds or installs aiosmtpd"));
        // A port that is free now may be taken before the server gets there: then another one is tried.
        (0..5).find_map(|_| Self::try_to_start(&python, folder)).unwrap_or_else(|| {
            panic!("aiosmtpd does not listen: {}", std::fs::read_to_string(folder.join("aiosmtpd.log")).unwrap_or_default())
        })
    }

    fn try_to_start(python: &str, folder: &Path) -> Option<Self> {
        let maildir = folder.join("maildir");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let log = std::fs::File::create(folder.join("aiosmtpd.log")).unwrap();
        let mut command = Command::new(python);
        command
            .args(["-m", "aiosmtpd", "-n", "-l", &format!("127.0.0.1:{port}"), "-c", "aiosmtpd.handlers.Mailbox"])
            .arg(&maildir);
        let mut process = Process(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap());
        let mut listens = false;
        until("aiosmtpd listens or ends", LIMIT, || {
            listens = TcpStream::connect(("127.0.0.1", port)).is_ok();
            listens || process.0.try_wait().unwrap().is_some()
        });
        (listens && process.0.try_wait().unwrap().is_none()).then_some(Self { port, maildir, _process: process })
    }

    /// How many mails are there.
    pub(crate) fn count(&self) -> usize {
        std::fs::read_dir(self.maildir.join("new")).map_or(0, Iterator::count)
    }

    /// What is there: recipient by Message-ID, and how many mails each recipient got.
    pub(crate) fn mails(&self) -> (BTreeMap<String, String>, BTreeMap<String, u64>) {
        let (mut ids, mut counts) = (BTreeMap::new(), BTreeMap::new());
        for entry in std::fs::read_dir(self.maildir.join("new")).unwrap() {
            let mail = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let header = |name: &str| {
                let line = mail.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("no {name} in {mail}"));
                line.trim().to_owned()
            };
            // The envelope's recipient, as the server saw it.
            let to = header("X-RcptTo:");
            *counts.entry(to.clone()).or_default() += 1;
            ids.insert(header("Message-ID:"), to);
        }
        (ids, counts)
    }
}
