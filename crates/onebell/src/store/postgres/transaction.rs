//! A transaction as the verbs see it: statements by name, bounded calls, repeated as a whole when the server says so.
//!
//! Every statement goes out unnamed and typed, in one flight, and nothing is kept in the session: any pooler may stand
//! between. The server's timeouts are set with BEGIN; the client's own deadline is a little later.

use std::future::Future;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::PostgresStore;
use super::columns::{Record, Value, stamp, values};
use super::error::{Class, Failure, Outcome, Phase};
use super::pool::{Connection, Lent, Purpose};
use super::statements::{self as sql, Statement};
use crate::fault;
use crate::model::Moment;
use crate::store::Result;
use crate::time::{SystemTimer, Timer as _};

/// How long things may take on the server. All are below the replica's lease.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) statement: Duration,
    pub(super) lock: Duration,
    pub(super) idle: Duration,
}

impl Limits {
    /// The client's own deadline for one answer.
    pub(super) fn call(&self) -> Duration {
        self.statement + Duration::from_secs(2)
    }

    /// Opens a transaction that writes, with everything that holds inside it.
    pub(super) fn begin_write(&self) -> String {
        format!("BEGIN ISOLATION LEVEL READ COMMITTED; {}", self.local())
    }

    /// Opens a transaction whose statements see one state.
    pub(super) fn begin_read(&self) -> String {
        format!("{READ}; {}", self.local())
    }

    /// The same for people, who may look over whole tables.
    pub(super) fn begin_look(&self) -> String {
        format!("{READ}; {}", self.timeouts())
    }

    /// What is set for the transaction alone.
    pub(super) fn local(&self) -> String {
        format!("{}; {PLANS}", self.timeouts())
    }

    fn timeouts(&self) -> String {
        format!(
            "SET LOCAL statement_timeout = {}; SET LOCAL lock_timeout = {}; \
             SET LOCAL idle_in_transaction_session_timeout = {}; SET LOCAL synchronous_commit = on; SET LOCAL jit = off",
            milliseconds(self.statement),
            milliseconds(self.lock),
            milliseconds(self.idle)
        )
    }
}

const READ: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/// Every statement of a verb goes by keys and small indexes. While a table grows faster than its statistics, the planner
/// would read it whole: 40,000 new one-step runs took fifty times as long so.
const PLANS: &str = "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off";

/// A time limit as the server takes it: never zero, which would be none, and not more than its settings hold.
pub(super) fn milliseconds(limit: Duration) -> i32 {
    i32::try_from(limit.as_millis()).unwrap_or(i32::MAX).max(1)
}

/// A verb's name, its connection's share, and the points around its commit at which a test may end the process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Verb {
    pub(super) name: &'static str,
    pub(super) purpose: Purpose,
    pub(super) points: Option<(&'static str, &'static str)>,
}

impl Verb {
    pub(super) const fn named(name: &'static str) -> Self {
        Self { name, purpose: Purpose::Ordinary, points: None }
    }

    pub(super) const fn with_points(name: &'static str, before: &'static str, after: &'static str) -> Self {
        Self { points: Some((before, after)), ..Self::named(name) }
    }
}

/// How a transaction ends, and what it gives.
#[derive(Debug)]
pub(super) enum End<T> {
    Commit(T),
    Rollback(T),
}

/// An open transaction. It is begun and ended by this file alone.
#[derive(Clone)]
pub(super) struct Tx {
    pub(super) connection: Arc<Connection>,
    pub(super) call_limit: Duration,
    given: Option<Moment>,
}

impl Tx {
    /// The rows of a statement, in its order.
    pub(super) async fn rows(&self, statement: &Statement, values: &[Value<'_>]) -> Outcome<Vec<Record>> {
        let name = statement.name;
        let rows = self.bounded(name, self.connection.client.query_typed(statement.text, values)).await?;
        Ok(rows.into_iter().map(|row| Record { row, statement: name }).collect())
    }

    /// The first row, if there is one.
    pub(super) async fn first(&self, statement: &Statement, values: &[Value<'_>]) -> Outcome<Option<Record>> {
        Ok(self.rows(statement, values).await?.into_iter().next())
    }

    /// The row that there must be.
    pub(super) async fn one(&self, statement: &Statement, values: &[Value<'_>]) -> Outcome<Record> {
        self.first(statement, values).await?.ok_or_else(|| Failure::broken(format!("{}: no row", statement.name)))
    }

    /// Whether there is a row.
    pub(super) async fn any(&self, statement: &Statement, values: &[Value<'_>]) -> Outcome<bool> {
        Ok(self.first(statement, values).await?.is_some())
    }

    /// How many rows a statement wrote.
    pub(super) async fn execute(&self, statement: &Statement, values: &[Value<'_>]) -> Outcome<u64> {
        self.bounded(statement.name, self.connection.client.execute_typed(statement.text, values)).await
    }

    /// A write that must meet exactly the rows that were locked for it.
    pub(super) async fn execute_all(&self, statement: &Statement, values: &[Value<'_>], rows: usize) -> Outcome<()> {
        let written = self.execute(statement, values).await?;
        if usize::try_from(written).is_ok_and(|written| written == rows) {
            return Ok(());
        }
        Err(Failure::again(format!("{}: {written} rows written of {rows} that were locked", statement.name)))
    }

    /// Statements without parameters.
    pub(super) async fn batch(&self, what: &'static str, text: &str) -> Outcome<()> {
        self.bounded(what, self.connection.client.batch_execute(text)).await
    }

    /// The instant to go by instead of the database's clock, as statements take it.
    pub(super) fn clock(&self) -> Option<SystemTime> {
        self.given.map(stamp)
    }

    /// The store's now.
    pub(super) async fn now(&self) -> Outcome<Moment> {
        match self.given {
            Some(given) => Ok(given),
            None => self.one(&sql::READ_CLOCK, values![self.clock()]).await?.moment("now"),
        }
    }

    pub(super) async fn bounded<T>(
        &self,
        what: &str,
        call: impl Future<Output = std::result::Result<T, tokio_postgres::Error>>,
    ) -> Outcome<T> {
        match tokio::time::timeout(self.call_limit, call).await {
            Ok(answer) => answer.map_err(|error| Failure::seen(what, &error, Phase::Statement)),
            Err(_) => Err(Failure::silent(what, self.call_limit)),
        }
    }
}

const ROUNDS: u32 = 5;

impl PostgresStore {
    /// Runs `body` in a transaction and commits. `body` may be run several times: it only reads and writes through it.
    pub(super) async fn write<T, F>(&self, verb: Verb, body: impl Fn(Tx) -> F) -> Result<T>
    where
        F: Future<Output = Outcome<T>>,
    {
        let committed = |tx| {
            let work = body(tx);
            async move { work.await.map(End::Commit) }
        };
        self.transact(verb, committed).await.map_err(Failure::judged)
    }

    /// Runs `body` over one state of the database, read only.
    pub(super) async fn read<T, F>(&self, name: &'static str, body: impl Fn(Tx) -> F) -> Result<T>
    where
        F: Future<Output = Outcome<T>>,
    {
        self.read_within(name, &self.begin_read, self.limits.call(), body).await.map_err(Failure::judged)
    }

    /// As [`Self::read`], for people: it may take longer.
    pub(super) async fn look<T, F>(&self, name: &'static str, body: impl Fn(Tx) -> F) -> Result<T>
    where
        F: Future<Output = Outcome<T>>,
    {
        let limit = super::LOOK_LIMIT + Duration::from_secs(2);
        self.read_within(name, &self.begin_look, limit, body).await.map_err(Failure::judged)
    }

    async fn read_within<T, F>(&self, name: &'static str, begin: &str, limit: Duration, body: impl Fn(Tx) -> F) -> Outcome<T>
    where
        F: Future<Output = Outcome<T>>,
    {
        let (lent, tx) = self.begin(Verb::named(name), begin).await?;
        let answer = body(Tx { call_limit: limit, ..tx }).await;
        self.rollback(lent, answer.as_ref().err()).await;
        answer
    }

    /// As [`Self::write`], for what decides itself whether to commit, and with the failure as it was seen.
    pub(super) async fn transact<T, F>(&self, verb: Verb, body: impl Fn(Tx) -> F) -> Outcome<T>
    where
        F: Future<Output = Outcome<End<T>>>,
    {
        let mut round = 1;
        loop {
            match self.transact_once(verb, &body).await {
                Err(failure) if failure.class == Class::Again && round < ROUNDS => {
                    pause(round).await;
                    // A lock timeout took seconds already: it is tried once more, the others a few times.
                    round += if failure.is_lock_timeout() { ROUNDS - 1 } else { 1 };
                }
                answer => return answer,
            }
        }
    }

    async fn transact_once<T, F>(&self, verb: Verb, body: impl Fn(Tx) -> F) -> Outcome<T>
    where
        F: Future<Output = Outcome<End<T>>>,
    {
        let (lent, tx) = self.begin(verb, &self.begin_write).await?;
        match body(tx).await {
            Ok(End::Commit(value)) => self.commit(verb, lent).await.map(|()| value),
            Ok(End::Rollback(value)) => {
                self.rollback(lent, None).await;
                Ok(value)
            }
            Err(failure) => {
                self.rollback(lent, Some(&failure)).await;
                Err(failure)
            }
        }
    }

    async fn begin(&self, verb: Verb, text: &str) -> Outcome<(Lent<'_>, Tx)> {
        let lent = self.pool.lend(verb.purpose).await?;
        let tx = self.tx(&lent)?;
        match tx.batch("BEGIN", text).await {
            Ok(()) => Ok((lent, tx)),
            // It died while it was idle. Nothing was asked of it yet: a new one may be.
            Err(failure) if failure.poisoned && lent.reused => {
                self.pool.forget_idle();
                drop(lent);
                let lent = self.pool.lend(verb.purpose).await?;
                let tx = self.tx(&lent)?;
                tx.batch("BEGIN", text).await?;
                Ok((lent, tx))
            }
            Err(failure) => Err(failure),
        }
    }

    /// The transaction that is open on a connection.
    pub(super) fn tx(&self, lent: &Lent<'_>) -> Outcome<Tx> {
        Ok(Tx { connection: Arc::clone(lent.connection()?), call_limit: self.limits.call(), given: self.clock.given() })
    }

    /// Commits. An error, a silence or a warning here means that nobody knows: no cancel is ever sent.
    pub(super) async fn commit(&self, verb: Verb, lent: Lent<'_>) -> Outcome<()> {
        if let Some((before, _)) = verb.points {
            fault::point(before);
        }
        let connection = lent.connection()?;
        let warned = connection.warnings();
        let what = format!("{}: COMMIT", verb.name);
        match tokio::time::timeout(self.limits.call(), connection.client.batch_execute("COMMIT")).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                let failure = Failure::seen(&what, &error, Phase::Commit);
                self.rollback(lent, Some(&failure)).await;
                return Err(failure);
            }
            Err(_) => {
                self.pool.forget_idle();
                return Err(Failure::silent(&what, self.limits.call()));
            }
        }
        if let Some((_, after)) = verb.points {
            fault::point(after);
        }
        let unsure = connection.warnings() != warned;
        lent.give_back();
        if unsure {
            let message = format!("{what}: PostgreSQL warned; it may be lost in a failover");
            return Err(Failure { class: Class::Away, poisoned: false, ..Failure::broken(message) });
        }
        Ok(())
    }

    /// Ends a transaction without a trace; the connection goes back only if the server said so.
    pub(super) async fn rollback(&self, lent: Lent<'_>, failure: Option<&Failure>) {
        if failure.is_some_and(|failure| failure.poisoned) {
            // Whatever befell this one most likely befell all: nobody is to wait for each of them in turn.
            self.pool.forget_idle();
            return;
        }
        if let Ok(connection) = lent.connection()
            && let Ok(Ok(())) = tokio::time::timeout(self.limits.call(), connection.client.batch_execute("ROLLBACK")).await
        {
            lent.give_back();
        }
    }
}

/// A short wait before a repetition, different for everybody.
pub(super) async fn pause(round: u32) {
    let spread = RandomState::new().hash_one(round) % 1_000;
    let micros = (u64::from(round) * 4_000) * (500 + spread) / 1_000;
    SystemTimer.sleep(Duration::from_micros(micros)).await;
}
