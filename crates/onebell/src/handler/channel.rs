use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;

use crate::model::message::Delivery;
use crate::model::{MessageClaim, ReplicaId};
use crate::store::{Marked, RelayStore};
use crate::time::Timer;

/// A message on its way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outgoing {
    /// Identity: the receiver's deduplication key, and the source of a Message-ID.
    pub key: String,
    /// The fence.
    pub attempt: u64,
    /// What the channel needs, JSON text.
    pub payload: String,
}

/// Delivers messages of one kind to the outside.
#[async_trait]
pub trait Channel: Send + Sync {
    /// How long the content may be on its way once the gate opened; the receiver's *no* counts only after it.
    fn window(&self) -> Duration;

    /// Tries to deliver once. Everything up to the content happens before [`Gate::open`]; the content only after it
    /// and while [`Permit::holds`]. Before the gate opened nothing counts as sent.
    async fn deliver(&self, message: &Outgoing, gate: &Gate) -> Delivery;
}

/// Stands between the preparations and the content: opening it commits `sending`.
pub struct Gate {
    store: Arc<dyn RelayStore>,
    timer: Arc<dyn Timer>,
    claim: MessageClaim,
    window: Duration,
    opened: AtomicBool,
}

/// The right to write the content now.
pub struct Permit {
    timer: Arc<dyn Timer>,
    until: Duration,
}

impl Gate {
    /// Made by the relay for one attempt; public for tests of channels.
    pub fn new(store: Arc<dyn RelayStore>, timer: Arc<dyn Timer>, claim: MessageClaim, window: Duration) -> Self {
        Self { store, timer, claim, window, opened: AtomicBool::new(false) }
    }

    /// For those who test a channel: a gate over any store. The claim it carries was issued by no store, so a real one
    /// answers it with `Superseded`.
    pub fn for_store(store: Arc<dyn RelayStore>, timer: Arc<dyn Timer>, message: &Outgoing, window: Duration) -> Self {
        let claim = MessageClaim::issued(message.key.clone(), message.attempt, ReplicaId::from_text("channel-test"));
        Self::new(store, timer, claim, window)
    }

    /// Commits `sending`. None: the content must not go out; answer `Delivery::GivenBack`. Once this was called and
    /// failed with an unknown outcome, it is read back by asking again, within the window.
    pub async fn open(&self) -> Option<Permit> {
        let asked = self.timer.elapsed();
        loop {
            match self.store.mark_sending(&self.claim, self.window).await {
                Ok(Marked::Go) => {
                    self.opened.store(true, Ordering::SeqCst);
                    return Some(Permit { timer: Arc::clone(&self.timer), until: asked + self.window });
                }
                Ok(Marked::Superseded | Marked::Dropped) => return None,
                Err(error) if error.is_passing() && self.timer.elapsed() < asked + self.window / 2 => {
                    self.timer.sleep(Duration::from_millis(100)).await;
                }
                Err(_) => return None,
            }
        }
    }

    /// Whether `sending` was committed, as far as this relay knows.
    pub fn opened(&self) -> bool {
        self.opened.load(Ordering::SeqCst)
    }
}

impl Permit {
    /// Whether the content may still be begun. A relay that was frozen past the window must not: the message may have
    /// been decided meanwhile.
    pub fn holds(&self) -> bool {
        self.timer.elapsed() < self.until
    }
}
