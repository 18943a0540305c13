//! A wrong job file is told where and what to write instead, and what was good in it goes on.

use crate::site::{Place, Site};

#[test]
fn an_unknown_key_is_told_at_its_place_with_the_nearest_right_one() {
    let site = Site::plain("[jobs.backup]\nscedule = \"0 3 * * *\"\ncommand = [\"true\"]\n");
    let told =
        ["onebell.toml:2:1: unknown key \"scedule\"; did you mean \"schedule\"?", "2 | scedule = \"0 3 * * *\"", "^^^^^^^"];
    site.onebell(&["check"]).ended(2).complains(&told);
    site.onebell(&["run", "--until-idle"]).ended(2).complains(&told);
    assert!(!site.path("onebell.db").exists(), "nothing was begun");
}

#[test]
fn an_unknown_zone_is_told_with_the_nearest_one() {
    let site = Site::plain("[jobs.j]\ntime_zone = \"Asia/Ho_Chi_Mihn\"\nschedule = \"@daily\"\ncommand = [\"true\"]\n");
    let told = ["onebell.toml:2:13: time_zone: no such time zone \"Asia/Ho_Chi_Mihn\"; did you mean \"Asia/Ho_Chi_Minh\"?"];
    site.onebell(&["check"]).ended(2).complains(&told);
}

#[test]
fn an_unreadable_file_is_named_with_its_place_and_remedy() {
    let site = Site::plain("[jobs.j]\nsql = { file = \"gone.sql\" }\n");
    let told = ["onebell.toml:2:16: file: cannot read gone.sql: No such file", "paths begin at the job file's folder"];
    site.onebell(&["check"]).ended(2).complains(&told);
    site.onebell(&["check", "-f", "gone.toml"]).ended(2).complains(&["gone.toml:1:1: cannot read the job file", "onebell init"]);
    site.write("latin.toml", b"[jobs.j]\ndescription = \"\xe8\"\n");
    site.onebell(&["check", "-f", "latin.toml"]).ended(2).complains(&["latin.toml", "byte 24 is not UTF-8"]);
    std::fs::create_dir(site.path("folder.toml")).unwrap();
    site.onebell(&["check", "-f", "folder.toml"]).ended(2).complains(&["folder.toml", "directory"]);
}

#[test]
fn every_problem_of_a_file_is_told_at_once() {
    let site = Site::plain("[jobs.a]\nevry = \"1h\"\ncommand = []\n[jobs.b]\ntimeout = 5\ncommand = [\"true\"]\n");
    let told =
        ["onebell.toml:2:1:", "did you mean \"every\"?", "onebell.toml:3:11:", "onebell.toml:5:11:", "expected a duration"];
    site.onebell(&["check", "--format", "json"]).ended(2).complains(&told);
}

async fn a_wrong_job_does_not_stop_the_others_and_who_waits_is_told(place: Place) {
    let good = "[jobs.good]\ncommand = [\"sh\", \"-c\", \"echo worked >> worked\"]\n";
    let site = Site::new(place, good).await;
    site.until_idle();
    let twice = "[jobs.twice]\ncommand = [\"true\"]\n[jobs.twice]\ncommand = [\"false\"]\n";
    let never = "[jobs.never]\nschedule = \"0 0 30 2 *\"\ncommand = [\"true\"]\n";
    site.write("onebell.toml", format!("{twice}{good}{never}"));
    site.onebell(&["trigger", "good", "--key", "k"]).ended(0);
    let told = [
        "onebell.toml:3:7: two definitions of job \"twice\" (the first is in line 1); rename or remove one",
        "onebell.toml:8:12:",
        "never",
    ];
    site.onebell(&["check"]).ended(2).complains(&told);
    let ran = site.onebell(&["run", "--until-idle"]).ended(3).complains(&told);
    ran.complains(&["this job is not carried; the others go on", "not every job of onebell.toml was carried", "onebell check"]);
    assert_eq!((site.the_run()["status"].as_str(), site.lines("worked").len()), (Some("succeeded"), 1));
    let jobs = site.onebell(&["jobs"]).ended(0).out();
    assert!(!jobs.contains("twice") && !jobs.contains("never"), "{jobs}");
    // A replica that was told to stop did what it was asked.
    let replica = site.replica("a");
    site.until("it is there", || site.status()["replicas"] == 1);
    assert!(replica.stop().success());
}

async fn a_job_that_is_spoilt_later_loses_nothing(place: Place) {
    let other = "[jobs.other]\ncommand = [\"true\"]\n";
    let good = "[jobs.work]\ncommand = [\"sh\", \"-c\", \"echo worked >> worked\"]\n";
    let site = Site::new(place, &format!("{other}{good}")).await;
    site.until_idle();
    site.onebell(&["trigger", "work", "--key", "k"]).ended(0);
    site.write("onebell.toml", format!("{other}{}", good.replace("command", "comand")));
    // The job waits for a replica that carries it: this one cannot say that nothing is left to do.
    let replica = site.replica("a");
    site.until("it is there", || site.status()["replicas"] == 1);
    site.onebell(&["trigger", "other", "--key", "o", "--wait"]).ended(0);
    site.onebell(&["jobs"]).ended(0).says(&["work", "other"]);
    assert!(replica.stop().success());
    site.write("onebell.toml", format!("{other}{good}"));
    site.until_idle();
    assert_eq!(site.lines("worked").len(), 1);
    assert_eq!(site.onebell(&["runs", "--job", "work", "--format", "json"]).json()["runs"][0]["status"], "succeeded");
}

crate::everywhere!(a_wrong_job_does_not_stop_the_others_and_who_waits_is_told, a_job_that_is_spoilt_later_loses_nothing);
