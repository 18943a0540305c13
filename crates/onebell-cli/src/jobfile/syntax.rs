//! TOML's own errors. A table or key that is there twice is said in the words of the job file, and belongs to its job.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::{DeTable, DeValue, Error};

use super::problem::Flaw;

/// Errors, by what they spoil.
#[derive(Default)]
pub(super) struct Sorted {
    /// The whole file.
    pub(super) file: Vec<Flaw>,
    /// One job.
    pub(super) jobs: BTreeMap<String, Vec<Flaw>>,
}

pub(super) fn sorted(errors: &[Error], text: &str) -> Sorted {
    let mut sorted = Sorted::default();
    if let Some(span) = foreign(text) {
        let remedy = "the job file is TOML: [jobs.NAME], and key = value below it";
        sorted.file.push(Flaw::new(span, "this looks like YAML", remedy));
        return sorted;
    }
    // Where a second definition began: what it repeats is part of that mistake.
    let mut second: Option<Range<usize>> = None;
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        if error.message() != "duplicate key" {
            sorted.file.push(Flaw::new(span, format!("not TOML: {}", error.message()), ""));
            continue;
        }
        if second.as_ref().is_some_and(|second| second.contains(&span.start)) {
            continue;
        }
        let header = header_of(text, span.start);
        let flaw = match &header {
            Some((path, start)) if *start == line_start(text, span.start) => {
                second = Some(span.start..end_of(text, span.start, path));
                table_twice(path, span, text, *start)
            }
            _ => {
                let key = text.get(span.clone()).unwrap_or_default();
                Flaw::new(span, format!("two values for {key}"), "keep one of them")
            }
        };
        match header.as_ref().map(|(path, _)| path.as_slice()) {
            Some([jobs, job, ..]) if jobs == "jobs" => sorted.jobs.entry(job.clone()).or_default().push(flaw),
            _ => sorted.file.push(flaw),
        }
    }
    sorted
}

/// The first line, when it is one that YAML begins with and TOML cannot have.
fn foreign(text: &str) -> Option<Range<usize>> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let written = line.trim();
        if !written.is_empty() && !written.starts_with('#') {
            let is_key = |key: &str| {
                !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
            };
            let yaml = written == "---"
                || written.strip_suffix(':').is_some_and(is_key)
                || written.split_once(": ").is_some_and(|(key, _)| is_key(key));
            return yaml.then(|| start..start + line.trim_end().len());
        }
        start += line.len();
    }
    None
}

fn table_twice(path: &[String], span: Range<usize>, text: &str, start: usize) -> Flaw {
    let what = match path {
        [table, job] if table == "jobs" => format!("two definitions of job {job:?}"),
        [table, channel] if table == "channels" => format!("two definitions of channel {channel:?}"),
        path => format!("two tables [{}]", path.join(".")),
    };
    let header = text[start..].lines().next().unwrap_or_default().trim();
    let first =
        text[..start].lines().position(|line| line.trim() == header).map(|line| format!(" (the first is in line {})", line + 1));
    Flaw::new(span, format!("{what}{}", first.unwrap_or_default()), "rename or remove one")
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The table header that is in force at `at`: its keys and where its line begins.
fn header_of(text: &str, at: usize) -> Option<(Vec<String>, usize)> {
    let end = text[at..].find('\n').map_or(text.len(), |newline| at + newline);
    let mut start = end;
    text[..end].split('\n').rev().find_map(|line| {
        start = start.saturating_sub(line.len());
        let found = keys(line).map(|keys| (keys, start));
        start = start.saturating_sub(1);
        found
    })
}

/// The keys of a header line.
fn keys(line: &str) -> Option<Vec<String>> {
    let line = line.trim();
    if !line.starts_with('[') {
        return None;
    }
    let table = DeTable::parse(line).ok()?;
    let mut keys = Vec::new();
    let mut rest = table.get_ref();
    while let Some((key, value)) = rest.iter().next() {
        keys.push(key.get_ref().clone().into_owned());
        rest = match value.get_ref() {
            DeValue::Table(table) => table,
            _ => return Some(keys),
        };
    }
    Some(keys)
}

/// Where the tables under `path` end, from the header line at `at` on.
fn end_of(text: &str, at: usize, path: &[String]) -> usize {
    let mut end = text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1);
    while end < text.len() {
        let line = text[end..].split('\n').next().unwrap_or_default();
        if keys(line).is_some_and(|keys| !keys.starts_with(path)) {
            return end;
        }
        end += line.len() + 1;
    }
    text.len()
}
