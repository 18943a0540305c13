//! What is wrong with a document that is no YAML, in the words of whoever wrote it.

use super::super::codes;
use super::super::finding::Finding;
use super::super::shown;
use super::documents::Document;
use super::tree::{Problem, ProblemKind};

pub(super) fn finding(problem: &Problem, document: &Document<'_>) -> Finding {
    let line = document.text.lines().nth(problem.line - document.first_line).unwrap_or_default();
    let at = format!("line {}", problem.line);
    let culprit = culprit(problem, document).filter(|_| problem.kind == ProblemKind::Syntax);
    // A template is told as one, wherever it breaks, unless something else is plainly the cause.
    if culprit.is_none()
        && let Some((index, template)) = document.text.lines().enumerate().find(|(_, line)| is_template(line))
    {
        let message = format!(
            "line {}: a template, {:?}: what it becomes is not in the file",
            document.first_line + index,
            excerpt(template)
        );
        return codes::TEMPLATE.says(message);
    }
    match problem.kind {
        ProblemKind::KeyTwice => codes::KEY_TWICE.says(format!("{at}: {}: {:?}", problem.message, excerpt(line))),
        ProblemKind::KeyComposed => {
            codes::YAML_REFUSED.with(format!("{at}: {}: {:?}", problem.message, excerpt(line)), "put the value in quotes")
        }
        ProblemKind::Limit => {
            codes::YAML_REFUSED.with(format!("{at}: {}", problem.message), "write it out, without aliases that repeat each other")
        }
        ProblemKind::Syntax => {
            let (line, number) = culprit.unwrap_or((line, problem.line));
            codes::YAML_REFUSED
                .with(format!("line {number}: no YAML ({}): {:?}", shown(&problem.message), excerpt(line)), hint(line))
        }
    }
}

/// A value that begins with a sign of YAML's own is often noticed a line later.
fn culprit<'t>(problem: &Problem, document: &Document<'t>) -> Option<(&'t str, usize)> {
    let at = problem.line - document.first_line;
    let candidates = [at, at.wrapping_sub(1)];
    candidates.iter().find_map(|index| {
        let line = document.text.lines().nth(*index)?;
        value(line).starts_with(['*', '@', '`', '%', '&', '!']).then_some((line, document.first_line + index))
    })
}

fn hint(line: &str) -> String {
    let value = value(line);
    if value.starts_with(['*', '@', '`', '%', '&', '!', '|', '>']) {
        return format!("write it in quotes: \"{}\"", shown(value).replace('"', "'"));
    }
    if line.starts_with('\t') || line.trim_start_matches(' ').starts_with('\t') {
        return "indent with spaces: YAML takes no tabs".to_owned();
    }
    if ['"', '\''].iter().any(|quote| value.starts_with(*quote) && value.matches(*quote).count() == 1) {
        return "close the quote".to_owned();
    }
    if value.contains(": ") || value.contains(" #") {
        return "put the value in quotes".to_owned();
    }
    codes::YAML_REFUSED.fix.to_owned()
}

/// What stands behind the key, or behind the dash.
fn value(line: &str) -> &str {
    let line = line.trim();
    let line = line.strip_prefix("- ").unwrap_or(line);
    line.split_once(": ").map_or(line, |(_, value)| value).trim()
}

fn is_template(line: &str) -> bool {
    let words = [".Values", ".Release", ".Chart", "include ", "template "];
    let starts = line.trim_start().starts_with("{{") || value(line).starts_with("{{");
    starts || (line.contains("{{") && words.iter().any(|word| line.contains(word)) && !line.trim_start().starts_with('#'))
}

fn excerpt(line: &str) -> String {
    line.trim().chars().take(80).collect()
}

/// The first name of a document that could not be read, for people to know it by.
pub(super) fn name(text: &str) -> String {
    let named = text.lines().find_map(|line| line.trim().strip_prefix("name: "));
    named.map_or(String::new(), |name| name.trim().trim_matches(['"', '\'']).chars().take(80).collect())
}
