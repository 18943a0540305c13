//! The primary is killed and its standby promoted, while replicas that know only one address work on.

use onebell_testkit::{Cluster, Proxy};

use crate::fleet::{Fleet, Place, aside, client, until};
use crate::hits::{met, postgres, rounds};
use crate::work::Receives;

/// A primary, its standby, and the address that replicas know.
struct Pair {
    primary: Cluster,
    standby: Cluster,
    address: Proxy,
}

impl Pair {
    /// `link`: the standby's way to its primary.
    async fn start(version: u32, settings: &'static [&'static str]) -> (Self, Proxy) {
        let primary = aside(move || Cluster::start_with(version, settings)).await;
        let link = Proxy::before(primary.socket_folder());
        let folder = link.socket_folder().to_owned();
        let standby = aside(move || Cluster::standby_of(version, &folder, &[])).await;
        let streams = client(&primary.url()).await;
        let streaming = async || {
            let row = streams.query_one("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'", &[]).await;
            (row.unwrap().get::<_, i64>(0) == 1).then_some(())
        };
        until("the standby follows", streaming).await;
        let address = Proxy::before(primary.socket_folder());
        (Self { primary, standby, address }, link)
    }

    fn url(&self) -> String {
        self.address.url("postgres")
    }

    /// The primary is no more, the standby takes its place, and the address leads there.
    async fn fail_over(self) -> (Cluster, Proxy) {
        let Self { mut primary, mut standby, address } = self;
        let standby = aside(move || {
            primary.stop_immediate();
            standby.promote();
            standby
        })
        .await;
        address.point_at(standby.socket_folder());
        (standby, address)
    }
}

/// A commit is answered when the standby has it too.
async fn i0_a_failover_to_a_synchronous_standby_loses_nothing(version: u32) {
    let failovers = rounds(1);
    for _ in 0..failovers {
        let (pair, _link) = Pair::start(version, &["synchronous_standby_names=standby"]).await;
        let fleet = Fleet::over(&pair.primary.url(), &pair.url(), 2).await;
        fleet.in_hand().await;
        let before = fleet.asker.troubles();
        let (standby, _address) = pair.fail_over().await;
        fleet.troubled(before, 1).await;
        fleet.more(10).await;
        fleet.all_is_well(&Place::Postgres(standby.url())).await;
    }
    met("i0_a_failover_to_a_synchronous_standby_loses_nothing", &postgres(version), u64::from(failovers));
}

/// Until the standby has everything that was written so far.
async fn caught_up(primary: &str) {
    let look = client(primary).await;
    let behind = "SELECT coalesce(bool_and(replay_lsn >= pg_current_wal_lsn()), false) FROM pg_stat_replication";
    until("the standby has caught up", async || look.query_one(behind, &[]).await.unwrap().get::<_, bool>(0).then_some(())).await;
}

/// The standby hears nothing for a moment, then the primary is killed. What was acknowledged in that moment is gone, and only
/// that; whoever asks again with the same key gets the same run, and what was told to the outside is told again under its key.
async fn a_lossy_failover_loses_only_its_last_moment_and_repeats_it_under_the_same_keys(version: u32) {
    let (pair, link) = Pair::start(version, &["synchronous_standby_names="]).await;
    let ways = vec![Place::Postgres(pair.url()); 2];
    let fleet = Fleet::telling(&Place::Postgres(pair.primary.url()), ways, Receives::ByKey).await;
    let kept = fleet.asker.acknowledged();
    caught_up(&pair.primary.url()).await;
    link.freeze_all();
    fleet.more(15).await;
    let (standby, _address) = pair.fail_over().await;
    let place = Place::Postgres(standby.url());
    let judge = place.open().await;
    for was in &kept {
        assert!(judge.run(&was.run).await.unwrap().is_some(), "acknowledged before the last moment: {was:?}");
    }
    fleet.more(1).await;
    let lost = fleet.asker.ask_again(judge.as_ref()).await;
    let yard = std::sync::Arc::clone(&fleet.yard);
    fleet.all_is_well(&place).await;
    let told_again = yard.received.lock().unwrap().values().filter(|times| **times > 1).count();
    println!("lost and asked for again: {lost} runs; told again under the same key: {told_again}");
    met("a_lossy_failover_loses_only_its_last_moment_and_repeats_it_under_the_same_keys", &postgres(version), lost);
}

on_postgres!(
    i0_a_failover_to_a_synchronous_standby_loses_nothing,
    a_lossy_failover_loses_only_its_last_moment_and_repeats_it_under_the_same_keys,
);
