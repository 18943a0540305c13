//! Jobs that others schedule: crontabs, Kubernetes CronJobs and systemd timers, read into one shape, judged, shown and imported.
//!
//! Three questions are asked of every job: what if it runs twice, how long may it run against its period, does it scale. Readers
//! know a format each and none of the others; rules know neither formats nor views. Nothing here opens a file or asks a clock:
//! texts, the moment and the zone data are handed in.

mod codes;
mod command;
mod crontab;
mod expression;
mod file;
mod finding;
mod form;
mod found;
mod html;
mod import;
mod judge;
mod manifest;
mod next;
mod page;
mod table;
mod timer;

use jiff::tz::TimeZoneDatabase;
use onebell::model::Moment;
pub use onebell::model::shown::shown;
use serde::Serialize;

pub use file::{FILE_BYTES_MAX, File};
pub use finding::{Finding, Severity};
pub use form::Form;
pub use found::{Found, Kind, Meanwhile, Platform, Step, Timing, Work, Zone};
pub use html::html;
pub use import::{Imported, Importing, import};
pub use page::page;
pub use table::table;

/// By what the files are read.
#[derive(Clone, Copy)]
pub struct Reading<'z> {
    /// What all files are; none: each by its name and content.
    pub form: Option<Form>,
    /// Zone of hosts whose jobs name none; none: nobody said it, and UTC is shown with that remark.
    pub host_zone: Option<&'z str>,
    /// The next slots come after it.
    pub after: Moment,
    /// So many of them.
    pub count: usize,
    /// Where zones are looked up.
    pub zones: &'z TimeZoneDatabase,
}

/// Everything that was found.
#[derive(Debug, Clone)]
pub struct Inventory {
    /// In the order of the files; also what could not be read, with no schedule.
    pub jobs: Vec<Found>,
    /// Whether everything could be read.
    pub complete: bool,
}

/// Jobs of one file, as its reader gives them.
#[derive(Default)]
struct Part {
    jobs: Vec<Found>,
    unread: bool,
}

/// More jobs than this are no inventory that anybody reads: of one file, and of all.
const FILE_JOBS_MAX: usize = 5_000;
const JOBS_MAX: usize = 20_000;

impl Part {
    /// Whether no more of the file is read; then it is not complete.
    fn is_full(&mut self) -> bool {
        let full = self.jobs.len() >= FILE_JOBS_MAX;
        self.unread |= full;
        full
    }
}

/// Reads and judges `files`. One that cannot be read is a finding, and the others are read all the same.
pub fn inventory(files: &[File], how: &Reading<'_>) -> Inventory {
    let mut inventory = Inventory { jobs: Vec::new(), complete: true };
    for file in files {
        let part = read(file, how.form);
        inventory.complete &= !part.unread;
        inventory.jobs.extend(part.jobs);
        if inventory.jobs.len() > JOBS_MAX {
            inventory.jobs.truncate(JOBS_MAX);
            inventory.complete = false;
            break;
        }
    }
    let mut refused = next::Refused::new();
    for job in &mut inventory.jobs {
        next::reckon(job, how, &mut refused);
        judge::judge(job);
    }
    judge::across(&mut inventory.jobs);
    inventory
}

fn read(file: &File, form: Option<Form>) -> Part {
    let Some(form) = form.or_else(|| form::of(file)) else {
        // What a folder holds besides.
        return Part::default();
    };
    if let Some(why) = file.unreadable() {
        return unread(file, &why);
    }
    match form {
        Form::Crontab => crontab::read(file, false),
        Form::SystemCrontab => crontab::read(file, true),
        Form::CronJob => manifest::read(file),
        Form::Systemd => timer::read(file),
    }
}

fn unread(file: &File, why: &str) -> Part {
    let finding = codes::UNREADABLE.says(format!("{why}: nothing of it was looked at"));
    Part { jobs: vec![Found::unread(file, 1, finding)], unread: true }
}

impl Inventory {
    /// How many findings there are of each severity: notes, warnings, errors.
    pub fn counts(&self) -> [usize; 3] {
        let all = || self.jobs.iter().flat_map(|job| &job.findings);
        Severity::ALL.map(|severity| all().filter(|finding| finding.severity == severity).count())
    }

    /// As `audit --format json` prints it.
    pub fn json(&self) -> impl Serialize {
        let jobs = self.jobs.iter().map(|job| Job {
            source: job.place(),
            name: &job.name,
            schedule: &job.timing.text,
            next: &job.next,
            findings: &job.findings,
        });
        Answer { jobs: jobs.collect(), complete: self.complete }
    }
}

#[derive(Serialize)]
struct Answer<'j> {
    jobs: Vec<Job<'j>>,
    complete: bool,
}

#[derive(Serialize)]
struct Job<'j> {
    source: String,
    name: &'j str,
    schedule: &'j str,
    next: &'j [Moment],
    findings: &'j [Finding],
}
