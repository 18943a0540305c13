//! What the documents say of the code: the page lists every finding, and readers know none of each other.

use onebell_cli::audit::page;

#[test]
fn the_page_has_every_finding_as_the_code_has_it() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/audit.md")).unwrap();
    let (_, tables) = text.split_once("<!-- findings -->\n\n").expect("the mark before the tables");
    assert!(tables.trim_end() == page().trim_end(), "put this behind the mark in docs/audit.md:\n\n{}", page());
}

fn sources(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if entry.is_dir() {
            found.extend(sources(&entry));
        } else {
            found.push(std::fs::read_to_string(entry).unwrap());
        }
    }
    found
}

#[test]
fn no_reader_knows_another_and_no_rule_and_no_view_knows_a_reader() {
    let audit = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/audit");
    let readers = ["crontab", "manifest", "timer"];
    let names =
        |text: &str, reader: &str| text.contains(&format!("::{reader}::")) || text.contains(&format!("use super::{reader}"));
    for room in readers {
        let texts =
            sources(&audit.join(room)).into_iter().chain([std::fs::read_to_string(audit.join(format!("{room}.rs"))).unwrap()]);
        for text in texts {
            assert!(readers.iter().all(|other| *other == room || !names(&text, other)), "{room}: {text}");
        }
    }
    for file in ["judge.rs", "next.rs", "table.rs", "html.rs", "import.rs", "import/body.rs", "found.rs", "command.rs"] {
        let text = std::fs::read_to_string(audit.join(file)).unwrap();
        assert!(readers.iter().all(|reader| !names(&text, reader)), "{file}");
    }
}
