//! Connections that end, fall silent, are cut or slow.

use std::time::Duration;

use onebell_testkit::{Proxy, fresh_database, server};

use crate::fleet::{Fleet, Place, client};
use crate::hits::{met, postgres, rounds};

/// An administrator ends every session of the database, again and again (57P01).
async fn sessions_that_are_terminated_in_storms_cost_nothing_but_time(version: u32) {
    let database = fresh_database(version).await;
    let proxy = Proxy::before_url(&server(version));
    let fleet = Fleet::over(&database.url, &proxy.url(database.name()), 2).await;
    let administrator = client(&server(version)).await;
    let ends = "SELECT count(*) FILTER (WHERE pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = $1";
    let mut ended = 0;
    for _ in 0..rounds(25) {
        let count: i64 = administrator.query_one(ends, &[&database.name()]).await.unwrap().get(0);
        ended += u64::try_from(count).unwrap();
        fleet.more(2).await;
    }
    assert!(proxy.refusals("57P01") > 0, "clients were told");
    fleet.all_is_well(&Place::Postgres(database.url.clone())).await;
    met("sessions_that_are_terminated_in_storms_cost_nothing_but_time", &postgres(version), ended);
}

/// Two replicas with ways of their own. All open connections of one of them fall silent without an end: a firewall forgot them.
async fn half_open_connections_of_one_replica_are_given_up_within_its_lease(version: u32) {
    let database = fresh_database(version).await;
    let proxies = [Proxy::before_url(&server(version)), Proxy::before_url(&server(version))];
    // A user's own statement may take as long as its claim: silence inside one is told from work only by TCP's own timeout,
    // and there is no TCP here.
    proxies.iter().for_each(|proxy| proxy.spare("INSERT INTO booked"));
    let ways = proxies.iter().map(|proxy| Place::Postgres(proxy.url(database.name()))).collect();
    let direct = Place::Postgres(database.url.clone());
    let fleet = Fleet::at(&direct, ways).await;
    for round in 0..rounds(2) {
        fleet.in_hand().await;
        proxies[round as usize % 2].freeze_all();
        fleet.more(10).await;
        fleet.beats_again(&direct).await;
    }
    let hits = proxies.iter().map(Proxy::hits).sum();
    fleet.all_is_well(&direct).await;
    met("half_open_connections_of_one_replica_are_given_up_within_its_lease", &postgres(version), hits);
}

/// Each connection ends in the middle of a message, after so many bytes.
async fn connections_that_are_cut_inside_a_message_cost_nothing_but_time(version: u32) {
    let database = fresh_database(version).await;
    let proxy = Proxy::before_url(&server(version));
    let fleet = Fleet::over(&database.url, &proxy.url(database.name()), 2).await;
    proxy.cut_after(60_000);
    let enough = u64::from(rounds(20));
    while proxy.hits() < enough {
        fleet.more(1).await;
    }
    proxy.cut_after(u64::MAX);
    let hits = proxy.hits();
    fleet.all_is_well(&Place::Postgres(database.url.clone())).await;
    met("connections_that_are_cut_inside_a_message_cost_nothing_but_time", &postgres(version), hits);
}

/// Every message arrives late: a database in another region. Nothing is taken for an outage.
async fn a_slow_way_to_the_database_is_no_outage(version: u32) {
    let database = fresh_database(version).await;
    let proxy = Proxy::before_url(&server(version));
    let fleet = Fleet::over(&database.url, &proxy.url(database.name()), 2).await;
    let before = fleet.asker.troubles();
    proxy.delay(Duration::from_millis(8));
    fleet.more(rounds(6) as usize).await;
    let hits = proxy.delayed();
    assert_eq!(fleet.asker.troubles(), before, "slow is not away");
    proxy.delay(Duration::ZERO);
    fleet.all_is_well(&Place::Postgres(database.url.clone())).await;
    met("a_slow_way_to_the_database_is_no_outage", &postgres(version), hits);
}

on_postgres!(
    sessions_that_are_terminated_in_storms_cost_nothing_but_time,
    half_open_connections_of_one_replica_are_given_up_within_its_lease,
    connections_that_are_cut_inside_a_message_cost_nothing_but_time,
    a_slow_way_to_the_database_is_no_outage,
);
