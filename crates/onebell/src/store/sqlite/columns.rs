//! How the model's values stand in columns. It converts; it knows no table.

use std::time::Duration;

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

use super::error::Failure;
use crate::model::batch::{BatchStatus, RecordOutcome};
use crate::model::job::{OnLost, OnMessageFailed};
use crate::model::message::{DroppedBy, InDoubtPolicy, MessageStatus};
use crate::model::overlap::Origin;
use crate::model::recovery::{RequestKind, RequestStatus};
use crate::model::run::{RunGoal, RunStatus};
use crate::model::step::{AttemptOutcome, StepStatus};
use crate::model::{Fingerprint, JobId, Key, Moment, ReplicaId, RunId, StepId};
use crate::store::StoreError;

impl ToSql for Moment {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.micros()))
    }
}

impl FromSql for Moment {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_i64().map(Self::from_micros)
    }
}

macro_rules! texts {
    ($($id:ident),+) => { $(
        impl ToSql for $id {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::from(self.as_str()))
            }
        }
    )+ };
}
texts!(JobId, RunId, StepId, ReplicaId, Key);

macro_rules! ids {
    ($($id:ident),+) => { $(
        impl FromSql for $id {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                value.as_str().map(Self::from_text)
            }
        }
    )+ };
}
ids!(JobId, RunId, StepId, ReplicaId);

macro_rules! words_in_columns {
    ($($word:ident),+) => { $(
        impl ToSql for $word {
            fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
                Ok(ToSqlOutput::from(self.as_str()))
            }
        }

        impl FromSql for $word {
            fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
                let text = value.as_str()?;
                Self::from_word(text).ok_or_else(|| FromSqlError::Other(format!("{text:?} is no {}", stringify!($word)).into()))
            }
        }
    )+ };
}
words_in_columns!(
    OnLost,
    OnMessageFailed,
    DroppedBy,
    InDoubtPolicy,
    MessageStatus,
    Origin,
    RequestKind,
    RequestStatus,
    RunGoal,
    RunStatus,
    AttemptOutcome,
    BatchStatus,
    RecordOutcome,
    StepStatus
);

impl ToSql for Fingerprint {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::from(self.to_string()))
    }
}

impl FromSql for Fingerprint {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        value.as_str()?.parse().map_err(|error| FromSqlError::Other(Box::new(error)))
    }
}

/// A count or fence as the column's signed number.
pub(super) fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A length of time in microseconds.
pub(super) fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

/// A count or fence read from a signed column.
pub(super) fn count(row: &rusqlite::Row<'_>, column: &str) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(|number| u64::try_from(number).unwrap_or(0))
}

/// A small count read from a signed column.
pub(super) fn small(row: &rusqlite::Row<'_>, column: &str) -> rusqlite::Result<u32> {
    row.get::<_, i64>(column).map(|number| u32::try_from(number).unwrap_or(0))
}

/// A length of time read from microseconds.
pub(super) fn span(row: &rusqlite::Row<'_>, column: &str) -> rusqlite::Result<Duration> {
    count(row, column).map(Duration::from_micros)
}

/// A value as the JSON text of a column.
pub(super) fn to_json<T: serde::Serialize>(value: &T) -> Result<String, Failure> {
    serde_json::to_string(value)
        .map_err(|error| StoreError::broken(format!("a value could not be written as JSON: {error}")).into())
}

/// A value from the JSON text of a column.
pub(super) fn from_json<T: serde::de::DeserializeOwned>(text: &str, what: &str) -> Result<T, Failure> {
    serde_json::from_str(text).map_err(|error| {
        StoreError::broken(format!("the store holds a {what} that this version cannot read ({error}); it may be a newer one's"))
            .into()
    })
}
