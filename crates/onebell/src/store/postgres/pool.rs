//! Connections, lent one at a time. One that was not given back in a known state is closed, never lent again.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::task::JoinHandle;
use tokio_postgres::error::Severity;
use tokio_postgres::{AsyncMessage, Client, NoTls};

use super::error::{Class, Failure, Outcome, Phase};
use super::url::Target;

/// An open connection.
pub(super) struct Connection {
    pub(super) client: Client,
    warnings: Arc<AtomicU64>,
    driver: JoinHandle<()>,
}

impl Connection {
    /// How many warnings the server sent so far. One during COMMIT means that the outcome is unknown.
    pub(super) fn warnings(&self) -> u64 {
        self.warnings.load(Ordering::SeqCst)
    }
}

/// What a connection is for. Each has a share of its own: long statements of users must not keep a replica from
/// renewing its beat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Any verb.
    Ordinary,
    /// The replica's sign of life.
    Vital,
    /// Statements of the user's own, as long as their step may take.
    Work,
}

/// A bounded set of connections.
pub(super) struct Pool {
    target: Target,
    idle: Mutex<Vec<Arc<Connection>>>,
    idle_max: usize,
    ordinary: Semaphore,
    vital: Semaphore,
    work: Semaphore,
    wait: Duration,
}

const VITAL_MAX: usize = 1;
const WORK_WAIT: Duration = Duration::from_secs(30);

impl Pool {
    /// At most `size` connections for verbs, half as many for users' statements, one for the beat. A call waits at most
    /// `wait` for one.
    pub(super) fn new(target: Target, size: usize, wait: Duration) -> Self {
        let size = size.max(1);
        let work = Semaphore::new(size.div_ceil(2));
        Self {
            target,
            idle: Mutex::default(),
            idle_max: size + VITAL_MAX,
            ordinary: Semaphore::new(size),
            vital: Semaphore::new(VITAL_MAX),
            work,
            wait,
        }
    }

    /// Lends a connection: an idle one, else a new one.
    pub(super) async fn lend(&self, purpose: Purpose) -> Outcome<Lent<'_>> {
        let (permits, wait) = match purpose {
            Purpose::Ordinary => (&self.ordinary, self.wait),
            Purpose::Vital => (&self.vital, self.wait),
            Purpose::Work => (&self.work, WORK_WAIT),
        };
        let permit = match tokio::time::timeout(wait, permits.acquire()).await {
            Ok(Ok(permit)) => permit,
            _ => {
                let message = format!("all connections were busy for {wait:?}; raise `connections`");
                return Err(Failure { class: Class::Late, ..Failure::again(message) });
            }
        };
        let idle = self.idle().pop();
        let (connection, reused) = match idle {
            Some(connection) if !connection.client.is_closed() => (connection, true),
            _ => (Arc::new(self.open().await?), false),
        };
        Ok(Lent { pool: self, connection: Some(connection), reused, _permit: permit })
    }

    /// Closes what is idle: one of them was found dead, and most likely all died together.
    pub(super) fn forget_idle(&self) {
        self.idle().clear();
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Arc<Connection>>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a connection that is not the pool's.
    pub(super) async fn open(&self) -> Outcome<Connection> {
        let what = "connecting to PostgreSQL";
        match tokio::time::timeout(self.wait, self.connect()).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) => Err(Failure::seen(what, &error, Phase::Connect)),
            Err(_) => Err(Failure { class: Class::Away, ..Failure::silent(what, self.wait) }),
        }
    }

    async fn connect(&self) -> Result<Connection, tokio_postgres::Error> {
        match &self.target.tls {
            None => {
                let (client, connection) = self.target.config.connect(NoTls).await?;
                Ok(drive(client, connection))
            }
            Some(tls) => {
                let (client, connection) = self.target.config.connect(tls.clone()).await?;
                Ok(drive(client, connection))
            }
        }
    }
}

/// Drives the connection on a task of its own. The task ends when the client is dropped, or when it is discarded.
fn drive<S, T>(client: Client, mut connection: tokio_postgres::Connection<S, T>) -> Connection
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let warnings = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&warnings);
    let driver = tokio::spawn(async move {
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            match message {
                // Counted before the answer that follows it is handed on: the driver reads in order.
                Ok(AsyncMessage::Notice(notice)) if notice.parsed_severity() == Some(Severity::Warning) => {
                    counted.fetch_add(1, Ordering::SeqCst);
                    tracing::debug!(%notice, "PostgreSQL warns");
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::debug!(%error, "a connection to PostgreSQL ended");
                    return;
                }
            }
        }
    });
    Connection { client, warnings, driver }
}

/// A connection in somebody's hands. Dropped without [`Lent::give_back`] it is closed.
pub(super) struct Lent<'p> {
    pool: &'p Pool,
    connection: Option<Arc<Connection>>,
    /// It was used before: it may have died while it was idle.
    pub(super) reused: bool,
    _permit: SemaphorePermit<'p>,
}

impl Lent<'_> {
    /// The connection.
    pub(super) fn connection(&self) -> Outcome<&Arc<Connection>> {
        self.connection.as_ref().ok_or_else(|| Failure::broken("the connection was given back"))
    }

    /// The driver's client alone, for what needs it mutably. Nothing: somebody else still holds the connection.
    pub(super) fn client_mut(&mut self) -> Option<&mut Client> {
        self.connection.as_mut().and_then(Arc::get_mut).map(|connection| &mut connection.client)
    }

    /// Back into the pool, in no transaction and with no state of its own.
    pub(super) fn give_back(mut self) {
        if let Some(connection) = self.connection.take()
            && !connection.client.is_closed()
        {
            let mut idle = self.pool.idle();
            if idle.len() < self.pool.idle_max {
                idle.push(connection);
            }
        }
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            // Closing the socket is all that is said: a cancel could hit a COMMIT. The server's own timeouts end the rest.
            connection.driver.abort();
        }
    }
}
