//! A server that is killed and started again over the same data.

use onebell_testkit::Cluster;

use crate::fleet::{Fleet, Place, aside};
use crate::hits::{met, postgres, rounds};

/// Shut down at once, for a moment, with work in hand; again and again.
async fn a_server_that_crashes_and_returns_costs_nothing_but_time(version: u32) {
    let mut cluster = aside(move || Cluster::start(version)).await;
    let direct = Place::Postgres(cluster.url());
    let fleet = Fleet::over(&cluster.url(), &cluster.url(), 2).await;
    let crashes = rounds(3);
    for _ in 0..crashes {
        fleet.in_hand().await;
        let before = fleet.asker.troubles();
        cluster.stop_immediate();
        fleet.troubled(before, 3).await;
        cluster = aside(move || {
            cluster.restart();
            cluster
        })
        .await;
        fleet.more(10).await;
    }
    fleet.all_is_well(&direct).await;
    met("a_server_that_crashes_and_returns_costs_nothing_but_time", &postgres(version), u64::from(crashes));
}

/// Told to end in order, it tells its clients so (57P01) and refuses new ones (57P03) until it is gone.
async fn a_server_that_is_restarted_in_order_costs_nothing_but_time(version: u32) {
    let mut cluster = aside(move || Cluster::start(version)).await;
    let direct = Place::Postgres(cluster.url());
    let fleet = Fleet::over(&cluster.url(), &cluster.url(), 2).await;
    let restarts = rounds(3);
    for _ in 0..restarts {
        fleet.in_hand().await;
        cluster = aside(move || {
            cluster.stop_fast();
            cluster.restart();
            cluster
        })
        .await;
        fleet.more(10).await;
    }
    assert!(fleet.asker.troubles().0 > 0, "whoever asked has felt it");
    fleet.all_is_well(&direct).await;
    met("a_server_that_is_restarted_in_order_costs_nothing_but_time", &postgres(version), u64::from(restarts));
}

on_postgres!(
    a_server_that_crashes_and_returns_costs_nothing_but_time,
    a_server_that_is_restarted_in_order_costs_nothing_but_time,
);
