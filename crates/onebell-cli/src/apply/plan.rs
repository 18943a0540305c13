//! What is to be applied, as it is kept with a batch: enough to go on with it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use onebell::handler::PageLimit;
use onebell::model::Key;
use onebell::model::record::{Rule, SCALE_MAX, Shape};
use serde::{Deserialize, Serialize};

use super::stream::Stream;
use crate::source::{Format, SourceOptions, delimiter, format_of};

/// Bytes of the source in one chunk at most.
const CHUNK_BYTES: usize = 4 << 20;
/// Records in one chunk at most.
pub(crate) const CHUNK_MAX: usize = 100_000;

/// How one source is applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// A file; none: what is read from its start every time.
    pub file: Option<PathBuf>,
    /// What that is; none: standard input, or rows of a step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<Stream>,
    /// Names the source instead of the file's path.
    pub source: Option<String>,
    /// What the identities are unique in.
    pub scope: String,
    /// The fields that identify a record.
    pub id: Vec<String>,
    /// The field with its amount.
    pub amount: Option<String>,
    /// Decimal places of the amount.
    pub scale: u8,
    /// Statements over the relation `chunk`.
    pub sql: Option<String>,
    /// Records for which it holds are kept as failed.
    pub fail_if: Option<String>,
    /// Records committed together.
    pub chunk: usize,
    /// More rejected records end the reading.
    pub max_rejected: Option<u64>,
    /// `csv` or `ndjson`; none: by the file's name.
    pub format: Option<String>,
    /// Between the fields of a CSV row.
    pub delimiter: Option<char>,
    /// Whether a last line without a line end is a record.
    pub accept_last_line: bool,
    /// Without a chunk for so long, somebody else may take the batch over.
    pub timeout: Duration,
    /// All of the source or nothing.
    #[serde(default)]
    pub atomic: bool,
}

/// What is wrong with a plan: the part, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{part}: {message}")]
pub struct Wrong {
    /// Such as `scope` or `fail_if`.
    pub part: &'static str,
    /// For people.
    pub message: String,
}

fn wrong(part: &'static str, message: impl std::fmt::Display) -> Wrong {
    Wrong { part, message: message.to_string() }
}

impl Plan {
    /// With the defaults.
    pub fn new(scope: impl Into<String>, id: Vec<String>) -> Self {
        Self {
            file: None,
            stream: None,
            source: None,
            scope: scope.into(),
            id,
            amount: None,
            scale: 0,
            sql: None,
            fail_if: None,
            chunk: 1_000,
            max_rejected: None,
            format: None,
            delimiter: None,
            accept_last_line: false,
            timeout: Duration::from_secs(15),
            atomic: false,
        }
    }

    /// What the identities are unique in.
    pub(crate) fn scope(&self) -> Result<Key, Wrong> {
        Key::new(&self.scope).map_err(|error| wrong("scope", error))
    }

    /// The source's name: as said, else the absolute path.
    pub(crate) fn source_name(&self) -> Result<String, Wrong> {
        let name = match (&self.source, &self.file) {
            (Some(name), _) => name.clone(),
            (None, Some(file)) => {
                let path = std::fs::canonicalize(file)
                    .map_err(|error| wrong("file", format!("cannot read {}: {error}", file.display())))?;
                let text = path.to_str().ok_or_else(|| wrong("file", "the path is not UTF-8; name the source"))?;
                text.to_owned()
            }
            (None, None) => self.stream.as_ref().map_or_else(|| "-".to_owned(), Stream::name),
        };
        if name.is_empty() || name.contains('\0') {
            return Err(wrong("source", "the name of a source cannot be empty; leave it out, or write a name"));
        }
        Ok(name)
    }

    /// How rows become records.
    pub(crate) fn shape(&self) -> Result<Shape, Wrong> {
        if self.id.is_empty() || self.id.iter().any(String::is_empty) {
            return Err(wrong("id", "a record is identified by at least one field; write its name"));
        }
        if self.scale > SCALE_MAX {
            return Err(wrong("scale", format!("at most {SCALE_MAX} decimal places")));
        }
        if self.amount.is_none() && self.scale != 0 {
            return Err(wrong("scale", "a scale without an amount; name the field of the amount"));
        }
        let fail_if = self.fail_if.as_deref().map(Rule::parse).transpose().map_err(|error| wrong("fail_if", error))?;
        let amount = self.amount.clone().map(|name| (name, self.scale));
        Ok(Shape { id: self.id.clone(), amount, fail_if })
    }

    /// How the source is read.
    pub(crate) fn options(&self) -> Result<SourceOptions, Wrong> {
        let is_query = matches!(self.stream, Some(Stream::Query(_)));
        let format = match self.format.as_deref() {
            None => is_query.then_some(Format::Ndjson),
            Some("csv") if is_query => return Err(wrong("format", "rows of a query are objects; leave the format out")),
            Some("csv") => Some(Format::Csv { delimiter: b',' }),
            Some("ndjson") => Some(Format::Ndjson),
            Some(other) => return Err(wrong("format", format!("{other:?} is not known; write csv or ndjson"))),
        };
        let between = |found: char| delimiter(found.encode_utf8(&mut [0; 4])).map_err(|error| wrong("delimiter", error));
        let delimiter = self.delimiter.map(between).transpose()?;
        Ok(SourceOptions { format, delimiter, accept_last_line: self.accept_last_line, ..SourceOptions::new(self.shape()?) })
    }

    /// How records are written.
    pub(crate) fn written(&self) -> Result<Format, Wrong> {
        let part = if self.delimiter.is_some() { "delimiter" } else { "format" };
        let named = self.file.clone().or_else(|| self.stream.as_ref().and_then(Stream::path));
        format_of(named.as_deref(), &self.options()?).map_err(|error| wrong(part, error))
    }

    /// How much is committed together.
    pub(crate) fn limit(&self) -> Result<PageLimit, Wrong> {
        if self.chunk == 0 || self.chunk > CHUNK_MAX {
            return Err(wrong("chunk", format!("between 1 and {CHUNK_MAX} records are committed together")));
        }
        Ok(PageLimit { items: self.chunk, bytes: CHUNK_BYTES })
    }

    /// What must be the same when an unfinished batch goes on, as JSON text.
    pub(crate) fn identity(&self) -> Result<String, Wrong> {
        let format = match self.written()? {
            Format::Csv { delimiter } => format!("csv {:?}", char::from(delimiter)),
            Format::Ndjson => "ndjson".to_owned(),
        };
        let mut identity = serde_json::json!({ "id": self.id, "amount": self.amount, "scale": self.scale, "format": format });
        if self.atomic {
            identity["atomic"] = true.into();
        }
        Ok(identity.to_string())
    }

    /// The plan as it is kept with its batch; relative paths are made absolute, so that any folder will do to go on. Nothing goes on
    /// with a stream, and its address or arguments may be secrets: it is left out.
    pub(crate) fn settings(&self) -> String {
        let absolute = |file: &PathBuf| std::path::absolute(file).unwrap_or_else(|_| file.clone());
        let plan = Self { file: self.file.as_ref().map(absolute), stream: None, ..self.clone() };
        serde_json::to_string(&plan).unwrap_or_else(|_| "{}".to_owned())
    }

    /// From what was kept.
    pub(crate) fn of_settings(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Each of the files that a pattern names, in their order, or why one of them is not to be read.
    ///
    /// # Errors
    /// When it names none.
    pub fn files(pattern: &Path) -> Result<Vec<Named>, Wrong> {
        let files = Self::files_or_none(pattern)?;
        if files.is_empty() {
            Err(wrong("file", format!("no file is named by {:?}", pattern.to_string_lossy())))
        } else {
            Ok(files)
        }
    }

    /// The same, where there may be none yet. A name without a pattern is a file, whether it is there or not.
    ///
    /// # Errors
    /// When it is no pattern.
    pub(crate) fn files_or_none(pattern: &Path) -> Result<Vec<Named>, Wrong> {
        let text = pattern.to_str().unwrap_or_default();
        if pattern.exists() || !text.contains(['*', '?', '[']) {
            return Ok(vec![Named { file: pattern.to_owned(), wrong: None }]);
        }
        let paths = glob::glob(text).map_err(|error| wrong("file", format!("{text:?}: {error}")))?;
        let folder = folder_of(pattern);
        let named = |found: Result<PathBuf, glob::GlobError>| match found {
            Ok(file) if leads_nowhere(&file) => {
                let remedy = "a link that leads nowhere; mend it, or take it out of the folder";
                Some(Named { wrong: Some(wrong("file", format!("{} is {remedy}", file.display()))), file })
            }
            Ok(file) if !file.is_file() => None,
            Ok(file) => Some(Named { wrong: leaves(&file, &folder).then(|| outside(&file, &folder)), file }),
            Err(error) => {
                let message = format!("cannot read {}: {}", error.path().display(), error.error());
                Some(Named { wrong: Some(wrong("file", message)), file: error.path().to_owned() })
            }
        };
        Ok(paths.filter_map(named).collect())
    }
}

/// A file that a pattern names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Where it is.
    pub file: PathBuf,
    /// Why it is not to be read, while the others are.
    pub wrong: Option<Wrong>,
}

/// Whoever may put files there would choose what this process reads.
fn outside(file: &Path, folder: &Path) -> Wrong {
    let folder = if folder.as_os_str().is_empty() { "this folder".to_owned() } else { folder.display().to_string() };
    let remedy = "move the file itself there, or name where it leads to in a pattern of its own";
    wrong("file", format!("{} leads out of {folder} by a link; {remedy}", file.display()))
}

/// The folder that a pattern names before it leaves anything open.
fn folder_of(pattern: &Path) -> PathBuf {
    let is_open = |part: &std::path::Component<'_>| part.as_os_str().as_encoded_bytes().iter().any(|byte| b"*?[".contains(byte));
    pattern.components().take_while(|part| !is_open(part)).collect()
}

fn leads_nowhere(file: &Path) -> bool {
    file.is_symlink() && !file.exists()
}

/// Whether a file is elsewhere, once links are followed.
fn leaves(file: &Path, folder: &Path) -> bool {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    // One that has gone meanwhile is told when it is opened.
    file.canonicalize().is_ok_and(|file| folder.canonicalize().is_ok_and(|folder| !file.starts_with(folder)))
}
