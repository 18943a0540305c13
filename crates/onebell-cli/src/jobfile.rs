//! The job file, `onebell.toml`: read whole, judged whole.
//!
//! Reading collects every problem, each with its line and what to write instead; a wrong job does not hide the others. Whoever can go
//! on with the good jobs reads the file partly: what can be used is in [`JobFile::jobs`], what cannot in [`JobFile::bad_jobs`]. Files that steps point to (SQL, templates) are read here and
//! become part of the definition; secrets are only named. Nothing here asks a clock, a store or the network.

mod dates;
mod document;
mod doubts;
mod elsewhere;
mod fields;
mod include;
mod job;
pub mod keys;
mod kind;
mod limits;
mod notify;
mod page;
pub mod ping;
mod problem;
mod promise;
mod reading;
mod schedule;
mod schema;
mod settings;
mod step;
mod syntax;
mod texts;
mod values;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use onebell::model::JobDefinition;

pub use dates::days_of_file;
pub use doubts::of_job as doubts;
pub use page::page;
pub use ping::PingConfig;
pub use problem::{Problem, Report};
pub use promise::{Promise, StepPromise, promises};
pub use schedule::{describe, spelled};
pub use schema::schema;
pub use settings::{ChannelConfig, HttpConfig, ReplicaSettings, SmtpConfig, Tls};
pub use values::duration_of as duration;

use crate::secret::SecretRef;
use document::Document;

/// What a job file says.
#[derive(Debug, Clone)]
pub struct JobFile {
    /// The folder of the file: relative paths begin here.
    pub folder: PathBuf,
    /// The store's URL, if the file names one.
    pub database: Option<String>,
    /// `[replica]`.
    pub replica: ReplicaSettings,
    /// `[channels]`.
    pub channels: BTreeMap<String, ChannelConfig>,
    /// Where the pings of jobs go, by channel.
    pub pings: BTreeMap<String, PingConfig>,
    /// Jobs that can be used, in the order written.
    pub jobs: Vec<JobDefinition>,
    /// Why the others cannot, in the order of the file; empty unless the file was read partly.
    pub bad_jobs: Vec<Problem>,
    /// Secrets of channels and requests, and variables of commands that are named and not written: to be kept out of what is
    /// captured.
    pub secrets: Vec<SecretRef>,
}

impl JobFile {
    /// Reads the file at `path`, all or nothing.
    ///
    /// # Errors
    /// Everything that is wrong with it, or why it cannot be read.
    pub fn load(path: &Path) -> Result<Self, Report> {
        Self::load_partly(path)?.whole()
    }

    /// Reads `text` as if it stood at `path`, all or nothing.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn parse(text: &str, path: &Path) -> Result<Self, Report> {
        Self::parse_partly(text, path)?.whole()
    }

    /// Reads the file at `path`; wrong jobs are left out and told in [`Self::bad_jobs`].
    ///
    /// # Errors
    /// When the file cannot be read, is no TOML, or something outside the jobs is wrong; the report has the jobs' problems too.
    pub fn load_partly(path: &Path) -> Result<Self, Report> {
        let bytes = std::fs::read(path).map_err(|error| unreadable(path, &error.to_string()))?;
        let text = String::from_utf8(bytes);
        let text = text.map_err(|error| unreadable(path, &format!("byte {} is not UTF-8", error.utf8_error().valid_up_to())))?;
        Self::parse_partly(&text, path)
    }

    /// Reads `text` as if it stood at `path`; wrong jobs are left out and told in [`Self::bad_jobs`].
    ///
    /// # Errors
    /// As [`Self::load_partly`].
    pub fn parse_partly(text: &str, path: &Path) -> Result<Self, Report> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        let main = Document::new(path, text, &keys::FILE);
        let included = main.fields().read("include", |node| include::files(node, path, &folder)).unwrap_or_default();
        let included: Vec<Document<'_>> =
            included.iter().map(|file| Document::new(&file.path, &file.text, &keys::INCLUDED)).collect();
        let (file, bad_jobs) = reading::read(&main, &included, &folder);
        let mut problems: Vec<Problem> = std::iter::once(&main).chain(&included).flat_map(Document::problems).collect();
        if problems.is_empty() {
            return Ok(Self { folder, bad_jobs, ..file });
        }
        problems.extend(bad_jobs);
        // Those of one file stand together, the job file's first.
        let place = |problem: &Problem| (problem.file != path, problem.file.clone(), problem.line, problem.column);
        problems.sort_by_key(place);
        Err(Report { problems })
    }

    /// The file, if all of its jobs can be used.
    ///
    /// # Errors
    /// What is wrong with the others.
    pub fn whole(self) -> Result<Self, Report> {
        if self.bad_jobs.is_empty() { Ok(self) } else { Err(Report { problems: self.bad_jobs }) }
    }

    /// The same with further values that are to be kept out of what is captured.
    #[must_use]
    pub fn hiding(mut self, values: &[String]) -> Self {
        self.secrets.extend(values.iter().cloned().map(SecretRef::Text));
        self
    }

    /// The secret values that can be had on this replica now; what cannot is said where it is used.
    pub fn secret_values(&self) -> Vec<String> {
        let values = self.secrets.iter().filter_map(|secret| secret.bare().resolve(&self.folder).ok());
        values.filter(|value| !value.is_empty()).collect()
    }
}

fn unreadable(path: &Path, why: &str) -> Report {
    let problem = Problem {
        file: path.to_owned(),
        line: 1,
        column: 1,
        width: 1,
        source_line: String::new(),
        message: format!("cannot read the job file: {why}"),
        remedy: "name another one with -f FILE, or make one with `onebell init`".to_owned(),
        job: None,
    };
    Report { problems: vec![problem] }
}
