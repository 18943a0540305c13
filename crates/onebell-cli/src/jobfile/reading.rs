//! One reading of a job file and of what it includes: tables first, then every job by itself.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use onebell::model::JobDefinition;

use super::document::Document;
use super::fields::{Fields, Flaws, Node, Read};
use super::job::{self, ReadJob};
use super::ping::{self, PingConfig};
use super::problem::{Flaw, Problem};
use super::settings::{self, ChannelConfig, Defaults, ReplicaSettings};
use super::step::Around;
use super::{JobFile, notify, values};
use crate::secret::SecretRef;
use crate::steps::spec::{COMMAND, CommandStep, HTTP, HttpStep};

/// What can be used, and what is wrong with the jobs that cannot; what is wrong outside of them is kept by the documents.
pub(super) fn read<'t>(main: &'t Document<'t>, included: &'t [Document<'t>], folder: &'t Path) -> (JobFile, Vec<Problem>) {
    let parts: Vec<Part<'t>> =
        std::iter::once(main).chain(included).map(|document| Part { document, fields: document.fields() }).collect();
    // What it names was read before.
    parts[0].fields.get("include");
    let mut reading = Reading { parts: &parts, folder, bad: Vec::new() };
    let file = reading.file(&parts[0].fields);
    for part in &parts[1..] {
        part.refuse_what_is_the_job_files(main);
    }
    for part in &parts {
        // For editors alone.
        part.fields.read("$schema", values::text);
        part.fields.finish();
    }
    let mut bad = reading.bad;
    bad.sort_by_key(|(part, problem)| (*part, problem.line, problem.column));
    (file, bad.into_iter().map(|(_, problem)| problem).collect())
}

/// One file of the reading, and its top level.
struct Part<'t> {
    document: &'t Document<'t>,
    fields: Fields<'t>,
}

/// A named table, in the part with this number.
struct Named<'t> {
    part: usize,
    name: &'t str,
    at: Range<usize>,
    node: &'t Node<'t>,
}

impl<'t> Part<'t> {
    /// What one file says for all must not depend on the order of others.
    fn refuse_what_is_the_job_files(&self, main: &Document<'_>) {
        for key in ["include", "database", "defaults", "replica"] {
            if let Some(at) = self.fields.refuse(key) {
                let remedy = format!("move it to {}", main.source.path.display());
                self.document.flaws.push(Flaw::new(at, format!("{key} belongs to the job file itself"), remedy));
            }
        }
    }
}

struct Reading<'t, 'p> {
    parts: &'p [Part<'t>],
    folder: &'t Path,
    /// With the number of the part.
    bad: Vec<(usize, Problem)>,
}

impl<'t> Reading<'t, '_> {
    fn file(&mut self, fields: &Fields<'t>) -> JobFile {
        let database = fields.read("database", database);
        let replica = fields.read("replica", |node| settings::replica(node, fields.flaws)).unwrap_or_default();
        let callable = replica.callback_url.is_some();
        let named_channels = self.named("channels");
        let channel_names: Vec<&str> = named_channels.iter().flatten().map(|channel| channel.name).collect();
        let channels = named_channels.map(|named| self.channels(&named));
        let known = notify::Channels { read: channels.as_ref(), names: &channel_names };
        let defaults = fields.read("defaults", |node| settings::defaults(node, known, fields.flaws)).unwrap_or_default();
        let named = self.named("jobs").unwrap_or_default();
        let mut jobs = Vec::new();
        for (index, job) in named.iter().enumerate() {
            let others = named.iter().enumerate().filter(|(other, table)| *other != index && table.name == job.name);
            match others.map(|(other, table)| (other, self.place(table))).next() {
                None => jobs.extend(self.job(job, (&defaults, channels.as_ref(), &channel_names, callable))),
                // Neither is used: nobody can say which one is meant.
                Some((first, place)) if first < index => {
                    let message = format!("two definitions of job {:?} (the first is in {place})", job.name);
                    self.spoil(job.part, job.name, Flaw::new(job.at.clone(), message, "rename or remove one"));
                }
                Some(_) => {}
            }
        }
        let jobs = self.within_retention(jobs, &replica);
        let jobs = self.without_clashes(jobs);
        let channels = channels.unwrap_or_default();
        let pings = pings(&jobs);
        let jobs: Vec<JobDefinition> = jobs.into_iter().map(|job| job.definition).collect();
        let mut secrets = secrets(&channels, &jobs);
        secrets.extend(pings.values().flat_map(PingConfig::secrets));
        JobFile { folder: PathBuf::new(), database, replica, channels, pings, jobs, bad_jobs: Vec::new(), secrets }
    }

    /// The tables by name under `key` of all parts, in the order written. Nothing when one of them cannot be read.
    fn named(&self, key: &'static str) -> Option<Vec<Named<'t>>> {
        let mut named = Some(Vec::new());
        for (part, Part { document, fields }) in self.parts.iter().enumerate().filter(|(_, part)| part.fields.has(key)) {
            let table = fields.read(key, |node| Fields::by_name(node, &document.flaws));
            let tables = table.map(|table| table.entries());
            named = named.zip(tables).map(|(mut named, tables)| {
                named.extend(tables.into_iter().map(|(name, at, node)| Named { part, name, at, node }));
                named
            });
        }
        // Misspelt keys are offered it, whether it is there or not.
        for part in self.parts {
            part.fields.get(key);
        }
        named
    }

    fn channels(&self, named: &[Named<'t>]) -> BTreeMap<String, ChannelConfig> {
        let mut channels = BTreeMap::new();
        for (index, channel) in named.iter().enumerate() {
            let flaws = &self.parts[channel.part].document.flaws;
            if let Some(first) = named[..index].iter().find(|first| first.name == channel.name) {
                let message = format!("two definitions of channel {:?} (the first is in {})", channel.name, self.place(first));
                flaws.push(Flaw::new(channel.at.clone(), message, "rename or remove one"));
            } else if channel.name.starts_with(ping::CHANNELS) {
                let message = format!("channel {:?}: such names belong to the pings of jobs", channel.name);
                flaws.push(Flaw::new(channel.at.clone(), message, "choose another one"));
            } else if let Some(config) = settings::channel(channel.name, &channel.at, channel.node, flaws) {
                channels.insert(channel.name.to_owned(), config);
            }
        }
        channels
    }

    /// `file:line`, for people.
    fn place(&self, table: &Named<'_>) -> String {
        self.parts[table.part].document.place(&table.at)
    }

    fn spoil(&mut self, part: usize, job: &str, flaw: Flaw) {
        let problem = self.parts[part].document.source.problem(flaw, Some(job));
        self.bad.push((part, problem));
    }

    fn job(
        &mut self,
        job: &Named<'t>,
        (defaults, channels, channel_names, callable): (&Defaults, Option<&BTreeMap<String, ChannelConfig>>, &[&str], bool),
    ) -> Option<(usize, ReadJob)> {
        let document = self.parts[job.part].document;
        if let Some(flaws) = document.twice.get(job.name) {
            // The rest of it is two definitions in one: judging it would only mislead.
            flaws.iter().for_each(|flaw| self.spoil(job.part, job.name, flaw.clone()));
            return None;
        }
        let flaws = Flaws::default();
        if job.name == crate::commands::once::JOB {
            let message = format!("the name {:?} belongs to the commands of `onebell once`", job.name);
            flaws.push(Flaw::new(job.at.clone(), message, "choose another one"));
        }
        let (source, folder) = (&document.source, self.folder);
        let around = Around { source, folder, defaults, channels, channel_names, callable, flaws: &flaws };
        let read = job::read(job.name, job.at.clone(), job.node, &around);
        let flaws = flaws.drain();
        let good = flaws.is_empty();
        flaws.into_iter().for_each(|flaw| self.spoil(job.part, job.name, flaw));
        good.then_some((job.part, read))
    }

    /// A slot can be caught up only while what was recorded of those around it is kept.
    fn within_retention(&mut self, jobs: Vec<(usize, ReadJob)>, replica: &ReplicaSettings) -> Vec<(usize, ReadJob)> {
        let usual = onebell::replica::Settings::default();
        let kept = [
            ("keep_runs", replica.keep_runs.unwrap_or(usual.keep_runs)),
            ("keep_keys", replica.keep_keys.unwrap_or(usual.keep_keys)),
        ];
        let mut good = Vec::new();
        for (part, job) in jobs {
            let window = job.definition.missed_window;
            match kept.iter().find(|(_, kept)| !job.definition.schedules.is_empty() && *kept < window) {
                None => good.push((part, job)),
                Some((key, kept)) => {
                    let message = format!("its missed_window is {window:?}, but {key} only {kept:?}");
                    let flaw =
                        Flaw::new(job.span, message, format!("write a shorter missed_window, or a longer {key} under [replica]"));
                    self.spoil(part, &job.definition.name, flaw);
                }
            }
        }
        good
    }

    /// Two jobs cannot both be what one was: they would share its id, its cursor and its keys.
    fn without_clashes(&mut self, jobs: Vec<(usize, ReadJob)>) -> Vec<ReadJob> {
        let names: BTreeSet<String> = jobs.iter().map(|(_, job)| job.definition.name.clone()).collect();
        let mut taken = BTreeSet::new();
        let mut good = Vec::new();
        for (part, job) in jobs {
            let clash = job.definition.formerly.as_ref().filter(|name| names.contains(*name) || !taken.insert((*name).clone()));
            match clash {
                None => good.push(job),
                Some(name) => {
                    let message = format!("formerly: two definitions of job {name:?}");
                    let flaw = Flaw::new(job.formerly.unwrap_or(job.span), message, "keep one of them");
                    self.spoil(part, &job.definition.name, flaw);
                }
            }
        }
        good
    }
}

/// By channel. Runs that a renamed job began under its old name ping as well.
fn pings(jobs: &[ReadJob]) -> BTreeMap<String, PingConfig> {
    let of_job = |job: &ReadJob| {
        let names = std::iter::once(job.definition.name.clone()).chain(job.definition.formerly.clone());
        let config = job.ping.clone();
        names.filter_map(move |name| Some((ping::channel(&name), config.clone()?))).collect::<Vec<_>>()
    };
    jobs.iter().flat_map(of_job).collect()
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
