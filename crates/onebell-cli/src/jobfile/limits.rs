//! `from`, `until` and `except` of a job: between which days its schedules count, and on which not.

use std::path::Path;

use onebell::model::job::Limits;
use toml::de::DeValue;

use super::dates::{self, Wrong};
use super::fields::{Fields, Flaws, Node, Read, expected};
use super::keys;
use super::problem::{Elsewhere, Flaw};
use super::step::Around;
use super::texts::{self, Origin};
use super::values::list;

/// Reads the keys; whether they make sense the schedules say.
pub(super) fn read<'t>(fields: &Fields<'t>, around: &Around<'t>) -> Limits {
    Limits {
        from: fields.read("from", day),
        until: fields.read("until", day),
        except: fields.read("except", |node| except(node, around.folder, around.flaws)).unwrap_or_default(),
    }
}

/// A string, or TOML's own date.
fn day(node: &Node<'_>) -> Read<String> {
    match node.get_ref() {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        DeValue::Datetime(at) => Ok(at.to_string()),
        other => Err(expected("a date such as \"2026-12-01\"", other, node.span())),
    }
}

/// Days, or `{ file = "holidays.ics" }`: a calendar by its ending, else a day a line.
fn except<'t>(node: &'t Node<'t>, folder: &Path, flaws: &'t Flaws) -> Read<Vec<String>> {
    match node.get_ref() {
        DeValue::Table(_) => {
            let fields = Fields::open(node, &keys::EXCEPT, flaws)?;
            let days = fields.need("file", "\"holidays.ics\"", |node| from_file(node, folder));
            fields.finish();
            Ok(days.unwrap_or_default())
        }
        _ => list(node, "an array of dates such as \"2026-12-25\", or { file = \"holidays.ics\" }", day),
    }
}

fn from_file(node: &Node<'_>, folder: &Path) -> Read<Vec<String>> {
    let written = texts::file(node, folder)?;
    let Origin::File(path, span) = &written.origin else { return Ok(Vec::new()) };
    let calendar = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("ics"));
    let days = if calendar { dates::of_calendar(&written.text) } else { dates::of_lines(&written.text) };
    days.map_err(|Wrong { line, problem, remedy }| {
        let source_line = written.text.lines().nth(line - 1).unwrap_or_default().to_owned();
        let elsewhere = Some(Elsewhere { file: path.clone(), line, source_line });
        Flaw { elsewhere, ..Flaw::new(span.clone(), problem, remedy) }
    })
}
