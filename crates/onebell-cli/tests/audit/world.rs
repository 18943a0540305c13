//! Files without a file system, read at a moment that stays the same.

use std::path::Path;

use onebell::model::job::JobDefinition;
use onebell_cli::audit::{File, Form, Found, Imported, Importing, Inventory, Reading, import, inventory};
use onebell_cli::jobfile::JobFile;

/// Every test reads its files then.
pub(crate) const NOW: &str = "2026-11-29T12:00:00Z";

pub(crate) fn reading<'z>(form: Option<Form>, host_zone: Option<&'z str>) -> Reading<'z> {
    Reading { form, host_zone, after: NOW.parse().unwrap(), count: 2, zones: jiff::tz::db() }
}

/// One file of a form that is told.
pub(crate) fn one(form: Form, text: impl AsRef<[u8]>) -> Inventory {
    inventory(&[File::new("file", text.as_ref())], &reading(Some(form), None))
}

/// One file, by its name.
pub(crate) fn named(name: &str, text: impl AsRef<[u8]>) -> Inventory {
    inventory(&[File::new(name, text.as_ref())], &reading(None, None))
}

pub(crate) fn crontab(text: &str) -> Inventory {
    one(Form::Crontab, text)
}

/// A CronJob that is right, with these lines in its spec in place of its schedule.
pub(crate) fn cron_job(spec: &str) -> String {
    let indented: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    format!(
        "apiVersion: batch/v1\nkind: CronJob\nmetadata:\n  name: backup\nspec:\n{indented}  jobTemplate:\n    spec:\n      activeDeadlineSeconds: 600\n      \
         backoffLimit: 0\n      template:\n        spec:\n          restartPolicy: Never\n          containers:\n          - name: main\n            \
         image: app:1\n            command: [\"/app/backup\", \"--all\"]\n"
    )
}

pub(crate) fn manifest(text: &str) -> Inventory {
    one(Form::CronJob, text)
}

/// Codes of a job's findings.
pub(crate) fn codes(job: &Found) -> Vec<&'static str> {
    job.findings.iter().map(|finding| finding.code).collect()
}

#[track_caller]
pub(crate) fn only(inventory: &Inventory) -> &Found {
    let [job] = inventory.jobs.as_slice() else { panic!("one job: {:?}", inventory.jobs) };
    job
}

/// Message and remedy of the finding of that kind.
#[track_caller]
pub(crate) fn told(job: &Found, code: &str) -> String {
    let found = job.findings.iter().find(|finding| finding.code == code);
    let found = found.unwrap_or_else(|| panic!("{code} among {:#?}", job.findings));
    format!("{}; {}", found.message, found.fix)
}

pub(crate) fn next(job: &Found) -> Vec<String> {
    job.next.iter().map(ToString::to_string).collect()
}

/// The job file that an inventory becomes, and the jobs that its reader finds in it. A job file that is refused is no job file.
#[track_caller]
pub(crate) fn imported(inventory: &Inventory, how: Importing<'_>) -> (Imported, Vec<JobDefinition>) {
    let made = import(inventory, how);
    let read = JobFile::parse(&made.text, Path::new("/nowhere/onebell.toml"));
    let file = read.unwrap_or_else(|report| panic!("{report}\n\n{}", made.text));
    let names: Vec<&str> = file.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names.len(), made.jobs.len(), "{}", made.text);
    assert!(made.jobs.iter().all(|job| names.contains(&job.as_str())), "{names:?}, {:?}", made.jobs);
    (made, file.jobs)
}

/// The arguments of a job's only step.
#[track_caller]
pub(crate) fn argv(job: &JobDefinition) -> Vec<String> {
    let spec: serde_json::Value = serde_json::from_str(&job.steps[0].spec).unwrap();
    spec["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}
