//! Somebody else's transaction that stays open.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use onebell_testkit::{Proxy, fresh_database, server};

use crate::fleet::{Fleet, HELD, Place, client, numbers, until};
use crate::hits::{met, postgres, rounds};

/// A whole table is locked by somebody, as for a migration: our waits end (55P03), and the calls are repeated.
async fn i10_a_wait_for_a_lock_ends_and_is_repeated(version: u32) {
    let database = fresh_database(version).await;
    let proxy = Proxy::before_url(&server(version));
    let fleet = Fleet::over(&database.url, &proxy.url(database.name()), 2).await;
    let somebody = client(&database.url).await;
    for table in ["job_steps", "runs"].into_iter().cycle().take(rounds(2) as usize) {
        let before = proxy.refusals("55P03");
        somebody.batch_execute(&format!("BEGIN; LOCK TABLE onebell.{table} IN EXCLUSIVE MODE")).await.unwrap();
        while proxy.refusals("55P03") < before + 6 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        somebody.batch_execute("COMMIT").await.unwrap();
        fleet.more(5).await;
    }
    let hits = proxy.refusals("55P03");
    fleet.all_is_well(&Place::Postgres(database.url.clone())).await;
    met("i10_a_wait_for_a_lock_ends_and_is_repeated", &postgres(version), hits);
}

/// Statements that the server ends because they took too long (57014).
async fn i10_a_statement_that_takes_too_long_ends_and_is_repeated(version: u32) {
    let database = fresh_database(version).await;
    let proxy = Proxy::before_url(&server(version));
    let fleet = Fleet::with_statement_limit(&database.url, &proxy.url(database.name()), Duration::from_millis(400)).await;
    let somebody = client(&database.url).await;
    for _ in 0..rounds(2) {
        let before = proxy.refusals("57014");
        somebody.batch_execute("BEGIN; LOCK TABLE onebell.job_steps IN EXCLUSIVE MODE").await.unwrap();
        while proxy.refusals("57014") < before + 6 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        somebody.batch_execute("COMMIT").await.unwrap();
        fleet.more(5).await;
    }
    let hits = proxy.refusals("57014");
    fleet.all_is_well(&Place::Postgres(database.url.clone())).await;
    met("i10_a_statement_that_takes_too_long_ends_and_is_repeated", &postgres(version), hits);
}

/// Somebody holds a snapshot, a key share of every run and the rows of some steps in an open transaction (for minutes in
/// `scripts/prove matrix`). Everybody else's work goes on beside it.
async fn a_transaction_that_stays_open_holds_up_only_the_rows_it_locked(version: u32) {
    let database = fresh_database(version).await;
    let proxy = Proxy::before_url(&server(version));
    let fleet = Fleet::over(&database.url, &proxy.url(database.name()), 2).await;
    fleet.in_hand().await;
    let somebody = client(&database.url).await;
    let begun = Instant::now();
    let least = if rounds(1) > 1 { Duration::from_secs(180) } else { Duration::ZERO };
    somebody.batch_execute("BEGIN; DECLARE all_runs CURSOR FOR SELECT * FROM onebell.runs").await.unwrap();
    somebody.execute("SELECT 1 FROM onebell.runs FOR KEY SHARE", &[]).await.unwrap();
    let rows = somebody.query("SELECT step_id FROM onebell.job_steps WHERE name = 'hold' FOR UPDATE", &[]).await.unwrap();
    fleet.more(100).await;
    while begun.elapsed() < least {
        fleet.more(10).await;
    }
    // Now those rows are wanted: their settlements wait, in vain, and are repeated.
    fleet.yard.gate.send_replace(true);
    while proxy.refusals("55P03") < 8 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let soon = tokio::time::timeout(Duration::from_secs(30), fleet.more(30)).await;
    assert!(soon.is_ok(), "settlements beside those that wait are not held up");
    somebody.batch_execute("COMMIT").await.unwrap();
    fleet.all_is_well(&Place::Postgres(database.url.clone())).await;
    met("a_transaction_that_stays_open_holds_up_only_the_rows_it_locked", &postgres(version), rows.len() as u64);
}

/// Somebody has locked the user's own table. Steps that write there wait as long as their claims last; settlements that
/// write nothing of the user's do not wait for them.
async fn a_lock_on_a_users_table_holds_up_only_the_steps_that_write_there(version: u32) {
    let database = fresh_database(version).await;
    let direct = Place::Postgres(database.url.clone());
    let mut fleet = Fleet::over(&database.url, &database.url, 2).await;
    fleet.asker.stop().await;
    fleet.in_hand().await;
    let judge = direct.open().await;
    let somebody = client(&database.url).await;
    somebody.batch_execute("BEGIN; LOCK TABLE booked").await.unwrap();
    let waiting =
        "SELECT count(*) AS a, 0 AS b FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    fleet.asker.ask_for(judge.as_ref(), "pay", 6).await;
    let waits = until("steps wait for the lock", async || {
        let (waits, _) = numbers(judge.as_ref(), waiting).await;
        (waits >= 2).then_some(waits)
    });
    let waits = waits.await;
    for run in fleet.asker.ask_for(judge.as_ref(), "plain", 30).await {
        let done = async || (judge.run(&run).await.ok()??.run.status == "succeeded").then_some(());
        until("a step that writes nothing there is settled", done).await;
    }
    assert!(numbers(judge.as_ref(), waiting).await.0 >= 2, "they still wait");
    somebody.batch_execute("COMMIT").await.unwrap();
    fleet.all_is_well(&direct).await;
    met("a_lock_on_a_users_table_holds_up_only_the_steps_that_write_there", &postgres(version), waits);
}

/// K14-08: while handlers work and receivers think, no transaction of ours is open.
async fn k14_08_no_transaction_is_open_while_something_outside_happens(version: u32) {
    let database = fresh_database(version).await;
    let mut fleet = Fleet::over(&database.url, &database.url, 2).await;
    fleet.in_hand().await;
    fleet.yard.ear.send_replace(false);
    let outside = || u64::from(HELD) + fleet.yard.unanswered.load(Ordering::SeqCst);
    until("messages wait for their answer", async || (outside() >= u64::from(HELD) + 3).then_some(())).await;
    let happens = outside();
    fleet.asker.stop().await;
    let administrator = client(&server(version)).await;
    let open = "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND xact_start < $2";
    let since: SystemTime = administrator.query_one("SELECT clock_timestamp()", &[]).await.unwrap().get(0);
    // Whatever is open now has ended at some moment of the next while, unless it waits for the outside.
    until("every transaction ends", async || {
        let open: i64 = administrator.query_one(open, &[&database.name(), &since]).await.unwrap().get(0);
        (open == 0).then_some(())
    })
    .await;
    assert!(fleet.yard.held.load(Ordering::SeqCst) == u64::from(HELD) && fleet.yard.unanswered.load(Ordering::SeqCst) >= 3);
    fleet.yard.ear.send_replace(true);
    fleet.all_is_well(&Place::Postgres(database.url.clone())).await;
    met("k14_08_no_transaction_is_open_while_something_outside_happens", &postgres(version), happens);
}

on_postgres!(
    k14_08_no_transaction_is_open_while_something_outside_happens,
    a_lock_on_a_users_table_holds_up_only_the_steps_that_write_there,
    i10_a_wait_for_a_lock_ends_and_is_repeated,
    i10_a_statement_that_takes_too_long_ends_and_is_repeated,
    a_transaction_that_stays_open_holds_up_only_the_rows_it_locked,
);
