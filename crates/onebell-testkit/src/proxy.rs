//! A socket before a PostgreSQL server that understands where messages begin and end, and makes trouble on demand.
//!
//! It counts what it did and what the server refused, so that a test can say how often its fault was really met.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

use passing::pass;

mod passing;

/// What becomes of a COMMIT.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loss {
    /// The server carries it out; its answer and the connection are lost.
    Answer,
    /// It never arrives; the connection is lost.
    Question,
    /// The server carries it out; nothing is heard of this connection any more, in neither direction.
    Silence,
}

/// What all connections through one proxy share.
#[derive(Debug)]
struct Shared {
    server: Mutex<PathBuf>,
    plan: Mutex<Option<(u64, Loss)>>,
    latency: Mutex<Duration>,
    spared: Mutex<Option<Vec<u8>>>,
    cut_after: AtomicU64,
    /// How often all open connections were told something; what they were told last.
    order: watch::Sender<(u64, Order)>,
    commits: AtomicU64,
    delayed: AtomicU64,
    hits: AtomicU64,
    refused: Mutex<BTreeMap<String, u64>>,
}

/// What open connections are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    GoOn,
    End,
    Freeze,
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes messages both ways until it is told otherwise. Its connections end when it is dropped.
#[derive(Debug)]
pub struct Proxy {
    folder: TempDir,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl Proxy {
    /// In front of the server whose socket is in `folder`.
    ///
    /// # Panics
    /// When it cannot listen.
    pub fn before(folder: impl Into<PathBuf>) -> Self {
        let own = tempfile::Builder::new().prefix("ob-px-").tempdir_in("/tmp").expect("a folder in /tmp");
        let socket = own.path().join(".s.PGSQL.5432");
        let listener = UnixListener::bind(&socket).expect("a socket");
        // A standby of the servers' user comes through here too.
        let open = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode));
        open(own.path(), 0o711).and_then(|()| open(&socket, 0o777)).expect("a socket for everybody");
        let shared = Arc::new(Shared {
            server: Mutex::new(folder.into()),
            plan: Mutex::default(),
            latency: Mutex::default(),
            spared: Mutex::default(),
            cut_after: AtomicU64::new(u64::MAX),
            order: watch::Sender::new((0, Order::GoOn)),
            commits: AtomicU64::new(0),
            delayed: AtomicU64::new(0),
            hits: AtomicU64::new(0),
            refused: Mutex::default(),
        });
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Self { folder: own, shared, accepting }
    }

    /// In front of the server that a URL of this kit names.
    ///
    /// # Panics
    /// When the URL names no unix socket.
    pub fn before_url(url: &str) -> Self {
        let config: tokio_postgres::Config = url.parse().expect("a URL");
        let Some(tokio_postgres::config::Host::Unix(folder)) = config.get_hosts().first() else {
            panic!("{url} names no socket")
        };
        Self::before(folder)
    }

    /// A database of that server, through here, as a superuser.
    ///
    /// # Panics
    /// When the folder's name is no text.
    pub fn url(&self, database: &str) -> String {
        let folder = self.socket_folder().to_str().expect("an ASCII path").replace('/', "%2F");
        format!("postgres://postgres@{folder}:5432/{database}?sslmode=disable")
    }

    /// The folder of the proxy's own socket.
    pub fn socket_folder(&self) -> &Path {
        self.folder.path()
    }

    /// New connections go to the server whose socket is in `folder`: a failover.
    pub fn point_at(&self, folder: impl Into<PathBuf>) {
        *lock(&self.shared.server) = folder.into();
    }

    /// From now on every `nth` COMMIT is lost so; `None`: no longer.
    pub fn lose_commits(&self, plan: Option<(u64, Loss)>) {
        *lock(&self.shared.plan) = plan;
    }

    /// Everything that clients say arrives so much later.
    pub fn delay(&self, latency: Duration) {
        *lock(&self.shared.latency) = latency;
    }

    /// Every connection ends, in the middle of a message, after the server said so many bytes.
    pub fn cut_after(&self, bytes: u64) {
        self.shared.cut_after.store(bytes, Ordering::SeqCst);
    }

    /// Ends all open connections.
    pub fn end_all(&self) {
        self.tell(Order::End);
    }

    /// A connection on which a statement that contains `text` is under way falls silent only after its answer.
    pub fn spare(&self, text: &str) {
        *lock(&self.shared.spared) = Some(text.as_bytes().to_vec());
    }

    /// Lets all open connections fall silent without an end, as a firewall does that forgot them.
    pub fn freeze_all(&self) {
        self.tell(Order::Freeze);
    }

    fn tell(&self, order: Order) {
        self.shared.order.send_modify(|(times, last)| {
            *times += 1;
            *last = order;
        });
    }

    /// How often a fault of this proxy was met: COMMITs lost, connections cut, frozen or ended.
    pub fn hits(&self) -> u64 {
        self.shared.hits.load(Ordering::SeqCst)
    }

    /// How often something was delayed.
    pub fn delayed(&self) -> u64 {
        self.shared.delayed.load(Ordering::SeqCst)
    }

    /// How often the server answered with this SQLSTATE.
    pub fn refusals(&self, code: &str) -> u64 {
        lock(&self.shared.refused).get(code).copied().unwrap_or(0)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: UnixListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        while connections.try_join_next().is_some() {}
        let server = lock(&shared.server).join(".s.PGSQL.5432");
        // Nobody listens there: the client hears the end of its connection.
        if let Ok(server) = UnixStream::connect(&server).await {
            connections.spawn(pass(client, server, Arc::clone(&shared)));
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio_postgres::{Client, Config, NoTls};

    use super::*;
    use crate::{fresh_database, server};

    async fn connect(proxy: &Proxy, database: &str) -> Client {
        let (client, connection) = proxy.url(database).parse::<Config>().unwrap().connect(NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    #[tokio::test]
    async fn a_lost_answer_is_a_commit_that_happened_and_a_lost_question_is_none() {
        let database = fresh_database(18).await;
        let name = database.url.rsplit('/').next().unwrap();
        let proxy = Proxy::before_url(&server(18));
        connect(&proxy, name).await.batch_execute("CREATE TABLE t (a int)").await.unwrap();
        for (value, loss) in [(1, Loss::Answer), (2, Loss::Question)] {
            let client = connect(&proxy, name).await;
            proxy.lose_commits(Some((1, loss)));
            client.batch_execute(&format!("BEGIN; INSERT INTO t VALUES ({value})")).await.unwrap();
            assert!(client.batch_execute("COMMIT").await.is_err());
            proxy.lose_commits(None);
        }
        assert_eq!(proxy.hits(), 2);
        let kept = connect(&proxy, name).await.query_one("SELECT array_agg(a) FROM t", &[]).await.unwrap();
        assert_eq!(kept.get::<_, Vec<i32>>(0), [1]);
    }

    #[tokio::test]
    async fn refusals_are_counted_by_code_and_all_connections_end_or_freeze_at_once() {
        let proxy = Proxy::before_url(&server(15));
        let (one, two) = (connect(&proxy, "postgres").await, connect(&proxy, "postgres").await);
        assert!(one.batch_execute("SELECT 1/0").await.is_err());
        assert!(one.batch_execute("SELECT 1/0").await.is_err());
        assert_eq!((proxy.refusals("22012"), proxy.refusals("53300")), (2, 0));
        proxy.end_all();
        assert!(one.batch_execute("SELECT 1").await.is_err() && two.batch_execute("SELECT 1").await.is_err());
        let three = connect(&proxy, "postgres").await;
        proxy.freeze_all();
        let silent = tokio::time::timeout(Duration::from_millis(100), three.batch_execute("SELECT 1")).await;
        assert!(silent.is_err(), "{silent:?}");
        connect(&proxy, "postgres").await.batch_execute("SELECT 1").await.unwrap();
        assert_eq!(proxy.hits(), 3);
    }

    #[tokio::test]
    async fn a_connection_is_cut_after_so_many_bytes() {
        let proxy = Proxy::before_url(&server(18));
        let client = connect(&proxy, "postgres").await;
        proxy.cut_after(20_000);
        assert!(client.query_one("SELECT repeat('x', 100000)", &[]).await.is_err());
        assert_eq!(proxy.hits(), 1);
    }
}
