//! What was found, for people at a terminal.

use crate::answer::Table;

use super::found::Found;
use super::{Inventory, Severity, shown};

/// Longer cells are cut; the findings below have the whole text.
const CELL_MAX: usize = 80;

/// Lines no wider than `width`: a table of the jobs, then what was found about each, then a sum.
pub fn table(inventory: &Inventory, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    if !inventory.jobs.is_empty() {
        let mut table = Table::new(["source", "job", "schedule", "next (utc)", "findings"]);
        for job in &inventory.jobs {
            let next = job.next.first().map_or_else(|| "–".to_owned(), ToString::to_string);
            let next = if job.paused { format!("paused ({next})") } else { next };
            table.row([short(&job.place()), short(&named(job)), short(&job.timing.text), next, counted(job)]);
        }
        lines.extend(table.lines(width));
    }
    for job in inventory.jobs.iter().filter(|job| !job.findings.is_empty()) {
        lines.push(String::new());
        lines.extend(wrapped(&format!("{}  {}", shown(&job.place()), named(job)), "", width));
        let mut findings: Vec<_> = job.findings.iter().collect();
        findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        for finding in findings {
            let text = format!("{} {}: {}", finding.severity.as_str(), finding.code, shown(&finding.message));
            lines.extend(wrapped(&text, "  ", width));
            lines.extend(wrapped(&shown(&finding.fix), "    → ", width));
        }
    }
    lines.push(String::new());
    lines.push(sum(inventory));
    lines
}

/// Jobs and findings, counted.
pub(super) fn sum(inventory: &Inventory) -> String {
    let jobs = inventory.jobs.iter().filter(|job| job.is_job).count();
    let [notes, warnings, errors] = inventory.counts();
    let some = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let sum = [some(jobs, "job"), some(errors, "error"), some(warnings, "warning"), some(notes, "note")].join(", ");
    if inventory.complete { sum } else { format!("{sum}; not everything could be read") }
}

pub(super) fn named(job: &Found) -> String {
    match (job.name.as_str(), job.is_job) {
        ("", true) => "(no name)".to_owned(),
        ("", false) => "(not read)".to_owned(),
        (name, _) => shown(name),
    }
}

/// A cell is as wide as its column's widest.
fn short(text: &str) -> String {
    let text = shown(text);
    if text.chars().count() <= CELL_MAX { text } else { text.chars().take(CELL_MAX - 1).chain(['…']).collect() }
}

fn counted(job: &Found) -> String {
    let some = |severity: Severity| {
        let count = job.findings.iter().filter(|finding| finding.severity == severity).count();
        (count > 0).then(|| format!("{count} {}{}", severity.as_str(), if count == 1 { "" } else { "s" }))
    };
    Severity::ALL.into_iter().rev().filter_map(some).collect::<Vec<_>>().join(", ")
}

/// The text in lines of `width` that begin with `lead`, or with as much space.
fn wrapped(text: &str, lead: &str, width: usize) -> Vec<String> {
    let indent = lead.chars().count();
    let mut lines = vec![lead.to_owned()];
    let mut used = indent;
    for word in text.split(' ') {
        let long = word.chars().count();
        if used > indent && used.saturating_add(long + 1) > width {
            lines.push(" ".repeat(indent));
            used = indent;
        }
        let line = lines.len() - 1;
        if used > indent {
            lines[line].push(' ');
            used += 1;
        }
        lines[line].push_str(word);
        used += long;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words_and_hang_under_their_lead() {
        assert_eq!(wrapped("one two three", "  → ", 11), ["  → one two", "    three"]);
        assert_eq!(wrapped("a-word-that-is-longer x", "", 5), ["a-word-that-is-longer", "x"]);
        assert_eq!(wrapped("all on one", "", usize::MAX), ["all on one"]);
    }
}
