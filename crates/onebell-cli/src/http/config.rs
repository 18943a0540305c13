use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use hyper::Method;

use super::ask::Question;
use super::signature::Signer;
use super::target::Target;

/// A claim on a message lasts a minute, and a question and a connection have to fit into it.
const TIMEOUT_MAX: Duration = Duration::from_secs(25);

/// Where webhooks go, and how.
#[derive(Clone)]
pub struct HttpConfig {
    /// The receiver.
    pub url: Target,
    /// `POST`, `PUT` or `PATCH`.
    pub method: Method,
    /// Signs each request.
    pub signer: Option<Signer>,
    /// Sent with every request; those of a message go over them.
    pub headers: Vec<(String, String)>,
    /// Certificates (PEM) to trust instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// A plain HTTP proxy.
    pub proxy: Option<Target>,
    /// Nobody else is reached.
    pub allow_hosts: Option<Vec<String>>,
    /// How long the request and its answer may take once the gate opened.
    pub window: Duration,
    /// How long the connection may take, and the answer to a question.
    pub timeout: Duration,
    /// Where the receiver tells whether a message arrived.
    pub ask: Option<Question>,
    /// Masked in what is repeated of an answer.
    pub secrets: Vec<String>,
}

impl HttpConfig {
    /// The defaults: `POST`, unsigned, window 30 s, timeout 10 s.
    pub fn new(url: Target) -> Self {
        Self {
            url,
            method: Method::POST,
            signer: None,
            headers: Vec::new(),
            ca_file: None,
            proxy: None,
            allow_hosts: None,
            window: Duration::from_secs(30),
            timeout: Duration::from_secs(10),
            ask: None,
            secrets: Vec::new(),
        }
    }

    /// What can be told to be wrong without a connection.
    pub(super) fn check(&self) -> Result<(), HttpConfigError> {
        let wrong = |problem: String, remedy: &str| Err(HttpConfigError { problem, remedy: remedy.into() });
        if ![Method::POST, Method::PUT, Method::PATCH].contains(&self.method) {
            return wrong(format!("method {} carries no message", self.method), "write \"POST\", \"PUT\" or \"PATCH\"");
        }
        if self.window.is_zero() || self.timeout.is_zero() || self.timeout > TIMEOUT_MAX {
            return wrong("window must be longer than zero, timeout at most 25s".into(), "leave them out for 30 s and 10 s");
        }
        for (name, value) in &self.headers {
            if let Err(problem) = super::check_name(name).and_then(|()| super::check_value(value)) {
                return wrong(format!("headers.{name}: {problem}"), "mend it, or leave it out");
            }
        }
        Ok(())
    }
}

/// Headers and secrets are left out.
impl fmt::Debug for HttpConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpConfig").field("url", &self.url).field("method", &self.method).finish_non_exhaustive()
    }
}

/// Why HTTP cannot be spoken as configured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; {remedy}")]
pub struct HttpConfigError {
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub remedy: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_work_is_told_before_anything_is_sent_and_no_secret_with_it() {
        let config = || HttpConfig::new("https://example.com/hook".parse().unwrap());
        assert_eq!(config().check(), Ok(()));
        assert!(HttpConfig { method: Method::GET, ..config() }.check().is_err());
        assert!(HttpConfig { timeout: Duration::from_secs(26), ..config() }.check().is_err());
        let header = |name: &str, value: &str| HttpConfig { headers: vec![(name.into(), value.into())], ..config() };
        let error = header("Authorization", "Bearer s3cret\n").check().unwrap_err().to_string();
        assert!(error.starts_with("headers.Authorization") && !error.contains("s3cret"), "{error}");
        assert!(header("webhook-id", "x").check().is_err());
        assert!(!format!("{:?}", header("Authorization", "s3cret")).contains("s3cret"));
    }
}
