use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use super::person::Person;

/// How a mail server is reached.
#[derive(Debug, Clone)]
pub struct SmtpConfig {
    /// Name or address of the server.
    pub host: String,
    /// Its port: 25, 465 (`tls`), 587 (`starttls`) or another.
    pub port: u16,
    /// Who the mail is from; its address is also the envelope's sender.
    pub from: Person,
    /// For the login, together with the password.
    pub username: Option<String>,
    /// For the login, together with the username.
    pub password: Option<Secret>,
    /// How the connection is encrypted.
    pub tls: Tls,
    /// What this side calls itself (`EHLO`); the connection's own address when `None`.
    pub hello: Option<String>,
    /// Certificates (PEM) to trust instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// How long the content and its answer may take once the gate opened.
    pub window: Duration,
    /// How long the server may take for the connection and for each answer before the content.
    pub timeout: Duration,
}

impl SmtpConfig {
    /// The defaults: no login, encryption by [`Tls::default_for`], window 60 s, timeout 30 s.
    pub fn new(host: impl Into<String>, port: u16, from: Person) -> Self {
        let host = host.into();
        let tls = Tls::default_for(&host);
        let (window, timeout) = (Duration::from_secs(60), Duration::from_secs(30));
        Self { host, port, from, username: None, password: None, tls, hello: None, ca_file: None, window, timeout }
    }

    /// What can be told to be wrong without a connection.
    pub(super) fn check(&self) -> Result<(), SmtpConfigError> {
        let wrong = |problem: &str, remedy: &str| Err(SmtpConfigError { problem: problem.into(), remedy: remedy.into() });
        if self.host.is_empty() {
            return wrong("host is empty", "write the name of the mail server");
        }
        if self.username.is_some() != self.password.is_some() {
            return wrong("a login needs both username and password", "give both, or neither");
        }
        if self.password.is_some() && self.tls == Tls::None && !is_loopback(&self.host) {
            return wrong("the password would cross the network in the clear", "tls = \"starttls\" or \"tls\"");
        }
        if self.tls == Tls::Opportunistic && !is_loopback(&self.host) {
            return wrong(
                "tls = \"opportunistic\" checks no certificate and is for this host alone",
                "tls = \"starttls\", or \"none\" on a network that you trust",
            );
        }
        if self.hello.as_deref().is_some_and(|hello| hello.is_empty() || !hello.bytes().all(|byte| byte.is_ascii_graphic())) {
            return wrong("hello is not a host name", "write this host's full name in ASCII, or leave it out");
        }
        if self.window.is_zero() || self.timeout.is_zero() {
            return wrong("window and timeout must be longer than zero", "leave them out for 60 s and 30 s");
        }
        Ok(())
    }
}

/// How a connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tls {
    /// Not at all.
    None,
    /// By STARTTLS when the server offers it, without a look at its certificate (unless `ca_file` names one to trust). Only
    /// for this host: a local relay carries a certificate that nobody signed, or none, and nobody sits on the wire.
    Opportunistic,
    /// By STARTTLS, always: a server that does not offer it, or that somebody on the way stripped of it, gets no mail.
    Starttls,
    /// From the first byte.
    Tls,
}

impl Tls {
    /// `starttls`, required: whoever sits on the way could strip an offer, so "if offered" protects from nobody. On this
    /// host `opportunistic`, so that a stock local relay works as it is.
    pub fn default_for(host: &str) -> Self {
        if is_loopback(host) { Self::Opportunistic } else { Self::Starttls }
    }
}

/// A name that must mean this host (RFC 6761), or a loopback address.
pub fn is_loopback(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost") || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps it.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<secret>")
    }
}

/// Why a mail channel cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {remedy}")]
pub struct SmtpConfigError {
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub remedy: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(host: &str) -> SmtpConfig {
        SmtpConfig::new(host, 25, "billing@example.com".parse().unwrap())
    }

    #[test]
    fn encryption_is_required_except_on_this_host() {
        assert_eq!(config("mail.example.com").tls, Tls::Starttls);
        for host in ["localhost", "LOCALHOST.", "127.0.0.1", "::1", "relay.localhost"] {
            assert_eq!(config(host).tls, Tls::Opportunistic, "{host}");
        }
    }

    #[test]
    fn a_password_neither_shows_nor_crosses_the_network_in_the_clear() {
        let login = |tls| SmtpConfig {
            username: Some("billing".into()),
            password: Some(Secret::new("s3cret")),
            tls,
            ..config("mail.example.com")
        };
        assert!(!format!("{:?}", login(Tls::Tls)).contains("s3cret"));
        assert!(login(Tls::Starttls).check().is_ok());
        assert!(login(Tls::None).check().unwrap_err().to_string().contains("in the clear"));
        assert!(login(Tls::Opportunistic).check().is_err());
    }

    #[test]
    fn half_a_login_and_a_hello_with_a_line_break_are_refused() {
        assert!(SmtpConfig { username: Some("billing".into()), ..config("localhost") }.check().is_err());
        assert!(SmtpConfig { hello: Some("a\r\nMAIL".into()), ..config("localhost") }.check().is_err());
    }
}
