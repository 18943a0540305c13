//! A folder with a job file, a database, and a replica that listens.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use onebell_testkit::{Database, fresh_database};
use rustix::process::{Pid, Signal, kill_process};

const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Site {
    folder: tempfile::TempDir,
    url: String,
    _database: Option<Database>,
}

/// A replica and where it listens; it is killed when the test ends.
pub(crate) struct Listening {
    child: Child,
    address: String,
}

impl Site {
    pub(crate) async fn new(version: Option<u32>, jobs: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("onebell.toml"), jobs).unwrap();
        match version {
            None => {
                let url = format!("sqlite:{}", folder.path().join("onebell.db").display());
                Self { folder, url, _database: None }
            }
            Some(version) => {
                let database = fresh_database(version).await;
                Self { folder, url: database.url.clone(), _database: Some(database) }
            }
        }
    }

    pub(crate) fn over(url: String, jobs: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("onebell.toml"), jobs).unwrap();
        Self { folder, url, _database: None }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onebell"));
        command.args(args).current_dir(self.folder.path()).env("ONEBELL_DATABASE", &self.url).env_remove("ONEBELL_LOG");
        command.stdin(Stdio::null());
        command
    }

    /// Types a command that ends with this code: what it said.
    #[track_caller]
    pub(crate) fn typed(&self, args: &[&str], code: i32) -> String {
        let begun = Instant::now();
        loop {
            let output = self.command(args).output().unwrap();
            let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
            if output.status.code() == Some(code) {
                return said;
            }
            // The job is known once the replica has registered it.
            assert!(said.contains("no job") && begun.elapsed() < LIMIT, "{args:?}: {:?} {said}", output.status);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Starts a replica on a free port, which it tells on stderr.
    pub(crate) fn listening(&self) -> Listening {
        self.listening_as(&[])
    }

    /// The same with these flags.
    pub(crate) fn listening_as(&self, flags: &[&str]) -> Listening {
        let mut command = self.command(&[&["run", "--listen", "127.0.0.1:0"], flags].concat());
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let said = lines.find_map(|line| Some(line.ok()?.split_once("address=")?.1.trim().to_owned()));
        let address = said.expect("it tells its address");
        // Read on, lest it waits for us.
        std::thread::spawn(move || lines.for_each(drop));
        Listening { child, address }
    }

    pub(crate) async fn until(&self, what: &str, mut look: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !look() {
            assert!(begun.elapsed() < LIMIT, "waited in vain until {what}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Listening {
    /// Status and body.
    pub(crate) fn ask(&self, method: &str, path: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(stream, "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n\r\n", self.address).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// Sends a body with these headers.
    pub(crate) fn send(&self, path: &str, headers: &[(&str, String)], body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!("POST {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n{lines}", self.address);
        // Whoever is refused early is answered before all of it is read.
        drop(write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()));
        let mut text = String::new();
        drop(stream.read_to_string(&mut text));
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
    }

    /// A connection on which this was said.
    pub(crate) fn begun(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        // It may be ended before all is said.
        drop(stream.write_all(bytes));
        stream
    }

    /// Everything that is answered to these bytes, whatever they are.
    pub(crate) fn raw(&self, bytes: &[u8]) -> String {
        let (mut stream, mut answer) = (self.begun(bytes), Vec::new());
        if let Err(error) = stream.read_to_end(&mut answer) {
            assert!(error.kind() == std::io::ErrorKind::ConnectionReset, "{error}: it is held");
        }
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub(crate) fn get(&self, path: &str) -> (u16, String) {
        self.ask("GET", path)
    }

    pub(crate) async fn until(&self, site: &Site, path: &str, status: u16) {
        site.until(&format!("{path} is {status}"), || self.get(path).0 == status).await;
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap(), signal).unwrap();
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
