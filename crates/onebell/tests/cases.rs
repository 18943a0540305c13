//! What the documents say of the code: the tests that cases and guarantees name exist, and no row does without; an example that
//! the guide shows whole is the one that runs.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every Rust source of the workspace.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap().filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(std::fs::read_to_string(&path).unwrap());
        }
    }
}

fn all_sources() -> Vec<String> {
    let mut found = Vec::new();
    sources(&root().join("crates"), &mut found);
    found
}

fn functions(sources: &[String]) -> BTreeSet<&str> {
    sources
        .iter()
        .flat_map(|text| text.split("fn ").skip(1))
        .map(|rest| rest.split(['(', '<']).next().unwrap_or_default())
        .collect()
}

/// What stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn each_names_tests_that_exist(rows: &[&str], cell: impl Fn(&str) -> &str) {
    let sources = all_sources();
    let found = functions(&sources);
    for row in rows {
        let named: Vec<&str> = quoted(cell(row)).collect();
        assert!(!named.is_empty(), "no test: {row}");
        for name in named {
            assert!(found.contains(name), "no test is named {name}: {row}");
        }
    }
}

#[test]
fn every_case_names_tests_that_exist() {
    let list = std::fs::read_to_string(root().join("docs/cases.md")).unwrap();
    let rows: Vec<&str> = list.lines().filter(|line| line.starts_with("| K")).collect();
    assert!(rows.len() > 30, "the list was read");
    each_names_tests_that_exist(&rows, |row| row);
}

/// From "## Crash points" to the end of "## Invariants".
fn promises(text: &str) -> &str {
    let from = text.find("## Crash points").unwrap();
    let last = text.find("## Invariants").unwrap();
    let end = text[last + 3..].find("\n## ").map_or(text.len(), |at| last + 3 + at);
    &text[from..end]
}

#[test]
fn every_crash_point_and_every_invariant_is_shown_by_tests_that_exist() {
    let text = std::fs::read_to_string(root().join("docs/guarantees.md")).unwrap();
    let of_a_header = |line: &&str| !line.starts_with("|---") && !line.starts_with("| it stops") && !line.starts_with("| | ");
    let rows: Vec<&str> = promises(&text).lines().filter(|line| line.starts_with("| ")).filter(of_a_header).collect();
    assert!(rows.len() > 40, "the tables were read");
    each_names_tests_that_exist(&rows, |row| row.trim_end_matches([' ', '|']).rsplit('|').next().unwrap());
}

#[test]
fn every_fault_point_of_the_code_is_a_crash_point_of_the_guarantees() {
    let text = std::fs::read_to_string(root().join("docs/guarantees.md")).unwrap();
    let told: BTreeSet<&str> = quoted(promises(&text)).filter(|word| word.ends_with("_commit") && word.contains('.')).collect();
    let sources = all_sources();
    let in_code: BTreeSet<&str> = sources
        .iter()
        .flat_map(|text| text.split("with_points(").skip(1))
        .flat_map(|rest| rest.split(");").next().unwrap_or_default().split('"').skip(1).step_by(2))
        .filter(|word| word.ends_with("_commit"))
        .collect();
    assert!(in_code.len() >= 14, "the points were found: {in_code:?}");
    assert_eq!(told, in_code);
}

#[test]
fn the_example_in_the_guide_is_the_one_that_runs() {
    let guide = std::fs::read_to_string(root().join("docs/guide.md")).unwrap();
    let example = std::fs::read_to_string(root().join("crates/onebell/examples/embed-sqlite.rs")).unwrap();
    assert!(guide.contains(&example), "put crates/onebell/examples/embed-sqlite.rs into docs/guide.md again");
}
