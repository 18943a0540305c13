//! The power fails while a replica settles steps on SQLite.

use std::collections::BTreeMap;
use std::path::Path;

use onebell::store::ReadStore as _;
use onebell::store::sqlite::SqliteStore;

use crate::hits::{met, rounds};
use crate::image::{Cut, Dice, after_a_cut};
use crate::recorder::{Recorder, Told, What};
use crate::site::{Site, booked, until};

/// The jobs whose steps the replica had said to be settled by then: its own words are the acknowledgement.
fn acknowledged(told: &[Told]) -> Vec<String> {
    let mut words = Vec::new();
    for one in told.iter().filter(|one| one.name == "works.log") {
        if let What::Written { bytes, .. } = &one.what {
            words.extend_from_slice(bytes);
        }
    }
    let words = String::from_utf8(words).unwrap();
    let settled = words.lines().filter(|line| line.contains("step settled") && line.contains("succeeded"));
    settled.filter_map(|line| line.split("step=").nth(1)?.split("-r").next()).map(str::to_owned).collect()
}

/// Opens the image with Onebell. What is missing of what was acknowledged.
async fn missing(image: &Path, acknowledged: &[String]) -> Vec<String> {
    let store = SqliteStore::builder(image.join("jobs.db")).open_and_migrate().unwrap();
    let status = store.status().await.unwrap();
    let (rows, twice) = booked(&image.join("jobs.db"));
    // I4 in every image, lossy or not: a booking and the completion of its step are there together or not at all.
    assert_eq!((rows.len() as u64, twice), (status.steps["succeeded"], 0), "{status:?}");
    acknowledged.iter().filter(|job| !rows.contains(*job)).cloned().collect()
}

/// Files as they are now, the log empty if there is none.
fn files(site: &Site) -> BTreeMap<String, Vec<u8>> {
    let read = |name: &str| (name.to_owned(), std::fs::read(site.files().join(name)).unwrap_or_default());
    BTreeMap::from([read("jobs.db"), read("jobs.db-wal")])
}

async fn i0_after_a_power_cut_every_settlement_that_was_said_is_there() {
    let site = Site::new(60, "concurrency = 3", 24_000);
    site.prepare().await;
    let before = files(&site);
    let recorder = Recorder::new(&site.files(), site.folder());
    let mut works = site.replica("works");
    recorder.preload_and_tell_all(&mut works);
    let mut works = site.start(works);
    until("everything is done", || works.ended()).await;
    site.everything_once().await;
    let told = recorder.told();
    let checkpoints = told.iter().filter(|one| one.name == "jobs.db" && one.what == What::SyncEnded).count();
    assert!(checkpoints > 0, "the log was carried over into the file, which must be as safe");
    let (mut dice, mut hits) = (Dice(20_261_129), 0);
    for round in 0..u64::from(rounds(25)) {
        let moment = usize::try_from(dice.below(told.len() as u64)).unwrap();
        let history = &told[..moment];
        let cut = if round % 3 == 0 { Cut::All } else { Cut::Some(round) };
        let image = after_a_cut(&before, history, cut);
        let folder = tempfile::tempdir().unwrap();
        image.write(folder.path());
        let lost = missing(folder.path(), &acknowledged(history)).await;
        assert!(lost.is_empty(), "{cut:?} at {moment} of {}: acknowledged and gone: {lost:?}", told.len());
        hits += u64::from(image.gone > 0);
    }
    met("i0_after_a_power_cut_every_settlement_that_was_said_is_there", "SQLite", hits);
    a_disk_that_lies_is_caught(&before, &told).await;
}

/// The row can fail: on a disk that forgets what it said to keep, settlements that were said are gone.
async fn a_disk_that_lies_is_caught(before: &BTreeMap<String, Vec<u8>>, told: &[Told]) {
    let folder = tempfile::tempdir().unwrap();
    after_a_cut(before, told, Cut::Lies).write(folder.path());
    let said = acknowledged(told);
    assert_eq!(said.len(), 60, "{said:?}");
    assert_eq!(missing(folder.path(), &said).await.len(), 60);
}

on_sqlite!(i0_after_a_power_cut_every_settlement_that_was_said_is_there);
