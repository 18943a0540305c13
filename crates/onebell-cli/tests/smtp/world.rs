//! One server, one channel, one store that grants or refuses `sending`; all of them write into one log.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use onebell::handler::{Channel, Gate, Outgoing};
use onebell::model::message::Delivery;
use onebell::model::{MessageClaim, ReplicaId};
use onebell::store::{ClaimMessages, ClaimedMessage, Marked, MessageSettled, RelayStore, StoreError};
use onebell::time::{ManualTimer, Timer};
use onebell_cli::mailbox::{Behaviour, HookAction, Mailbox, Phase, PhaseEvent};
use onebell_cli::smtp::{SmtpChannel, SmtpConfig, Tls};
use serde_json::json;
use tokio::sync::broadcast;

pub(super) type Log = Arc<Mutex<Vec<String>>>;
type MarkResult = Result<Marked, StoreError>;
type OnMark = Box<dyn Fn() -> std::pin::Pin<Box<dyn Future<Output = MarkResult> + Send>> + Send + Sync>;

/// A store that knows one verb: it logs `sending` and answers as told.
pub(super) struct Store {
    log: Log,
    on_mark: OnMark,
}

impl Store {
    pub(super) fn granting(log: &Log) -> Self {
        Self::answering(log, || async { Ok(Marked::Go) })
    }

    pub(super) fn answering<F>(log: &Log, on_mark: impl Fn() -> F + Send + Sync + 'static) -> Self
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

pub(super) struct World {
    pub(super) log: Log,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) timer: ManualTimer,
    pub(super) events: broadcast::Receiver<PhaseEvent>,
}

impl World {
    pub(super) async fn new(behaviour: Behaviour) -> Self {
        let log = Log::default();
        let (inner, told) = (behaviour.hook, Arc::clone(&log));
        let hook = move |event: &PhaseEvent| {
            told.lock().unwrap().push(event.phase.to_string());
            inner(event)
        };
        let behaviour = Behaviour { hook: Arc::new(hook), keep_content: true, ..behaviour };
        let mailbox = Mailbox::start(([127, 0, 0, 1], 0), behaviour).await.unwrap();
        let events = mailbox.events();
        Self { log, mailbox: Arc::new(mailbox), timer: ManualTimer::default(), events }
    }

    /// A server that does this at one phase.
    pub(super) async fn at(phase: Phase, action: HookAction) -> Self {
        Self::new(Behaviour::at(phase, action)).await
    }

    pub(super) fn config(&self) -> SmtpConfig {
        config(self.mailbox.address())
    }

    /// One attempt with a store that grants.
    pub(super) async fn deliver(&self, message: &Outgoing) -> Delivery {
        self.deliver_with(message, Store::granting(&self.log)).await
    }

    pub(super) async fn deliver_with(&self, message: &Outgoing, store: Store) -> Delivery {
        attempt(self.config(), &self.timer, message, store).await
    }

    /// The same while the test goes on.
    pub(super) fn begin(&self, message: Outgoing) -> tokio::task::JoinHandle<Delivery> {
        let (config, timer, store) = (self.config(), self.timer.clone(), Store::granting(&self.log));
        tokio::spawn(async move { attempt(config, &timer, &message, store).await })
    }

    /// Waits until the server told that phase.
    pub(super) async fn reaches(&mut self, phase: Phase) -> PhaseEvent {
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

    pub(super) fn log(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }

    pub(super) fn accepted(&self) -> u64 {
        self.mailbox.accepted_by_recipient().values().sum()
    }
}

pub(super) fn config(address: SocketAddr) -> SmtpConfig {
    let from = "Công nợ <billing@example.com>".parse().unwrap();
    SmtpConfig { tls: Tls::None, ..SmtpConfig::new(address.ip().to_string(), address.port(), from) }
}

pub(super) async fn attempt(config: SmtpConfig, timer: &ManualTimer, message: &Outgoing, store: Store) -> Delivery {
    let timer: Arc<dyn Timer> = Arc::new(timer.clone());
    let channel = SmtpChannel::with_timer(config, Arc::clone(&timer)).unwrap();
    let gate = Gate::for_store(Arc::new(store), timer, message, channel.window());
    soon(channel.deliver(message, &gate)).await
}

/// Fails instead of hanging.
pub(super) async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), work).await.expect("nothing happened for a minute")
}

pub(super) fn message() -> Outgoing {
    message_of(json!({"to": "hanh@example.com", "subject": "Nhắc nợ", "text": "Xin chào"}))
}

pub(super) fn message_of(payload: serde_json::Value) -> Outgoing {
    Outgoing { key: "reminder/17/2026-11".into(), attempt: 1, payload: payload.to_string() }
}

/// More than the kernel takes on both sides of a connection: writing it blocks until somebody reads.
pub(super) fn endless_message() -> Outgoing {
    message_of(json!({"to": "hanh@example.com", "subject": "s", "text": format!("{}\n", "x".repeat(70)).repeat(300_000)}))
}
