//! The list for people says what the code says.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::path::Path;

use onebell_sim::mutants::{Caught, all};

fn list() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/mutants.md");
    std::fs::read_to_string(path).unwrap()
}

fn line(mutant: &onebell_sim::mutants::Mutant) -> String {
    let caught = match mutant.caught {
        Caught::Within(seeds) => format!("the simulator, within {seeds} seeds"),
        Caught::Contract(test) => format!("the contract suite: `{test}`"),
    };
    format!("| {} | `{}` | {caught} |", mutant.fault, mutant.statement)
}

#[test]
fn the_list_of_mutants_is_the_one_in_the_code() {
    let expected: Vec<String> = all().map(line).collect();
    let text = list();
    let found: Vec<&str> = text.lines().filter(|line| line.starts_with("| ") && line.contains('`')).collect();
    assert_eq!(found, expected, "docs/mutants.md should say:\n{}", expected.join("\n"));
}

#[test]
fn there_are_at_least_25_and_every_fragment_is_where_it_was() {
    assert!(all().count() >= 25);
    for mutant in all() {
        assert_ne!(mutant.text(), "");
    }
}

#[test]
fn a_contract_test_that_is_named_is_there() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../onebell/tests/contract");
    for mutant in all() {
        let Caught::Contract(test) = mutant.caught else { continue };
        let (module, name) = test.split_once("::").unwrap();
        let text = std::fs::read_to_string(folder.join(format!("{module}.rs"))).unwrap();
        assert!(text.contains(&format!("fn {name}(")) || text.contains(name), "{test} is no more");
    }
}
