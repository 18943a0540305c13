//! Replicas whose clocks are a day off. On PostgreSQL they do not count; on SQLite the host's clock is the store's.

use std::collections::BTreeSet;
use std::time::Duration;

use onebell::store::{RunFilter, RunView, Store};
use rustix::process::Signal;

use crate::site::{Place, Process, Site};

const DAY: i64 = 86_400;

const EVERY_SECOND: &str = r#"
[replica]
lease = "3s"

[jobs.bell]
every = "1s"
overlap = "allow"
missed = { all = 1000 }
shell = true
command = "echo $ONEBELL_SCHEDULED_FOR >> rung"
"#;

async fn runs(store: &dyn Store) -> Vec<RunView> {
    store.runs(&RunFilter { limit: 10_000, ..RunFilter::default() }).await.unwrap()
}

/// Until so many more runs than now have succeeded.
async fn rings(site: &Site, store: &dyn Store, more: usize) {
    let succeeded = async || runs(store).await.iter().filter(|run| run.status == "succeeded").count();
    let wanted = succeeded().await + more;
    site.until(&format!("{more} more runs have succeeded"), async || (succeeded().await >= wanted).then_some(())).await;
}

async fn ends(site: &Site, mut replica: Process) {
    replica.signal(Signal::TERM);
    site.until("the replica has drained", async || replica.ended()).await;
}

async fn i7_clocks_a_day_off_fire_nothing_early_block_nothing_and_open_one_run_per_slot(version: u32) {
    let tomorrow = onebell::time::host_now() + Duration::from_secs(12 * 3600);
    let jobs =
        format!("{EVERY_SECOND}\n[jobs.tomorrow]\nat = \"{tomorrow}\"\ncommand = [\"sh\", \"-c\", \"echo early >> early\"]\n");
    let site = Site::new(Place::Postgres(version), &jobs).await;
    let [behind, right, ahead] = [("behind", -DAY), ("right", 0), ("ahead", DAY)].map(|(name, off)| site.replica_off(name, off));
    let store = site.store().await;
    let three = async || (store.status().await.unwrap().replicas == 3).then_some(());
    site.until("three replicas are there", three).await;
    rings(&site, store.as_ref(), 5).await;
    assert!(store.replicas().await.unwrap().iter().all(|replica| replica.lost_at.is_none()), "nobody is taken for lost");
    // Each of the two that are off goes on alone.
    ends(&site, right).await;
    ends(&site, behind).await;
    rings(&site, store.as_ref(), 3).await;
    let behind = site.replica_off("behind again", -DAY);
    site.until("it is there", async || (store.status().await.unwrap().replicas == 2).then_some(())).await;
    ends(&site, ahead).await;
    rings(&site, store.as_ref(), 3).await;
    ends(&site, behind).await;

    let runs = runs(store.as_ref()).await;
    let slots: BTreeSet<i64> = runs.iter().map(|run| run.scheduled_for.unwrap().micros() / 1_000_000).collect();
    assert_eq!(slots.len(), runs.len(), "i1: one run per slot");
    let (first, last) = (slots.first().unwrap(), slots.last().unwrap());
    assert_eq!(slots.len() as i64, last - first + 1, "i11: no slot is left out");
    for run in &runs {
        assert!(run.created_at >= run.scheduled_for.unwrap(), "early: {run:?}");
        assert!(run.created_at.since(run.scheduled_for.unwrap()) < Duration::from_secs(3600), "blocked: {run:?}");
    }
    let rung: Vec<String> = site.read("rung").lines().map(str::to_owned).collect();
    assert_eq!(rung.iter().collect::<BTreeSet<_>>().len(), rung.len(), "no slot rang twice: {rung:?}");
    assert_eq!(site.read("early"), "", "what is due tomorrow waits for the database's tomorrow");
}

mod postgres_15 {
    #[tokio::test(flavor = "multi_thread")]
    async fn i7_clocks_a_day_off_fire_nothing_early_block_nothing_and_open_one_run_per_slot() {
        super::i7_clocks_a_day_off_fire_nothing_early_block_nothing_and_open_one_run_per_slot(15).await;
    }
}

mod postgres_18 {
    #[tokio::test(flavor = "multi_thread")]
    async fn i7_clocks_a_day_off_fire_nothing_early_block_nothing_and_open_one_run_per_slot() {
        super::i7_clocks_a_day_off_fire_nothing_early_block_nothing_and_open_one_run_per_slot(18).await;
    }
}

/// A command by a clock a day behind: its exit code, and all it said.
fn said(site: &Site, args: &[&str]) -> (i32, String) {
    let output = site.shifted(args, -DAY).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8_lossy(&text).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn on_sqlite_a_replica_whose_clock_is_behind_plans_nothing_says_so_and_plans_on_when_it_is_accepted() {
    let site = Site::new(Place::Sqlite, EVERY_SECOND).await;
    let right = site.replica_off("right", 0);
    let store = site.store().await;
    rings(&site, store.as_ref(), 2).await;
    ends(&site, right).await;
    let before = runs(store.as_ref()).await.len();
    assert!(!said(&site, &["replicas"]).1.contains("plans nothing"), "who has left plans nothing anyhow");

    let _behind = site.replica_off("behind", -DAY);
    let refused = async || site.read("behind.log").contains("onebell doctor --accept-clock").then_some(());
    site.until("it says that it plans nothing", refused).await;
    let beat = async || store.replicas().await.unwrap().iter().find(|replica| replica.left_at.is_none()).map_or(0, |r| r.beat);
    let (seen, later) = (beat().await, 10);
    site.until("it has renewed several times", async || (beat().await > seen + later).then_some(())).await;
    assert_eq!(runs(store.as_ref()).await.len(), before, "nothing was planned");
    let (code, text) = said(&site, &["status"]);
    assert!(code == 0 && text.contains("s behind what was written"), "{text}");
    let (code, text) = said(&site, &["replicas"]);
    assert!(code == 0 && text.contains("plans nothing: its clock is 86"), "{text}");
    let (code, text) = said(&site, &["doctor", "--format", "json"]);
    assert!(code == 3 && text.contains("\"clock-behind\""), "{text}");

    let (code, text) = said(&site, &["doctor", "--accept-clock", "--actor", "me", "--reason", "the clock was a day ahead"]);
    assert_eq!(code, 0, "{text}");
    rings(&site, store.as_ref(), 2).await;
    let newest = runs(store.as_ref()).await.into_iter().max_by_key(|run| run.id.clone()).unwrap();
    let oldest = runs(store.as_ref()).await.into_iter().filter_map(|run| run.scheduled_for).min().unwrap();
    assert!(newest.scheduled_for.unwrap().since(oldest) > Duration::from_secs(80_000), "slots of the accepted clock");
    assert!(site.read("behind.log").contains("no longer behind"));
    let (code, text) = said(&site, &["doctor", "--accept-clock"]);
    assert!(code == 2 && text.contains("there is no clock to accept"), "{text}");
}
