//! Runs work in transactions: at once under a mutex, or on the store's threads. It knows nothing of jobs or runs.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

use super::connection::Session;
use super::group::{Job, Memory, Mode};
use super::threads::Thread;
use super::transaction::{Outcome, Tx};
use crate::store::{Result, StoreError};

/// What is special about a transaction.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Verb {
    /// Fault points before the commit and after it.
    pub(super) points: Option<(&'static str, &'static str)>,
    /// A transaction of its own, never part of a group: it runs a user's statements.
    pub(super) alone: bool,
}

impl Verb {
    pub(super) const PLAIN: Self = Self { points: None, alone: false };

    pub(super) const fn with_points(before: &'static str, after: &'static str) -> Self {
        Self { points: Some((before, after)), alone: false }
    }

    pub(super) const fn alone(self) -> Self {
        Self { alone: true, ..self }
    }
}

/// Which thread a transaction wants.
#[derive(Clone, Copy)]
enum Lane {
    Write,
    Read,
    Query,
}

/// Where transactions run.
pub(super) enum Engine {
    /// At once, in the caller's own thread.
    Inline(Box<Mutex<Session>>),
    /// One thread writes, one reads, and one runs users' queries, which may take long.
    Threads { writer: Thread, reader: Thread, queries: Thread },
}

impl Engine {
    /// Runs `work` in a transaction that holds the only write lock. It may be run again, from the start.
    pub(super) async fn write<T, W>(&self, verb: Verb, work: W) -> Result<T>
    where
        T: Send + 'static,
        W: Fn(&Tx<'_>) -> Outcome<T> + Send + 'static,
    {
        self.run(Lane::Write, verb, None, work).await
    }

    /// As [`Self::write`], for work that brings a user's statements: `memory` keeps what the commit refused.
    pub(super) async fn write_remembering<T, W>(&self, verb: Verb, memory: Memory, work: W) -> Result<T>
    where
        T: Send + 'static,
        W: Fn(&Tx<'_>) -> Outcome<T> + Send + 'static,
    {
        self.run(Lane::Write, verb, Some(memory), work).await
    }

    /// Runs `work` over one unchanging view of the tables.
    pub(super) async fn read<T, W>(&self, work: W) -> Result<T>
    where
        T: Send + 'static,
        W: Fn(&Tx<'_>) -> Outcome<T> + Send + 'static,
    {
        self.run(Lane::Read, Verb::PLAIN, None, work).await
    }

    /// As [`Self::read`], for a user's query: nobody else waits for it.
    pub(super) async fn query<T, W>(&self, work: W) -> Result<T>
    where
        T: Send + 'static,
        W: Fn(&Tx<'_>) -> Outcome<T> + Send + 'static,
    {
        self.run(Lane::Query, Verb::PLAIN, None, work).await
    }

    async fn run<T, W>(&self, lane: Lane, verb: Verb, memory: Option<Memory>, work: W) -> Result<T>
    where
        T: Send + 'static,
        W: Fn(&Tx<'_>) -> Outcome<T> + Send + 'static,
    {
        let (answer, answered) = oneshot::channel();
        let job: Box<dyn Job> = Box::new(Call { work, verb, memory, value: None, wrote: false, answer });
        match self {
            Self::Inline(session) => {
                let mode = if matches!(lane, Lane::Write) { Mode::Write } else { Mode::Read };
                session.lock().unwrap_or_else(PoisonError::into_inner).run_group(mode, vec![job]);
            }
            Self::Threads { writer, reader, queries } => match lane {
                Lane::Write => writer.send(job)?,
                Lane::Read => reader.send(job)?,
                Lane::Query => queries.send(job)?,
            },
        }
        answered.await.unwrap_or_else(|_| Err(StoreError::away("the store's thread gave no answer")))
    }
}

/// Work, the value it gave, and who waits for it.
struct Call<T, W> {
    work: W,
    verb: Verb,
    memory: Option<Memory>,
    value: Option<T>,
    wrote: bool,
    answer: oneshot::Sender<Result<T>>,
}

impl<T, W> Job for Call<T, W>
where
    T: Send,
    W: Fn(&Tx<'_>) -> Outcome<T> + Send,
{
    fn run(&mut self, tx: &Tx<'_>) -> Outcome<()> {
        self.value = None;
        let before = tx.connection.total_changes();
        // A panic ends this piece of work, not the thread and not its neighbours in the group.
        let outcome = catch_unwind(AssertUnwindSafe(|| (self.work)(tx)));
        let panicked = |_| Err(StoreError::broken("a transaction panicked and was rolled back").into());
        self.value = Some(outcome.unwrap_or_else(panicked)?);
        self.wrote = tx.connection.total_changes() != before;
        Ok(())
    }

    fn verb(&self) -> Verb {
        self.verb
    }

    fn points(&self) -> Option<(&'static str, &'static str)> {
        self.verb.points.filter(|_| self.wrote)
    }

    fn memory(&self) -> Option<&Memory> {
        self.memory.as_ref()
    }

    fn answer(self: Box<Self>, ended: Result<()>) {
        let Self { value, answer, .. } = *self;
        let value = ended.and_then(|()| value.ok_or_else(|| StoreError::broken("a transaction ended without a value")));
        // Nobody waits any longer: the work is done all the same, as after a lost answer.
        drop(answer.send(value));
    }
}
