//! A job file in several files, as every command sees it.

use crate::site::{Place, Site};

const MAIN: &str = "include = [\"jobs/*.toml\"]\n[jobs.near]\ncommand = [\"true\"]\n";
const FAR: &str = "[jobs.far]\nschedule = \"0 3 * * *\"\ncommand = [\"true\"]\n";

async fn site() -> Site {
    let site = Site::new(Place::Sqlite, MAIN).await;
    std::fs::create_dir(site.path("jobs")).unwrap();
    site.write("jobs/far.toml", FAR);
    site
}

#[tokio::test]
async fn included_jobs_are_checked_explained_carried_and_stormed() {
    let site = site().await;
    site.onebell(&["check"]).ended(0).says(&["near  on request", "far  0 3 * * *", "onebell.toml is good: 2 jobs"]);
    site.onebell(&["explain", "far", "--count", "1"]).ended(0).says(&["0 3 * * *"]);
    let run = site.run_once("far", "k");
    site.until_status(&run, "succeeded");
    site.onebell(&["chaos", "--replicas", "1", "--kills", "0", "--pauses", "0", "--runs", "2", "--seed", "1"]).ended(0);
}

#[tokio::test]
async fn a_mistake_in_an_included_file_is_told_with_its_name_and_a_wrong_job_there_stops_no_other() {
    let site = site().await;
    site.write("jobs/far.toml", FAR.replace("0 3", "0 33"));
    site.onebell(&["check"]).ended(2).complains(&["jobs/far.toml:2:", "hour field \"33\"", "schedule = \"0 33 * * *\""]);
    site.onebell(&["run", "--until-idle"]).ended(3).complains(&["jobs/far.toml:2:", "this job is not carried; the others go on"]);
}
