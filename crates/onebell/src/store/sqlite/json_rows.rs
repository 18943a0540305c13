//! Rows of a user's statement as a JSON array of objects, bounded.

use rusqlite::types::ValueRef;
use rusqlite::{Rows, Statement};

/// More rows than this are refused.
const ROWS_MAX: usize = 100_000;
/// A longer text than this is refused.
const BYTES_MAX: usize = 16 * 1024 * 1024;

/// Why rows could not be had.
#[derive(Debug)]
pub(super) enum RowsError {
    Sqlite(rusqlite::Error),
    /// What is wrong with them, and what to write instead.
    Refused(String),
}

impl From<rusqlite::Error> for RowsError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// All rows of a statement without parameters: integers and reals as numbers, text as strings.
pub(super) fn rows_of(statement: &mut Statement<'_>) -> Result<String, RowsError> {
    if statement.parameter_count() > 0 {
        return Err(RowsError::Refused(
            "the statement has parameters, and nothing gives them a value; write the values".to_owned(),
        ));
    }
    written(statement.query([])?)
}

fn written(mut rows: Rows<'_>) -> Result<String, RowsError> {
    let mut text = String::from("[");
    let (mut count, mut names) = (0, Vec::new());
    while let Some(row) = rows.next()? {
        count += 1;
        // Only now: a statement that is kept learns of a changed table when it is stepped.
        if count == 1 {
            let statement = row.as_ref();
            for index in 0..statement.column_count() {
                names.push(serde_json::Value::from(statement.column_name(index)?).to_string());
            }
        }
        if count > ROWS_MAX || text.len() > BYTES_MAX {
            return Err(RowsError::Refused(format!(
                "more than {ROWS_MAX} rows or {} MiB; select fewer rows or columns, or split the work",
                BYTES_MAX >> 20
            )));
        }
        text.push_str(if count > 1 { ",{" } else { "{" });
        for (index, name) in names.iter().enumerate() {
            text.push_str(if index > 0 { "," } else { "" });
            text.push_str(name);
            text.push(':');
            text.push_str(&value(row.get_ref(index)?, name)?);
        }
        text.push('}');
    }
    if text.len() > BYTES_MAX {
        return Err(RowsError::Refused(format!("more than {} MiB of rows; select fewer rows or columns", BYTES_MAX >> 20)));
    }
    text.push(']');
    Ok(text)
}

fn value(value: ValueRef<'_>, name: &str) -> Result<String, RowsError> {
    let refused = |what: &str| Err(RowsError::Refused(format!("column {name} {what}")));
    match value {
        ValueRef::Null => Ok("null".to_owned()),
        ValueRef::Integer(number) => Ok(number.to_string()),
        ValueRef::Real(number) if number.is_finite() => Ok(serde_json::Value::from(number).to_string()),
        ValueRef::Real(_) => refused("holds an infinite number, which JSON has no word for; leave it out or cap it"),
        ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Ok(serde_json::Value::from(text).to_string()),
            Err(_) => refused("holds text that is not UTF-8; select hex(…) of it"),
        },
        ValueRef::Blob(_) => refused("holds a blob, which JSON has no word for; select hex(…) of it, or cast it to text"),
    }
}
