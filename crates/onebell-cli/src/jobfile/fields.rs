//! Reads a table key by key and remembers which keys were asked for, so that every other one is an unknown key with the nearest
//! right one beside it. What [`super::keys`] does not describe cannot be read. Problems are collected, not returned: one wrong key does not hide the next.

use std::cell::RefCell;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::elsewhere::{called, said};
use super::keys::{JOB_KEYS, SECTIONS, STEP_KEYS, Section, Table};
use super::problem::Flaw;

/// A value and where it stands.
pub(super) type Node<'t> = Spanned<DeValue<'t>>;
/// What reading one value gives.
pub(super) type Read<T> = Result<T, Flaw>;

/// Where problems of one job, or of the file, are collected.
#[derive(Default)]
pub(super) struct Flaws(RefCell<Vec<Flaw>>);

impl Flaws {
    pub(super) fn push(&self, flaw: Flaw) {
        self.0.borrow_mut().push(flaw);
    }

    /// The value, or nothing and one more problem.
    pub(super) fn keep<T>(&self, read: Read<T>) -> Option<T> {
        read.map_err(|flaw| self.push(flaw)).ok()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }

    /// Takes what was collected so far.
    pub(super) fn drain(&self) -> Vec<Flaw> {
        self.0.take()
    }
}

/// One table being read.
pub(super) struct Fields<'t> {
    table: &'t DeTable<'t>,
    /// The keys that it may have; none: they are names.
    described: Option<&'static Table>,
    /// The table's header, or its braces.
    pub(super) span: Range<usize>,
    pub(super) flaws: &'t Flaws,
    asked: RefCell<Vec<&'static str>>,
    refused: RefCell<Vec<&'static str>>,
}

impl<'t> Fields<'t> {
    pub(super) fn new(table: &'t DeTable<'t>, described: &'static Table, span: Range<usize>, flaws: &'t Flaws) -> Self {
        Self { table, described: Some(described), span, flaws, asked: RefCell::default(), refused: RefCell::default() }
    }

    /// The table that `node` is, with the keys that are described.
    pub(super) fn open(node: &'t Node<'t>, described: &'static Table, flaws: &'t Flaws) -> Read<Self> {
        Ok(Self { described: Some(described), ..Self::by_name(node, flaws)? })
    }

    /// The table that `node` is, whose keys are names.
    pub(super) fn by_name(node: &'t Node<'t>, flaws: &'t Flaws) -> Read<Self> {
        match node.get_ref() {
            DeValue::Table(table) => Ok(Self {
                table,
                described: None,
                span: node.span(),
                flaws,
                asked: RefCell::default(),
                refused: RefCell::default(),
            }),
            other => Err(expected("a table", other, node.span())),
        }
    }

    pub(super) fn get(&self, key: &'static str) -> Option<&'t Node<'t>> {
        let described = self.may_have(key);
        debug_assert!(described, "{key} is read, but jobfile::keys does not describe it");
        self.asked.borrow_mut().push(key);
        self.table.get(key).filter(|_| described)
    }

    /// Whether such a key belongs into this table at all.
    pub(super) fn may_have(&self, key: &str) -> bool {
        self.described.is_some_and(|table| table.key(key).is_some())
    }

    /// The place of a key that its reader refuses in words of its own; it is never offered for another.
    pub(super) fn refuse(&self, key: &'static str) -> Option<Range<usize>> {
        self.refused.borrow_mut().push(key);
        self.key_span(key)
    }

    /// The key's own place.
    pub(super) fn key_span(&self, key: &str) -> Option<Range<usize>> {
        self.table.get_key_value(key).map(|(key, _)| key.span())
    }

    /// The value of `key`, read by `read`; nothing when it is not there or wrong.
    pub(super) fn read<T>(&self, key: &'static str, read: impl FnOnce(&'t Node<'t>) -> Read<T>) -> Option<T> {
        let node = self.get(key)?;
        self.flaws.keep(read(node).map_err(|flaw| self.shown(key, flaw).under(key)))
    }

    /// Whoever wrote another type is shown what the key looks like.
    fn shown(&self, key: &str, flaw: Flaw) -> Flaw {
        match self.described.and_then(|table| table.key(key)) {
            Some(described) if flaw.remedy.is_empty() && flaw.message.starts_with("expected ") => {
                Flaw { remedy: format!("write {key} = {}", described.example), ..flaw }
            }
            _ => flaw,
        }
    }

    /// As [`Self::read`], but it has to be there.
    pub(super) fn need<T>(&self, key: &'static str, example: &str, read: impl FnOnce(&'t Node<'t>) -> Read<T>) -> Option<T> {
        if self.table.get(key).is_none() {
            self.get(key);
            self.flaws.push(Flaw::new(self.span.clone(), format!("{key} is missing"), format!("write {key} = {example}")));
            return None;
        }
        self.read(key, read)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Keys and values, in the order of the file.
    pub(super) fn entries(&self) -> Vec<(&'t str, Range<usize>, &'t Node<'t>)> {
        let mut entries: Vec<_> = self.table.iter().map(|(key, node)| (&**key.get_ref(), key.span(), node)).collect();
        entries.sort_by_key(|(_, span, _)| span.start);
        entries
    }

    /// Every key that nobody asked for is a problem.
    pub(super) fn finish(&self) {
        let asked = self.asked.borrow();
        for (key, span, _) in self.entries() {
            if !asked.contains(&key) && !self.refused.borrow().contains(&key) {
                self.flaws.push(Flaw::new(span, format!("unknown key {key:?}"), otherwise(key, &asked)));
            }
        }
    }
}

/// The remedy for a wrong key: the right one, what to do without one, or the table that it belongs into.
fn otherwise(key: &str, asked: &[&'static str]) -> String {
    if called(key, asked).is_some() || nearest(key, asked).is_some() {
        return instead(key, asked);
    }
    said(key).map(str::to_owned).or_else(|| elsewhere(key)).unwrap_or_else(|| instead(key, asked))
}

/// Where such a key stands: on a job, on a step, or in the one or two tables that have it.
fn elsewhere(key: &str) -> Option<String> {
    let has = |section: &&&Section| section.keys.iter().any(|known| known.name == key);
    let there: Vec<&str> = match [&JOB_KEYS, &STEP_KEYS].iter().find(has) {
        Some(section) => vec![section.title],
        None => SECTIONS.iter().filter(has).map(|section| section.title).collect(),
    };
    (1..=2).contains(&there.len()).then(|| format!("it stands in {}; move it there", there.join(" or ")))
}

/// The remedy for a wrong word: what it is called here or the nearest right one, else all of them.
pub(super) fn instead(word: &str, right: &[&str]) -> String {
    if let Some(nearest) = called(word, right).or_else(|| nearest(word, right)) {
        return format!("did you mean {nearest:?}?");
    }
    let mut right: Vec<String> = right.iter().map(|right| format!("{right:?}")).collect();
    right.sort();
    right.dedup();
    match right.as_slice() {
        [] => "remove it".to_owned(),
        [one] => format!("write {one}"),
        many => format!("write one of {}", many.join(", ")),
    }
}

/// The nearest of `right`, if it is near.
pub(super) fn nearest<'r>(word: &str, right: &[&'r str]) -> Option<&'r str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    let limit = (word.chars().count() / 3).clamp(1, 3);
    let distance = |right: &str| strsim::damerau_levenshtein(&plain(word), &plain(right));
    right.iter().map(|right| (distance(right), *right)).filter(|(distance, _)| *distance <= limit).min().map(|(_, right)| right)
}

/// A value of another type.
pub(super) fn expected(what: &str, found: &DeValue<'_>, span: Range<usize>) -> Flaw {
    let found = match found {
        DeValue::String(text) => format!("the string {:?}", shortened(text)),
        DeValue::Integer(number) => format!("the number {number}"),
        DeValue::Float(number) => format!("the number {number}"),
        DeValue::Boolean(value) => format!("{value}"),
        DeValue::Datetime(at) => format!("the date {at}"),
        DeValue::Array(_) => "an array".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    };
    Flaw::new(span, format!("expected {what}, found {found}"), "")
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
