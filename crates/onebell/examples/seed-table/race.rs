//! Two runs record one effect key at once. On PostgreSQL the second is seen waiting for the first
//! (`pg_blocking_pids`); on SQLite it waits at the only writer's lock while the first holds it at a barrier.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use onebell::store::sqlite;
use onebell::store::{Settled, Settlement, Store, Work};

use crate::lab::{Lab, open_store};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

pub(crate) async fn race(url: &str) -> Result<()> {
    let lab = Lab::open(url, "race").await?;
    let mut first = lab.claimed("a", 100, None).await?;
    let mut second = lab.claimed("b", 100, None).await?;
    for settlement in [&mut first, &mut second] {
        settlement.effects = vec![lab.effect("one-key", 100)?];
    }
    let gate = Arc::new(Gate::default());
    let outcomes = if url.starts_with("sqlite:") {
        first.work = Some(hold_sqlite(Arc::clone(&gate)));
        let held = async || Ok(gate.holding.load(Ordering::SeqCst));
        both(&lab, url, first, second, &gate, held, held).await?
    } else {
        on_postgres(&lab, url, first, second, gate).await?
    };
    let already: Vec<u32> = outcomes.iter().map(already).collect::<Result<_>>()?;
    assert_eq!(already, [0, 1], "one is applied, the other finds it");
    assert_eq!(lab.totals().await?, (1, 100));
    lab.erase().await
}

/// The first settlement stands inside its transaction until it is let go.
#[derive(Default)]
struct Gate {
    holding: AtomicBool,
    open: AtomicBool,
}

fn hold_sqlite(gate: Arc<Gate>) -> Work {
    sqlite::work(move |_| {
        gate.holding.store(true, Ordering::SeqCst);
        while !gate.open.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        Ok(())
    })
}

/// On PostgreSQL the first one is held after its effect, where it puts a message into a table that we keep locked.
async fn on_postgres(lab: &Lab, url: &str, mut first: Settlement, second: Settlement, gate: Arc<Gate>) -> Result<Vec<Settled>> {
    let (watcher, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
    tokio::spawn(connection);
    first.messages = vec![lab.message("held")?];
    watcher.batch_execute("BEGIN; LOCK TABLE onebell.outbox IN ACCESS EXCLUSIVE MODE").await?;
    gate.holding.store(true, Ordering::SeqCst);
    let held = "SELECT EXISTS (SELECT 1 FROM pg_stat_activity a WHERE pg_backend_pid() = ANY (pg_blocking_pids(a.pid)))";
    let blocked = "SELECT EXISTS (SELECT 1 FROM pg_stat_activity a, pg_stat_activity b \
        WHERE pg_backend_pid() = ANY (pg_blocking_pids(a.pid)) AND a.pid = ANY (pg_blocking_pids(b.pid)))";
    let seen = async |question: &str| -> Result<bool> { Ok(watcher.query_one(question, &[]).await?.get::<_, bool>(0)) };
    both(
        lab,
        url,
        first,
        second,
        &gate,
        async || seen(held).await,
        async || {
            let waits = seen(blocked).await?;
            if waits {
                watcher.batch_execute("ROLLBACK").await?;
            }
            Ok(waits)
        },
    )
    .await
}

/// Starts the first, waits until it holds, starts the second, waits until it is seen waiting, lets the first go.
async fn both(
    lab: &Lab,
    url: &str,
    first: Settlement,
    second: Settlement,
    gate: &Gate,
    holds: impl AsyncFn() -> Result<bool>,
    waits: impl AsyncFn() -> Result<bool>,
) -> Result<Vec<Settled>> {
    let other = open_store(url).await?;
    let store = Arc::clone(&lab.store);
    let first = tokio::spawn(async move { store.settle_steps(vec![first]).await });
    while !holds().await? {
        tokio::task::yield_now().await;
    }
    let second = tokio::spawn(settle(other, second));
    while !waits().await? {
        tokio::task::yield_now().await;
    }
    gate.open.store(true, Ordering::SeqCst);
    let mut outcomes = first.await??;
    outcomes.extend(second.await??);
    Ok(outcomes)
}

async fn settle(store: Arc<dyn Store>, settlement: Settlement) -> onebell::store::Result<Vec<Settled>> {
    store.settle_steps(vec![settlement]).await
}

fn already(settled: &Settled) -> Result<u32> {
    match settled {
        Settled::Applied { effects_already, refused: None, .. } => Ok(*effects_already),
        other => Err(format!("{other:?}").into()),
    }
}
