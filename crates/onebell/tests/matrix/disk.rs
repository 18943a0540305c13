//! A disk without space (K14-07). Needs root: a small disk is mounted and filled up.

use onebell_testkit::{Cluster, Proxy, SmallDisk};

use crate::fleet::{Fleet, Place, aside, client};
use crate::hits::{met, postgres, rounds};

/// The database's own disk is full, the log's is not: writes are refused with 53100 until there is space again.
async fn k14_07_a_full_disk_stops_new_work_and_loses_nothing(version: u32) {
    let disk = SmallDisk::mount(48 << 20);
    let cluster = aside(move || Cluster::start(version)).await;
    let administrator = client(&cluster.url()).await;
    let place = format!("CREATE TABLESPACE small LOCATION '{}'", disk.path().display());
    administrator.batch_execute(&place).await.unwrap();
    administrator.batch_execute("CREATE DATABASE small TEMPLATE template0 TABLESPACE small").await.unwrap();
    let proxy = Proxy::before(cluster.socket_folder());
    let direct = format!("{}/small", cluster.url().rsplit_once('/').unwrap().0);
    let fleet = Fleet::over(&direct, &proxy.url("small"), 2).await;
    let reader = client(&direct).await;
    for round in 0..rounds(2) {
        fleet.in_hand().await;
        let before = fleet.asker.troubles();
        if round == 0 {
            // While somebody may read them, old versions keep their room: else a beat finds some in its own page for ever.
            reader.batch_execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM onebell.replicas").await.unwrap();
        }
        disk.fill();
        fleet.troubled(before, 5).await;
        assert!(fleet.asker.troubles().1 > before.1, "it is told apart from a server that is away");
        // Whether it is ready is known after three leases.
        if round == 0 {
            fleet.says(false).await;
            reader.batch_execute("COMMIT").await.unwrap();
        }
        disk.free();
        fleet.says(true).await;
        fleet.more(10).await;
    }
    let hits = proxy.refusals("53100");
    fleet.all_is_well(&Place::Postgres(direct)).await;
    met("k14_07_a_full_disk_stops_new_work_and_loses_nothing", &postgres(version), hits);
}

/// The log's disk is full: the server crashes, and cannot start again before there is space.
async fn a_full_disk_under_the_log_is_a_crash_that_loses_nothing(version: u32) {
    let disk = SmallDisk::mount(24 << 20);
    let log = disk.path().join("wal");
    let settings = &["wal_recycle=off", "min_wal_size=2MB", "max_wal_size=8MB", "restart_after_crash=off"];
    let mut cluster = aside(move || Cluster::start_with_log(version, settings, &log)).await;
    let direct = Place::Postgres(cluster.url());
    let fleet = Fleet::over(&cluster.url(), &cluster.url(), 2).await;
    fleet.in_hand().await;
    let before = fleet.asker.troubles();
    let administrator = client(&cluster.url()).await;
    disk.fill();
    // What is left of the last segments fills up soon so.
    let noise = "SELECT pg_logical_emit_message(false, 'noise', repeat('x', 300000))";
    while administrator.execute(noise, &[]).await.is_ok() {}
    cluster = aside(move || {
        cluster.wait_for_its_end();
        cluster
    })
    .await;
    fleet.troubled(before, 3).await;
    disk.free();
    cluster = aside(move || {
        cluster.restart();
        cluster
    })
    .await;
    fleet.more(10).await;
    fleet.all_is_well(&direct).await;
    drop(cluster);
    met("a_full_disk_under_the_log_is_a_crash_that_loses_nothing", &postgres(version), 1);
}

on_postgres!(k14_07_a_full_disk_stops_new_work_and_loses_nothing, a_full_disk_under_the_log_is_a_crash_that_loses_nothing,);

mod one_file {
    use super::*;

    /// The one file, its log and their disk: SQLITE_FULL until there is space again.
    async fn k14_07_a_full_disk_under_the_file_stops_new_work_and_loses_nothing() {
        let disk = SmallDisk::mount(16 << 20);
        let place = Place::Sqlite(disk.path().join("matrix.db"));
        let fleet = Fleet::at(&place, vec![place.clone(); 2]).await;
        let begun = fleet.asker.troubles().1;
        for round in 0..rounds(3) {
            fleet.in_hand().await;
            let before = fleet.asker.troubles();
            disk.fill();
            fleet.troubled(before, 5).await;
            assert!(fleet.asker.troubles().1 > before.1, "it is told apart from a file that is away");
            if round == 0 {
                fleet.says(false).await;
            }
            disk.free();
            fleet.says(true).await;
            fleet.more(10).await;
        }
        let hits = fleet.asker.troubles().1 - begun;
        fleet.all_is_well(&place).await;
        met("k14_07_a_full_disk_under_the_file_stops_new_work_and_loses_nothing", "SQLite", hits);
    }

    on_sqlite!(k14_07_a_full_disk_under_the_file_stops_new_work_and_loses_nothing);
}
