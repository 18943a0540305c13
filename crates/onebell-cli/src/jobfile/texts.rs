//! Texts that a job file carries or points to: SQL and templates. What is in a file is read here, once.

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::DeValue;

use super::fields::{Fields, Flaws, Node, Read, expected};
use super::keys;
use super::problem::{Elsewhere, Flaw, Source};
use super::values::{name, text};
use crate::template::{TemplateError, TemplateProblem, Templates};

/// The longest file that is embedded.
const FILE_MAX_BYTES: u64 = 1024 * 1024;

/// A text and where it was written.
pub(super) struct Written {
    pub(super) text: String,
    pub(super) origin: Origin,
}

/// Where a text was written.
pub(super) enum Origin {
    /// As the value at these bytes of the job file.
    Inline(Range<usize>),
    /// In a file that the value at these bytes names.
    File(PathBuf, Range<usize>),
}

/// A string.
pub(super) fn inline(node: &Node<'_>) -> Read<Written> {
    Ok(Written { text: text(node)?, origin: Origin::Inline(node.span()) })
}

/// The text of the file that `node` names, relative to the job file's folder.
pub(super) fn file(node: &Node<'_>, folder: &Path) -> Read<Written> {
    let path = folder.join(name(node)?);
    let wrong = |why: String| {
        Flaw::new(
            node.span(),
            format!("cannot read {}: {why}", path.display()),
            "paths begin at the job file's folder; check name and rights",
        )
    };
    let bytes = crate::regular::read(&path, FILE_MAX_BYTES).map_err(wrong)?;
    if let Some(at) = memchr::memchr(0, &bytes) {
        return Err(wrong(format!("byte {at} is NUL, which stands in no text")));
    }
    let text =
        String::from_utf8(bytes).map_err(|error| wrong(format!("byte {} is not UTF-8", error.utf8_error().valid_up_to())))?;
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    Ok(Written { text, origin: Origin::File(path, node.span()) })
}

/// SQL: a string, `{ text = "…" }` or `{ file = "…" }`.
pub(super) fn sql<'t>(node: &'t Node<'t>, folder: &Path, flaws: &'t Flaws) -> Read<String> {
    let written = match node.get_ref() {
        DeValue::String(_) => inline(node)?,
        DeValue::Table(_) => {
            let fields = Fields::open(node, &keys::STATEMENTS, flaws)?;
            let read = (fields.read("text", inline), fields.read("file", |node| file(node, folder)));
            let both = (fields.has("text"), fields.has("file"));
            fields.finish();
            match (read, both) {
                ((Some(written), None), (true, false)) | ((None, Some(written)), (false, true)) => written,
                // Whatever was wrong with the one that is there was said.
                (_, (true, false) | (false, true)) => Written { text: "-".to_owned(), origin: Origin::Inline(node.span()) },
                _ => return Err(Flaw::new(node.span(), "expected one of text and file", "write { file = \"pull.sql\" }")),
            }
        }
        other => return Err(expected("SQL text or { file = \"…\" }", other, node.span())),
    };
    if written.text.trim().is_empty() {
        return Err(Flaw::new(node.span(), "no statement", "write the SQL to run"));
    }
    Ok(written.text)
}

/// What a template of a message sees.
pub(super) const OF_ROW: &[&str] = &["job", "row", "run", "step"];
/// What one of a request sees.
pub(super) const OF_ROWS: &[&str] = &["job", "rows", "run", "step"];

/// What one of a request sees that is called back.
pub(super) const OF_CALLED: &[&str] = &["callback", "job", "rows", "run", "step"];

/// Reads the template for its syntax, and for names that no run will ever have.
pub(super) fn check_template(name: &str, written: &Written, sees: &[&str], source: &Source<'_>) -> Read<()> {
    let mut templates = Templates::new();
    let (error, remedy) = match templates.add(name, &written.text).err() {
        Some(error) => (error, "templates are written {{ row.field }} and {% if … %}".to_owned()),
        None => match templates.check(name, sees) {
            Ok(()) => return Ok(()),
            Err(error) => {
                let remedy = instead_of(&error, sees);
                (error, remedy)
            }
        },
    };
    let message = error.to_string();
    let line = error.line.unwrap_or(1);
    match &written.origin {
        Origin::Inline(span) => Err(Flaw::new(inside(span.clone(), line, source.text), message, remedy)),
        Origin::File(path, span) => {
            let source_line = written.text.lines().nth(line - 1).unwrap_or_default().to_owned();
            let elsewhere = Some(Elsewhere { file: path.clone(), line, source_line });
            Err(Flaw { elsewhere, ..Flaw::new(span.clone(), message, remedy) })
        }
    }
}

/// What may have been meant.
fn instead_of(error: &TemplateError, sees: &[&str]) -> String {
    match &error.problem {
        TemplateProblem::Missing { path, .. } if path == "env" => {
            "a template sees no environment; a header takes { env = \"NAME\" }".to_owned()
        }
        TemplateProblem::Missing { path, .. } if path == "callback" => {
            "write callback = true: the step then waits for what is said there".to_owned()
        }
        TemplateProblem::Missing { path, .. } if path == "row" => {
            "write {% for row in rows %}: a request is made once, for all rows".to_owned()
        }
        TemplateProblem::Missing { path, .. } if !path.contains('.') && sees.contains(&"row") => {
            format!("write {{{{ row.{path} }}}} for a field of the row")
        }
        _ => String::new(),
    }
}

/// The line of a text that was written over several lines; the whole value when it stands in one.
fn inside(span: Range<usize>, line: usize, text: &str) -> Range<usize> {
    let Some(raw) = text.get(span.clone()) else { return span };
    let quotes = if raw.starts_with("\"\"\"") || raw.starts_with("'''") { 3 } else { return span };
    // A line end right after the quotes is not part of the text.
    let skipped = usize::from(raw[quotes..].starts_with(['\n', '\r']));
    let start = raw.split_inclusive('\n').take(line - 1 + skipped).map(str::len).sum::<usize>();
    if start == 0 {
        return span;
    }
    let length = raw[start..].lines().next().map_or(0, str::len);
    span.start + start..span.start + start + length
}
