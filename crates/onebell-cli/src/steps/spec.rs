//! What a step's handler needs, as it is stored in the job's definition (JSON text).
//!
//! Texts of files are inside, so that every replica and every later attempt has the same; secrets and paths are only named, and
//! looked up on the replica that runs the step. Relative paths begin at the job file's folder.

use std::collections::BTreeMap;
use std::path::PathBuf;

use onebell::model::message::InDoubtPolicy;
use onebell::model::retry::RetryPolicy;
use serde::{Deserialize, Serialize};

use crate::apply::Plan;
use crate::secret::SecretRef;

/// Handler word of [`CommandStep`].
pub const COMMAND: &str = "command";
/// Handler word of [`HttpStep`].
pub const HTTP: &str = "http";
/// Handler word of [`SqlStep`].
pub const SQL: &str = "sql";
/// Handler word of [`ApplyStep`].
pub const APPLY: &str = "apply";
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

/// A request to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpStep {
    /// `GET`, `POST`, …
    pub method: String,
    /// A template; what it prints is percent-encoded.
    pub url: String,
    /// Templates, or names of secrets.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, SecretRef>,
    /// What is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// Signs the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretRef>,
    /// The step whose rows the templates see as `rows`; else those of the only step before it that has rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Statuses that mean done; none: every 2xx.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expect: Vec<u16>,
    /// Statuses after which another try may succeed, against the usual.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retry_on: Vec<u16>,
    /// Statuses after which it would not, against the usual.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub permanent_on: Vec<u16>,
    /// The answer's body becomes the step's rows.
    #[serde(default)]
    pub output: bool,
    /// `202` means that what came of it is said later, to its callback address.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub callback: bool,
    /// Certificates to trust instead of the host's, PEM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<PathBuf>,
    /// A plain HTTP proxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    /// Nobody else is reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_hosts: Option<Vec<String>>,
}

/// What a request or a webhook carries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    /// The text.
    pub template: String,
    /// Whether it is JSON: then it prints values as JSON, and what comes out is checked.
    #[serde(default)]
    pub json: bool,
    /// What it is.
    pub content_type: String,
}

/// Records to apply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyStep {
    /// How; its file may be a pattern.
    pub plan: Plan,
    /// The step whose rows are the records, instead of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_of: Option<String>,
    /// A pattern that names no file is nothing to do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_no_file: bool,
}

impl ApplyStep {
    /// With the format that its source has: rows of a step are objects.
    pub(crate) fn readable(&self) -> Plan {
        let rows = self.output_of.as_ref().map(|_| "ndjson".to_owned());
        Plan { format: self.plan.format.clone().or(rows), ..self.plan.clone() }
    }
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
    /// One address; empty for a webhook.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub to: String,
    /// One line; empty for a webhook.
    #[serde(default, skip_serializing_if = "String::is_empty")]
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
    /// What a webhook carries, in place of all that makes a mail.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
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
