//! From nothing to the server's `354`. Nothing of the content goes out here.

use std::net::IpAddr;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use onebell::model::message::Delivery;
use onebell::time::Timer;
use tokio::net::TcpStream;

use super::config::{SmtpConfig, Tls};
use super::letter::Letter;
use super::refusal::{Stage, deferred};
use super::reply::Reply;
use super::tls::Encryption;
use super::wire::{Wire, within};

/// The whole way may take this many timeouts; a server that uses each of them up is not one to wait for.
const TIMEOUTS_MAX: u32 = 4;

/// One way to a server that waits for the content.
pub(super) struct Approach<'a> {
    pub(super) config: &'a SmtpConfig,
    pub(super) encryption: Option<&'a Encryption>,
    pub(super) timer: &'a dyn Timer,
    until: Duration,
}

/// Whether the connection may still be used to take leave.
enum Stopped {
    Refused(Wire, Delivery),
    Broken(Delivery),
}

type Way<T> = Result<T, Stopped>;

impl<'a> Approach<'a> {
    pub(super) fn new(config: &'a SmtpConfig, encryption: Option<&'a Encryption>, timer: &'a dyn Timer) -> Self {
        Self { config, encryption, timer, until: timer.elapsed() + config.timeout * TIMEOUTS_MAX }
    }

    /// A connection on which the server answered `354`, or why there is none.
    pub(super) async fn run(&self, letter: &Letter) -> Result<Wire, Delivery> {
        self.walk(letter).await.map_err(|stopped| match stopped {
            Stopped::Broken(delivery) => delivery,
            Stopped::Refused(wire, delivery) => {
                wire.leave();
                delivery
            }
        })
    }

    async fn walk(&self, letter: &Letter) -> Way<Wire> {
        let (wire, own) = self.connect().await?;
        let name = self.config.hello.clone().unwrap_or_else(|| literal(own));
        let wire = self.greeting(wire).await?;
        let (wire, offers) = self.hello(wire, &name).await?;
        let (wire, offers) = self.starttls(wire, offers, &name).await?;
        let wire = self.login(wire, &offers).await?;
        self.envelope(wire, &offers, letter).await
    }

    async fn connect(&self) -> Way<(Wire, IpAddr)> {
        let (host, port) = (self.config.host.as_str(), self.config.port);
        let open = async {
            let stream = TcpStream::connect((host, port)).await?;
            stream.set_nodelay(true)?;
            let (own, peer) = (stream.local_addr()?.ip(), stream.peer_addr()?.ip());
            let implicit = self.encryption.filter(|_| self.config.tls == Tls::Tls);
            let wire = match implicit {
                Some(encryption) => encryption.wrap(Box::new(stream)).await?,
                None => Wire::over(stream),
            };
            Ok((wire, own, peer))
        };
        let (wire, own, peer) = within(self.timer, self.left(), open)
            .await
            .map_err(|broken| Stopped::Broken(deferred(format!("connecting to {host}:{port}: {broken}"))))?;
        if self.config.tls == Tls::Opportunistic && !peer.is_loopback() {
            return Err(Stopped::Broken(deferred(format!("{host} is not this host ({peer}); set tls = \"starttls\""))));
        }
        Ok((wire, own))
    }

    async fn greeting(&self, mut wire: Wire) -> Way<Wire> {
        match within(self.timer, self.left(), wire.reply()).await {
            Ok(reply) if reply.class() == 2 => Ok(wire),
            Ok(reply) => Err(Stopped::Refused(wire, Stage::Greeting.refused(&reply))),
            Err(broken) => Err(Stopped::Broken(Stage::Greeting.broke(&broken))),
        }
    }

    async fn hello(&self, wire: Wire, name: &str) -> Way<(Wire, Reply)> {
        self.ask(wire, Stage::Hello, &format!("EHLO {name}"), 2).await
    }

    async fn starttls(&self, wire: Wire, offers: Reply, name: &str) -> Way<(Wire, Reply)> {
        let offered = offers.offer("STARTTLS").is_some();
        let encryption = match (self.config.tls, self.encryption) {
            (Tls::Starttls, Some(encryption)) if offered => encryption,
            (Tls::Opportunistic, Some(encryption)) if offered => encryption,
            (Tls::Starttls, _) => {
                let error = "the server does not offer STARTTLS; use tls = \"tls\" if it speaks TLS from the first byte";
                return Err(Stopped::Refused(wire, deferred(error)));
            }
            _ => return Ok((wire, offers)),
        };
        let (wire, _) = self.ask(wire, Stage::StartTls, "STARTTLS", 2).await?;
        let broke = |broken| Stopped::Broken(Stage::StartTls.broke(&broken));
        let stream = wire.into_stream().map_err(broke)?;
        let handshake = async { Ok(encryption.wrap(stream).await?) };
        let wire = within(self.timer, self.left(), handshake).await.map_err(broke)?;
        // What was offered in the clear counts for nothing now.
        self.hello(wire, name).await
    }

    async fn login(&self, wire: Wire, offers: &Reply) -> Way<Wire> {
        let (Some(username), Some(password)) = (&self.config.username, &self.config.password) else { return Ok(wire) };
        let mechanisms: Vec<&str> = offers.offer("AUTH").into_iter().flatten().collect();
        let offered = |wanted: &str| mechanisms.iter().any(|mechanism| mechanism.eq_ignore_ascii_case(wanted));
        let password = password.reveal();
        if offered("PLAIN") {
            let secret = STANDARD.encode(format!("\0{username}\0{password}"));
            Ok(self.ask(wire, Stage::Login, &format!("AUTH PLAIN {secret}"), 2).await?.0)
        } else if offered("LOGIN") {
            // The challenges say "Username:" and "Password:" in many spellings, always in this order.
            let (wire, _) = self.ask(wire, Stage::Login, "AUTH LOGIN", 3).await?;
            let (wire, _) = self.ask(wire, Stage::Login, &STANDARD.encode(username), 3).await?;
            Ok(self.ask(wire, Stage::Login, &STANDARD.encode(password), 2).await?.0)
        } else {
            let error =
                "the server offers no login that Onebell knows (PLAIN, LOGIN); many offer it only after tls = \"starttls\"";
            Err(Stopped::Refused(wire, deferred(error)))
        }
    }

    async fn envelope(&self, wire: Wire, offers: &Reply, letter: &Letter) -> Way<Wire> {
        let (from, to) = (self.config.from.address(), letter.to.address());
        let mut mail = format!("MAIL FROM:<{from}>");
        if !letter.content.is_ascii() {
            if offers.offer("SMTPUTF8").is_none() || offers.offer("8BITMIME").is_none() {
                let error = format!("{from} or {to} is not ASCII, and the server does not take such addresses (SMTPUTF8)");
                return Err(Stopped::Refused(wire, Delivery::Rejected { error }));
            }
            mail += " BODY=8BITMIME SMTPUTF8";
        }
        let (wire, _) = self.ask(wire, Stage::Mail, &mail, 2).await?;
        let (wire, _) = self.ask(wire, Stage::Rcpt, &format!("RCPT TO:<{to}>"), 2).await?;
        Ok(self.ask(wire, Stage::Data, "DATA", 3).await?.0)
    }

    /// One command, whose answer must be of that class.
    async fn ask(&self, mut wire: Wire, stage: Stage, line: &str, class: u16) -> Way<(Wire, Reply)> {
        match within(self.timer, self.left(), wire.ask(line)).await {
            Ok(reply) if reply.class() == class => Ok((wire, reply)),
            // After an answer that fits nothing nobody knows what the server takes for a command.
            Ok(reply) if matches!(reply.class(), 4 | 5) => Err(Stopped::Refused(wire, stage.refused(&reply))),
            Ok(reply) => Err(Stopped::Broken(stage.refused(&reply))),
            Err(broken) => Err(Stopped::Broken(stage.broke(&broken))),
        }
    }

    fn left(&self) -> Duration {
        self.config.timeout.min(self.until.saturating_sub(self.timer.elapsed()))
    }
}

/// An address where a host name is expected (RFC 5321, 4.1.3).
fn literal(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => format!("[{address}]"),
        IpAddr::V6(address) => format!("[IPv6:{address}]"),
    }
}
