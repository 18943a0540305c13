//! Group commit: several pieces of work in one transaction, each in a savepoint of its own, answered after the commit.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;

use super::connection::Session;
use super::engine::Verb;
use super::error::{Failure, is_constraint};
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

/// What took a whole transaction down with it, kept outside of it: when the transaction is repeated it is not tried again.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory(Arc<Mutex<Option<Remembered>>>);

#[derive(Debug, Clone)]
pub(super) enum Remembered {
    /// It cannot succeed.
    Refused(String),
    /// It took too long.
    Late(String),
}

impl Memory {
    pub(super) fn recall(&self) -> Option<Remembered> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn keep(&self, what: Remembered) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
    }
}

/// A piece of work that waits for its transaction.
pub(super) trait Job: Send {
    /// Does it and keeps its value; may be called again when the transaction is repeated.
    fn run(&mut self, tx: &Tx<'_>) -> Outcome<()>;
    fn verb(&self) -> Verb;
    /// Fault points around the commit of what it wrote; none if it wrote nothing.
    fn points(&self) -> Option<(&'static str, &'static str)>;
    /// Where to keep what the commit refused, for work that wants to know.
    fn memory(&self) -> Option<&Memory>;
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
            if let (Some((_, after)), None, true) = (job.points(), &refused, committed) {
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
            if let (Some((before, _)), None) = (job.points(), refused) {
                crate::fault::point(before);
            }
        }
        match self.run_plain("COMMIT") {
            Ok(()) => Ok(refused),
            Err(error) => Err(Self::commit_failed(error, jobs[0].as_ref())),
        }
    }

    /// A user's statements may break a constraint that is looked at only now: the work hears of it and is repeated.
    fn commit_failed(error: rusqlite::Error, job: &dyn Job) -> Ended {
        match (job.memory(), is_constraint(&error)) {
            (Some(memory), true) => {
                memory.keep(Remembered::Refused(error.to_string()));
                Ended::Failed(Failure::Again(error.to_string()))
            }
            _ => error.into(),
        }
    }

    fn run_plain(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.raw_execute().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use tokio::sync::oneshot::error::TryRecvError;

    use super::super::connection::Place;
    use super::super::statements::Statements;
    use super::*;
    use crate::time::StoreClock;

    fn session() -> Session {
        let session = Session::writing(&Place::Memory, true, Statements::default(), StoreClock::Own).unwrap();
        let tables = "PRAGMA foreign_keys = ON; CREATE TABLE t (n INTEGER PRIMARY KEY);
            CREATE TABLE child (n INTEGER REFERENCES t (n) DEFERRABLE INITIALLY DEFERRED)";
        session.connection.execute_batch(tables).unwrap();
        session
    }

    struct Insert {
        sql: String,
        panics: bool,
        answer: oneshot::Sender<Result<()>>,
    }

    impl Job for Insert {
        fn run(&mut self, tx: &Tx<'_>) -> Outcome<()> {
            tx.connection.execute_batch(&self.sql)?;
            assert!(!self.panics, "as the test wants it");
            Ok(())
        }

        fn verb(&self) -> Verb {
            Verb::PLAIN
        }

        fn points(&self) -> Option<(&'static str, &'static str)> {
            None
        }

        fn memory(&self) -> Option<&Memory> {
            None
        }

        fn answer(self: Box<Self>, ended: Result<()>) {
            self.answer.send(ended).unwrap();
        }
    }

    fn job(sql: &str, panics: bool) -> (Box<dyn Job>, oneshot::Receiver<Result<()>>) {
        let (answer, answered) = oneshot::channel();
        (Box::new(Insert { sql: sql.to_owned(), panics, answer }), answered)
    }

    fn run(session: &Session, sqls: &[&str]) -> Vec<Result<()>> {
        let (jobs, answers): (Vec<_>, Vec<_>) = sqls.iter().map(|sql| job(sql, false)).unzip();
        session.run_group(Mode::Write, jobs);
        answers.into_iter().map(|mut answer| answer.try_recv().unwrap()).collect()
    }

    fn count(session: &Session) -> i64 {
        session.connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn a_piece_of_work_that_fails_is_rolled_back_alone() {
        let session = session();
        let answers = run(
            &session,
            &["INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2); INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (3)"],
        );
        assert!(answers[0].is_ok() && answers[1].is_err() && answers[2].is_ok(), "{answers:?}");
        assert_eq!(count(&session), 2);
    }

    #[test]
    fn when_the_commit_fails_everybody_hears_of_it_and_nothing_stays() {
        let session = session();
        let answers = run(&session, &["INSERT INTO t VALUES (1)", "INSERT INTO child VALUES (99)"]);
        assert!(answers.iter().all(|answer| matches!(answer, Err(StoreError::Broken { .. }))), "{answers:?}");
        assert_eq!(count(&session), 0);
        assert!(run(&session, &["INSERT INTO t VALUES (1)"])[0].is_ok(), "the next transaction begins anew");
    }

    #[test]
    fn an_error_that_rolls_back_everything_is_everybodys() {
        let session = session();
        session.connection.execute_batch("INSERT INTO t VALUES (1)").unwrap();
        let answers =
            run(&session, &["INSERT INTO t VALUES (2)", "INSERT OR ROLLBACK INTO t VALUES (1)", "INSERT INTO t VALUES (3)"]);
        assert!(answers.iter().all(Result::is_err), "{answers:?}");
        assert_eq!(count(&session), 1);
    }

    #[test]
    fn a_full_disk_is_everybodys_and_says_so() {
        let session = session();
        session.connection.execute_batch("CREATE TABLE big (b BLOB); PRAGMA max_page_count = 12").unwrap();
        let answers = run(&session, &["INSERT INTO t VALUES (1)", "INSERT INTO big VALUES (zeroblob(1000000))"]);
        let full = |answer: &Result<()>| matches!(answer, Err(StoreError::Unavailable { cause: crate::store::Cause::Full, .. }));
        assert!(answers.iter().any(full), "{answers:?}");
        assert_eq!(count(&session), i64::from(answers[0].is_ok()), "what was answered as done is there, and nothing else");
    }

    #[test]
    fn nobody_is_answered_before_the_commit_and_a_panic_leaves_nothing_open() {
        let session = session();
        let (good, mut answered) = job("INSERT INTO t VALUES (1)", false);
        let (bad, _) = job("INSERT INTO t VALUES (2)", true);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| session.run_group(Mode::Write, vec![good, bad])));
        assert!(panicked.is_err());
        assert_eq!(answered.try_recv().unwrap_err(), TryRecvError::Closed, "not answered as done");
        assert!(session.connection.is_autocommit());
        assert_eq!(count(&session), 0);
    }
}
