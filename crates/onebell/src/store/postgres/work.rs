//! Settlements with statements of the user's own: those run first, then run and step are locked and all commits together.
//!
//! Their transaction may be repeated as a whole, so they must be safe to run again; they never commit alone.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio_postgres::{IsolationLevel, Transaction};

use super::columns::{int, values};
use super::error::{Class, Failure, Outcome, Phase, Symptom, classify};
use super::pool::{Lent, Purpose};
use super::rows::{NoRows, Rows};
use super::settle::{Item, Refusal, SETTLE, SetEnd, settle_in, settle_late};
use super::transaction::{End, Tx, Verb, milliseconds, pause};
use super::{PostgresStore, statements as sql};
use crate::store::Work;

/// What a program does inside the settling transaction.
type Native = dyn for<'a> Fn(&'a Transaction<'_>) -> BoxFuture<'a, Result<(), tokio_postgres::Error>> + Send + Sync;

struct NativeWork(Box<Native>);

/// Statements of a program's own, run in the transaction that settles its step: they commit together with it or not at all.
///
/// The closure may be called again with a new transaction after a failure: it must not count its calls, and must return
/// every error it gets. It has what is left of the step's claim.
///
/// ```
/// use onebell::store::postgres;
/// let work = postgres::work(|transaction| {
///     Box::pin(async move {
///         transaction.batch_execute("UPDATE accounts SET reminded = true WHERE overdue").await
///     })
/// });
/// # drop(work);
/// ```
pub fn work<F>(statements: F) -> Work
where
    F: for<'a> Fn(&'a Transaction<'_>) -> BoxFuture<'a, Result<(), tokio_postgres::Error>> + Send + Sync + 'static,
{
    Work::Native(Arc::new(NativeWork(Box::new(statements))))
}

const ROUNDS: u32 = 5;

/// Less than this is not worth a statement: what is left of a claim that has just lapsed counts as this.
const LEFT_MIN: Duration = Duration::from_secs(1);

/// Set for the transaction alone: gone means that the user's statements ended it.
const MARK: &str = "SET LOCAL onebell.settling = 'on'";

/// Everything that users' statements may have set, put back before ours. The order matters: a role may not be allowed to.
const UNSET: &str = "RESET SESSION AUTHORIZATION; RESET ROLE; RESET ALL";

/// Settles one item whose user statements run first.
pub(super) async fn settle(store: &PostgresStore, item: &Item<'_>) -> Outcome<SetEnd> {
    let mut round = 1;
    loop {
        match attempt(store, item).await {
            // Waiting for somebody's lock took a share of the few connections for work: it is tried once more here, then later.
            Err(Stop::Failed(failure)) if failure.is_lock_timeout() && round < ROUNDS => round = ROUNDS - 1,
            Err(Stop::Failed(failure)) if failure.class == Class::Again && round < ROUNDS => {}
            Err(Stop::Failed(failure)) => return Err(failure),
            Err(Stop::Busy(_)) if round < ROUNDS => {}
            Err(Stop::Busy(error)) => return Ok(refused(item, Refusal::Passing(error))),
            Err(Stop::Refused(refusal)) => return Ok(refused(item, refusal)),
            Ok(end) => return Ok(end),
        }
        pause(round).await;
        round += 1;
    }
}

fn refused(item: &Item<'_>, refusal: Refusal) -> SetEnd {
    SetEnd::Refused([(item.place(), refusal)].into())
}

/// Why one go did not settle.
enum Stop {
    /// The store's trouble.
    Failed(Failure),
    /// The user's statements met a conflict that passes: all is repeated.
    Busy(String),
    /// The user's statements were refused.
    Refused(Refusal),
}

impl From<Failure> for Stop {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

async fn attempt(store: &PostgresStore, item: &Item<'_>) -> Result<SetEnd, Stop> {
    let Some(left) =
        store.transact(Verb::named("read_work_left"), |tx| async move { left(&tx, item).await.map(End::Rollback) }).await?
    else {
        // Not ours: the user's statements must not run again.
        let late = |tx: Tx| async move { settle_late(&tx, &[item]).await.map(End::Commit) };
        let settled = store.transact(SETTLE, late).await?;
        return Ok(SetEnd::Settled(settled.into_iter().map(|(_, settled)| settled).collect()));
    };
    let mut lent = store.pool.lend(Purpose::Work).await?;
    let mut item = item.clone();
    let users = users_part(store, &mut lent, &item, left).await;
    match users {
        Ok(rows) => item.rows = rows,
        Err(Stop::Failed(failure)) if failure.poisoned && lent.reused => {
            // It may have died while it was idle.
            store.pool.forget_idle();
            return Err(Failure { class: Class::Again, ..failure }.into());
        }
        // The transaction was given up: the connection is closed with whatever was set on it.
        Err(stop) => return Err(stop),
    }
    let tx = store.tx(&lent)?;
    let settled = ours(store, &tx, &item).await;
    drop(tx);
    match settled {
        Ok(End::Commit(end)) => store.commit(SETTLE, lent).await.map(|()| end).map_err(deferred),
        Ok(End::Rollback(end)) => {
            store.rollback(lent, None).await;
            Ok(end)
        }
        Err(stop) => Err(stop),
    }
}

/// What is left of the claim; none: it does not hold.
async fn left(tx: &Tx, item: &Item<'_>) -> Outcome<Option<Duration>> {
    let claim = &item.settlement().claim;
    let (clock, step, attempt, replica) = (tx.clock(), claim.step().as_str(), int(claim.attempt()), claim.replica().as_str());
    let Some(row) = tx.first(&sql::READ_WORK_LEFT, values![clock, step, attempt, replica]).await? else {
        return Ok(None);
    };
    let micros = u64::try_from(row.get::<i64>("left_us")?).unwrap_or(0);
    Ok(Some(Duration::from_micros(micros).max(LEFT_MIN)))
}

/// Begins the transaction and runs the user's statements in it. Leaves it open.
async fn users_part(store: &PostgresStore, lent: &mut Lent<'_>, item: &Item<'_>, left: Duration) -> Result<Option<String>, Stop> {
    let broken = |message: &str| Stop::Failed(Failure::broken(message));
    let work = item.work().ok_or_else(|| broken("a settlement without work was run as one with it"))?;
    let client = lent.client_mut().ok_or_else(|| broken("the connection is in use"))?;
    let settings = settings(store, left);
    let begun = tokio::time::timeout(store.limits.call(), async {
        let transaction = client.build_transaction().isolation_level(IsolationLevel::ReadCommitted).start().await?;
        transaction.batch_execute(&settings).await?;
        Ok(transaction)
    });
    let transaction = match begun.await {
        Ok(Ok(transaction)) => transaction,
        Ok(Err(error)) => return Err(Failure::seen("settle_steps: BEGIN", &error, Phase::Statement).into()),
        Err(_) => return Err(Failure::silent("settle_steps: BEGIN", store.limits.call()).into()),
    };
    let deadline = left + Duration::from_secs(2);
    let rows = match tokio::time::timeout(deadline, run(work, &transaction)).await {
        Ok(Ok(rows)) => rows,
        Ok(Err(stop)) => return Err(stop),
        Err(_) => return Err(Stop::Refused(Refusal::Passing(format!("its statements gave no answer within {deadline:?}")))),
    };
    // The transaction goes on under our own hands: its guard would roll it back here.
    std::mem::forget(transaction);
    Ok(rows)
}

/// The user's statements have what is left of the claim, and the role that was configured for them.
fn settings(store: &PostgresStore, left: Duration) -> String {
    let (ms, idle) = (milliseconds(left), milliseconds(store.limits.idle));
    let role = store.sql_role.as_deref().map(|role| format!("; SET LOCAL ROLE {}", quoted(role))).unwrap_or_default();
    format!(
        "SET LOCAL statement_timeout = {ms}; SET LOCAL lock_timeout = {ms}; \
         SET LOCAL idle_in_transaction_session_timeout = {idle}; {MARK}{role}"
    )
}

/// As long as statements may take that settle nothing.
const ALONE_LIMIT: Duration = Duration::from_secs(60);

impl PostgresStore {
    /// Runs statements of the program's own in one transaction, as the role that is configured for `sql` steps.
    ///
    /// # Errors
    /// `Broken` when they are refused, or end the transaction themselves; they may take a minute.
    pub async fn execute(&self, sql: &str) -> crate::store::Result<()> {
        execute(self, sql).await.map_err(Failure::judged)
    }
}

async fn execute(store: &PostgresStore, statements: &str) -> Outcome<()> {
    let verb = Verb { purpose: Purpose::Work, ..Verb::named("execute") };
    // Theirs are not our statements: they have the planner as the database sets it.
    let settings = format!("RESET ALL; {}", settings(store, ALONE_LIMIT));
    let run = |mut tx: Tx| {
        let settings = &settings;
        async move {
            tx.call_limit = ALONE_LIMIT + Duration::from_secs(2);
            tx.batch("execute", settings).await?;
            tx.batch("execute", statements).await?;
            if !tx.one(&sql::READ_MARK, &[]).await?.get::<bool>("marked")? {
                return Err(Failure { poisoned: true, ..Failure::broken(ENDED) });
            }
            tx.batch("execute", UNSET).await?;
            Ok(End::Commit(()))
        }
    };
    store.transact(verb, run).await
}

/// An identifier as SQL writes it.
pub(super) fn quoted(identifier: &str) -> String {
    format!("\"{}\"", identifier.replace('"', "\"\""))
}

async fn run(work: &Work, transaction: &Transaction<'_>) -> Result<Option<String>, Stop> {
    match work {
        Work::Sql(text) => {
            let stream = transaction.client().simple_query_raw(text).await.map_err(|error| judge(&error, transaction))?;
            match Rows::of_last(stream).await {
                Ok(rows) => Ok(rows.map(Rows::finish)),
                Err(NoRows::Driver(error)) => Err(judge(&error, transaction)),
                Err(NoRows::TooMany(problem)) => Err(Stop::Refused(Refusal::Permanent(problem))),
            }
        }
        Work::Native(any) => {
            let Some(native) = any.downcast_ref::<NativeWork>() else {
                let problem = "this work is another store's; make it with onebell::store::postgres::work";
                return Err(Stop::Refused(Refusal::Permanent(problem.to_owned())));
            };
            (native.0)(transaction).await.map(|()| None).map_err(|error| judge(&error, transaction))
        }
    }
}

/// What the user's statements were refused for, and what that means.
fn judge(error: &tokio_postgres::Error, transaction: &Transaction<'_>) -> Stop {
    let symptom = Symptom::of(error);
    let class = classify(&symptom, Phase::Statement);
    let Some(code) = symptom.code.as_deref() else {
        if transaction.client().is_closed() {
            return Failure::seen("the step's statements", error, Phase::Statement).into();
        }
        return Stop::Refused(Refusal::Passing(symptom.message));
    };
    let text = format!("{} (SQLSTATE {code})", symptom.message);
    match class {
        Class::Again => Stop::Busy(text),
        Class::Late => Stop::Refused(Refusal::Passing(format!("{text}: no more time was left of its claim"))),
        Class::Away | Class::Full => Failure::seen("the step's statements", error, Phase::Statement).into(),
        Class::Refused => Stop::Refused(Refusal::Permanent(text)),
        Class::Broken if code.starts_with("42") => Stop::Refused(Refusal::Permanent(text)),
        Class::Broken if code == "25P02" => Stop::Refused(Refusal::Passing(IGNORED.to_owned())),
        Class::Broken => Stop::Refused(Refusal::Passing(text)),
    }
}

/// A constraint or a trigger of the user's that was deferred to the end of the transaction.
fn deferred(failure: Failure) -> Stop {
    match failure.class {
        Class::Again => Stop::Busy(failure.message),
        Class::Away | Class::Full => Stop::Failed(failure),
        Class::Refused => Stop::Refused(Refusal::Permanent(failure.message)),
        Class::Late | Class::Broken => Stop::Refused(Refusal::Passing(failure.message)),
    }
}

const IGNORED: &str = "one of its statements failed and the error was not returned; return every error";
const ENDED: &str = "its SQL ends the transaction it runs in; remove COMMIT and ROLLBACK (what was committed so stays)";

/// Our own half: first it is made sure that the transaction is still the one that was begun.
async fn ours(store: &PostgresStore, tx: &Tx, item: &Item<'_>) -> Result<End<SetEnd>, Stop> {
    let marked = match tx.one(&sql::READ_MARK, &[]).await {
        Ok(row) => row.get::<bool>("marked")?,
        Err(failure) if failure.code.as_deref() == Some("25P02") => {
            return Err(Stop::Refused(Refusal::Passing(IGNORED.to_owned())));
        }
        Err(failure) => return Err(failure.into()),
    };
    if !marked {
        return Err(Stop::Refused(Refusal::Permanent(ENDED.to_owned())));
    }
    tx.batch("deferred constraints", "SET CONSTRAINTS ALL IMMEDIATE").await.map_err(deferred)?;
    tx.batch("settings", &format!("{UNSET}; {}", store.limits.local())).await?;
    Ok(settle_in(tx, std::slice::from_ref(item)).await?)
}
