//! Sources that cannot be read from the middle: an address, a command's output, a query. Each reading begins at their start, which
//! their identities make harmless.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::plan::Wrong;
use crate::http::Target;

/// What is read in place of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// What an address answers.
    Url(String),
    /// What a program prints: its name and its arguments.
    Command(Vec<String>),
    /// The rows of a read-only query on the store's own database.
    Query(String),
}

impl Stream {
    /// The address, if that is what was typed in place of a file.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        (word.starts_with("https://") || word.starts_with("http://")).then(|| Self::Url(word.to_owned()))
    }

    /// Names it in its batches. What may be a secret is not in it, but another address, command or query has another name.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Url(url) => match (url.parse::<Target>(), url.split_once('?')) {
                (Ok(target), Some((_, asked))) => format!("{target}?{}", digest(asked)),
                (Ok(target), None) => target.to_string(),
                (Err(_), _) => format!("address {}", digest(url)),
            },
            Self::Command(argv) => {
                let program = argv.first().map(String::as_str).unwrap_or_default();
                format!("command {program} {}", digest(&argv.join("\0")))
            }
            Self::Query(sql) => format!("query {}", digest(sql)),
        }
    }

    /// The path whose end may say what comes.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        match self {
            Self::Url(url) => url.split('?').next().map(PathBuf::from),
            Self::Command(_) | Self::Query(_) => None,
        }
    }

    /// What can be told to be wrong before anything is asked.
    pub(crate) fn check(&self) -> Result<(), Wrong> {
        let wrong = |part: &'static str, message: String| Wrong { part, message };
        match self {
            Self::Url(url) => {
                let target: Target = url.parse().map_err(|why| wrong("url", why))?;
                if target.is_exposed() {
                    let why = format!("{target}: what comes unencrypted can be changed on its way; write an https:// address");
                    return Err(wrong("url", why));
                }
                Ok(())
            }
            Self::Command(argv) if argv.first().is_none_or(String::is_empty) => {
                Err(wrong("command", "no program; write its name and its arguments".to_owned()))
            }
            Self::Query(sql) if sql.trim().is_empty() => Err(wrong("query", "no statement; write the query".to_owned())),
            Self::Command(_) | Self::Query(_) => Ok(()),
        }
    }
}

/// Eight hexadecimal digits.
fn digest(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(4).fold(String::new(), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_sources_apart_and_no_secret() {
        let url = |url: &str| Stream::Url(url.to_owned()).name();
        assert_eq!(url("https://example.com/events.csv"), "https://example.com/events.csv");
        assert_ne!(url("https://example.com/events?day=1"), url("https://example.com/events?day=2"));
        let command = |argv: &[&str]| Stream::Command(argv.iter().map(|word| (*word).to_owned()).collect()).name();
        assert_ne!(command(&["fetch", "--all"]), command(&["fetch", "--new"]));
        assert_ne!(command(&["fetch", "a b"]), command(&["fetch", "a", "b"]));
        for name in
            [url("https://example.com/events?token=s3cret"), url("https://u:s3cret@example.com/"), command(&["fetch", "s3cret"])]
        {
            assert!(!name.contains("s3cret"), "{name}");
        }
    }

    #[test]
    fn what_comes_unencrypted_comes_from_this_host() {
        let check = |url: &str| Stream::Url(url.to_owned()).check();
        assert_eq!((check("http://127.0.0.1:8080/e.csv"), check("https://example.com/e.csv")), (Ok(()), Ok(())));
        assert!(check("http://example.com/e.csv").unwrap_err().message.contains("https://"));
        assert!(check("https://u:p@example.com/e.csv").unwrap_err().message.contains("user or password"));
    }
}
