//! What the job file promises: right files are read as written, wrong ones are told where, what, and what to write instead.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

mod http;
mod include;
mod notify;
mod places;
mod read;
mod reference;
mod refused;
mod schema;
mod trial;

use std::path::Path;

use onebell_cli::jobfile::{JobFile, Problem};

pub(crate) fn parse(text: &str) -> JobFile {
    JobFile::parse(text, Path::new("onebell.toml")).unwrap_or_else(|report| panic!("{report}"))
}

pub(crate) fn partly(text: &str) -> JobFile {
    JobFile::parse_partly(text, Path::new("onebell.toml")).unwrap_or_else(|report| panic!("{report}"))
}

/// Everything that is wrong with `text`, in the order of the file.
pub(crate) fn problems(text: &str) -> Vec<Problem> {
    JobFile::parse(text, Path::new("onebell.toml"))
        .map_or_else(|report| report.problems, |file| panic!("nothing is wrong: {file:?}"))
}

/// `line:column message; remedy` of each problem.
pub(crate) fn told(text: &str) -> Vec<String> {
    problems(text).iter().map(|p| format!("{}:{} {}; {}", p.line, p.column, p.message, p.remedy)).collect()
}

pub(crate) fn the_one(text: &str) -> String {
    let told = told(text);
    assert_eq!(told.len(), 1, "{told:#?}");
    told.into_iter().next().expect("one")
}

/// A job with one good step and these lines.
pub(crate) fn job(lines: &str) -> String {
    format!("[jobs.j]\n{lines}\ncommand = [\"true\"]\n")
}

pub(crate) const CHANNEL: &str =
    "[channels.mail]\nkind = \"smtp\"\nhost = \"127.0.0.1\"\nport = 2525\nfrom = \"a@example.com\"\n";

/// A message step whose lines are these, from line 10 on.
pub(crate) fn message(lines: &str) -> String {
    format!("{CHANNEL}[jobs.j]\n[[jobs.j.steps]]\nname = \"remind\"\n[jobs.j.steps.message]\n{lines}\n")
}
