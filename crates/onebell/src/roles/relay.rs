//! The Relay claims messages and delivers them. It never touches steps or runs.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, select};

use crate::handler::{Channel, Gate, Outgoing};
use crate::model::ReplicaId;
use crate::model::message::Delivery;
use crate::store::{ClaimMessages, ClaimedMessage, MessageSettled, RelayStore, Result};
use crate::time::Timer;

/// How long connecting, TLS, login and addressing may take.
pub const CLAIM_TIMEOUT: Duration = Duration::from_secs(60);
/// Between two tries to settle while the store is away.
const SETTLE_PAUSE: Duration = Duration::from_millis(200);

/// What a relay works with.
#[derive(Clone)]
pub struct Relay {
    /// The store.
    pub store: Arc<dyn RelayStore>,
    /// Waiting and monotonic time.
    pub timer: Arc<dyn Timer>,
    /// Channels by name.
    pub channels: BTreeMap<String, Arc<dyn Channel>>,
}

/// A claimed message and the future that delivers and settles it.
pub struct MessageWork {
    /// Its key.
    pub key: String,
    /// Ends in a settlement; none when the store stayed broken.
    pub future: BoxFuture<'static, Option<MessageSettled>>,
}

impl Relay {
    /// Claims up to `limit` messages of the carried channels.
    pub async fn pass(&self, replica: &ReplicaId, limit: u32) -> Result<Vec<MessageWork>> {
        let channels = self.channels.keys().cloned().collect();
        let request = ClaimMessages { replica: replica.clone(), channels, limit, timeout: CLAIM_TIMEOUT };
        let claimed = self.store.claim_messages(&request).await?;
        Ok(claimed.into_iter().map(|message| self.work(message)).collect())
    }

    /// Takes up messages whose claim was answered but whose answer was lost, except those in `known`.
    pub async fn adopt(&self, replica: &ReplicaId, known: &(dyn Fn(&str) -> bool + Sync)) -> Result<Vec<MessageWork>> {
        let held = self.store.held_messages(replica).await?;
        Ok(held.into_iter().filter(|message| !known(message.claim.key())).map(|message| self.work(message)).collect())
    }

    fn work(&self, message: ClaimedMessage) -> MessageWork {
        let relay = self.clone();
        MessageWork { key: message.claim.key().to_owned(), future: async move { relay.attend(message).await }.boxed() }
    }

    async fn attend(&self, message: ClaimedMessage) -> Option<MessageSettled> {
        let delivery = match self.channels.get(&message.channel) {
            Some(channel) => self.deliver(channel.as_ref(), &message).await,
            None => Delivery::GivenBack,
        };
        loop {
            match self.store.settle_messages(&[(message.claim.clone(), delivery.clone())]).await {
                Ok(settled) => return settled.first().copied(),
                Err(error) if error.is_passing() => self.timer.sleep(SETTLE_PAUSE).await,
                Err(error) => {
                    tracing::error!(key = message.claim.key(), %error, "a delivery could not be settled");
                    return None;
                }
            }
        }
    }

    async fn deliver(&self, channel: &dyn Channel, message: &ClaimedMessage) -> Delivery {
        let window = channel.window();
        let gate = Gate::new(Arc::clone(&self.store), Arc::clone(&self.timer), message.claim.clone(), window);
        let outgoing =
            Outgoing { key: message.claim.key().to_owned(), attempt: message.claim.attempt(), payload: message.payload.clone() };
        let attempt = AssertUnwindSafe(channel.deliver(&outgoing, &gate)).catch_unwind();
        let limit = self.timer.sleep(message.complete_by.since(message.claimed_at) + window);
        let seen = match select(std::pin::pin!(attempt), limit).await {
            Either::Left((Ok(delivery), _)) => return delivery,
            Either::Left((Err(_), _)) => "the channel panicked",
            Either::Right(((), _)) => "the channel did not come to an end in time",
        };
        let error = seen.to_owned();
        if gate.opened() { Delivery::Unknown { error } } else { Delivery::Deferred { error, after: None } }
    }
}
