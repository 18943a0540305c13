//! A transaction as the verbs see it: statements by name, values by name, one `now`.

use rusqlite::types::ToSql;
use rusqlite::{CachedStatement, Connection, Row};

use super::error::Failure;
use super::statements::{Statement, Statements};
use crate::model::Moment;
use crate::store::StoreError;

/// What work inside a transaction gives.
pub(super) type Outcome<T> = Result<T, Failure>;

/// Values by the name that the statement gives them, without the colon.
pub(super) type Values<'v> = &'v [(&'v str, &'v dyn ToSql)];

/// An open transaction. It is begun and ended by the engine alone.
pub(super) struct Tx<'c> {
    pub(super) connection: &'c Connection,
    pub(super) statements: &'c Statements,
    /// Read once, when the transaction began.
    pub(super) now: Moment,
    /// What the user's statements of this transaction may not do, and until when.
    pub(super) guard: &'c super::guard::Guard,
}

impl Tx<'_> {
    /// Runs a statement that returns no rows: how many it changed.
    pub(super) fn execute(&self, statement: Statement, values: Values<'_>) -> Outcome<usize> {
        Ok(self.bound(statement, values)?.raw_execute()?)
    }

    /// The rows of a statement, in its order.
    pub(super) fn rows<T>(
        &self,
        statement: Statement,
        values: Values<'_>,
        mut read: impl FnMut(&Row<'_>) -> Outcome<T>,
    ) -> Outcome<Vec<T>> {
        let mut bound = self.bound(statement, values)?;
        let mut rows = bound.raw_query();
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            found.push(read(row)?);
        }
        Ok(found)
    }

    /// The first row of a statement, if there is one. The statement runs to its end: it may be a write.
    pub(super) fn first<T>(
        &self,
        statement: Statement,
        values: Values<'_>,
        read: impl FnMut(&Row<'_>) -> Outcome<T>,
    ) -> Outcome<Option<T>> {
        Ok(self.rows(statement, values, read)?.into_iter().next())
    }

    /// A statement that runs many times: its values come in the order of `names`.
    pub(super) fn bulk(&self, statement: Statement, names: &[&str]) -> Outcome<Bulk<'_>> {
        let prepared = self.connection.prepare_cached(self.statements.text(statement))?;
        let place = |index: usize| {
            let name = prepared.parameter_name(index).unwrap_or_default();
            let missing = || StoreError::broken(format!("statement {statement:?} wants a value for {name:?}"));
            names.iter().position(|known| name.strip_prefix(':') == Some(*known)).ok_or_else(missing)
        };
        let places = (1..=prepared.parameter_count()).map(place).collect::<Result<_, _>>()?;
        Ok(Bulk { prepared, places })
    }

    /// Whether a statement has a row.
    pub(super) fn any(&self, statement: Statement, values: Values<'_>) -> Outcome<bool> {
        Ok(self.first(statement, values, |_| Ok(()))?.is_some())
    }

    /// Work that is undone alone when it fails. A savepoint inside another one wants a name of its own.
    pub(super) fn savepoint<T>(&self, name: &str, work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
        let run = |verb: &str| self.connection.prepare_cached(&format!("{verb} {name}"))?.raw_execute();
        run("SAVEPOINT")?;
        let outcome = work();
        // Out of space and the like: SQLite may have rolled back the whole transaction by itself.
        if outcome.is_err() && !self.connection.is_autocommit() {
            run("ROLLBACK TO")?;
        }
        if !self.connection.is_autocommit() {
            run("RELEASE")?;
        }
        outcome
    }

    /// Binds what the statement names. A value that it does not name is left out (a simulator's text may have dropped
    /// a condition); a name without a value is an error, never a silent NULL.
    fn bound(&self, statement: Statement, values: Values<'_>) -> Outcome<CachedStatement<'_>> {
        let mut prepared = self.connection.prepare_cached(self.statements.text(statement))?;
        for index in 1..=prepared.parameter_count() {
            let name = prepared.parameter_name(index).unwrap_or_default();
            let value = values.iter().find(|(known, _)| name.strip_prefix(':') == Some(*known)).map(|(_, value)| *value);
            let missing = || StoreError::broken(format!("statement {statement:?} wants a value for {name:?}"));
            let value = value.ok_or_else(missing)?;
            prepared.raw_bind_parameter(index, value)?;
        }
        Ok(prepared)
    }
}

/// A statement that runs many times.
pub(super) struct Bulk<'c> {
    prepared: CachedStatement<'c>,
    /// Which value each parameter takes.
    places: Vec<usize>,
}

impl Bulk<'_> {
    /// Runs it once: how many rows it changed.
    pub(super) fn run(&mut self, values: &[&dyn ToSql]) -> Outcome<usize> {
        for (index, place) in (1..).zip(&self.places) {
            self.prepared.raw_bind_parameter(index, values[*place])?;
        }
        Ok(self.prepared.raw_execute()?)
    }
}
