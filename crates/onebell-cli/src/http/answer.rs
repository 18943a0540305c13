use std::fmt;
use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{HeaderMap, LOCATION};

use super::{retry_after, shown};

/// What came back.
#[derive(Debug, Clone)]
pub struct Answer {
    /// From 100 to 999.
    pub status: u16,
    /// As they came.
    pub headers: HeaderMap,
    /// As much of the body as was read.
    pub body: Vec<u8>,
    /// Why no more of it was read.
    pub end: BodyEnd,
}

/// Why no more of a body was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyEnd {
    /// That was all.
    Whole,
    /// It is longer than what is read of one.
    Cut,
    /// It broke off, or took too long.
    Broken(String),
}

impl Answer {
    /// What `Retry-After` asks for.
    pub fn wait(&self) -> Option<Duration> {
        retry_after::wait(&self.headers)
    }

    /// "Not now": nothing was done with the request. A `503` says so, and so does another error that names a time; a gateway's
    /// `502` and `504` know nothing of the receiver.
    pub fn is_not_now(&self) -> bool {
        match self.status {
            407 | 408 | 425 | 429 | 503 => true,
            502 | 504 => false,
            status => status >= 500 && self.wait().is_some(),
        }
    }

    /// The status and the beginning of the body, for people.
    pub fn told(&self, secrets: &[String]) -> String {
        let mut told = self.to_string();
        if let Some(location) = self.headers.get(LOCATION).filter(|_| (300..400).contains(&self.status)) {
            told += &format!(" to {}", shown::head(location.as_bytes(), false, secrets));
        }
        match shown::head(&self.body, self.end != BodyEnd::Whole, secrets).as_str() {
            "" => told,
            body => format!("{told}: {body}"),
        }
    }
}

/// `404 Not Found`.
impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        let words = StatusCode::from_u16(self.status).ok().and_then(|status| status.canonical_reason());
        words.map_or(Ok(()), |words| write!(f, " {words}"))
    }
}
