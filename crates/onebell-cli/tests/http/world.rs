//! One receiver, one channel, one store that grants or refuses `sending`; all of them write into one log.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use onebell::handler::{Channel, Gate, Outgoing};
use onebell::model::message::Delivery;
use onebell::model::{MessageClaim, ReplicaId};
use onebell::store::{ClaimMessages, ClaimedMessage, Marked, MessageSettled, RelayStore, StoreError};
use onebell::time::{ManualTimer, Timer};
use onebell_cli::http::{HttpChannel, HttpConfig};
use onebell_cli::receiver::{Act, Behaviour, Phase, PhaseEvent, Receiver};
use serde_json::json;
use tokio::sync::broadcast;

/// Which PostgreSQL; none: SQLite.
pub(crate) type Version = Option<u32>;

pub(crate) type Log = Arc<Mutex<Vec<String>>>;
type MarkResult = Result<Marked, StoreError>;
type OnMark = Box<dyn Fn() -> Pin<Box<dyn Future<Output = MarkResult> + Send>> + Send + Sync>;

pub(crate) const KEY: &str = "invoice/17/2026-11";

/// A store that knows one verb: it logs `sending` and answers as told.
pub(crate) struct Store {
    log: Log,
    on_mark: OnMark,
}

impl Store {
    pub(crate) fn granting(log: &Log) -> Self {
        Self::answering(log, || async { Ok(Marked::Go) })
    }

    pub(crate) fn answering<F>(log: &Log, on_mark: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = MarkResult> + Send + 'static,
    {
        Self { log: Arc::clone(log), on_mark: Box::new(move || Box::pin(on_mark())) }
    }
}

#[async_trait]
impl RelayStore for Store {
    async fn claim_messages(&self, _: &ClaimMessages) -> Result<Vec<ClaimedMessage>, StoreError> {
        unreachable!("a channel claims nothing")
    }

    async fn held_messages(&self, _: &ReplicaId) -> Result<Vec<ClaimedMessage>, StoreError> {
        unreachable!("a channel asks for nothing")
    }

    async fn mark_sending(&self, _: &MessageClaim, _: Duration) -> MarkResult {
        let answer = (self.on_mark)().await;
        self.log.lock().unwrap().push("sending committed".into());
        answer
    }

    async fn settle_messages(&self, _: &[(MessageClaim, Delivery)]) -> Result<Vec<MessageSettled>, StoreError> {
        unreachable!("a channel settles nothing")
    }
}

pub(crate) struct World {
    pub(crate) log: Log,
    pub(crate) receiver: Arc<Receiver>,
    pub(crate) timer: ManualTimer,
    pub(crate) events: broadcast::Receiver<PhaseEvent>,
}

impl World {
    pub(crate) async fn new(behaviour: Behaviour) -> Self {
        let log = Log::default();
        let (inner, told) = (behaviour.hook, Arc::clone(&log));
        let hook = move |event: &PhaseEvent| {
            told.lock().unwrap().push(event.phase.to_string());
            inner(event)
        };
        let behaviour = Behaviour { hook: Arc::new(hook), keep_body: true, ..behaviour };
        let receiver = Receiver::start(([127, 0, 0, 1], 0), behaviour).await.unwrap();
        let events = receiver.events();
        Self { log, receiver: Arc::new(receiver), timer: ManualTimer::default(), events }
    }

    /// A receiver that does this at one phase.
    pub(crate) async fn at(phase: Phase, act: Act) -> Self {
        Self::new(Behaviour::at(phase, act)).await
    }

    pub(crate) fn config(&self) -> HttpConfig {
        config(self.receiver.address())
    }

    /// One attempt with a store that grants.
    pub(crate) async fn deliver(&self, message: &Outgoing) -> Delivery {
        self.deliver_with(message, Store::granting(&self.log)).await
    }

    pub(crate) async fn deliver_with(&self, message: &Outgoing, store: Store) -> Delivery {
        attempt(self.config(), &self.timer, message, store).await
    }

    /// The same while the test goes on.
    pub(crate) fn begin(&self, config: HttpConfig, message: Outgoing) -> tokio::task::JoinHandle<Delivery> {
        let (timer, store) = (self.timer.clone(), Store::granting(&self.log));
        tokio::spawn(async move { attempt(config, &timer, &message, store).await })
    }

    /// Waits until the receiver told that phase.
    pub(crate) async fn reaches(&mut self, phase: Phase) -> PhaseEvent {
        soon(async {
            loop {
                let event = self.events.recv().await.unwrap();
                if event.phase == phase {
                    return event;
                }
            }
        })
        .await
    }

    pub(crate) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    /// How often the work was done.
    pub(crate) fn done(&self) -> u64 {
        self.receiver.done_by_key().values().sum()
    }
}

pub(crate) fn config(address: SocketAddr) -> HttpConfig {
    HttpConfig::new(format!("http://{address}/hooks/ops").parse().unwrap())
}

pub(crate) async fn attempt(config: HttpConfig, timer: &ManualTimer, message: &Outgoing, store: Store) -> Delivery {
    let timer: Arc<dyn Timer> = Arc::new(timer.clone());
    let channel = HttpChannel::with_timer(config, Arc::clone(&timer)).unwrap();
    let gate = Gate::for_store(Arc::new(store), timer, message, channel.window());
    soon(channel.deliver(message, &gate)).await
}

/// Fails instead of hanging.
pub(crate) async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work).await.expect("nothing happened for a minute")
}

pub(crate) fn message() -> Outgoing {
    message_of(json!({"body": "{\"customer\":\"Nguyễn\"}", "content_type": "application/json"}))
}

pub(crate) fn message_of(payload: serde_json::Value) -> Outgoing {
    Outgoing { key: KEY.into(), attempt: 1, payload: payload.to_string() }
}

pub(crate) fn again(message: Outgoing) -> Outgoing {
    Outgoing { attempt: message.attempt + 1, ..message }
}

#[track_caller]
pub(crate) fn accepted(delivery: &Delivery) -> &str {
    let Delivery::Accepted { receipt } = delivery else { panic!("{delivery:?}") };
    receipt
}

#[track_caller]
pub(crate) fn deferred(delivery: &Delivery) -> (&str, Option<Duration>) {
    let Delivery::Deferred { error, after } = delivery else { panic!("{delivery:?}") };
    (error, *after)
}

#[track_caller]
pub(crate) fn rejected(delivery: &Delivery) -> &str {
    let Delivery::Rejected { error } = delivery else { panic!("{delivery:?}") };
    error
}

#[track_caller]
pub(crate) fn unknown(delivery: &Delivery) -> &str {
    let Delivery::Unknown { error } = delivery else { panic!("{delivery:?}") };
    error
}
