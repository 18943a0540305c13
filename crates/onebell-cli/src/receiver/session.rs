use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::broadcast;

use super::behaviour::{Act, Behaviour};
use super::phase::{Phase, PhaseEvent};
use super::record::{Record, Records};
use super::request::Head;
use crate::http::header_value;
use crate::mailbox::Hold;

const HEAD_MAX: usize = 64 * 1024;
const EVENTS_KEPT: usize = 4096;

/// What all connections share.
pub(super) struct Shared {
    pub(super) behaviour: Behaviour,
    pub(super) records: Mutex<Records>,
    pub(super) events: broadcast::Sender<PhaseEvent>,
    numbers: Mutex<Numbers>,
}

#[derive(Default)]
struct Numbers {
    event: u64,
    connection: u64,
}

impl Shared {
    pub(super) fn new(behaviour: Behaviour) -> Self {
        let events = broadcast::Sender::new(EVENTS_KEPT);
        Self { behaviour, records: Mutex::default(), events, numbers: Mutex::default() }
    }

    fn connection(&self) -> u64 {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.connection += 1;
        numbers.connection
    }

    /// Numbers the event and tells it, in one. `first` belongs to the event: it happens before anybody is told.
    fn tell(&self, mut event: PhaseEvent, first: impl FnOnce(u64)) -> PhaseEvent {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.event += 1;
        event.number = numbers.event;
        first(event.number);
        // Nobody listening is no error.
        drop(self.events.send(event.clone()));
        event
    }
}

/// The connection ends.
struct Over;

type Step<T = ()> = Result<T, Over>;

/// How the honest answer is written.
type Pace = Option<Duration>;

/// One connection.
pub(super) struct Session<'a, S> {
    stream: BufReader<S>,
    shared: &'a Shared,
    reset: fn(&S),
    connection: u64,
    target: String,
    key: String,
    attempt: u64,
}

impl<'a, S: AsyncRead + AsyncWrite + Unpin> Session<'a, S> {
    pub(super) fn new(stream: S, shared: &'a Shared, reset: fn(&S)) -> Self {
        let connection = shared.connection();
        Self { stream: BufReader::new(stream), shared, reset, connection, target: String::new(), key: String::new(), attempt: 0 }
    }

    pub(super) async fn run(mut self) {
        if self.reached(Phase::Connected, |_| ()).await.is_ok() {
            while self.request().await.is_ok() {}
        }
        self.shared.tell(self.event(Phase::Closed), |_| ());
    }

    async fn request(&mut self) -> Step {
        let head = self.head().await?;
        self.target.clone_from(&head.target);
        let close = head.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        if let Some(key) = head.question() {
            self.key = header_value(&key);
            let pace = self.reached(Phase::Asked, |_| ()).await?;
            let there = self.shared.records.lock().unwrap_or_else(PoisonError::into_inner).by_key().contains_key(&self.key);
            self.answer(if there { 200 } else { 404 }, &[], "", pace).await?;
        } else {
            self.work(head).await?;
        }
        if close { Err(Over) } else { Ok(()) }
    }

    async fn work(&mut self, head: Head) -> Step {
        self.key = head.header("idempotency-key").unwrap_or_default().to_owned();
        self.attempt = head.header("onebell-attempt").and_then(|attempt| attempt.parse().ok()).unwrap_or(0);
        self.reached(Phase::Head, |_| ()).await?;
        let Some(length) = head.length().filter(|length| *length <= self.shared.behaviour.body_max) else {
            self.answer(413, &[], "", None).await?;
            return Err(Over);
        };
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await.map_err(|_| Over)?;
        self.reached(Phase::Request, |_| ()).await?;
        let (shared, key, attempt) = (self.shared, self.key.clone(), self.attempt);
        let done = move |number| {
            let body = shared.behaviour.keep_body.then_some(body);
            let record = Record { number, method: head.method, target: head.target, key, attempt, headers: head.headers, body };
            shared.records.lock().unwrap_or_else(PoisonError::into_inner).add(record, shared.behaviour.records_max);
        };
        let pace = self.reached(Phase::Done, done).await?;
        self.answer(200, &[], "{\"ok\":true}", pace).await
    }

    async fn head(&mut self) -> Step<Head> {
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"\r\n\r\n") {
            let room = u64::try_from(HEAD_MAX.saturating_sub(bytes.len())).unwrap_or(0);
            let read = (&mut self.stream).take(room).read_until(b'\n', &mut bytes).await.map_err(|_| Over)?;
            if read == 0 {
                return Err(Over);
            }
        }
        match Head::read(&bytes) {
            Some(head) => Ok(head),
            None => {
                self.answer(400, &[], "", None).await?;
                Err(Over)
            }
        }
    }

    fn event(&self, phase: Phase) -> PhaseEvent {
        let (target, key) = (self.target.clone(), self.key.clone());
        PhaseEvent { number: 0, connection: self.connection, phase, target, key, attempt: self.attempt }
    }

    /// Tells the phase and does what the hook wants in place of the honest course.
    async fn reached(&mut self, phase: Phase, first: impl FnOnce(u64)) -> Step<Pace> {
        let event = self.shared.tell(self.event(phase), first);
        let mut pace = None;
        for act in flat((self.shared.behaviour.hook)(&event)) {
            match self.act(act).await {
                ControlFlow::Continue(Some(drip)) => pace = Some(drip),
                ControlFlow::Continue(None) => {}
                ControlFlow::Break(()) => return Err(Over),
            }
        }
        Ok(pace)
    }

    async fn act(&mut self, act: Act) -> ControlFlow<(), Pace> {
        match act {
            Act::Continue | Act::All(_) => return ControlFlow::Continue(None),
            Act::Drip(span) => return ControlFlow::Continue(Some(span)),
            Act::Hold(Hold::For(span)) => {
                self.shared.behaviour.timer.sleep(span).await;
                return ControlFlow::Continue(None);
            }
            Act::Hold(Hold::Until(go_on)) => {
                go_on.notified().await;
                return ControlFlow::Continue(None);
            }
            Act::Close => {}
            Act::Reset => (self.reset)(self.stream.get_ref()),
            Act::Answer { status, headers, body } => drop(self.answer(status, &headers, &body, None).await),
            Act::Raw(bytes) => drop(self.write(&bytes).await),
            Act::RawThenReset(bytes) => {
                drop(self.write(&bytes).await);
                (self.reset)(self.stream.get_ref());
            }
        }
        ControlFlow::Break(())
    }

    async fn answer(&mut self, status: u16, headers: &[(String, String)], body: &str, pace: Pace) -> Step {
        let mut answer = format!("HTTP/1.1 {status} \r\nContent-Length: {}\r\n", body.len());
        headers.iter().for_each(|(name, value)| answer += &format!("{name}: {value}\r\n"));
        answer += &format!("\r\n{body}");
        let Some(pace) = pace else { return self.write(answer.as_bytes()).await };
        for byte in answer.as_bytes() {
            self.write(&[*byte]).await?;
            self.shared.behaviour.timer.sleep(pace).await;
        }
        Ok(())
    }

    async fn write(&mut self, bytes: &[u8]) -> Step {
        self.stream.get_mut().write_all(bytes).await.map_err(|_| Over)?;
        self.stream.get_mut().flush().await.map_err(|_| Over)
    }
}

fn flat(act: Act) -> Vec<Act> {
    match act {
        Act::All(acts) => acts.into_iter().flat_map(flat).collect(),
        one => vec![one],
    }
}
