//! A mail server on loopback that counts what arrives, by recipient. The demo and `chaos` put it in place of the real one:
//! its counts are what duplicates and missing mails are read from, and because it is the receiver, they survive the death of
//! any sender.
//!
//! It tells every phase of the protocol ([`Phase`], with the client's EHLO name and a running number), and a hook may hold,
//! change or cut off the answer there: so a sender can be killed at an exactly drawn moment, and every fault be had on demand.
//!
//! What it does not do: deliver, store on disk, check senders, speak TLS or ask for a login ([`Mailbox::serve`] takes any
//! stream, so a test can put both in front).

mod behaviour;
mod content;
mod inbox;
mod phase;
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

pub use behaviour::{Behaviour, Hold, Hook, HookAction};
pub use inbox::Received;
pub use phase::{Phase, PhaseEvent};

use session::{Session, Shared};

/// A running server. It ends, with its connections, when this is dropped.
pub struct Mailbox {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl Mailbox {
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

    /// How many messages were accepted, by recipient.
    pub fn accepted_by_recipient(&self) -> BTreeMap<String, u64> {
        self.shared.inbox.lock().unwrap_or_else(PoisonError::into_inner).by_recipient().clone()
    }

    /// Whether a message with this Message-ID (with its angle brackets) is among the accepted ones that are remembered.
    pub fn has(&self, message_id: &str) -> bool {
        self.shared.inbox.lock().unwrap_or_else(PoisonError::into_inner).has(message_id)
    }

    /// The accepted messages in their order; the oldest are forgotten beyond [`Behaviour::records_max`], the counts are not.
    pub fn received(&self) -> Vec<Received> {
        self.shared.inbox.lock().unwrap_or_else(PoisonError::into_inner).received().cloned().collect()
    }

    /// The phases from now on. Who reads too slowly loses the oldest and is told how many.
    pub fn events(&self) -> broadcast::Receiver<PhaseEvent> {
        self.shared.events.subscribe()
    }

    /// Serves one connection that somebody else accepted. `greet`: begin with the greeting (not after STARTTLS).
    pub async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send>(&self, stream: S, greet: bool) {
        Session::new(stream, &self.shared, |_| ()).run(greet).await;
    }
}

impl Drop for Mailbox {
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
            // Out of descriptors, or the client left at once: neither ends the server.
            Err(_) => {
                shared.behaviour.timer.sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let busy = sessions.len() >= shared.behaviour.connections_max;
        let shared = Arc::clone(&shared);
        sessions.spawn(async move {
            drop(stream.set_nodelay(true));
            let session = Session::new(stream, &shared, |stream: &TcpStream| drop(stream.set_zero_linger()));
            if busy { session.turn_away().await } else { session.run(true).await }
        });
    }
}
