//! SIGHUP: a replica takes a changed job file while it works, or refuses it whole and says why.

use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;

use crate::site::{Mail, Place, Process, Site};

fn job(name: &str, lines: &str) -> String {
    format!("[jobs.{name}]\n{lines}\n")
}

/// A job whose schedule has this minute, and one that only the first file has.
fn yearly(minute: u8) -> String {
    job("yearly", &format!("schedule = \"{minute} 3 1 1 *\"\ncommand = [\"true\"]"))
}

/// The next slot of each job that is known, by name.
fn next_slots(site: &Site) -> Vec<(String, String)> {
    let jobs = site.onebell(&["jobs", "--format", "json"]).ended(0).json()["jobs"].as_array().unwrap().clone();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    jobs.iter().map(|job| (text(&job["name"]), text(&job["next_slot"]))).collect()
}

fn is_due_at(site: &Site, minute: u8) -> bool {
    next_slots(site).iter().any(|(name, at)| name == "yearly" && at.contains(&format!("-01-01T03:{minute:02}:00")))
}

fn said(site: &Site, words: &str) -> bool {
    site.read("r.log").contains(words)
}

/// Exchanges the file as an editor does: whoever reads it meets the old one or the new one.
fn reload(site: &Site, replica: &Process, jobs: &str) {
    site.write("onebell.toml.new", jobs);
    std::fs::rename(site.path("onebell.toml.new"), site.path("onebell.toml")).unwrap();
    replica.signal(Signal::HUP);
}

fn started(site: &Site, job: &str) -> Process {
    let replica = site.replica("r");
    site.until("the jobs are registered", || next_slots(site).iter().any(|(name, _)| name == job));
    replica
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

async fn a_changed_file_is_taken_as_by_a_restart_and_so_is_the_way_back(place: Place) {
    let site = Site::new(place, &format!("{}{}", yearly(1), job("gone", "command = [\"true\"]"))).await;
    let replica = started(&site, "gone");
    assert!(is_due_at(&site, 1));
    reload(&site, &replica, &format!("{}{}", yearly(2), job("added", "command = [\"true\"]")));
    site.until("the new schedule counts", || is_due_at(&site, 2));
    // What is no longer carried is not taken; what is new, is.
    let trigger = |job: &str| {
        site.onebell(&["trigger", job, "--key", job, "--format", "json"]).ended(0).json()["run"].as_str().unwrap().to_owned()
    };
    site.until("the new job is known", || next_slots(&site).iter().any(|(name, _)| name == "added"));
    let (gone, added) = (trigger("gone"), trigger("added"));
    site.until_status(&added, "succeeded");
    let shown = site.onebell(&["show", &gone, "--format", "json"]).ended(0).json();
    assert_eq!(shown["steps"][0]["attempts"].as_array().map(Vec::len), Some(0), "{shown:#}");
    // The definition of before is one that the database knows: going back to it is meant all the same.
    reload(&site, &replica, &format!("{}{}", yearly(1), job("gone", "command = [\"true\"]")));
    site.until("the old schedule counts again", || is_due_at(&site, 1));
    site.until_status(&gone, "succeeded");
    assert!(replica.stop().success());
}

async fn a_bad_file_is_refused_whole_and_told_and_what_was_read_before_goes_on(place: Place) {
    let site = Site::new(place, &yearly(1)).await;
    let replica = started(&site, "yearly");
    reload(&site, &replica, &format!("{}[jobs.bad]\nscedule = \"1 3 1 1 *\"\ncommand = [\"true\"]\n", yearly(2)));
    site.until("the refusal is told", || said(&site, "is refused whole"));
    assert!(said(&site, "onebell.toml:5:1: unknown key \"scedule\"; did you mean \"schedule\"?"), "{}", site.read("r.log"));
    let run = site.onebell(&["trigger", "yearly", "--key", "k", "--format", "json"]).ended(0).json()["run"].clone();
    site.until_status(run.as_str().unwrap(), "succeeded");
    assert!(is_due_at(&site, 1), "nothing of a refused file counts: {:?}", next_slots(&site));
    // Corrected, it is taken.
    reload(&site, &replica, &yearly(2));
    site.until("the corrected file counts", || is_due_at(&site, 2));
    assert!(replica.stop().success());
}

async fn a_running_command_lives_through_a_reload_that_changes_and_one_that_removes_its_job(place: Place) {
    let long = |argument: &str| job("long", &format!("command = [\"./long.sh\", \"{argument}\"]\ntimeout = \"1h\""));
    let site = Site::new(place, &format!("{}{}", yearly(1), long("first"))).await;
    fifo(&site.path("gate"));
    site.write("long.sh", "#!/bin/sh\necho \"$1 $ONEBELL_ATTEMPT\" >> began\nread line < gate\necho \"$line\" >> ended\n");
    let replica = started(&site, "long");
    let run =
        site.onebell(&["trigger", "long", "--key", "k", "--format", "json"]).ended(0).json()["run"].as_str().unwrap().to_owned();
    site.until("the command runs", || site.lines("began") == ["first 1"]);
    reload(&site, &replica, &format!("{}{}", yearly(2), long("second")));
    site.until("the first reload counts", || is_due_at(&site, 2));
    reload(&site, &replica, &yearly(3));
    site.until("the second reload counts", || is_due_at(&site, 3));
    std::fs::write(site.path("gate"), "whole\n").unwrap();
    let shown = site.until_status(&run, "succeeded");
    assert_eq!((site.lines("began"), site.lines("ended")), (vec!["first 1".to_owned()], vec!["whole".to_owned()]));
    assert_eq!(shown["steps"][0]["attempts"].as_array().map(Vec::len), Some(1), "{shown:#}");
    assert!(replica.stop().success());
}

async fn a_channel_that_a_reload_brings_carries_messages(place: Place) {
    let mail = Mail::new().await;
    let site = Site::new(place, &yearly(1)).await;
    let replica = started(&site, "yearly");
    let hello =
        "[jobs.hello.message]\nchannel = \"mail\"\nkey = \"hello\"\nto = \"a@example.com\"\nsubject = \"Hello\"\ntext = \"!\"\n";
    reload(&site, &replica, &format!("{}{}{hello}", yearly(1), mail.channel()));
    site.until("the new job is known", || next_slots(&site).iter().any(|(name, _)| name == "hello"));
    site.onebell(&["trigger", "hello", "--key", "k", "--wait"]).ended(0);
    assert_eq!(mail.got(), [("a@example.com".to_owned(), 1)]);
    assert!(replica.stop().success());
}

async fn what_counts_from_the_next_start_is_said(place: Place) {
    let site = Site::new(place, &yearly(1)).await;
    let replica = started(&site, "yearly");
    reload(&site, &replica, &format!("[replica]\nconcurrency = 3\n{}", yearly(2)));
    site.until("the rest counts", || is_due_at(&site, 2));
    assert!(said(&site, "[replica] has changed: that counts from the next start"), "{}", site.read("r.log"));
    assert!(replica.stop().success());
}

crate::everywhere!(
    a_changed_file_is_taken_as_by_a_restart_and_so_is_the_way_back,
    a_bad_file_is_refused_whole_and_told_and_what_was_read_before_goes_on,
    a_running_command_lives_through_a_reload_that_changes_and_one_that_removes_its_job,
    a_channel_that_a_reload_brings_carries_messages,
    what_counts_from_the_next_start_is_said,
);
