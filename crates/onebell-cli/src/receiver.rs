//! An HTTP receiver on loopback that counts what arrives, by key. `chaos` and the tests put it in place of the real one: because
//! it is the receiver, its counts survive the death of any sender.
//!
//! It tells every phase of a request ([`Phase`], with the key and a running number), and a hook may hold, change or cut off the
//! answer there: so a sender can be killed at an exactly drawn moment, and every fault be had on demand. A `GET` of
//! `/arrived/KEY` is the question whether a message arrived: `200` if its work was done, `404` if not.
//!
//! What it does not do: dedupe (it counts instead), store on disk, check signatures, speak TLS ([`Receiver::serve`] takes any
//! stream, so a test can put it in front).

mod behaviour;
mod phase;
mod record;
mod request;
mod session;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio::task::{JoinHandle, JoinSet};

pub use behaviour::{Act, Behaviour, Hook};
pub use phase::{Phase, PhaseEvent};
pub use record::Record;

use session::{Session, Shared};

/// A running receiver. It ends, with its connections, when this is dropped.
pub struct Receiver {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl Receiver {
    /// Listens on `address`, usually `127.0.0.1:0`.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn start(address: impl Into<SocketAddr>, behaviour: Behaviour) -> io::Result<Self> {
        let listener = TcpListener::bind(address.into()).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(behaviour));
        let accepting = tokio::spawn(accept(listener, Arc::clone(&shared)));
        Ok(Self { address, shared, accepting })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How often the work was done, by key (as `Idempotency-Key` says it).
    pub fn done_by_key(&self) -> BTreeMap<String, u64> {
        self.shared.records.lock().unwrap_or_else(PoisonError::into_inner).by_key().clone()
    }

    /// What was done, in its order; the oldest are forgotten beyond [`Behaviour::records_max`], the counts are not.
    pub fn records(&self) -> Vec<Record> {
        self.shared.records.lock().unwrap_or_else(PoisonError::into_inner).all().cloned().collect()
    }

    /// The phases from now on. Who reads too slowly loses the oldest and is told how many.
    pub fn events(&self) -> broadcast::Receiver<PhaseEvent> {
        self.shared.events.subscribe()
    }

    /// Serves one connection that somebody else accepted.
    pub async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send>(&self, stream: S) {
        Session::new(stream, &self.shared, |_| ()).run().await;
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut sessions = JoinSet::new();
    loop {
        while sessions.try_join_next().is_some() {}
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            // Out of descriptors, or the client left at once: neither ends the receiver.
            Err(_) => {
                shared.behaviour.timer.sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        if sessions.len() >= shared.behaviour.connections_max {
            // Its end tells the client: nothing was read.
            continue;
        }
        let shared = Arc::clone(&shared);
        sessions.spawn(async move {
            drop(stream.set_nodelay(true));
            Session::new(stream, &shared, |stream: &TcpStream| drop(stream.set_zero_linger())).run().await;
        });
    }
}
