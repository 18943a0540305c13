//! The guide's page says what the code says.

use onebell_cli::audit::page;

#[test]
fn the_page_has_every_finding_as_the_code_has_it() {
    let text = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/audit.md")).unwrap();
    let (_, tables) = text.split_once("<!-- findings -->\n\n").expect("the mark before the tables");
    assert!(tables.trim_end() == page().trim_end(), "put this behind the mark in docs/audit.md:\n\n{}", page());
}
