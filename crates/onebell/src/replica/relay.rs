use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::task::JoinSet;

use super::health::Loop;
use super::shared::Shared;
use crate::roles::relay::{MessageWork, Relay};
use crate::store::{MessageSettled, RelayStore};

/// The Relay's loop. It returns when the replica drains and the messages in hand have ended: one in `sending` is
/// waited for up to its window.
pub(super) async fn deliver(shared: Arc<Shared>) {
    let store: Arc<dyn RelayStore> = Arc::<dyn crate::store::Store>::clone(&shared.store);
    let mut carrying = shared.carrying.subscribe();
    let channels = carrying.borrow_and_update().channels.clone();
    let mut relay = Relay { store, timer: Arc::clone(&shared.timer), channels };
    let mut hands = Hands { tasks: JoinSet::new(), keys: HashSet::new(), unsure: false };
    loop {
        if shared.phase.is_working() {
            if carrying.has_changed().unwrap_or(false) {
                relay.channels = carrying.borrow_and_update().channels.clone();
            }
            hands.take(&shared, &relay).await;
        } else if hands.tasks.is_empty() {
            return;
        }
        tokio::select! {
            Some(ended) = hands.tasks.join_next() => hands.ended(&shared, ended),
            () = shared.wait(&shared.hints.relay, shared.settings.poll) => {}
            () = shared.phase.drained(), if shared.phase.is_working() => {}
        }
    }
}

struct Hands {
    tasks: JoinSet<(String, Option<MessageSettled>)>,
    keys: HashSet<String>,
    /// The answer to a claim was lost: read back what we hold before claiming again.
    unsure: bool,
}

impl Hands {
    async fn take(&mut self, shared: &Arc<Shared>, relay: &Relay) {
        let Some(replica) = shared.vouched() else { return };
        if relay.channels.is_empty() {
            shared.finished(Loop::Relay);
            return;
        }
        if self.unsure {
            let Ok(found) = relay.adopt(&replica, &|key| self.keys.contains(key)).await else { return };
            self.unsure = false;
            found.into_iter().for_each(|work| self.begin(shared, work));
        }
        let free = shared.settings.deliveries.saturating_sub(u32::try_from(self.tasks.len()).unwrap_or(u32::MAX));
        if free == 0 {
            shared.finished(Loop::Relay);
            return;
        }
        match relay.pass(&replica, free).await {
            Ok(claimed) => {
                shared.finished(Loop::Relay);
                claimed.into_iter().for_each(|work| self.begin(shared, work));
            }
            Err(error) => {
                self.unsure = true;
                tracing::debug!(%error, "messages could not be claimed");
            }
        }
    }

    fn begin(&mut self, shared: &Arc<Shared>, work: MessageWork) {
        shared.deliveries.fetch_add(1, Ordering::SeqCst);
        self.keys.insert(work.key.clone());
        self.tasks.spawn(async move { (work.key, work.future.await) });
    }

    fn ended(&mut self, shared: &Shared, ended: Result<(String, Option<MessageSettled>), tokio::task::JoinError>) {
        shared.deliveries.fetch_sub(1, Ordering::SeqCst);
        match ended {
            Ok((key, settled)) => {
                self.keys.remove(&key);
                if let Some(MessageSettled::Applied(status)) = settled {
                    shared.pulse.count("messages", status.as_str(), 1);
                }
                if settled == Some(MessageSettled::Superseded) {
                    shared.prevented.superseded.fetch_add(1, Ordering::SeqCst);
                }
                if self.tasks.is_empty() {
                    shared.hints.scheduler.notify_one();
                }
            }
            Err(error) => tracing::error!(%error, "a delivery ended unexpectedly; its claim will lapse"),
        }
    }
}
