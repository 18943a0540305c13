//! A PostgreSQL server of a test's own, to be stopped, killed and started again. Everything else shares
//! the servers of `scripts/test`.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::database::from_script;
use crate::wait::until;

const START_LIMIT: Duration = Duration::from_secs(60);

/// A throwaway cluster on a unix socket, durable over `stop_immediate` and `restart` (a crash of the server, not of the
/// machine). Killed and removed when dropped.
#[derive(Debug)]
pub struct Cluster {
    bin: PathBuf,
    // Above the folder: a field is dropped in this order, and a running server would write into what is being removed.
    server: Option<Running>,
    home: TempDir,
    settings: Vec<String>,
}

#[derive(Debug)]
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        end(&mut self.0, Signal::QUIT);
    }
}

impl Cluster {
    /// Makes a cluster of major version `version` and starts it. Blocks the thread for about a second.
    ///
    /// # Panics
    /// When the server programs are missing or refuse; the message names the remedy or shows the server's log.
    pub fn start(version: u32) -> Self {
        Self::start_with(version, &[])
    }

    /// As [`Cluster::start`], with settings beside ours: `&["max_connections=5"]`.
    ///
    /// # Panics
    /// As [`Cluster::start`].
    pub fn start_with(version: u32, settings: &[&str]) -> Self {
        Self::made(version, settings, &[])
    }

    /// As [`Cluster::start_with`], with its write-ahead log, in segments of a megabyte, in the folder `log`, which it makes.
    ///
    /// # Panics
    /// As [`Cluster::start`].
    pub fn start_with_log(version: u32, settings: &[&str], log: &Path) -> Self {
        Self::made(version, settings, &[OsStr::new("--wal-segsize=1"), OsStr::new("--waldir"), log.as_os_str()])
    }

    fn made(version: u32, settings: &[&str], options: &[&OsStr]) -> Self {
        let mut cluster = Self::empty(version, settings);
        let data = cluster.data();
        let made = cluster
            .program("initdb")
            .args(["-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "-D"])
            .arg(&data)
            .args(options)
            .output()
            .expect("initdb");
        assert!(made.status.success(), "initdb failed: {}", String::from_utf8_lossy(&made.stderr));
        cluster.restart();
        cluster
    }

    /// A standby of the server whose socket is in `primary` (a proxy's will do), streaming under the name `standby`.
    /// Blocks the thread for a few seconds.
    ///
    /// # Panics
    /// When it cannot be copied or does not start.
    pub fn standby_of(version: u32, primary: &Path, settings: &[&str]) -> Self {
        let mut cluster = Self::empty(version, settings);
        let copied = cluster
            .program("pg_basebackup")
            .args(["-U", "postgres", "-p", "5432", "-c", "fast", "-X", "stream", "--no-sync", "-h"])
            .arg(primary)
            .arg("-D")
            .arg(cluster.data())
            .output()
            .expect("pg_basebackup");
        assert!(copied.status.success(), "pg_basebackup failed: {}", String::from_utf8_lossy(&copied.stderr));
        fs::write(cluster.data().join("standby.signal"), "").expect("the mark of a standby");
        let from = format!("host={} port=5432 user=postgres application_name=standby", primary.display());
        // It looks every 5 s by default, also for its promotion.
        cluster.settings.extend(["wal_retrieve_retry_interval=100ms".to_owned(), format!("primary_conninfo={from}")]);
        cluster.restart();
        cluster
    }

    /// Makes a standby a primary. Returns when it takes writes.
    ///
    /// # Panics
    /// When it refuses.
    pub fn promote(&mut self) {
        let promoted = self.program("pg_ctl").args(["promote", "-w", "-D"]).arg(self.data()).output().expect("pg_ctl");
        assert!(promoted.status.success(), "pg_ctl promote failed: {}", String::from_utf8_lossy(&promoted.stdout));
    }

    /// Everything but the data.
    fn empty(version: u32, settings: &[&str]) -> Self {
        let bin = PathBuf::from(from_script(&format!("ONEBELL_TEST_POSTGRES_{version}_BIN")));
        // A socket's path has about a hundred characters at most: not below a build folder.
        let home = tempfile::Builder::new().prefix("ob-pg-").tempdir_in("/tmp").expect("a folder in /tmp");
        if let Some((user, group)) = server_user() {
            chown(home.path(), Some(user), Some(group)).expect("a folder of the servers' user");
        }
        let settings = settings.iter().map(|setting| (*setting).to_owned()).collect();
        Self { bin, server: None, home, settings }
    }

    /// The URL of its database `postgres`, as a superuser; the same over restarts.
    pub fn url(&self) -> String {
        let folder = self.home.path().to_str().expect("an ASCII path").replace('/', "%2F");
        format!("postgres://postgres@{folder}:5432/postgres")
    }

    /// The folder of the socket `.s.PGSQL.5432`, for a proxy in front of it.
    pub fn socket_folder(&self) -> &Path {
        self.home.path()
    }

    /// Ends the server as a crash does: no checkpoint, every client cut off, recovery at the next start.
    pub fn stop_immediate(&mut self) {
        self.stop(Signal::QUIT);
    }

    /// Ends the server in order: transactions are rolled back, clients are told (57P01), a checkpoint is written.
    pub fn stop_fast(&mut self) {
        self.stop(Signal::INT);
    }

    /// Returns when the server has ended by itself; blocks the thread until then.
    ///
    /// # Panics
    /// When it does not end within a minute.
    pub fn wait_for_its_end(&mut self) {
        if let Some(mut server) = self.server.take() {
            until("the server ends by itself", START_LIMIT, || server.0.try_wait().expect("the server's state").is_some());
        }
    }

    /// Starts the server over the same data; stops it as a crash does if it runs. Returns when it takes connections.
    ///
    /// # Panics
    /// When it does not start within a minute; the message shows its log.
    pub fn restart(&mut self) {
        self.stop_immediate();
        let log = OpenOptions::new().create(true).append(true).open(self.log()).expect("the server's log");
        let mut command = self.program("postgres");
        command.arg("-D").arg(self.data()).arg("-k").arg(self.home.path());
        let ours = [
            "listen_addresses=",
            "port=5432",
            "fsync=off",
            "full_page_writes=off",
            "timezone=UTC",
            "unix_socket_permissions=0700",
        ];
        for setting in ours.iter().copied().chain(self.settings.iter().map(String::as_str)) {
            command.arg("-c").arg(setting);
        }
        let child = command.stdout(log.try_clone().expect("the server's log")).stderr(log).spawn().expect("postgres");
        let server = self.server.insert(Running(child));
        let mut ready = command_as_server(&self.bin.join("pg_isready"));
        ready.arg("-q").arg("-h").arg(self.home.path()).args(["-p", "5432", "-U", "postgres"]);
        let log = self.home.path().join("server.log");
        until("a PostgreSQL server takes connections", START_LIMIT, || {
            let ended = server.0.try_wait().expect("the server's state");
            assert!(ended.is_none(), "the server ended at once: {}", fs::read_to_string(&log).unwrap_or_default());
            ready.status().expect("pg_isready").success()
        });
    }

    fn stop(&mut self, signal: Signal) {
        if let Some(mut server) = self.server.take() {
            end(&mut server.0, signal);
        }
    }

    fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    fn log(&self) -> PathBuf {
        self.home.path().join("server.log")
    }

    fn program(&self, name: &str) -> Command {
        command_as_server(&self.bin.join(name))
    }
}

/// Ends our own child and waits for it.
fn end(child: &mut Child, signal: Signal) {
    if child.try_wait().is_ok_and(|ended| ended.is_none()) {
        // It may end between the look and the signal; the wait below tells either way.
        _ = kill_process(Pid::from_child(child), signal);
    }
    _ = child.wait();
}

/// Server programs refuse root; `scripts/test` says who runs them then.
pub(crate) fn server_user() -> Option<(u32, u32)> {
    let number = |variable: &str| std::env::var(variable).ok()?.parse().ok();
    Some((number("ONEBELL_TEST_SERVER_UID")?, number("ONEBELL_TEST_SERVER_GID")?))
}

/// A server program without the caller's PostgreSQL settings, in a folder that its user may read.
fn command_as_server(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("LC_ALL", "C.UTF-8").env("PATH", "/usr/bin:/bin").current_dir("/").stdin(Stdio::null());
    if let Some((user, group)) = server_user() {
        command.uid(user).gid(group);
    }
    command
}

#[cfg(test)]
mod tests {
    use tokio_postgres::{Client, Config, NoTls};

    use super::*;

    async fn connect(cluster: &Cluster) -> Client {
        let (client, connection) = cluster.url().parse::<Config>().unwrap().connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    #[tokio::test]
    async fn a_cluster_keeps_what_was_committed_over_a_crash_and_is_gone_when_dropped() {
        for version in crate::VERSIONS {
            let mut cluster = Cluster::start_with(version, &["max_connections=7"]);
            let client = connect(&cluster).await;
            let limit: String = client.query_one("SHOW max_connections", &[]).await.unwrap().get(0);
            assert_eq!(limit, "7");
            client.batch_execute("CREATE TABLE t AS SELECT 1 AS a").await.unwrap();
            cluster.stop_immediate();
            assert!(client.batch_execute("SELECT 1").await.is_err());
            assert!(cluster.url().parse::<Config>().unwrap().connect(NoTls).await.is_err());
            cluster.restart();
            let kept: i32 = connect(&cluster).await.query_one("SELECT a FROM t", &[]).await.unwrap().get(0);
            assert_eq!(kept, 1);
            cluster.stop_fast();
            cluster.restart();
            let folder = cluster.socket_folder().to_owned();
            drop(cluster);
            assert!(!folder.exists());
        }
    }

    #[tokio::test]
    async fn a_standby_has_what_was_committed_when_its_primary_is_killed() {
        for version in crate::VERSIONS {
            let mut primary = Cluster::start_with(version, &["synchronous_standby_names=standby"]);
            let mut standby = Cluster::standby_of(version, primary.socket_folder(), &[]);
            connect(&primary).await.batch_execute("CREATE TABLE t AS SELECT 1 AS a").await.unwrap();
            primary.stop_immediate();
            standby.promote();
            let client = connect(&standby).await;
            client.batch_execute("INSERT INTO t VALUES (2)").await.unwrap();
            let kept: i64 = client.query_one("SELECT count(*) FROM t", &[]).await.unwrap().get(0);
            assert_eq!(kept, 2);
        }
    }
}
