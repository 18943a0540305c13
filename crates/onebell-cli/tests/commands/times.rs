//! When a job is due: `explain` names slots and what people get wrong, `backfill` opens what did not run.

use serde_json::json;

use crate::site::{Place, Site};

fn explain(args: &[&str]) -> serde_json::Value {
    let site = Site::plain("");
    let args: Vec<&str> = ["explain", "--format", "json"].iter().chain(args).copied().collect();
    site.onebell(&args).ended(0).json()
}

#[test]
fn every_shared_vector_is_explained_as_it_is_planned() {
    let vectors: Vec<serde_json::Value> = serde_json::from_str(include_str!("../../../onebell/tests/data/times.json")).unwrap();
    let mut told = 0;
    for vector in vectors {
        let (Some(expression), Some(fires)) = (vector["expr"].as_str(), vector["fires"].as_array()) else { continue };
        // Steps past the end are refused: the model's own test says so.
        let Some(after) = vector["after"]
            .as_str()
            .filter(|_| !["T-step60", "T-step25h"].contains(&vector["id"].as_str().unwrap()))
            .filter(|_| vector.get("dst").is_none() && !fires.is_empty())
        else {
            continue;
        };
        let zone = vector["zone"].as_str().unwrap_or("UTC");
        let count = fires.len().to_string();
        // The vectors begin after an instant, `--from` begins at one.
        let from = format!("{}", after.parse::<onebell::model::Moment>().unwrap() + std::time::Duration::from_micros(1));
        let answer = explain(&["--cron", expression, "--time-zone", zone, "--from", &from, "--count", &count]);
        let instants = |text: &serde_json::Value| text.as_str().unwrap().parse::<onebell::model::Moment>().unwrap();
        let slots: Vec<_> = answer["slots"].as_array().unwrap().iter().map(|slot| instants(&slot["scheduled_for"])).collect();
        assert_eq!(slots, fires.iter().map(instants).collect::<Vec<_>>(), "{vector}");
        told += 1;
    }
    assert!(told > 30, "{told} vectors were told");
}

#[test]
fn a_slot_is_explained_with_its_local_time_its_note_and_the_zone_data_it_follows() {
    let answer = explain(&["--cron", "15 2 * * *", "--time-zone", "Europe/Berlin", "--from", "2026-10-25", "--count", "1"]);
    let slot =
        json!({ "scheduled_for": "2026-10-25T00:15:00Z", "local": "2026-10-25T02:15:00+02:00", "note": "fold: first pass" });
    assert_eq!((&answer["slots"][0], &answer["time_zone"]), (&slot, &json!("Europe/Berlin")));
    assert!(answer["tzdata"].as_str().unwrap() >= "2026f", "{answer}");
}

#[test]
fn a_job_is_explained_from_its_file_with_its_limits() {
    let site = Site::plain(
        "[jobs.close]\nschedule = [\"0 18 * * *\", \"0 6 * * *\"]\nuntil = \"2026-12-25\"\nexcept = [\"2026-12-24\"]\ncommand = [\"true\"]\n[jobs.asked]\ncommand = [\"true\"]\n",
    );
    let told = site.onebell(&["explain", "close", "--from", "2026-12-24T12:00"]).ended(0);
    told.says(&["2026-12-24T18:00:00Z", "excluded", "2026-12-25T06:00:00Z", "2026-12-25T18:00:00Z", "time-zone data"]);
    site.onebell(&["explain", "close", "--from", "2027-01-01"]).ended(0).says(&["not due any more"]);
    site.onebell(&["explain", "asked"]).ended(2).complains(&["no schedule"]);
    site.onebell(&["explain", "close", "--time-zone", "Asia/Tokyo"]).ended(2).complains(&["cannot be used with", "[JOB]"]);
    site.onebell(&["explain", "colse"]).ended(2).complains(&["no job \"colse\"", "close"]);
    site.onebell(&["explain", "--cron", "0 2 30 2 *"]).ended(2).complains(&["never fires"]);
    site.onebell(&["explain", "--cron", "0 2 * * *", "--time-zone", "UTC+7"]).ended(2).complains(&["Etc/GMT-7"]);
}

#[test]
fn a_recurrence_rule_is_explained_by_itself_and_from_a_job_file() {
    let rule = "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-1";
    let start = ["--start", "2026-12-01T09:00", "--from", "2027-03-01", "--count", "1"];
    let answer = explain(&[&["--rrule", rule, "--time-zone", "Europe/Berlin"], &start[..]].concat());
    assert_eq!(answer["slots"][0]["scheduled_for"], "2027-03-31T07:00:00Z", "{answer}");
    let site = Site::plain(&format!(
        "[jobs.pay]\nrrule = [{{ rule = \"{rule}\", start = 2026-12-01T09:00:00 }}, {{ rule = \"FREQ=DAILY;COUNT=2\", start = \"2027-01-01T09:00\" }}]\nexcept = [\"2027-01-02\"]\ncommand = [\"true\"]\n"
    ));
    let told = site.onebell(&["explain", "pay", "--from", "2026-12-02", "--count", "4"]).ended(0);
    told.says(&["2026-12-31T09:00:00Z", "2027-01-01T09:00:00Z", "2027-01-02T09:00:00Z", "excluded", "2027-01-29T09:00:00Z"]);
    site.onebell(&["explain", "--rrule", "FREQ=DAILY"]).ended(2).complains(&["--start"]);
    site.onebell(&["explain", "--cron", "@daily", "--start", "2026-12-01T09:00"]).ended(2).complains(&["cannot be used with"]);
    let wrong =
        "[jobs.pay]\nrrule = { rule = \"FREQ=MONTHLY;BYDAY=MONDAY\", start = \"2026-12-01T09:00\" }\ncommand = [\"true\"]\n";
    Site::plain(wrong).onebell(&["check"]).ended(2).complains(&[":2:32", "\"BYDAY=MONDAY\"", "write MO, TU"]);
}

#[test]
fn check_and_explain_say_what_an_expression_does_not_mean() {
    let site = Site::plain("[jobs.j]\nschedule = \"* 2 * * *\"\ncommand = [\"true\"]\n");
    site.onebell(&["check"]).ended(0).says(&["warning: fires sixty times"]);
    site.onebell(&["explain", "--cron", "0 8 13 * 5"]).ended(0).says(&["or day-of-week \"5\""]);
}

#[test]
fn check_names_only_slots_that_run() {
    let job = |name: &str, until: &str| {
        format!(
            "[jobs.{name}]\nschedule = \"0 18 * * *\"\nfrom = \"2099-12-01\"\nuntil = \"{until}\"\nexcept = [\"2099-12-01..2099-12-02\"]\ncommand = [\"true\"]\n"
        )
    };
    let site = Site::plain(&format!("{}{}", job("never", "2099-12-02"), job("single", "2099-12-03")));
    let told = site.onebell(&["check", "--format", "json"]).ended(0).json();
    let jobs = &told["jobs"];
    assert_eq!((&jobs[0]["next"], &jobs[1]["next"]), (&json!([]), &json!(["2099-12-03T18:00:00Z"])), "{told}");
    assert!(jobs[0]["warnings"][0].as_str().unwrap().contains("none of its next slots runs"), "{told}");
}

async fn a_job_that_begins_paused_does_nothing_until_it_is_resumed_whatever_its_file_goes_on_to_say(place: Place) {
    let jobs =
        "[jobs.bell]\nevery = \"1s\"\npaused = true\ncommand = [\"true\"]\n[jobs.clock]\nevery = \"1s\"\ncommand = [\"true\"]\n";
    let site = Site::new(place, jobs).await;
    let runs = |job: &str| {
        let told = site.onebell(&["runs", "--job", job, "--format", "json"]).ended(0).json();
        told["runs"].as_array().unwrap().len()
    };
    let replica = site.replica("a");
    site.until("the other job was due three times", || runs("clock") >= 3);
    assert_eq!(runs("bell"), 0);
    site.onebell(&["jobs"]).ended(0).says(&["bell", "paused"]);
    site.onebell(&["resume", "bell"]).ended(0);
    site.until("the bell rings", || runs("bell") > 0);
    drop(replica);
    let (_replica, before) = (site.replica("b"), runs("bell"));
    site.until("it rings on", || runs("bell") > before);
}

async fn a_backfill_opens_what_a_pause_left_out_once(place: Place) {
    let site = Site::new(place, "[jobs.bell]\nevery = \"1s\"\nmissed = { all = 1000 }\ncommand = [\"true\"]\n").await;
    let replica = site.replica("a");
    let runs = || site.onebell(&["runs", "--job", "bell", "--limit", "1000", "--format", "json"]).ended(0).json()["runs"].clone();
    site.until("the bell has rung", || runs().as_array().is_some_and(|runs| !runs.is_empty()));
    site.onebell(&["pause", "bell"]).ended(0);
    let paused = onebell::time::host_now();
    site.until("three slots have passed", || onebell::time::host_now().since(paused) > std::time::Duration::from_secs(3));
    site.onebell(&["resume", "bell"]).ended(0);
    site.onebell(&["pause", "bell"]).ended(0);
    drop(replica);
    let skips = site.onebell(&["skips", "--format", "json"]).ended(0).json();
    let skip = skips["skips"].as_array().unwrap().iter().find(|skip| skip["reason"] == "paused").unwrap().clone();
    let (from, to) = (skip["from"].as_str().unwrap(), skip["to"].as_str().unwrap());
    let count = skip["count"].as_u64().unwrap();
    let before = runs().as_array().unwrap().len() as u64;
    let dry = site.onebell(&["backfill", "bell", "--from", from, "--to", to, "--dry-run", "--format", "json"]).ended(0).json();
    assert_eq!((dry["slots"].as_array().unwrap().len() as u64, &dry["opened"]), (count, &json!(0)));
    assert_eq!(runs().as_array().unwrap().len() as u64, before);
    let done =
        site.onebell(&["backfill", "bell", "--from", from, "--to", to, "--reason", "asked", "--format", "json"]).ended(0).json();
    assert_eq!(done["opened"], json!(count));
    let again = site.onebell(&["backfill", "bell", "--from", from, "--to", to]).ended(0);
    again.says(&[&format!("0 of {count} slots opened")]);
    assert_eq!(runs().as_array().unwrap().len() as u64, before + count);
    site.onebell(&["backfill", "bell", "--from", "2099-01-01", "--to", "2099-01-02"]).ended(2).complains(&["in the future"]);
    site.onebell(&["backfill", "bell", "--from", "soon", "--to", "2020-01-02"])
        .ended(2)
        .complains(&["from \"soon\"", "write a date"]);
    site.onebell(&["backfill", "bell", "--from", to, "--to", "2020-01-02"]).ended(2).complains(&["--to: it lies before"]);
    let nothing = format!("{}.4Z", from.get(..19).unwrap());
    site.onebell(&["backfill", "bell", "--from", &nothing, "--to", &nothing]).ended(0).says(&["no slot of that interval runs"]);
    site.onebell(&["backfill", "bel", "--from", from, "--to", to]).ended(2).complains(&["did you mean \"bell\""]);
    assert_eq!(site.audit().await.pop().unwrap()[0], "backfill");
}

crate::everywhere!(
    a_backfill_opens_what_a_pause_left_out_once,
    a_job_that_begins_paused_does_nothing_until_it_is_resumed_whatever_its_file_goes_on_to_say,
);
