//! The list of rows in `docs/proof.md` is the matrix: every row here stands there, and every line there is a test.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// A row on a database.
type Row = (String, String);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in std::fs::read_dir(folder).unwrap().filter_map(Result::ok) {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
}

/// Rows that are instantiated in a matrix' folder, by the databases that the macro's name says.
fn rows(text: &str) -> Vec<Row> {
    let postgres = ["PostgreSQL 15", "PostgreSQL 18.6"];
    let macros: [(&str, &[&str]); 3] =
        [("on_postgres!(", &postgres), ("on_sqlite!(", &["SQLite"]), ("everywhere!(", &["SQLite", postgres[0], postgres[1]])];
    let mut found = Vec::new();
    for (begin, databases) in macros {
        for part in text.split(begin).skip(1) {
            let names = part.split(");").next().unwrap_or_default().split(',').map(str::trim).filter(|name| !name.is_empty());
            for name in names {
                found.extend(databases.iter().map(|database| (name.to_owned(), (*database).to_owned())));
            }
        }
    }
    found
}

/// The lines of the table: database, how often the fault was met, test.
fn listed() -> Vec<(Row, String)> {
    let text = std::fs::read_to_string(root().join("docs/proof.md")).unwrap();
    let section = text.split("\n## Fault matrix\n").nth(1).expect("docs/proof.md has a section \"Fault matrix\"");
    let section = section.split("\n## ").next().unwrap_or_default();
    let lines = section.lines().filter(|line| line.starts_with("| ") && line.contains('`'));
    let cells = lines.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    cells.map(|cells| ((cells[5].replace('`', ""), cells[2].to_owned()), cells[3].to_owned())).collect()
}

#[test]
fn every_row_of_the_fault_matrix_is_listed_and_every_listed_one_is_a_test_that_met_its_fault() {
    let mut all = Vec::new();
    sources(&root().join("crates"), &mut all);
    let here = all.iter().filter(|(path, _)| path.parent().is_some_and(|folder| folder.ends_with("tests/matrix")));
    let rows: BTreeSet<Row> = here.filter(|(path, _)| !path.ends_with("listed.rs")).flat_map(|(_, text)| rows(text)).collect();
    assert!(rows.len() > 40, "the rows were read: {rows:?}");
    let listed = listed();
    let names: BTreeSet<&Row> = listed.iter().map(|(row, _)| row).collect();
    assert_eq!(names.len(), listed.len(), "a row is listed twice");
    for row in &rows {
        assert!(names.contains(row), "docs/proof.md does not list {row:?}");
    }
    for (row, hits) in &listed {
        let begin = format!("fn {}(", row.0);
        assert!(rows.contains(row) || all.iter().any(|(_, text)| text.contains(&begin)), "no test is named so: {row:?}");
        assert!(hits.parse::<u64>().is_ok_and(|hits| hits > 0), "its fault was never met: {row:?}");
    }
}
