//! The reference page, the schema and the reader say the same of every key.
//! Write the page anew with: ONEBELL_WRITE_DOCS=1 cargo test -p onebell-cli --test jobfile reference

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use onebell::replica::Settings;
use onebell_cli::jobfile::keys::{SECTIONS, Shape, Without};
use onebell_cli::jobfile::{JobFile, page};

use crate::parse;
use crate::places::{Place, TABLES, folder, places};
use crate::schema::Judge;

/// Reads `text` as the file that the place is in.
fn read(place: &Place, text: &str, path: &Path) -> Result<JobFile, String> {
    let included = path.with_file_name("included.toml");
    let text = match place.table.name {
        "included" => std::fs::write(included, text).map(|()| "include = [\"included.toml\"]").unwrap(),
        _ => text,
    };
    JobFile::parse(text, path).map_err(|report| report.to_string())
}

#[test]
fn the_page_is_what_the_keys_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/job-file.md");
    if std::env::var_os("ONEBELL_WRITE_DOCS").is_some() {
        std::fs::write(path, page()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), page(), "run it with ONEBELL_WRITE_DOCS=1");
}

#[test]
fn every_section_of_the_page_belongs_to_a_table_that_is_tried_here() {
    let tried: BTreeSet<&str> = TABLES.iter().flat_map(|table| table.sections).map(|section| section.title).collect();
    assert_eq!(tried, SECTIONS.iter().map(|section| section.title).collect());
    let schema = onebell_cli::jobfile::schema();
    let described: BTreeSet<&str> = schema["$defs"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(described, TABLES.iter().map(|table| table.name).filter(|name| !["file", "included"].contains(name)).collect());
}

#[test]
fn the_example_of_every_key_is_taken_at_its_place_by_the_reader_and_by_the_schema() {
    let (_folder, path) = folder();
    let judge = Judge::new();
    for place in places() {
        let text =
            place.file(Some(place.key.example)).replace("\"seconds\" = true", "\"seconds\" = true\nschedule = \"0 0 2 * * *\"");
        // A job of one step has no other one to name.
        if !(place.table.name == "job" && ["after", "input"].contains(&place.key.name)) {
            assert_eq!(read(&place, &text, &path).err(), None, "{}\n{text}", place.name());
        }
        assert_eq!(judge.of(&text), Ok(()), "{}\n{text}", place.name());
    }
}

#[test]
fn what_is_needed_is_missed_by_the_reader_and_by_the_schema() {
    let (_folder, path) = folder();
    let judge = Judge::new();
    for place in places().iter().filter(|place| place.key.without == Without::Refused) {
        let text = place.file(None);
        assert!(read(place, &text, &path).is_err() && judge.of(&text).is_err(), "{}\n{text}", place.name());
    }
}

#[test]
fn a_default_that_is_written_out_changes_nothing() {
    let (_folder, path) = folder();
    for place in places() {
        let Without::Same(value) = place.key.without else { continue };
        let (with, without) = (read(&place, &place.file(Some(value)), &path), read(&place, &place.file(None), &path));
        let (with, without) = (with.unwrap_or_else(|error| panic!("{}: {error}", place.name())), without.unwrap());
        assert_eq!(with.jobs, without.jobs, "{}", place.name());
        // What is left out here is decided where the channel, the replica or the database begins.
        if !["window", "timeout"].contains(&place.key.name) {
            assert_eq!(with.channels, without.channels, "{}", place.name());
        }
    }
    let usual = Settings::default();
    let written = parse("[replica]\nlease = \"10s\"\ndrain = \"60s\"\nconcurrency = 8\nprefetch = 0\nqueues = [\"default\"]\nkeep_runs = \"30d\"\nkeep_keys = \"400d\"\n").replica;
    assert_eq!((written.lease, written.drain), (Some(usual.lease), Some(usual.drain)));
    assert_eq!((written.concurrency, written.prefetch), (Some(usual.concurrency), Some(usual.prefetch)));
    assert_eq!((written.keep_runs, written.keep_keys), (Some(usual.keep_runs), Some(usual.keep_keys)));
    assert_eq!(written.queues, Some(usual.queues));
    let mail = onebell_cli::smtp::SmtpConfig::new("m", 25, "a@example.com".parse().unwrap());
    assert_eq!((mail.window, mail.timeout), (Duration::from_secs(60), Duration::from_secs(30)));
    let hook = onebell_cli::http::HttpConfig::new("https://example.com".parse().unwrap());
    assert_eq!((hook.window, hook.timeout), (Duration::from_secs(30), Duration::from_secs(10)));
}

/// What is told of a value at its place.
fn told(place: &Place, value: &str, path: &Path) -> String {
    read(place, &place.file(Some(value)), path).err().unwrap_or_default()
}

#[test]
fn numbers_have_the_bounds_that_are_written() {
    let (_folder, path) = folder();
    for place in places() {
        let Shape::Whole(least, most) = place.key.shape else { continue };
        let refused = |value: i64| told(&place, &value.to_string(), &path).contains("expected a whole number");
        assert!(!refused(least) && refused(least - 1), "{}: {least}", place.name());
        assert!(!refused(most) && (most == i64::MAX || refused(most + 1)), "{}: {most}", place.name());
    }
}

#[test]
fn the_words_that_are_written_are_choices_and_no_other_is() {
    let (_folder, path) = folder();
    for place in places() {
        let Shape::Word(words) = place.key.shape else { continue };
        let refused = |word: &str| {
            let told = told(&place, &format!("{word:?}"), &path);
            told.contains("is not a choice here") || told.contains("unknown kind")
        };
        assert!(words().iter().all(|word| !refused(word)) && refused("nonsense"), "{}", place.name());
    }
}
