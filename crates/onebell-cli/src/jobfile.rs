//! The job file, `onebell.toml`: read whole, judged whole.
//!
//! Reading collects every problem, each with its line and what to write instead; a wrong job does not hide the others. Whoever can go
//! on with the good jobs reads the file partly: what can be used is in [`JobFile::jobs`], what cannot in [`JobFile::bad_jobs`]. Files that steps point to (SQL, templates) are read here and
//! become part of the definition; secrets are only named. Nothing here asks a clock, a store or the network.

mod dates;
mod elsewhere;
mod fields;
mod job;
pub mod keys;
mod kind;
mod limits;
mod notify;
mod page;
mod problem;
mod promise;
mod schedule;
mod schema;
mod settings;
mod step;
mod syntax;
mod texts;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use onebell::model::JobDefinition;
use toml::de::DeTable;

pub use dates::days_of_file;
pub use page::page;
pub use problem::{Problem, Report};
pub use promise::{Promise, StepPromise, promises};
pub use schedule::describe;
pub use schema::schema;
pub use settings::{ChannelConfig, HttpConfig, ReplicaSettings, SmtpConfig, Tls};
pub use values::duration_of as duration;

use crate::secret::SecretRef;
use crate::steps::spec::{COMMAND, CommandStep, HTTP, HttpStep};
use fields::{Fields, Flaws, Node, Read};
use job::ReadJob;
use problem::{Flaw, Source};
use settings::Defaults;
use step::Around;

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
        let (document, errors) = DeTable::parse_recoverable(text);
        let source = Source { path, text };
        let folder = path.parent().map(Path::to_owned).unwrap_or_default();
        let found = syntax::sorted(&errors, text);
        let flaws = Flaws::default();
        found.file.into_iter().for_each(|flaw| flaws.push(flaw));
        let mut reading = Reading { source: &source, folder: &folder, twice: found.jobs, bad: Vec::new() };
        let file = reading.file(&Fields::new(document.get_ref(), &keys::FILE, 0..0, &flaws));
        let mut problems: Vec<Problem> = flaws.take().into_iter().map(|flaw| source.problem(flaw, None)).collect();
        let mut bad_jobs = reading.bad;
        bad_jobs.sort_by_key(|problem| (problem.line, problem.column));
        if problems.is_empty() {
            return Ok(Self { folder, bad_jobs, ..file });
        }
        problems.append(&mut bad_jobs);
        problems.sort_by_key(|problem| (problem.line, problem.column));
        Err(Report { problems })
    }

    /// The file, if all of its jobs can be used.
    ///
    /// # Errors
    /// What is wrong with the others.
    pub fn whole(self) -> Result<Self, Report> {
        if self.bad_jobs.is_empty() { Ok(self) } else { Err(Report { problems: self.bad_jobs }) }
    }

    /// The secret values that can be had on this replica now; what cannot is said where it is used.
    pub fn secret_values(&self) -> Vec<String> {
        let values = self.secrets.iter().filter_map(|secret| secret.resolve(&self.folder).ok());
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

/// One reading of a file.
struct Reading<'t> {
    source: &'t Source<'t>,
    folder: &'t Path,
    /// Jobs that are defined twice.
    twice: BTreeMap<String, Vec<Flaw>>,
    bad: Vec<Problem>,
}

impl Reading<'_> {
    fn file(&mut self, fields: &Fields<'_>) -> JobFile {
        // For editors alone.
        fields.read("$schema", values::text);
        let database = fields.read("database", database);
        let replica = fields.read("replica", |node| settings::replica(node, fields.flaws)).unwrap_or_default();
        let channels = match fields.has("channels") {
            true => fields.read("channels", |node| settings::channels(node, fields.flaws)),
            false => Some(BTreeMap::new()),
        };
        let channels_table = fields.get("channels").and_then(|node| Fields::by_name(node, fields.flaws).ok());
        let channel_names: Vec<&str> = channels_table.iter().flat_map(|table| table.entries()).map(|(name, ..)| name).collect();
        let known = notify::Channels { read: channels.as_ref(), names: &channel_names };
        let defaults = fields.read("defaults", |node| settings::defaults(node, known, fields.flaws)).unwrap_or_default();
        let mut jobs = Vec::new();
        if let Some(table) = fields.read("jobs", |node| Fields::by_name(node, fields.flaws)) {
            for (name, at, node) in table.entries() {
                jobs.extend(self.job(name, at, node, (&defaults, channels.as_ref(), &channel_names)));
            }
        }
        fields.finish();
        let jobs = self.within_retention(jobs, &replica);
        let jobs = self.without_clashes(jobs);
        let channels = channels.unwrap_or_default();
        let secrets = secrets(&channels, &jobs);
        JobFile { folder: PathBuf::new(), database, replica, channels, jobs, bad_jobs: Vec::new(), secrets }
    }

    fn job(
        &mut self,
        name: &str,
        at: std::ops::Range<usize>,
        node: &Node<'_>,
        (defaults, channels, channel_names): (&Defaults, Option<&BTreeMap<String, ChannelConfig>>, &[&str]),
    ) -> Option<ReadJob> {
        if let Some(flaws) = self.twice.remove(name) {
            // The rest of it is two definitions in one: judging it would only mislead.
            self.bad.extend(flaws.into_iter().map(|flaw| self.source.problem(flaw, Some(name))));
            return None;
        }
        let flaws = Flaws::default();
        if name == crate::commands::once::JOB {
            let flaw = Flaw::new(
                at.clone(),
                format!("the name {name:?} belongs to the commands of `onebell once`"),
                "choose another one",
            );
            flaws.push(flaw);
        }
        let read = {
            let around = Around { source: self.source, folder: self.folder, defaults, channels, channel_names, flaws: &flaws };
            job::read(name, at, node, &around)
        };
        let flaws = flaws.take();
        let good = flaws.is_empty();
        self.bad.extend(flaws.into_iter().map(|flaw| self.source.problem(flaw, Some(name))));
        good.then_some(read)
    }

    /// A slot can be caught up only while what was recorded of those around it is kept.
    fn within_retention(&mut self, jobs: Vec<ReadJob>, replica: &ReplicaSettings) -> Vec<ReadJob> {
        let usual = onebell::replica::Settings::default();
        let kept = [
            ("keep_runs", replica.keep_runs.unwrap_or(usual.keep_runs)),
            ("keep_keys", replica.keep_keys.unwrap_or(usual.keep_keys)),
        ];
        let mut good = Vec::new();
        for job in jobs {
            let window = job.definition.missed_window;
            match kept.iter().find(|(_, kept)| !job.definition.schedules.is_empty() && *kept < window) {
                None => good.push(job),
                Some((key, kept)) => {
                    let message = format!("its missed_window is {window:?}, but {key} only {kept:?}");
                    let flaw =
                        Flaw::new(job.span, message, format!("write a shorter missed_window, or a longer {key} under [replica]"));
                    self.bad.push(self.source.problem(flaw, Some(&job.definition.name)));
                }
            }
        }
        good
    }

    /// Two jobs cannot both be what one was: they would share its id, its cursor and its keys.
    fn without_clashes(&mut self, jobs: Vec<ReadJob>) -> Vec<JobDefinition> {
        let names: BTreeSet<String> = jobs.iter().map(|job| job.definition.name.clone()).collect();
        let mut taken = BTreeSet::new();
        let mut good = Vec::new();
        for job in jobs {
            let clash = job.definition.formerly.as_ref().filter(|name| names.contains(*name) || !taken.insert((*name).clone()));
            match clash {
                None => good.push(job.definition),
                Some(name) => {
                    let message = format!("formerly: two definitions of job {name:?}");
                    let flaw = Flaw::new(job.formerly.unwrap_or(job.span), message, "keep one of them");
                    self.bad.push(self.source.problem(flaw, Some(&job.definition.name)));
                }
            }
        }
        good
    }
}

fn database(node: &Node<'_>) -> Read<String> {
    let url = values::name(node)?;
    if ["sqlite:", "postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Ok(url);
    }
    // The value may carry a password: it is not repeated.
    Err(Flaw::new(node.span(), "not a database URL", "write \"sqlite:onebell.db\" or \"postgres://user@host/name\""))
}

fn secrets(channels: &BTreeMap<String, ChannelConfig>, jobs: &[JobDefinition]) -> Vec<SecretRef> {
    let of_channels = channels.values().flat_map(ChannelConfig::secrets);
    let of_steps = jobs.iter().flat_map(|job| &job.steps).flat_map(|step| {
        let undo = step.undo.as_ref().map(|undo| secrets_of(&undo.handler, &undo.spec));
        secrets_of(&step.handler, &step.spec).into_iter().chain(undo.unwrap_or_default())
    });
    // A password that is written in the file is one all the same.
    of_channels.chain(of_steps).collect()
}

fn secrets_of(handler: &str, spec: &str) -> Vec<SecretRef> {
    let named = |values: BTreeMap<String, SecretRef>| values.into_values().filter(SecretRef::is_secret);
    match handler {
        COMMAND => serde_json::from_str::<CommandStep>(spec).map_or_else(|_| Vec::new(), |step| named(step.env).collect()),
        HTTP => serde_json::from_str::<HttpStep>(spec)
            .map_or_else(|_| Vec::new(), |step| step.secret.into_iter().chain(named(step.headers)).collect()),
        _ => Vec::new(),
    }
}
