//! Rows of users' own statements, as a JSON array of objects. In a text of several statements a value's type is not
//! known: it is text there, NULL is null. A query alone gives JSON's own types.

use std::pin::pin;

use futures_util::TryStreamExt as _;
use tokio_postgres::{SimpleQueryMessage, SimpleQueryRow, SimpleQueryStream};

/// The most that is kept: `for_each` reads them whole.
const ROWS_MAX: usize = 100_000;
const BYTES_MAX: usize = 16 << 20;

/// Why there are no rows.
#[derive(Debug)]
pub(super) enum NoRows {
    /// The server or the connection.
    Driver(tokio_postgres::Error),
    /// More than is kept.
    TooMany(String),
}

impl From<tokio_postgres::Error> for NoRows {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Driver(error)
    }
}

/// A growing JSON array.
#[derive(Debug)]
pub(super) struct Rows {
    text: String,
    count: usize,
}

impl Default for Rows {
    fn default() -> Self {
        Self { text: "[".to_owned(), count: 0 }
    }
}

impl Rows {
    /// The array.
    pub(super) fn finish(mut self) -> String {
        self.text.push(']');
        self.text
    }

    /// Reads a stream to its end. None: no statement in it had columns. Else the rows of the last one that had.
    pub(super) async fn of_last(stream: SimpleQueryStream) -> Result<Option<Self>, NoRows> {
        let mut stream = pin!(stream);
        let mut rows: Option<Self> = None;
        while let Some(message) = stream.try_next().await? {
            match message {
                SimpleQueryMessage::RowDescription(_) => rows = Some(Self::default()),
                SimpleQueryMessage::Row(row) => rows.get_or_insert_default().push(&row)?,
                _ => {}
            }
        }
        Ok(rows)
    }

    /// Reads one batch of a cursor over one column, each value an object; how many rows came.
    pub(super) async fn read(&mut self, stream: SimpleQueryStream) -> Result<usize, NoRows> {
        let mut stream = pin!(stream);
        let before = self.count;
        while let Some(message) = stream.try_next().await? {
            if let SimpleQueryMessage::Row(row) = message {
                self.object(row.try_get(0)?.unwrap_or("null"))?;
            }
        }
        Ok(self.count - before)
    }

    fn push(&mut self, row: &SimpleQueryRow) -> Result<(), NoRows> {
        let mut object = "{".to_owned();
        for (index, column) in row.columns().iter().enumerate() {
            if index > 0 {
                object.push(',');
            }
            object.push_str(&quoted(column.name()));
            object.push(':');
            object.push_str(&row.try_get(index)?.map_or_else(|| "null".to_owned(), quoted));
        }
        object.push('}');
        self.object(&object)
    }

    fn object(&mut self, text: &str) -> Result<(), NoRows> {
        if self.count > 0 {
            self.text.push(',');
        }
        self.text.push_str(text);
        self.count += 1;
        if self.count > ROWS_MAX || self.text.len() > BYTES_MAX {
            return Err(NoRows::TooMany(format!(
                "the rows are more than a step keeps ({ROWS_MAX} rows, {} MiB); select fewer, or write them to a table of your own",
                BYTES_MAX >> 20
            )));
        }
        Ok(())
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
