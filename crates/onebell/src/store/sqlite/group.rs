//! Group commit: several pieces of work in one transaction, each in a savepoint of its own, answered after the commit.

use rusqlite::Connection;

use super::connection::Session;
use super::engine::Verb;
use super::error::Failure;
use super::transaction::{Outcome, Tx};
use crate::store::{Result, StoreError};

/// A transaction that others disturbed is repeated from its start, so often.
const TRIES: u32 = 5;

/// What a transaction may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Read,
    Write,
}

/// A piece of work that waits for its transaction.
pub(super) trait Job: Send {
    /// Does it and keeps its value; may be called again when the transaction is repeated.
    fn run(&mut self, tx: &Tx<'_>) -> Outcome<()>;
    fn verb(&self) -> Verb;
    /// Hands the kept value, or the error, to whoever waits.
    fn answer(self: Box<Self>, ended: Result<()>);
}

/// How the whole transaction failed.
enum Ended {
    /// The write lock was not had in time: nothing happened, and waiting was done already.
    Locked(Failure),
    Failed(Failure),
}

impl From<Failure> for Ended {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<rusqlite::Error> for Ended {
    fn from(error: rusqlite::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// Rolls back what was not committed, also when work panics.
struct Open<'c>(&'c Connection);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit()
            && let Err(error) = self.0.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "a transaction could not be rolled back");
        }
    }
}

impl Session {
    /// Runs the jobs in one transaction and answers each. A job that fails is rolled back alone.
    pub(super) fn run_group(&self, mode: Mode, mut jobs: Vec<Box<dyn Job>>) {
        let mut tries = 0;
        let ended = loop {
            tries += 1;
            match self.attempt(mode, &mut jobs) {
                Ok(refused) => break Ok(refused),
                Err(Ended::Locked(failure)) => break Err(self.judged(failure)),
                Err(Ended::Failed(failure)) if failure.is_contention() && tries < TRIES => {}
                Err(Ended::Failed(failure)) => break Err(self.judged(failure)),
            }
        };
        let committed = ended.is_ok();
        let refused = ended.unwrap_or_else(|error| vec![Some(error); jobs.len()]);
        for (job, refused) in jobs.into_iter().zip(refused) {
            if let (Some((_, after)), None, true) = (job.verb().points, &refused, committed) {
                crate::fault::point(after);
            }
            job.answer(refused.map_or(Ok(()), Err));
        }
    }

    /// One transaction: for each job, why it was refused.
    fn attempt(&self, mode: Mode, jobs: &mut [Box<dyn Job>]) -> std::result::Result<Vec<Option<StoreError>>, Ended> {
        let begin = if mode == Mode::Write { "BEGIN IMMEDIATE" } else { "BEGIN" };
        self.run_plain(begin).map_err(|error| {
            let failure = Failure::from(error);
            if failure.is_contention() { Ended::Locked(failure) } else { Ended::Failed(failure) }
        })?;
        let _open = Open(&self.connection);
        let tx = Tx { connection: &self.connection, statements: &self.statements, now: self.now(), guard: &self.guard };
        let single = jobs.len() == 1;
        let mut refused = Vec::with_capacity(jobs.len());
        for job in jobs.iter_mut() {
            let outcome = if single { job.run(&tx) } else { tx.savepoint("onebell_job", || job.run(&tx)) };
            refused.push(match outcome {
                Ok(()) => None,
                // SQLite has rolled back everything, or the transaction must be repeated whole.
                Err(failure) if failure.is_contention() || self.connection.is_autocommit() => return Err(failure.into()),
                Err(failure) => Some(self.judged(failure)),
            });
        }
        if refused.iter().all(Option::is_some) {
            return Ok(refused);
        }
        for (job, refused) in jobs.iter().zip(&refused) {
            if let (Some((before, _)), None) = (job.verb().points, refused) {
                crate::fault::point(before);
            }
        }
        self.run_plain("COMMIT")?;
        Ok(refused)
    }

    fn run_plain(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.raw_execute().map(drop)
    }
}
