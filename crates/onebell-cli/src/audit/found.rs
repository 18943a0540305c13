//! One job, whichever format it came in.

use std::time::Duration;

use onebell::model::Moment;
use onebell::model::job::{Dst, When};

use super::file::File;
use super::finding::Finding;

/// A job, or a piece of a file that may have been one.
#[derive(Debug, Clone)]
pub struct Found {
    /// The file, as it was named.
    pub file: String,
    /// Which document of it, from 1, where a file has several.
    pub document: Option<usize>,
    /// The line, from 1.
    pub line: usize,
    /// What people call it; empty where nothing tells.
    pub name: String,
    /// False: it could not be read, and is listed for its findings.
    pub is_job: bool,
    /// When it is due.
    pub timing: Timing,
    /// It is switched off where it comes from.
    pub paused: bool,
    /// What it does; several: one after the other.
    pub steps: Vec<Step>,
    /// What its platform does with it.
    pub platform: Platform,
    /// What cannot be carried over, for people.
    pub left_behind: Vec<String>,
    /// Its next slots.
    pub next: Vec<Moment>,
    /// The shortest time from one slot to the next.
    pub period: Option<Duration>,
    /// What was found, in the order of the rules.
    pub findings: Vec<Finding>,
}

/// When a job is due.
#[derive(Debug, Clone, Default)]
pub struct Timing {
    /// As it is written where it comes from.
    pub text: String,
    /// The same in our words; none: it cannot be said, or not be read.
    pub whens: Vec<When>,
    /// By which clock.
    pub zone: Zone,
    /// What the platform does with times that come twice or not at all.
    pub dst: Dst,
    /// Its slots follow from the text alone; else they are counted from something that happened.
    pub by_calendar: bool,
    /// The source has spoken: there is nothing to reckon.
    pub refused: bool,
}

/// By which clock a job is due.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Zone {
    /// The host's, whatever that is.
    #[default]
    Host,
    /// The Kubernetes controller's, usually UTC.
    Controller,
    /// This one.
    Named(String),
}

/// One part of what a job does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What its platform calls it; none: it is the only one.
    pub name: Option<String>,
    /// What is done.
    pub work: Work,
    /// Variables that it sees, in the order in which they were set.
    pub env: Vec<(String, String)>,
    /// The folder it runs in, where one is written.
    pub cwd: Option<String>,
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    /// A text for a shell.
    Shell {
        /// The shell; none: `/bin/sh`.
        shell: Option<String>,
        /// What it really gets.
        text: String,
        /// What it really gets on its standard input.
        stdin: Option<String>,
        /// What whoever wrote it meant, where that is something else.
        intended: Option<String>,
    },
    /// A program and its arguments.
    Argv(Vec<String>),
    /// It is not in the file, and why.
    Elsewhere(String),
}

/// What a job's platform does with it.
#[derive(Debug, Clone)]
pub struct Platform {
    /// Which one.
    pub kind: Kind,
    /// What a slot does while an earlier run goes on.
    pub meanwhile: Meanwhile,
    /// How long a run may take, and which words say so.
    pub bound: Option<(Duration, String)>,
    /// How often a failed run is repeated, and whether somebody wrote that down.
    pub repeats: Option<(u64, bool)>,
    /// How many copies of the work one run starts.
    pub copies: u64,
    /// How late a run may start.
    pub late: Option<Duration>,
    /// Slots that nobody was there for run later.
    pub catches_up: bool,
}

/// The platforms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// cron
    Cron,
    /// Kubernetes
    Kubernetes,
    /// systemd
    Systemd,
}

/// What a slot does while an earlier run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meanwhile {
    /// A second run starts beside it.
    Starts,
    /// Nothing starts.
    Skips,
    /// The earlier run is ended.
    Replaces,
}

impl Step {
    /// Without a name, variables and folder.
    pub(super) fn new(work: Work) -> Self {
        Self { name: None, work, env: Vec::new(), cwd: None }
    }
}

impl Found {
    /// A job at a place, of which only its platform is known.
    pub(super) fn new(file: &File, line: usize, kind: Kind) -> Self {
        let catches_up = kind == Kind::Kubernetes;
        let platform =
            Platform { kind, meanwhile: Meanwhile::Starts, bound: None, repeats: None, copies: 1, late: None, catches_up };
        Self {
            file: file.name.clone(),
            document: None,
            line,
            name: String::new(),
            is_job: true,
            timing: Timing::default(),
            paused: false,
            steps: Vec::new(),
            platform,
            left_behind: Vec::new(),
            next: Vec::new(),
            period: None,
            findings: Vec::new(),
        }
    }

    /// What could not be read.
    pub(super) fn unread(file: &File, line: usize, finding: Finding) -> Self {
        let mut found = Self::new(file, line, Kind::Cron);
        found.is_job = false;
        found.findings.push(finding);
        found
    }

    /// `cron.yaml#1:7`
    pub fn place(&self) -> String {
        match self.document {
            Some(document) => format!("{}#{document}:{}", self.file, self.line),
            None => format!("{}:{}", self.file, self.line),
        }
    }
}
