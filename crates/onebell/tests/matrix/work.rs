//! What the replicas of a row do: book, tell somebody, and hold something in hand for as long as a gate is shut.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use onebell::handler::{Channel, Context, Done, Gate, Handler, Outcome, Outgoing};
use onebell::model::job::{JobDefinition, Overlap, StepDefinition};
use onebell::model::message::{Delivery, InDoubtPolicy, NewMessage};
use onebell::model::retry::RetryPolicy;
use onebell::model::{Effect, Fingerprint, Key};
use onebell::store::{StepOutput, Work};
use tokio::sync::watch;

/// The one place that all handlers and the receiver share; it survives every database.
pub(crate) struct Yard {
    /// Open: what is held ends.
    pub(crate) gate: watch::Sender<bool>,
    /// Steps that are held now.
    pub(crate) held: AtomicU64,
    /// Held steps that were asked to end.
    pub(crate) stopped: AtomicU64,
    /// As long as it is shut, the receiver says nothing.
    pub(crate) ear: watch::Sender<bool>,
    /// Messages that the receiver has not answered yet.
    pub(crate) unanswered: AtomicU64,
    /// What the receiver got, by key.
    pub(crate) received: Mutex<BTreeMap<String, u64>>,
    pub(crate) receives: Receives,
}

/// What a receiver does with a key that it has seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Receives {
    /// It cannot tell: a message in doubt is held.
    EachTime,
    /// It knows it again: a message in doubt is sent again, after a short window.
    ByKey,
}

impl Yard {
    pub(crate) fn new(receives: Receives) -> Self {
        let (gate, ear) = (watch::Sender::new(false), watch::Sender::new(true));
        let (held, stopped, unanswered) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
        Self { gate, held, stopped, ear, unanswered, received: Mutex::default(), receives }
    }

    fn on_in_doubt(&self) -> InDoubtPolicy {
        if self.receives == Receives::ByKey { InDoubtPolicy::Resend } else { InDoubtPolicy::Hold }
    }
}

fn step(name: &str, after: &[&str]) -> StepDefinition {
    let mut step = StepDefinition::new(name, name);
    step.timeout = Duration::from_secs(600);
    step.after = after.iter().map(|name| (*name).to_owned()).collect();
    step
}

fn job(name: &str, steps: Vec<StepDefinition>) -> JobDefinition {
    let mut job = JobDefinition::new(name);
    (job.overlap, job.steps) = (Overlap::Allow, steps);
    job
}

/// `pay` books and then tells; `hold` is held in hand; `plain` brings no statements of its own.
pub(crate) fn jobs() -> [JobDefinition; 3] {
    let pay = job("pay", vec![step("book", &[]), step("tell", &["book"])]);
    [pay, job("hold", vec![step("hold", &[])]), job("plain", vec![step("plain", &[])])]
}

/// Where work writes: no constraint hides a second booking.
pub(crate) const TABLE: &str = "CREATE TABLE booked (id text NOT NULL)";

/// An effect in the ledger and a row of the user's own, both by the step's key.
fn booking(context: &Context) -> Done {
    let id = context.idempotency_key();
    let effect = Effect::new(Key::new("paid").unwrap(), Key::new(id).unwrap(), Some(7), "{}").unwrap();
    let work = Work::Sql(format!("INSERT INTO booked VALUES ('{id}')"));
    Done { effects: vec![effect], work: Some(work), ..Done::default() }
}

fn mail(id: &str, on_in_doubt: InDoubtPolicy) -> NewMessage {
    NewMessage {
        key: Key::new(id).unwrap(),
        channel: "receiver".to_owned(),
        fingerprint: Fingerprint::of_json("{}").unwrap(),
        payload: "{}".to_owned(),
        on_in_doubt,
        retry: RetryPolicy::default(),
    }
}

pub(crate) async fn book(context: Context) -> Outcome {
    Outcome::Done(booking(&context))
}

pub(crate) async fn plain(_: Context) -> Outcome {
    Outcome::done()
}

/// Puts one message.
pub(crate) struct Tell(pub(crate) Arc<Yard>);

#[async_trait]
impl Handler for Tell {
    async fn run(&self, context: Context) -> Outcome {
        Outcome::Done(Done { messages: vec![mail(context.idempotency_key(), self.0.on_in_doubt())], ..Done::default() })
    }
}

/// Held until the gate opens or it is asked to end.
pub(crate) struct Hold(pub(crate) Arc<Yard>);

#[async_trait]
impl Handler for Hold {
    async fn run(&self, context: Context) -> Outcome {
        let mut gate = self.0.gate.subscribe();
        self.0.held.fetch_add(1, Ordering::SeqCst);
        let open = tokio::select! {
            opened = gate.wait_for(|open| *open) => opened.is_ok(),
            _ = context.stop().requested() => false,
        };
        self.0.held.fetch_sub(1, Ordering::SeqCst);
        if open {
            return Outcome::Done(booking(&context));
        }
        self.0.stopped.fetch_add(1, Ordering::SeqCst);
        Outcome::Stopped { output: StepOutput::default() }
    }
}

/// The receiver counts by key.
pub(crate) struct Receiver(pub(crate) Arc<Yard>);

#[async_trait]
impl Channel for Receiver {
    fn window(&self) -> Duration {
        Duration::from_secs(if self.0.receives == Receives::ByKey { 4 } else { 120 })
    }

    async fn deliver(&self, message: &Outgoing, gate: &Gate) -> Delivery {
        match gate.open().await {
            Some(permit) if permit.holds() => {
                self.0.unanswered.fetch_add(1, Ordering::SeqCst);
                drop(self.0.ear.subscribe().wait_for(|open| *open).await);
                self.0.unanswered.fetch_sub(1, Ordering::SeqCst);
                *self.0.received.lock().unwrap().entry(message.key.clone()).or_default() += 1;
                Delivery::Accepted { receipt: "got it".to_owned() }
            }
            _ => Delivery::GivenBack,
        }
    }
}
