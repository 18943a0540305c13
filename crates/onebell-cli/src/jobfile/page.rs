//! The reference page of the job file, made of what [`super::keys`] describes.

use std::fmt::Write;

use super::keys::{Key, SECTIONS, Section, Shape, Without};

const HEAD: &str = "# The job file, key by key\n\nGenerated from `crates/onebell-cli/src/jobfile/keys`, which the reader reads by. \
    How the keys work together stands in the [guide](guide.md#the-job-file); `onebell schema` prints the same as JSON Schema. \
    Examples are values: `key = example`.\n\nA duration is whole numbers with `d h m s ms` from large to small, such as `\"1h30m\"`. \
    A date is a text or TOML's own. Paths begin at the job file's folder.\n";

/// The page as Markdown.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for section in SECTIONS {
        page.push_str(&shown(section));
    }
    page
}

fn shown(section: &Section) -> String {
    let mut text = format!("\n## {}\n\n", section.title);
    if !section.meaning.is_empty() {
        text.push_str(section.meaning);
        text.push_str("\n\n");
    }
    text.push_str("| key | type | default | meaning | example |\n|---|---|---|---|---|\n");
    for key in section.keys {
        text.push_str(&row(key));
    }
    text
}

fn row(key: &Key) -> String {
    let without = match key.without {
        Without::Refused => "needed".to_owned(),
        Without::Nothing => String::new(),
        Without::Same(value) => code(value),
        Without::Said(words) => cell(words),
    };
    let mut line = String::new();
    let (name, shape) = (code(key.name), shape(&key.shape));
    // Writing into a string cannot fail.
    _ = writeln!(line, "| {name} | {shape} | {without} | {} | {} |", cell(key.meaning), code(key.example));
    line
}

fn shape(shape: &Shape) -> String {
    match shape {
        Shape::Text => "text".to_owned(),
        Shape::Name => "text, not empty".to_owned(),
        Shape::Flag => "true or false".to_owned(),
        Shape::Whole(least, i64::MAX) => format!("whole number from {least}"),
        Shape::Whole(least, most) => format!("whole number, {least} to {most}"),
        Shape::Duration => "duration".to_owned(),
        Shape::Date => "date".to_owned(),
        Shape::Word(words) => words().iter().map(|word| code(word)).collect::<Vec<_>>().join(", "),
        Shape::List(of, _) => format!("array: {}", self::shape(of)),
        Shape::ByName(of) => format!("table by name: {}", self::shape(of)),
        Shape::Table(table) => {
            let title = table.sections.first().map_or(table.name, |section| section.title);
            format!("[table](#{})", anchor(title))
        }
        Shape::Either(shapes) => shapes.iter().map(self::shape).collect::<Vec<_>>().join(" or "),
    }
}

/// As a Markdown renderer makes it of a heading.
fn anchor(title: &str) -> String {
    let kept = title.to_lowercase().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_')).collect::<String>();
    kept.replace(' ', "-")
}

fn code(text: &str) -> String {
    format!("`{}`", cell(text))
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
