//! What makes a row a record: which fields identify it, which is its amount, and which rows the business refuses.

mod columns;

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use super::{Position, Record, Rule, minor_units};
use crate::model::fingerprint::{CanonicalError, END, Kind, Member, Refusal, members};
use crate::model::{Fingerprint, Key};

pub use columns::{Columns, ColumnsError};

/// What a field's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// A text: every field of a CSV row, a JSON string.
    Text,
    /// A JSON number, as it is spelled.
    Number,
    /// `true`, `false`, `null`, an array or an object, as it is spelled.
    Other,
}

/// One field of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its value; a text without its quotes and escapes.
    pub value: &'a str,
    /// What it is.
    pub kind: FieldKind,
}

/// How a row becomes a [`Record`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// The fields that identify it, in this order.
    pub id: Vec<String>,
    /// The field with its amount and how many decimal places that may have.
    pub amount: Option<(String, u8)>,
    /// Rows for which it holds are recorded as failed.
    pub fail_if: Option<Rule>,
}

/// Why a row is no record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unfit {
    /// Its identity, when that much could be read.
    pub key: Option<String>,
    /// What is wrong and what to write instead.
    pub reason: String,
}

impl Unfit {
    fn new(reason: impl Into<String>) -> Self {
        Self { key: None, reason: reason.into() }
    }
}

/// What stands before the canonical payload in what an effect with an amount is known by, as [`crate::model::Effect`] has it.
fn identity_start(amount: i64) -> String {
    format!("{{\"amount\":{amount},\"payload\":")
}

impl Shape {
    /// Every field that a row has to have, each once: those of the identity, the amount's, those of the rule.
    pub fn fields(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        let rule = self.fail_if.iter().flat_map(Rule::fields);
        for name in self.id.iter().map(String::as_str).chain(self.amount.iter().map(|(name, _)| name.as_str())).chain(rule) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// A record of one JSON object, given as text with white space around it. Its payload is that text.
    ///
    /// # Errors
    /// [`Unfit`], with the column where the text is no JSON object.
    pub fn of_json(&self, place: Position, json: &str) -> Result<Record, Unfit> {
        let mut form = String::with_capacity(json.len());
        // With an amount, the payload stands one level deeper in what the effect is known by.
        let depth = usize::from(self.amount.is_some());
        let members = members(json, depth, &mut form).map_err(|error| Unfit::new(words(json, &error)))?;
        let fields = || members.iter().map(field);
        let find = |name: &str| members.iter().find(|member| member.name == name).map(field);
        let key = self.key(find)?;
        let judged = self.amount(find).and_then(|amount| {
            let failed = self.failed(|| fields().collect())?;
            Ok((amount, failed))
        });
        let (amount, failed) = judged.map_err(|reason| Unfit { key: Some(key.as_str().to_owned()), reason })?;
        let fingerprint = fingerprint(amount, &form);
        Ok(Record { place, key, fingerprint, amount, payload: json.trim().to_owned(), failed })
    }

    /// A record of texts in the order of `columns`, as a CSV row has them. Its payload is the canonical object of those texts.
    ///
    /// # Errors
    /// [`Unfit`].
    pub fn of_texts<T: AsRef<str>>(&self, place: Position, columns: &Columns, values: &[T]) -> Result<Record, Unfit> {
        let names = columns.names();
        if values.len() != names.len() {
            let s = if values.len() == 1 { "" } else { "s" };
            return Err(Unfit::new(format!("has {} field{s}, the header names {}", values.len(), names.len())));
        }
        if let Some(at) = values.iter().position(|value| value.as_ref().contains('\0')) {
            return Err(Unfit::new(format!("the field {:?}: {}", names[at], Refusal::Nul)));
        }
        let text = |at: usize| Field { name: &names[at], value: values[at].as_ref(), kind: FieldKind::Text };
        let find = |name: &str| columns.place(name).map(text);
        let key = self.key(find)?;
        let judged = self.amount(find).and_then(|amount| {
            let failed = self.failed(|| (0..names.len()).map(text).collect())?;
            Ok((amount, failed))
        });
        let (amount, failed) = judged.map_err(|reason| Unfit { key: Some(key.as_str().to_owned()), reason })?;
        let payload = columns.object(values);
        let fingerprint = fingerprint(amount, &payload);
        Ok(Record { place, key, fingerprint, amount, payload, failed })
    }

    fn key<'a>(&self, find: impl Fn(&str) -> Option<Field<'a>>) -> Result<Key, Unfit> {
        let mut parts = Vec::new();
        for name in &self.id {
            let field =
                find(name).ok_or_else(|| Unfit::new(format!("the id field {name:?} is missing; every record needs one")))?;
            if field.kind == FieldKind::Other {
                let shown: String = field.value.chars().take(40).collect();
                return Err(Unfit::new(format!("the id field {name:?} is {shown}; an id is a text or a number")));
            }
            if field.value.is_empty() {
                return Err(Unfit::new(format!("the id field {name:?} is empty; every record needs an id")));
            }
            parts.push(field.value);
        }
        let text = match parts[..] {
            [one] => Cow::Borrowed(one),
            _ => Cow::Owned(joined(&parts)),
        };
        Key::new(&text).map_err(|error| Unfit::new(format!("the id {:?}: {error}", text.chars().take(80).collect::<String>())))
    }

    fn amount<'a>(&self, find: impl Fn(&str) -> Option<Field<'a>>) -> Result<Option<i64>, String> {
        let Some((name, scale)) = &self.amount else { return Ok(None) };
        let field = find(name).ok_or_else(|| format!("the amount field {name:?} is missing; write 0 if it is nothing"))?;
        let shown = || field.value.chars().take(40).collect::<String>();
        if field.kind == FieldKind::Other {
            return Err(format!("the amount field {name:?} is {}; an amount is a number or a text with one", shown()));
        }
        match minor_units(field.value, *scale) {
            Ok(amount) => Ok(Some(amount)),
            Err(error) => Err(format!("the amount field {name:?} is {:?}: {error}", shown())),
        }
    }

    fn failed<'a>(&self, fields: impl Fn() -> Vec<Field<'a>>) -> Result<Option<String>, String> {
        let Some(rule) = &self.fail_if else { return Ok(None) };
        Ok(rule.holds(&fields())?.then(|| rule.as_str().to_owned()))
    }
}

fn field<'a>(member: &'a Member<'_>) -> Field<'a> {
    let kind = match member.kind {
        Kind::Text => FieldKind::Text,
        Kind::Number => FieldKind::Number,
        Kind::Other => FieldKind::Other,
    };
    Field { name: &member.name, value: &member.value, kind }
}

/// Parts of an identity as one text; other parts give another text.
fn joined(parts: &[&str]) -> String {
    let mut text = String::new();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            text.push('/');
        }
        for found in part.chars() {
            if matches!(found, '/' | '\\') {
                text.push('\\');
            }
            text.push(found);
        }
    }
    text
}

fn fingerprint(amount: Option<i64>, form: &str) -> Fingerprint {
    let mut hash = Sha256::new();
    match amount {
        Some(amount) => {
            hash.update(identity_start(amount));
            hash.update(form);
            hash.update("}");
        }
        None => hash.update(form),
    }
    Fingerprint::from_bytes(hash.finalize().into())
}

/// What is wrong with a line, with its column in characters.
fn words(json: &str, error: &CanonicalError) -> String {
    let column = json.get(..error.offset).unwrap_or(json).chars().count() + 1;
    match &error.refusal {
        Refusal::Syntax(END) => format!("trailing characters at column {column}; write one object per line"),
        refusal => format!("column {column}: {refusal}"),
    }
}

#[cfg(test)]
mod tests;
