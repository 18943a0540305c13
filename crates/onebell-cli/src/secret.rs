//! Secrets by name: a definition says where a value is, and the replica that needs it looks there.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The longest file that is read.
const FILE_MAX_BYTES: u64 = 1024 * 1024;

/// Where a value is.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SecretRef {
    /// Written down; no secret.
    Text(String),
    /// In this variable of the replica.
    Env(String),
    /// In this file of the replica; one line end at its end is not part of it.
    File(PathBuf),
    /// One of these behind a text that is no secret, such as `Bearer `.
    Prefixed {
        /// The text.
        prefix: String,
        /// What follows.
        value: Box<SecretRef>,
    },
}

/// A value that is not where it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The variable is not set, or not UTF-8.
    #[error("variable {0} is not set on this replica; set it, or name another one in the job file")]
    Env(String),
    /// The file cannot be read.
    #[error("{path}: {why}; the file has to be on every replica")]
    File {
        /// Where it was looked for.
        path: PathBuf,
        /// Why not.
        why: String,
    },
}

impl SecretRef {
    /// The value, here and now. Relative paths begin at `folder`.
    ///
    /// # Errors
    /// When it is not there.
    pub fn resolve(&self, folder: &Path) -> Result<String, SecretError> {
        match self {
            Self::Text(text) => Ok(text.clone()),
            Self::Env(name) => std::env::var(name).map_err(|_| SecretError::Env(name.clone())),
            Self::File(path) => {
                let path = folder.join(path);
                let bytes = crate::regular::read(&path, FILE_MAX_BYTES);
                let text = bytes.and_then(|bytes| String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned()));
                let text = text.map_err(|why| SecretError::File { path, why })?;
                let line = text.strip_suffix('\n').unwrap_or(&text);
                Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
            }
            Self::Prefixed { prefix, value } => Ok(format!("{prefix}{}", value.resolve(folder)?)),
        }
    }

    /// The part of it that is to be kept out of logs.
    pub fn bare(&self) -> &Self {
        if let Self::Prefixed { value, .. } = self { value } else { self }
    }

    /// Whether the value is elsewhere, and so to be kept out of logs.
    pub fn is_secret(&self) -> bool {
        !matches!(self, Self::Text(_))
    }
}

/// A written value is left out: somebody may have written a password.
impl fmt::Debug for SecretRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("Text(…)"),
            Self::Env(name) => f.debug_tuple("Env").field(name).finish(),
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            Self::Prefixed { value, .. } => f.debug_tuple("Prefixed").field(value).finish(),
        }
    }
}
