//! A user's own statements: inside the settling transaction, or as a query.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, Connection};

use super::error::{Failure, is_interrupted, refusal};
use super::json_rows::{RowsError, rows_of};
use super::transaction::{Outcome, Tx};
use crate::store::{StoreError, Work};

/// A query of the user's own is ended after this.
const QUERY_MAX: Duration = Duration::from_secs(60);
/// However late a settlement is, its statements get this much.
const WORK_MIN: Duration = Duration::from_secs(1);

type Native = dyn Fn(&Connection) -> rusqlite::Result<()> + Send + Sync;

struct NativeWork(Box<Native>);

/// Statements of the program's own for `handler::Done::work`: they run inside the settling transaction, before anything
/// else of it, and commit with the step's completion or not at all.
///
/// The transaction may be repeated, so the closure must be safe to run again; it must neither commit nor roll back.
///
/// ```
/// let work = onebell::store::sqlite::work(|connection| {
///     connection.execute("UPDATE accounts SET balance = balance - 100 WHERE id = ?1", [7]).map(drop)
/// });
/// ```
pub fn work(statements: impl Fn(&Connection) -> rusqlite::Result<()> + Send + Sync + 'static) -> Work {
    Work::Native(Arc::new(NativeWork(Box::new(statements))))
}

/// Runs the user's statements of a settlement: the rows for the step, if a statement gave any.
pub(super) fn run_work(tx: &Tx<'_>, work: &Work, limit: Duration) -> Outcome<Option<String>> {
    let limit = limit.max(WORK_MIN);
    let rows = match work {
        Work::Sql(text) => tx.guard.over_text(limit, || run_script(tx.connection, text)),
        Work::Native(native) => {
            let foreign = || StoreError::broken("these statements were made for another kind of store; use store::sqlite::work");
            let native = native.downcast_ref::<NativeWork>().ok_or_else(foreign)?;
            tx.guard.over_code(limit, || run_native(tx.connection, native)).map(|()| None)
        }
    };
    match rows {
        Ok(rows) if !tx.connection.is_autocommit() => Ok(rows),
        Ok(_) => {
            let ended = "the step's statements ended the transaction; they must neither commit nor roll back";
            Err(Failure::Refused(ended.to_owned()))
        }
        Err(RowsError::Refused(text)) => Err(Failure::Refused(text)),
        Err(RowsError::Sqlite(error)) if is_interrupted(&error) => {
            Err(Failure::Late(format!("the step's statements ran longer than what was left of its timeout ({limit:?})")))
        }
        Err(RowsError::Sqlite(error)) => Err(refusal(&error).map_or(Failure::Sqlite(error), Failure::Refused)),
    }
}

/// Runs statements of the user's own in the present transaction.
pub(super) fn run_statements(tx: &Tx<'_>, sql: &str) -> Outcome<()> {
    run_work(tx, &Work::Sql(sql.to_owned()), QUERY_MAX).map(drop)
}

/// Rows of a query of the user's own. Only one statement, and only one that reads.
pub(super) fn run_query(tx: &Tx<'_>, sql: &str) -> Outcome<String> {
    let read = || -> Result<String, RowsError> {
        // The same text comes with every run of its step: it is prepared once.
        let mut statement = tx.connection.prepare_cached(sql).map_err(|error| match error {
            rusqlite::Error::MultipleStatement | rusqlite::Error::Empty => {
                RowsError::Refused("one query is wanted, that returns rows; leave the other statements out".to_owned())
            }
            error => RowsError::Sqlite(error),
        })?;
        if statement.column_count() == 0 || !statement.readonly() {
            return Err(RowsError::Refused(
                "it is no query: only reading is allowed here; use an `sql` step to write".to_owned(),
            ));
        }
        rows_of(&mut statement)
    };
    match tx.guard.over_text(QUERY_MAX, read) {
        Ok(rows) => Ok(rows),
        Err(RowsError::Refused(text)) => Err(Failure::Store(StoreError::broken(format!("the query was refused: {text}")))),
        Err(RowsError::Sqlite(error)) if is_interrupted(&error) => {
            Err(StoreError::broken(format!("the query ran longer than {QUERY_MAX:?}; select less")).into())
        }
        Err(RowsError::Sqlite(error)) => match refusal(&error) {
            Some(text) => Err(StoreError::broken(format!("the query was refused: {text}")).into()),
            None => Err(error.into()),
        },
    }
}

fn run_script(connection: &Connection, sql: &str) -> Result<Option<String>, RowsError> {
    let mut rows = None;
    let mut batch = Batch::new(connection, sql);
    while let Some(mut statement) = batch.next()? {
        let given = rows_of(&mut statement)?;
        if statement.column_count() > 0 {
            rows = Some(given);
        }
    }
    Ok(rows)
}

fn run_native(connection: &Connection, native: &NativeWork) -> Result<(), RowsError> {
    match catch_unwind(AssertUnwindSafe(|| (native.0)(connection))) {
        Ok(ended) => Ok(ended?),
        Err(_) => Err(RowsError::Refused("the step's statements panicked".to_owned())),
    }
}
