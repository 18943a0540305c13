//! Every key of the job file: its place, type, default, allowed words, meaning and an example.
//!
//! The reader can read no key that is not here (`fields`); the reference page and the JSON Schema are made of nothing else.
//! Here is no reading and no judging.

mod channels;
mod file;
mod jobs;
mod kinds;
mod messages;
mod values;

pub use channels::*;
pub use file::*;
pub use jobs::*;
pub use kinds::*;
pub use messages::*;
pub use values::*;

/// One key.
#[derive(Debug)]
pub struct Key {
    /// As it is written.
    pub name: &'static str,
    /// What its value looks like.
    pub shape: Shape,
    /// What holds when it is left out.
    pub without: Without,
    /// One line.
    pub meaning: &'static str,
    /// A value, as TOML.
    pub example: &'static str,
}

/// What holds when a key is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Without {
    /// It has to be there.
    Refused,
    /// Nothing of the kind.
    Nothing,
    /// The same as this value, as TOML.
    Same(&'static str),
    /// In words: it depends.
    Said(&'static str),
}

/// What a value looks like.
#[derive(Debug)]
pub enum Shape {
    /// Any text.
    Text,
    /// A text with something in it.
    Name,
    /// `true` or `false`.
    Flag,
    /// A whole number between the two, both included.
    Whole(i64, i64),
    /// Such as `"1h30m"`.
    Duration,
    /// A date or time: a text, or TOML's own.
    Date,
    /// One of these words.
    Word(fn() -> Vec<String>),
    /// An array of so many values or more.
    List(&'static Self, usize),
    /// Any names, each with such a value.
    ByName(&'static Self),
    /// A table with these keys.
    Table(&'static Table),
    /// One of these.
    Either(&'static [Self]),
}

/// Keys that are explained together.
#[derive(Debug)]
pub struct Section {
    /// Heading on the page.
    pub title: &'static str,
    /// What stands above the keys.
    pub meaning: &'static str,
    /// In the order of the page.
    pub keys: &'static [Key],
}

/// The keys that one table may have.
#[derive(Debug)]
pub struct Table {
    /// In the schema.
    pub name: &'static str,
    /// The first one is its own; the others stand in the same table.
    pub sections: &'static [&'static Section],
    /// Of these, exactly one stands in the table.
    pub one_of: &'static [&'static str],
}

impl Table {
    /// All of its keys. A key that two kinds share comes twice.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> + use<> {
        self.sections.iter().flat_map(|section| section.keys)
    }

    /// One of its keys.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys().find(|key| key.name == name)
    }
}

/// The sections of the page.
pub static SECTIONS: &[&Section] = &[
    &FILE_KEYS,
    &INCLUDED_KEYS,
    &DEFAULTS_KEYS,
    &REPLICA_KEYS,
    &SMTP_KEYS,
    &HOOK_KEYS,
    &JOB_KEYS,
    &STEP_KEYS,
    &COMMAND_KEYS,
    &HTTP_KEYS,
    &REQUEST_KEYS,
    &SQL_KEYS,
    &APPLY_KEYS,
    &RECORDS_KEYS,
    &MESSAGE_KEYS,
    &MAIL_KEYS,
    &WEBHOOK_KEYS,
    &ROWS_KEYS,
    &UNDO_KEYS,
    &RETRY_KEYS,
    &NOTIFY_KEYS,
    &PING_KEYS,
    &SECRET_KEYS,
    &STATEMENTS_KEYS,
    &RRULE_KEYS,
    &MISSED_KEYS,
    &EXCEPT_KEYS,
    &EXIT_CODES_KEYS,
];

/// A key in one line.
const fn key(name: &'static str, shape: Shape, without: Without, meaning: &'static str, example: &'static str) -> Key {
    Key { name, shape, without, meaning, example }
}

/// The words of a closed set.
fn words<T: std::fmt::Display>(all: &[T]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}
