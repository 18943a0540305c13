use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::broadcast;

use super::behaviour::{Behaviour, Hold, HookAction};
use super::content::Content;
use super::inbox::{Inbox, Received, header};
use super::phase::{Phase, PhaseEvent};

const LINE_MAX: usize = 2048;
const RECIPIENTS_MAX: usize = 100;
const EVENTS_KEPT: usize = 4096;

/// What all connections share.
pub(super) struct Shared {
    pub(super) behaviour: Behaviour,
    pub(super) inbox: Mutex<Inbox>,
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
        Self { behaviour, inbox: Mutex::default(), events, numbers: Mutex::default() }
    }

    fn connection(&self) -> u64 {
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        numbers.connection += 1;
        numbers.connection
    }

    /// Numbers the event and tells it, in one: the order of the numbers is the order in which they are seen. `first` belongs to
    /// the event: it happens before anybody is told.
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

/// What becomes of a phase: its honest answer, or another; or the connection ends.
enum Turn {
    Honest { drip: Option<Duration>, reset: bool },
    Instead { words: String, close: bool },
    End { reset: bool },
}

/// The connection ends.
struct Over;

type Step<T = ()> = Result<T, Over>;

/// One connection.
pub(super) struct Session<'a, S> {
    stream: BufReader<S>,
    shared: &'a Shared,
    reset: fn(&S),
    connection: u64,
    ehlo: String,
    sender: Option<String>,
    recipients: Vec<String>,
}

impl<'a, S: AsyncRead + AsyncWrite + Unpin> Session<'a, S> {
    pub(super) fn new(stream: S, shared: &'a Shared, reset: fn(&S)) -> Self {
        let connection = shared.connection();
        let (stream, ehlo) = (BufReader::new(stream), String::new());
        Self { stream, shared, reset, connection, ehlo, sender: None, recipients: Vec::new() }
    }

    pub(super) async fn turn_away(mut self) {
        drop(self.say("421 4.3.2 too many connections").await);
    }

    pub(super) async fn run(mut self, greet: bool) {
        let greeting = if greet { self.say("220 localhost Onebell mailbox").await } else { Ok(()) };
        if greeting.is_ok() {
            while self.command().await.is_ok() {}
        }
        self.shared.tell(self.event(Phase::Closed, ""), |_| ());
    }

    async fn command(&mut self) -> Step {
        let line = self.line().await?;
        let (verb, rest) = line.split_once(' ').unwrap_or((&line, ""));
        match verb.to_ascii_uppercase().as_str() {
            "EHLO" | "HELO" => self.hello(verb, rest).await,
            "MAIL" => self.mail(rest).await,
            "RCPT" => self.rcpt(rest).await,
            "DATA" => self.data().await,
            "RSET" => {
                self.forget();
                self.say("250 2.0.0 forgotten").await
            }
            "NOOP" => self.say("250 2.0.0 nothing done").await,
            "QUIT" => {
                self.say("221 2.0.0 bye").await?;
                Err(Over)
            }
            _ => self.say("502 5.5.1 not known here").await,
        }
    }

    async fn hello(&mut self, verb: &str, name: &str) -> Step {
        self.ehlo = name.trim().to_owned();
        self.forget();
        let max = self.shared.behaviour.message_max;
        let offers = format!("250-localhost\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SMTPUTF8\r\n250 SIZE {max}");
        let answer = if verb.eq_ignore_ascii_case("EHLO") { &offers } else { "250 localhost" };
        self.answer(Phase::Connected, "", answer).await.map(drop)
    }

    async fn mail(&mut self, rest: &str) -> Step {
        let Some(sender) = path(rest, "FROM:") else { return self.say("501 5.5.4 MAIL FROM:<address>").await };
        if self.ehlo.is_empty() || self.sender.is_some() {
            return self.say("503 5.5.1 not now").await;
        }
        if self.answer(Phase::Mail, &sender, "250 2.1.0 ok").await?.is_continue() {
            self.sender = Some(sender);
        }
        Ok(())
    }

    async fn rcpt(&mut self, rest: &str) -> Step {
        let Some(recipient) = path(rest, "TO:").filter(|to| !to.is_empty()) else {
            return self.say("501 5.5.4 RCPT TO:<address>").await;
        };
        if self.sender.is_none() {
            return self.say("503 5.5.1 MAIL first").await;
        }
        if self.recipients.len() == RECIPIENTS_MAX {
            return self.say("452 4.5.3 too many recipients").await;
        }
        if self.answer(Phase::Rcpt, &recipient, "250 2.1.5 ok").await?.is_continue() {
            self.recipients.push(recipient);
        }
        Ok(())
    }

    async fn data(&mut self) -> Step {
        if self.recipients.is_empty() {
            return self.say("503 5.5.1 RCPT first").await;
        }
        if self.answer(Phase::Data354, "", "354 end with a dot on a line of its own").await?.is_break() {
            return Ok(());
        }
        let content = self.content().await?;
        let (sender, recipients) = (self.sender.take().unwrap_or_default(), std::mem::take(&mut self.recipients));
        let Some(content) = content else { return self.say("552 5.3.4 too large").await };
        let message_id = header(&content, "Message-ID");
        let detail = message_id.clone().unwrap_or_default();
        // Its honest answer is the next phase's.
        match self.turn(Phase::Dot, &detail).await {
            Turn::Honest { .. } => {}
            other => return self.carry_out(other, "").await.map(drop),
        }
        let behaviour = &self.shared.behaviour;
        let mut message = Received {
            number: 0,
            ehlo: self.ehlo.clone(),
            sender,
            recipients,
            message_id,
            subject: header(&content, "Subject"),
            key: header(&content, "X-Onebell-Key"),
            size: content.len(),
            content: behaviour.keep_content.then_some(content),
        };
        let event = self.shared.tell(self.event(Phase::Accepted, &detail), |number| {
            message.number = number;
            self.shared.inbox.lock().unwrap_or_else(PoisonError::into_inner).add(message, behaviour.records_max);
        });
        let turn = self.decide((behaviour.hook)(&event)).await;
        self.carry_out(turn, &format!("250 2.0.0 accepted as {}", event.number)).await.map(drop)
    }

    /// Reads to the end of the content. Nothing when it is too large.
    async fn content(&mut self) -> Step<Option<Vec<u8>>> {
        if self.stream.fill_buf().await.map_err(|_| Over)?.is_empty() {
            return Err(Over);
        }
        match self.turn(Phase::BodyFirstByte, "").await {
            Turn::Honest { .. } => {}
            // An answer inside the content, as a server that shuts down gives it; then the content goes on.
            Turn::Instead { words, close } => {
                self.say(&words).await?;
                if close {
                    return Err(Over);
                }
            }
            Turn::End { reset } => return self.end(reset),
        }
        let mut content = Content::new(self.shared.behaviour.message_max);
        loop {
            let bytes = self.stream.fill_buf().await.map_err(|_| Over)?;
            if bytes.is_empty() {
                return Err(Over);
            }
            let (taken, ended) = content.take(bytes);
            self.stream.consume(taken);
            if ended {
                return Ok(content.whole());
            }
        }
    }

    /// Tells the phase, asks the hook and answers. Break: the command counts as refused.
    async fn answer(&mut self, phase: Phase, detail: &str, honest: &str) -> Step<ControlFlow<()>> {
        let turn = self.turn(phase, detail).await;
        self.carry_out(turn, honest).await
    }

    async fn turn(&self, phase: Phase, detail: &str) -> Turn {
        let event = self.shared.tell(self.event(phase, detail), |_| ());
        self.decide((self.shared.behaviour.hook)(&event)).await
    }

    async fn decide(&self, action: HookAction) -> Turn {
        let mut turn = Turn::Honest { drip: None, reset: false };
        let mut left = vec![action];
        while let Some(action) = left.pop() {
            match action {
                HookAction::Continue => turn = Turn::Honest { drip: None, reset: false },
                HookAction::Hold(Hold::For(span)) => self.shared.behaviour.timer.sleep(span).await,
                HookAction::Hold(Hold::Until(notify)) => notify.notified().await,
                HookAction::Close => turn = Turn::End { reset: false },
                HookAction::Reset => turn = Turn::End { reset: true },
                HookAction::Reply(words) => turn = Turn::Instead { words, close: false },
                HookAction::ReplyThenClose(words) => turn = Turn::Instead { words, close: true },
                HookAction::ContinueThenReset => turn = Turn::Honest { drip: None, reset: true },
                HookAction::Drip(pause) => turn = Turn::Honest { drip: Some(pause), reset: false },
                HookAction::All(actions) => left.extend(actions.into_iter().rev()),
            }
        }
        turn
    }

    async fn carry_out(&mut self, turn: Turn, honest: &str) -> Step<ControlFlow<()>> {
        match turn {
            Turn::Honest { drip: None, reset } => {
                self.say(honest).await?;
                if reset { self.end(true) } else { Ok(ControlFlow::Continue(())) }
            }
            Turn::Honest { drip: Some(pause), .. } => {
                for byte in format!("{honest}\r\n").bytes() {
                    self.shared.behaviour.timer.sleep(pause).await;
                    self.write(&[byte]).await?;
                }
                Ok(ControlFlow::Continue(()))
            }
            Turn::Instead { words, close } => {
                self.say(&words).await?;
                if close { Err(Over) } else { Ok(ControlFlow::Break(())) }
            }
            Turn::End { reset } => self.end(reset),
        }
    }

    fn end<T>(&self, reset: bool) -> Step<T> {
        if reset {
            (self.reset)(self.stream.get_ref());
        }
        Err(Over)
    }

    async fn say(&mut self, words: &str) -> Step {
        self.write(format!("{words}\r\n").as_bytes()).await
    }

    async fn write(&mut self, bytes: &[u8]) -> Step {
        self.stream.write_all(bytes).await.map_err(|_| Over)?;
        self.stream.flush().await.map_err(|_| Over)
    }

    /// One command line without its end.
    async fn line(&mut self) -> Step<String> {
        let mut line = Vec::new();
        loop {
            let bytes = self.stream.fill_buf().await.map_err(|_| Over)?;
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(bytes.len(), |at| at + 1);
            line.extend_from_slice(&bytes[..taken]);
            self.stream.consume(taken);
            if line.len() > LINE_MAX {
                self.say("500 5.5.2 line too long").await?;
                return Err(Over);
            }
            match (end, taken) {
                (Some(_), _) => return Ok(String::from_utf8_lossy(line.trim_ascii_end()).into_owned()),
                (None, 0) => return Err(Over),
                (None, _) => {}
            }
        }
    }

    fn forget(&mut self) {
        self.sender = None;
        self.recipients.clear();
    }

    fn event(&self, phase: Phase, detail: &str) -> PhaseEvent {
        PhaseEvent { number: 0, connection: self.connection, phase, ehlo: self.ehlo.clone(), detail: detail.to_owned() }
    }
}

/// The address of `FROM:<address> PARAMETERS`.
fn path(rest: &str, word: &str) -> Option<String> {
    let named = rest.get(..word.len()).filter(|own| own.eq_ignore_ascii_case(word))?;
    let (address, _) = rest[named.len()..].trim_start().strip_prefix('<')?.rsplit_once('>')?;
    Some(address.to_owned())
}
