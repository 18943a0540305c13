//! `[replica]`, `[defaults]` and `[channels.NAME]`.

pub(super) mod http;

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use onebell::model::job::{Dst, ScheduleDefinition, When};
use onebell::model::message::InDoubtPolicy;
use onebell::model::retry::RetryPolicy;
use onebell::model::schedule::Schedule;
use toml::de::DeValue;

use super::fields::{Fields, Flaws, Node, Read, expected, instead};
use super::keys;
use super::notify::{self, Channels};
use super::problem::Flaw;
use super::values::{flag, name, number, retry, span, text, texts, word};
use crate::secret::SecretRef;
use crate::smtp::is_loopback;
pub use http::HttpConfig;

/// `[replica]`: what is not written is decided where the replica starts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReplicaSettings {
    /// A replica that gives no sign of life for this long is lost.
    pub lease: Option<Duration>,
    /// How long running work may go on after the first signal.
    pub drain: Option<Duration>,
    /// Steps that run at once.
    pub concurrency: Option<u32>,
    /// Steps claimed in advance.
    pub prefetch: Option<u32>,
    /// Queues it serves.
    pub queues: Option<Vec<String>>,
    /// Where services outside reach replicas that listen.
    pub callback_url: Option<String>,
    /// How long finished runs are kept.
    pub keep_runs: Option<Duration>,
    /// How long message and request keys are kept.
    pub keep_keys: Option<Duration>,
}

pub(super) fn replica<'t>(node: &'t Node<'t>, flaws: &'t Flaws) -> Read<ReplicaSettings> {
    let fields = Fields::open(node, &keys::REPLICA, flaws)?;
    let settings = ReplicaSettings {
        lease: fields.read("lease", |node| {
            let lease = span(node)?;
            let short = lease < Duration::from_secs(1);
            if short {
                Err(Flaw::new(node.span(), "shorter than a second", "write \"1s\" or more; 10s is usual"))
            } else {
                Ok(lease)
            }
        }),
        drain: fields.read("drain", super::values::duration),
        concurrency: fields.read("concurrency", number(1, 10_000)),
        prefetch: fields.read("prefetch", number(0, 10_000)),
        queues: fields.read("queues", |node| {
            let queues = texts(node)?;
            if queues.is_empty() { Err(Flaw::new(node.span(), "no queue", "leave it out, or name one")) } else { Ok(queues) }
        }),
        callback_url: fields.read("callback_url", callback_url),
        keep_runs: fields.read("keep_runs", span),
        keep_keys: fields.read("keep_keys", span),
    };
    fields.finish();
    Ok(settings)
}

/// What is called there is signed, and its address proves itself: it may cross the network in the clear, though others then read it.
fn callback_url(node: &Node<'_>) -> Read<String> {
    let url = text(node)?;
    let wrong = |wrong: String| Flaw::new(node.span(), wrong, "write \"https://jobs.example.com\"");
    url.parse::<crate::http::Target>().map_err(wrong)?;
    if url.contains(['?', '#', '{']) {
        return Err(wrong("callback_url: only scheme, host and path are possible".to_owned()));
    }
    Ok(url)
}

/// `[defaults]`, for all jobs.
#[derive(Debug, Clone)]
pub(super) struct Defaults {
    pub(super) time_zone: String,
    pub(super) retry: RetryPolicy,
    pub(super) notify: Option<notify::Written>,
}

impl Default for Defaults {
    fn default() -> Self {
        Self { time_zone: "UTC".to_owned(), retry: RetryPolicy::default(), notify: None }
    }
}

pub(super) fn defaults<'t>(node: &'t Node<'t>, channels: Channels<'_>, flaws: &'t Flaws) -> Read<Defaults> {
    let fields = Fields::open(node, &keys::DEFAULTS, flaws)?;
    let mut defaults = Defaults::default();
    if let Some(zone) = fields.read("time_zone", zone) {
        defaults.time_zone = zone;
    }
    if let Some(policy) = fields.read("retry", |node| retry(node, flaws, RetryPolicy::default())) {
        defaults.retry = policy;
    }
    defaults.notify = fields.read("notify", |node| notify::of_defaults(node, channels, flaws));
    fields.finish();
    Ok(defaults)
}

/// The name of a channel that is there.
pub(super) fn known_channel(node: &Node<'_>, channels: Channels<'_>) -> Read<String> {
    let channel = name(node)?;
    if channels.read.is_some() && !channels.names.contains(&channel.as_str()) {
        let remedy = match channels.names {
            [] => format!("define it under [channels.{channel}]"),
            names => instead(&channel, names),
        };
        return Err(Flaw::new(node.span(), format!("there is no channel {channel:?}"), remedy));
    }
    Ok(channel)
}

/// A zone that exists.
pub(super) fn zone(node: &Node<'_>) -> Read<String> {
    let time_zone = text(node)?;
    // The schedule's own check, asked with the simplest schedule there is.
    let probe = ScheduleDefinition { when: When::Every(Duration::from_secs(3600)), time_zone, dst: Dst::default() };
    match Schedule::parse(&probe, "", onebell::replica::ZoneData::newest().zones()) {
        Ok(_) => Ok(probe.time_zone),
        Err(error) => Err(Flaw::new(node.span(), format!("{} {:?}", error.problem, probe.time_zone), error.remedy)),
    }
}

/// A channel, by kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelConfig {
    /// Mail.
    Smtp(SmtpConfig),
    /// Webhooks.
    Http(HttpConfig),
}

impl ChannelConfig {
    /// The word in the file.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Smtp(_) => "smtp",
            Self::Http(_) => "http",
        }
    }

    /// What an unknown outcome means: a mail server knows no key by which it could tell a second mail from the first, a webhook
    /// carries one.
    pub fn default_in_doubt(&self) -> InDoubtPolicy {
        match self {
            Self::Smtp(_) => InDoubtPolicy::Hold,
            Self::Http(_) => InDoubtPolicy::Resend,
        }
    }

    /// Values that must not be shown.
    pub(super) fn secrets(&self) -> Vec<SecretRef> {
        match self {
            Self::Smtp(smtp) => smtp.password.clone().into_iter().collect(),
            Self::Http(http) => http.secrets(),
        }
    }
}

/// `kind = "smtp"`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SmtpConfig {
    /// Name or address of the server.
    pub host: String,
    /// Its port; by `tls`: 465 tls, 587 starttls, else 25.
    pub port: u16,
    /// The sender, with or without a name.
    pub from: String,
    /// For the login, together with the password; the sender's address unless another one is written.
    pub username: Option<String>,
    /// For the login, together with the username.
    pub password: Option<SecretRef>,
    /// How the connection is protected.
    pub tls: Tls,
    /// What EHLO says; none: the channel decides.
    pub hello: Option<String>,
    /// Certificates to trust instead of the host's, PEM.
    pub ca_file: Option<PathBuf>,
    /// How long the content may be on its way.
    pub window: Option<Duration>,
    /// For each answer of the server.
    pub timeout: Option<Duration>,
}

/// How a connection is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// Not at all.
    None,
    /// STARTTLS when the server offers it: the default on the host itself, and only to be used there.
    Opportunistic,
    /// STARTTLS, and nothing goes out without it: the default.
    StartTls,
    /// From the first byte: the default on port 465.
    Tls,
}

impl Tls {
    pub(super) const ALL: &'static [Self] = &[Self::None, Self::Opportunistic, Self::StartTls, Self::Tls];
}

impl std::fmt::Display for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Opportunistic => "opportunistic",
            Self::StartTls => "starttls",
            Self::Tls => "tls",
        })
    }
}

/// `[channels.NAME]`.
pub(super) fn channel<'t>(name: &str, at: &Range<usize>, node: &'t Node<'t>, flaws: &'t Flaws) -> Option<ChannelConfig> {
    let fields = Fields::open(node, &keys::CHANNEL, flaws).map_err(|flaw| flaw.under(name));
    one_channel(&flaws.keep(fields)?, at.clone())
}

fn one_channel(fields: &Fields<'_>, at: Range<usize>) -> Option<ChannelConfig> {
    let flaws = fields.flaws;
    let Some(node) = fields.get("kind") else {
        let at = fields.key_span("type").unwrap_or(at);
        flaws.push(Flaw::new(at, "kind is missing", "write kind = \"smtp\" or kind = \"http\""));
        return None;
    };
    match flaws.keep(text(node).map_err(|flaw| flaw.under("kind")))?.as_str() {
        "smtp" => smtp(fields).map(ChannelConfig::Smtp),
        "http" => http::read(fields).map(ChannelConfig::Http),
        other => {
            flaws.push(Flaw::new(node.span(), format!("unknown kind {other:?}"), instead(other, &["smtp", "http"])));
            None
        }
    }
}

fn smtp(fields: &Fields<'_>) -> Option<SmtpConfig> {
    let host = fields.need("host", "\"mail.example.com\"", server);
    let port: Option<u16> = fields.read("port", number(1, 65_535));
    let from = fields.need("from", "\"Billing <billing@example.com>\"", mailbox);
    let local = host.as_deref().is_some_and(is_loopback);
    let tls = fields.read("tls", word(Tls::ALL)).unwrap_or(match port {
        Some(465) => Tls::Tls,
        _ if local => Tls::Opportunistic,
        _ => Tls::StartTls,
    });
    let by_tls = match tls {
        Tls::None | Tls::Opportunistic => 25,
        Tls::StartTls => 587,
        Tls::Tls => 465,
    };
    let username = fields.read("username", name);
    let password = fields.read("password", |node| secret(node, fields.flaws));
    if username.is_some() && !fields.has("password") {
        let at = fields.key_span("username").unwrap_or(fields.span.clone());
        fields.flaws.push(Flaw::new(at, "username without password", "write password = { env = \"NAME\" }, or remove username"));
    }
    if let (Some(_), false) = (&host, local) {
        refuse_in_the_clear(fields, tls, password.is_some());
    }
    let sender = password.is_some().then(|| from.as_deref().and_then(address)).flatten();
    let config = SmtpConfig {
        host: host.unwrap_or_default(),
        port: port.unwrap_or(by_tls),
        from: from.unwrap_or_default(),
        username: username.or(sender),
        password,
        tls,
        hello: fields.read("hello", name),
        ca_file: fields.read("ca_file", name).map(PathBuf::from),
        window: fields.read("window", span),
        timeout: fields.read("timeout", span),
    };
    fields.finish();
    Some(config)
}

/// The name or address of a server, and nothing else.
fn server(node: &Node<'_>) -> Read<String> {
    let host = name(node)?;
    let rest = host.split_once("://").map_or(host.as_str(), |(_, rest)| rest);
    let is_address = host.parse::<std::net::IpAddr>().is_ok();
    if is_address || !host.contains([':', '/', '@', ' ']) {
        return Ok(host);
    }
    let (alone, port) = rest.trim_end_matches('/').rsplit_once(':').unwrap_or((rest.trim_end_matches('/'), ""));
    let alone = alone.rsplit('@').next().unwrap_or(alone);
    let remedy = match port.parse::<u16>() {
        Ok(port) => format!("write host = {alone:?} and port = {port}"),
        Err(_) => format!("write host = {alone:?}"),
    };
    Err(Flaw::new(node.span(), format!("{host:?} is more than the name of a server"), remedy))
}

/// What nobody on the way may read or change.
fn refuse_in_the_clear(fields: &Fields<'_>, tls: Tls, password: bool) {
    let at = |key| fields.key_span(key).unwrap_or(fields.span.clone());
    match tls {
        Tls::None if password => {
            let problem = "password: it would cross the network in the clear";
            fields.flaws.push(Flaw::new(at("tls"), problem, "write tls = \"starttls\" or \"tls\""));
        }
        Tls::Opportunistic => {
            let problem = "tls: \"opportunistic\" checks no certificate and is for this host alone";
            let remedy = "write \"starttls\", or \"none\" on a network that you trust";
            fields.flaws.push(Flaw::new(at("tls"), problem, remedy));
        }
        Tls::None | Tls::StartTls | Tls::Tls => {}
    }
}

/// The address of a sender that may carry a name.
fn address(sender: &str) -> Option<String> {
    sender.parse::<lettre::message::Mailbox>().ok().map(|mailbox| mailbox.email.to_string())
}

fn mailbox(node: &Node<'_>) -> Read<String> {
    let text = text(node)?;
    match address(&text) {
        Some(_) => Ok(text),
        None => Err(Flaw::new(
            node.span(),
            format!("{text:?} is no sender"),
            "write \"name@example.com\" or \"Name <name@example.com>\"",
        )),
    }
}

/// A string, `{ env = "NAME" }` or `{ file = "PATH" }`.
pub(super) fn secret<'t>(node: &'t Node<'t>, flaws: &'t Flaws) -> Read<SecretRef> {
    match node.get_ref() {
        DeValue::String(text) => match pointed_at(text) {
            Some(remedy) => Err(Flaw::new(node.span(), format!("{text:?} would be taken as it stands"), remedy)),
            None => Ok(SecretRef::Text(text.clone().into_owned())),
        },
        DeValue::Table(_) => {
            let fields = Fields::open(node, &keys::SECRET, flaws)?;
            let (env, file, prefix) = (fields.read("env", name), fields.read("file", name), fields.read("prefix", text));
            fields.finish();
            let value = match (env, file) {
                (Some(env), None) => SecretRef::Env(env),
                (None, Some(file)) => SecretRef::File(file.into()),
                _ => {
                    let remedy = "write { env = \"NAME\" } or { file = \"PATH\" }";
                    return Err(Flaw::new(node.span(), "expected one of env and file", remedy));
                }
            };
            Ok(match prefix.filter(|prefix| !prefix.is_empty()) {
                Some(prefix) => SecretRef::Prefixed { prefix, value: Box::new(value) },
                None => value,
            })
        }
        other => Err(expected("a string, { env = \"NAME\" } or { file = \"PATH\" }", other, node.span())),
    }
}

/// How to name the variable or the file that a text in somebody else's way of writing points at.
fn pointed_at(text: &str) -> Option<String> {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !name.as_bytes()[0].is_ascii_digit()
    };
    if let Some(path) = text.strip_prefix("file:").filter(|path| !path.is_empty()) {
        return Some(format!("write {{ file = {path:?} }}"));
    }
    let braced = |text: &str| text.strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(name, _)| name.to_owned());
    let whole = text.strip_prefix("env:").or_else(|| text.strip_prefix('$')).map(str::to_owned);
    if let Some(name) = whole.filter(|name| is_name(name)) {
        return Some(format!("write {{ env = {name:?} }}"));
    }
    let inside = text.split_once('$').and_then(|(_, rest)| braced(rest)).filter(|name| is_name(name))?;
    Some(format!("write {{ env = {inside:?} }}; the variable holds the whole value, such as \"Bearer …\""))
}

/// `seconds` of a job.
pub(super) fn yes(fields: &Fields<'_>, key: &'static str) -> bool {
    fields.read(key, flag).unwrap_or(false)
}
