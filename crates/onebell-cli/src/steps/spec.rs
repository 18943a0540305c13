//! What a step's handler needs, as it is stored in the job's definition (JSON text).
//!
//! Texts of files are inside, so that every replica and every later attempt has the same; secrets and paths are only named, and
//! looked up on the replica that runs the step. Relative paths begin at the job file's folder.

use std::collections::BTreeMap;
use std::path::PathBuf;

use onebell::model::message::InDoubtPolicy;
use onebell::model::retry::RetryPolicy;
use serde::{Deserialize, Serialize};

use crate::secret::SecretRef;

/// Handler word of [`CommandStep`].
pub const COMMAND: &str = "command";
/// Handler word of [`SqlStep`].
pub const SQL: &str = "sql";
/// Handler word of [`MessageStep`].
pub const MESSAGE: &str = "message";

/// Bytes kept of each of a command's streams unless it says otherwise.
pub const OUTPUT_CAP: u32 = 64 * 1024;

/// A program to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandStep {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// Working folder; the job file's when there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<PathBuf>,
    /// Variables over the replica's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, SecretRef>,
    /// Exit codes that mean something else than usual.
    #[serde(default)]
    pub exit_codes: Codes,
    /// The step whose rows are given in `ONEBELL_INPUT`; else those of the only step before it that has rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Bytes kept of each stream.
    pub output_cap: u32,
}

/// Exit codes by what they mean.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Codes {
    /// Another try would fail the same way.
    #[serde(default)]
    pub permanent: Vec<i32>,
    /// Another try may succeed.
    #[serde(default)]
    pub retry: Vec<i32>,
}

/// Statements for the settling transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqlStep {
    /// The text.
    pub sql: String,
}

/// A message for each row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MessageStep {
    /// The channel's name.
    pub channel: String,
    /// Where the rows come from; none: one message, with an empty row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<Rows>,
    /// Identity: one message per key, for as long as keys are kept. These are templates, as are all below.
    pub key: String,
    /// One address.
    pub to: String,
    /// One line.
    pub subject: String,
    /// Plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// HTML; what it prints is escaped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// One address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// Further headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// What an unknown outcome means; else the channel's own policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_in_doubt: Option<InDoubtPolicy>,
    /// Budget of each message.
    pub retry: RetryPolicy,
}

/// Where rows come from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rows {
    /// What an earlier step of the run wrote.
    OutputOf(String),
    /// A CSV file with a header line, on every replica.
    Csv(PathBuf),
    /// A file with one JSON object per line, on every replica.
    Ndjson(PathBuf),
    /// A read-only query.
    Sql(String),
}
