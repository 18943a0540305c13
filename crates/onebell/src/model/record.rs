//! A record of a batch: one event with a stable identity, read from a file, a query or anywhere else.

mod money;
mod rule;
mod shape;

use serde::{Deserialize, Serialize};

use super::{Fingerprint, Key};

pub use money::{MoneyError, SCALE_MAX, minor_units};
pub use rule::{RULE_DEPTH_MAX, Rule, RuleError};
pub use shape::{Columns, ColumnsError, Field, FieldKind, Shape, Unfit};

/// Where something stands in a source. Compressed sources count decompressed bytes; a query counts rows in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub struct Position {
    /// Bytes before it.
    pub byte: u64,
    /// Its line, from 1.
    pub line: u64,
}

/// A record that could be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Where it begins.
    pub place: Position,
    /// Identity within the batch's scope.
    pub key: Key,
    /// Of amount and payload, as [`super::Effect`] has it.
    pub fingerprint: Fingerprint,
    /// Exact, in minor units.
    pub amount: Option<i64>,
    /// One JSON object, as text.
    pub payload: String,
    /// Why a rule of the business said no: its identity is kept as failed.
    pub failed: Option<String>,
}

/// A record that could not be read, or is not valid: nothing of it is kept as identity, and a corrected one is welcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// Where it begins.
    pub place: Position,
    /// Its identity, when that much could be read.
    pub key: Option<String>,
    /// What is wrong and what to write instead.
    pub reason: String,
    /// Its bytes as they stand in the source, without the line end; the beginning only, when it is longer than a record may be.
    pub raw: Vec<u8>,
}

/// What a source gives, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// Readable.
    Record(Record),
    /// Not.
    Rejected(Rejection),
}

/// How far a source was read and committed; kept with the batch.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The next to read.
    pub position: Position,
    /// Of all bytes before it; none for a source that cannot be read from the middle.
    pub prefix: Option<Fingerprint>,
    /// Of the header line, for a source that has one.
    pub header: Option<Fingerprint>,
}
