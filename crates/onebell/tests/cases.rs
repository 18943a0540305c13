//! The list of cases names tests: each must exist.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::collections::BTreeSet;
use std::path::Path;

fn functions(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap().filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            functions(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            found.extend(text.split("fn ").skip(1).map(|rest| rest.split(['(', '<']).next().unwrap_or_default().to_owned()));
        }
    }
}

#[test]
fn every_case_names_tests_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = BTreeSet::new();
    functions(&root.join("crates"), &mut found);
    let list = std::fs::read_to_string(root.join("docs/cases.md")).unwrap();
    let rows: Vec<&str> = list.lines().filter(|line| line.starts_with("| K")).collect();
    assert!(rows.len() > 30, "the list was read");
    for row in rows {
        let named: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        assert!(!named.is_empty(), "no test: {row}");
        for name in named {
            assert!(found.contains(name), "no test is named {name}: {row}");
        }
    }
}
