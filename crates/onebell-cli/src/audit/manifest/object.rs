//! A map of a manifest, field by field: of the right type, or a finding that says what is wrong with it.

use std::rc::Rc;

use super::super::codes;
use super::super::finding::Finding;
use super::scalar::{Typed, typed};
use super::tree::{Key, Node, Style, Value};

/// A map and where it stands.
pub(super) struct Object<'n> {
    entries: &'n [(Key, Rc<Node>)],
    /// With a dot behind it; empty at the top.
    path: String,
    /// Its line in the file.
    pub(super) line: usize,
}

/// Words that are alike by so much are one misspelt.
const ALIKE: f64 = 0.85;
/// No field has a longer name.
const FIELD_MAX: usize = 64;

impl<'n> Object<'n> {
    pub(super) fn of(node: &'n Node, path: &str) -> Option<Self> {
        let Value::Map(entries) = &node.value else { return None };
        Some(Self { entries, path: path.to_owned(), line: node.line })
    }

    fn get(&self, name: &str) -> Option<&'n Rc<Node>> {
        self.entries.iter().find(|(key, _)| key.text == name).map(|(_, node)| node)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// A map or a list without entries, as clusters write their defaults.
    pub(super) fn is_empty(&self, name: &str) -> bool {
        match self.get(name).map(|node| &node.value) {
            Some(Value::Map(entries)) => entries.is_empty(),
            Some(Value::List(items)) => items.is_empty(),
            _ => false,
        }
    }

    pub(super) fn line_of(&self, name: &str) -> Option<usize> {
        self.entries.iter().find(|(key, _)| key.text == name).map(|(key, _)| key.line)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = (&'n str, usize)> + use<'n> {
        let entries = self.entries;
        entries.iter().map(|(key, _)| (key.text.as_str(), key.line))
    }

    /// A text, without a word when it is something else.
    pub(super) fn word(&self, name: &str) -> Option<&'n str> {
        match &self.get(name)?.value {
            Value::Scalar(scalar) => Some(scalar.text.as_str()),
            _ => None,
        }
    }

    /// The map under `name`, without a word when it is something else.
    pub(super) fn object(&self, name: &str) -> Option<Self> {
        Self::of(self.get(name)?, &format!("{}{name}.", self.path))
    }

    /// The list under `name`; empty when it is something else.
    pub(super) fn items(&self, name: &str) -> &'n [Rc<Node>] {
        match self.get(name).map(|node| &node.value) {
            Some(Value::List(items)) => items,
            _ => &[],
        }
    }

    /// The field with its type; a null is told and counts as not written.
    fn typed(&self, name: &str, told: &mut Vec<Finding>) -> Option<(Typed<'n>, Style, usize)> {
        let node = self.get(name)?;
        let line = node.line;
        match &node.value {
            Value::Scalar(scalar) => match typed(scalar) {
                Typed::Null => {
                    told.push(
                        codes::VALUE_EMPTY
                            .says(format!("line {line}: {}{name} has no value, so it counts as not written", self.path)),
                    );
                    None
                }
                typed => Some((typed, scalar.style, line)),
            },
            _ => {
                told.push(self.wrong(name, line, "a list or a map", "one value"));
                None
            }
        }
    }

    pub(super) fn text(&self, name: &str, told: &mut Vec<Finding>) -> Option<&'n str> {
        match self.typed(name, told)? {
            (Typed::Text(text), Style::Block, line) => {
                let cut = text.trim_end_matches('\n');
                if cut != text {
                    told.push(
                        codes::BLOCK_TEXT
                            .says(format!("line {line}: {}{name} is a block; the line end behind it was cut off", self.path)),
                    );
                }
                Some(cut)
            }
            (Typed::Text(text), ..) => Some(text),
            (_, _, line) => {
                told.push(self.wrong(name, line, self.word(name).unwrap_or_default(), "a text; put it in quotes"));
                None
            }
        }
    }

    pub(super) fn whole(&self, name: &str, told: &mut Vec<Finding>) -> Option<i64> {
        match self.typed(name, told)? {
            (Typed::Whole(value), ..) => Some(value),
            (Typed::Octal(value), _, line) => {
                let word = self.word(name).unwrap_or_default();
                let decimal = word.trim_start_matches(['-', '+', '0']);
                let message = format!(
                    "line {line}: {}{name}: {word} is {value} for Kubernetes (octal, YAML 1.1) and {decimal} for YAML 1.2",
                    self.path
                );
                told.push(codes::NUMBER_OCTAL.with(message, format!("write {value} or {decimal}, whichever is meant")));
                Some(value)
            }
            (_, _, line) => {
                told.push(self.wrong(name, line, &self.shown(name), "a whole number"));
                None
            }
        }
    }

    pub(super) fn flag(&self, name: &str, told: &mut Vec<Finding>) -> Option<bool> {
        match self.typed(name, told)? {
            (Typed::Flag(value, odd), _, line) => {
                if odd {
                    let word = self.word(name).unwrap_or_default();
                    told.push(
                        codes::WORD_FLAG.says(format!("line {line}: {}{name}: {word} is {value} for Kubernetes", self.path)),
                    );
                }
                Some(value)
            }
            (_, _, line) => {
                told.push(self.wrong(name, line, &self.shown(name), "true or false, without quotes"));
                None
            }
        }
    }

    /// The value with quotes where it had them.
    fn shown(&self, name: &str) -> String {
        let quoted =
            matches!(self.get(name).map(|node| &node.value), Some(Value::Scalar(scalar)) if scalar.style != Style::Plain);
        let word = self.word(name).unwrap_or_default();
        if quoted { format!("{word:?}, a text") } else { word.to_owned() }
    }

    fn wrong(&self, name: &str, line: usize, what: &str, wanted: &str) -> Finding {
        codes::TYPE_WRONG
            .with(format!("line {line}: {}{name} is {what}: the API server refuses it", self.path), format!("write {wanted}"))
    }

    /// Fields that belong elsewhere, and fields that nobody knows.
    pub(super) fn strangers(&self, known: &[&str], elsewhere: &[(&str, &[&str])], told: &mut Vec<Finding>) {
        for (key, line) in self.keys().filter(|(key, _)| !known.contains(key)) {
            let path = &self.path;
            if let Some((home, _)) = elsewhere.iter().find(|(_, fields)| fields.contains(&key)) {
                let message = format!("line {line}: {path}{key} is in the wrong place, and does nothing there");
                told.push(codes::FIELD_MISPLACED.with(message, format!("move it to {home}")));
                continue;
            }
            let all =
                known.iter().chain(elsewhere.iter().flat_map(|(_, fields)| fields.iter())).filter(|_| key.len() <= FIELD_MAX);
            let nearest = all.map(|field| (strsim::jaro_winkler(&key.to_lowercase(), &field.to_lowercase()), field));
            let nearest = nearest.max_by(|one, two| one.0.total_cmp(&two.0)).filter(|(alike, _)| *alike >= ALIKE);
            let message = format!("line {line}: there is no field {path}{key}");
            told.push(match nearest {
                Some((_, field)) => codes::FIELD_UNKNOWN.with(message, format!("write {field}")),
                None => codes::FIELD_UNKNOWN.says(message),
            });
        }
    }
}
