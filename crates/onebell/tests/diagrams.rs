//! The diagrams in the docs are generated from the transition tables; this test fails when they differ.
//! Write them anew with: ONEBELL_WRITE_DOCS=1 cargo test -p onebell --test diagrams

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]

use std::fmt::Write;

use onebell::model::batch::BATCH;
use onebell::model::message::MESSAGE;
use onebell::model::run::RUN;
use onebell::model::step::STEP;
use onebell::model::transition::Transition;

fn machine<S: std::fmt::Display, E: std::fmt::Display>(title: &str, table: &[Transition<S, E>]) -> String {
    let mut text = format!("## {title}\n\n```mermaid\nstateDiagram-v2\n");
    for line in table {
        for from in line.from {
            writeln!(text, "    {from} --> {}: {}", line.to, line.event).unwrap();
        }
    }
    text.push_str("```\n\n| from | event | to | by |\n|---|---|---|---|\n");
    for line in table {
        let from: Vec<String> = line.from.iter().map(ToString::to_string).collect();
        let by: Vec<String> = line.by.iter().map(|by| format!("{by:?}").to_lowercase()).collect();
        writeln!(text, "| {} | {} | {} | {} |", from.join(", "), line.event, line.to, by.join(", ")).unwrap();
    }
    text
}

#[test]
fn the_documented_machines_are_the_tables() {
    let head = "# State machines\n\nGenerated from the transition tables in `crates/onebell/src/model`. What is not listed does not happen.\n";
    let text =
        [head.to_owned(), machine("Step", STEP), machine("Run", RUN), machine("Message", MESSAGE), machine("Batch", BATCH)]
            .join("\n");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/state-machines.md");
    if std::env::var_os("ONEBELL_WRITE_DOCS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), text, "run it with ONEBELL_WRITE_DOCS=1");
}
