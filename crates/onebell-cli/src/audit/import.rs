//! What was found as a job file: what can be carried over as keys, what cannot as comments beside its job. What is switched off, or
//! due at times that nobody can say, gets no schedule: nothing may run that did not run before.

mod body;
mod names;
mod toml;

use std::collections::BTreeMap;

use super::codes;
use super::found::{Found, Work};
use super::{Inventory, shown};
use names::Names;

/// A job file and what its reader has to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The job file.
    pub text: String,
    /// Names of its jobs.
    pub jobs: Vec<String>,
    /// Those that are switched off where they come from.
    pub paused: Vec<String>,
    /// What is no job of it, and why.
    pub left_out: Vec<String>,
}

/// How to import.
#[derive(Debug, Clone, Copy, Default)]
pub struct Importing<'z> {
    /// Zone of hosts whose jobs name none.
    pub host_zone: Option<&'z str>,
    /// Percent signs of crontabs are what was meant, and not what cron makes of them.
    pub intended_percent: bool,
}

/// The job file of what was found.
pub fn import(inventory: &Inventory, how: Importing<'_>) -> Imported {
    let mut names = Names::default();
    let mut imported = Imported { text: String::new(), jobs: Vec::new(), paused: Vec::new(), left_out: Vec::new() };
    imported
        .text
        .push_str("# Made by `onebell import`. Read it through: what could not be carried over stands beside each job.\n");
    imported.text.push_str("# Then: onebell check\n");
    let ignored = ignored(inventory);
    for job in &inventory.jobs {
        match ignored.get(job.file.as_str()).cloned().or_else(|| why_not(job)) {
            Some(why) => {
                let told = format!("{} ({}): {}", named(job), shown(&job.place()), shown(&why));
                imported.text.push_str(&format!("\n# Not imported: {told}\n"));
                imported.left_out.push(told);
            }
            None => {
                let name = names.of(&job.name);
                let job = Found { paused: job.paused || has(job, &READ_BY_NOBODY), ..job.clone() };
                imported.text.push('\n');
                imported.text.push_str(&body::job(&job, &name, how));
                if job.paused {
                    imported.paused.push(name.clone());
                }
                imported.jobs.push(name);
            }
        }
    }
    imported
}

/// Findings on a line that cron cannot read, though people can: what did not run before begins paused.
const READ_BY_NOBODY: [&str; 2] = [codes::NO_FINAL_NEWLINE.word, codes::BOM.word];

fn has(job: &Found, found: &[&str]) -> bool {
    job.findings.iter().any(|finding| found.contains(&finding.code))
}

/// Files that cron does not read, and why.
fn ignored(inventory: &Inventory) -> BTreeMap<&str, String> {
    let why = |job: &Found| {
        job.findings.iter().find(|finding| finding.code == codes::FILE_IGNORED.word).map(|found| found.message.clone())
    };
    inventory.jobs.iter().filter_map(|job| Some((job.file.as_str(), why(job)?))).collect()
}

/// Why there is nothing to run.
fn why_not(job: &Found) -> Option<String> {
    if !job.is_job {
        if let Some(missing) = job.findings.iter().find(|finding| finding.code == codes::USER_MISSING.word) {
            return Some(missing.message.clone());
        }
        let first = job.findings.first();
        return Some(first.map_or_else(|| "it could not be read".to_owned(), |finding| finding.message.clone()));
    }
    let has_nul = |text: &String| text.contains('\0');
    job.steps
        .iter()
        .find_map(|step| match &step.work {
            Work::Elsewhere(why) => Some(why.clone()),
            Work::Argv(argv) if argv.iter().any(has_nul) || argv.first().is_none_or(String::is_empty) => {
                Some("its command is empty or has a NUL byte".to_owned())
            }
            Work::Shell { text, .. } if has_nul(text) => Some("its command has a NUL byte".to_owned()),
            Work::Argv(_) | Work::Shell { .. } => None,
        })
        .or_else(|| job.steps.is_empty().then(|| "nothing says what it runs".to_owned()))
}

fn named(job: &Found) -> String {
    if job.name.is_empty() { "something without a name".to_owned() } else { shown(&job.name) }
}
