//! Commits whose fate nobody hears of.

use onebell_testkit::{Loss, Proxy, fresh_database, server};

use crate::fleet::{Fleet, Place};
use crate::hits::{met, postgres, rounds};

/// Every so many COMMITs one is lost, until enough were.
async fn lossy(version: u32, loss: Loss, row: &str) {
    let database = fresh_database(version).await;
    let proxy = Proxy::before_url(&server(version));
    let fleet = Fleet::over(&database.url, &proxy.url(database.name()), 2).await;
    proxy.lose_commits(Some((7, loss)));
    let enough = u64::from(rounds(30));
    // Among them are requests that are answered by their keys when they are repeated.
    while proxy.hits() < enough || (loss == Loss::Answer && fleet.asker.found_again() == 0) {
        fleet.more(1).await;
    }
    proxy.lose_commits(None);
    let hits = proxy.hits();
    fleet.all_is_well(&Place::Postgres(database.url.clone())).await;
    met(row, &postgres(version), hits);
}

async fn i0_a_commit_whose_answer_is_dropped_is_read_back_and_done_once(version: u32) {
    lossy(version, Loss::Answer, "i0_a_commit_whose_answer_is_dropped_is_read_back_and_done_once").await;
}

async fn a_commit_that_never_arrives_is_repeated_and_done_once(version: u32) {
    lossy(version, Loss::Question, "a_commit_that_never_arrives_is_repeated_and_done_once").await;
}

on_postgres!(
    i0_a_commit_whose_answer_is_dropped_is_read_back_and_done_once,
    a_commit_that_never_arrives_is_repeated_and_done_once,
);
