//! Values on their way in and out: built-in types only, instants to the microsecond.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql, Type};

use super::error::{Failure, Outcome};
use crate::model::Moment;

/// A value and its type: typed, so that no statement is ever prepared to learn it.
pub(super) type Value<'v> = (&'v (dyn ToSql + Sync), Type);

/// What a statement may be given.
pub(super) trait Bind: ToSql + Sync {
    /// The type in PostgreSQL.
    const TYPE: Type;
}

macro_rules! bind {
    ($($rust:ty = $one:ident, $many:ident);+ $(;)?) => { $(
        impl Bind for $rust { const TYPE: Type = Type::$one; }
        impl Bind for Option<$rust> { const TYPE: Type = Type::$one; }
        impl Bind for Vec<$rust> { const TYPE: Type = Type::$many; }
        impl Bind for Vec<Option<$rust>> { const TYPE: Type = Type::$many; }
    )+ };
}

bind! {
    String = TEXT, TEXT_ARRAY;
    &str = TEXT, TEXT_ARRAY;
    i64 = INT8, INT8_ARRAY;
    i32 = INT4, INT4_ARRAY;
    bool = BOOL, BOOL_ARRAY;
    SystemTime = TIMESTAMPTZ, TIMESTAMPTZ_ARRAY;
    &[u8] = BYTEA, BYTEA_ARRAY;
}

/// Binds a value.
pub(super) fn bind<T: Bind>(value: &T) -> Value<'_> {
    (value, T::TYPE)
}

/// Binds each value in turn.
macro_rules! values {
    ($($value:expr),* $(,)?) => { &[$($crate::store::postgres::columns::bind(&$value)),*] };
}
pub(super) use values;

/// An instant as the driver takes it.
pub(super) fn stamp(at: Moment) -> SystemTime {
    let span = Duration::from_micros(at.micros().unsigned_abs());
    let moved = if at.micros() < 0 { UNIX_EPOCH.checked_sub(span) } else { UNIX_EPOCH.checked_add(span) };
    moved.unwrap_or(UNIX_EPOCH)
}

/// An instant as the driver gives it.
pub(super) fn moment(at: SystemTime) -> Moment {
    let micros = |span: Duration| i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
    match at.duration_since(UNIX_EPOCH) {
        Ok(span) => Moment::from_micros(micros(span)),
        Err(before) => Moment::from_micros(-micros(before.duration())),
    }
}

/// A span in microseconds. Longer than a century is a century: a later sum must stay an instant.
pub(super) fn micros(span: Duration) -> i64 {
    const CENTURY_US: i64 = 100 * 366 * 24 * 3600 * 1_000_000;
    i64::try_from(span.as_micros()).unwrap_or(CENTURY_US).min(CENTURY_US)
}

/// A number as the database keeps it.
pub(super) fn int(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}

/// Text that the database takes: it has no NUL.
pub(super) fn text(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// A value as JSON text.
pub(super) fn json<T: serde::Serialize + ?Sized>(value: &T) -> Outcome<String> {
    serde_json::to_string(value).map_err(|error| Failure::broken(format!("a value cannot be written as JSON: {error}")))
}

/// A row, with the name of the statement that gave it.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) row: Row,
    pub(super) statement: &'static str,
}

impl Record {
    /// A column by name.
    pub(super) fn get<'r, T: FromSql<'r>>(&'r self, column: &str) -> Outcome<T> {
        self.row.try_get(column).map_err(|error| self.odd(column, &error.to_string()))
    }

    pub(super) fn moment(&self, column: &str) -> Outcome<Moment> {
        Ok(moment(self.get(column)?))
    }

    pub(super) fn moment_opt(&self, column: &str) -> Outcome<Option<Moment>> {
        Ok(self.get::<Option<SystemTime>>(column)?.map(moment))
    }

    /// A number that is never negative.
    pub(super) fn number<T: TryFrom<i64>>(&self, column: &str) -> Outcome<T> {
        T::try_from(self.get(column)?).map_err(|_| self.odd(column, "the number is out of range"))
    }

    /// A word of the model.
    pub(super) fn word<T>(&self, column: &str, read: impl Fn(&str) -> Option<T>) -> Outcome<T> {
        let word: &str = self.get(column)?;
        read(word).ok_or_else(|| self.odd(column, &format!("{word:?} is no word of this version")))
    }

    /// A word of the model, or nothing.
    pub(super) fn word_opt<T>(&self, column: &str, read: impl Fn(&str) -> Option<T>) -> Outcome<Option<T>> {
        match self.get::<Option<&str>>(column)? {
            Some(word) => Ok(Some(read(word).ok_or_else(|| self.odd(column, &format!("{word:?} is no word of this version")))?)),
            None => Ok(None),
        }
    }

    /// A JSON column that was selected as text.
    pub(super) fn json<T: DeserializeOwned>(&self, column: &str) -> Outcome<T> {
        serde_json::from_str(self.get(column)?).map_err(|error| self.odd(column, &error.to_string()))
    }

    fn odd(&self, column: &str, problem: &str) -> Failure {
        Failure::broken(format!("{}: column {column}: {problem}", self.statement))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_survives_the_driver_to_the_microsecond() {
        for micros in [0, 1, -1, 1_796_000_000_123_457, -62_000_000_000_000_001] {
            assert_eq!(moment(stamp(Moment::from_micros(micros))).micros(), micros);
        }
    }

    #[test]
    fn a_span_without_end_still_gives_an_instant() {
        assert!(Moment::from_micros(micros(Duration::MAX)).timestamp() < jiff::Timestamp::MAX);
    }
}
