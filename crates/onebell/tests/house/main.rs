//! The rules of the house, checked over the source text: who may import whom, how long things may be, what is never
//! written. Each scanner has tests of its own with snippets that break the rule.

mod bans;
mod files;
mod licences;
mod paths;
mod prose;
mod rooms;
mod rules;
mod size;
mod statements;
mod tokens;

/// Fails with every violation, one a line.
#[track_caller]
fn none(violations: &[String]) {
    assert!(violations.is_empty(), "{} violation(s):\n{}", violations.len(), violations.join("\n"));
}

#[test]
fn each_room_imports_only_what_it_may() {
    none(&rooms::violations(&paths::Crate::of_folder("onebell")));
}

#[test]
fn time_is_asked_and_waited_for_in_one_file_only() {
    for package in ["onebell", "onebell-sim"] {
        none(&rooms::clock_violations(&paths::Crate::of_folder(package)));
    }
}

#[test]
fn files_and_functions_stay_readable_in_one_sitting() {
    none(&size::violations(&files::rust("crates", &["src"]), size::KNOWN_FILES, size::KNOWN_FUNCTIONS));
}

#[test]
fn nothing_is_silenced_skipped_left_undone_or_unsafe() {
    none(&bans::violations(&files::rust("crates", &["src", "tests", "examples", "benches"])));
}

#[test]
fn every_dependency_may_be_used_by_everybody() {
    none(&licences::violations(&licences::metadata()));
}

#[test]
fn the_text_speaks_of_the_project_alone() {
    none(&prose::violations(&files::text()));
}

#[test]
fn the_same_statements_stand_side_by_side_for_both_databases() {
    none(&statements::violations(&statements::of("sqlite"), &statements::of("postgres"), statements::ONE_SIDED));
}
