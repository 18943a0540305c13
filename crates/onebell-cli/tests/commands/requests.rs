//! `trigger`: the same key asks for the same run, and the exit code tells what became of the work.

use std::sync::atomic::{AtomicBool, Ordering};

use onebell_cli::mailbox::Hold;
use onebell_cli::receiver::{Act, Behaviour, Phase, Receiver};
use serde_json::json;

use crate::site::{LIMIT, Place, Site};

const JOBS: &str = r#"
[jobs.report]
command = ["sh", "-c", "echo worked >> worked"]

[jobs.reports-yearly]
command = ["true"]

[jobs.broken]
command = ["sh", "-c", "echo tried >> tried; exit 65"]

[jobs.shaky]
retry = { attempts = 2, backoff = "1ms..1ms" }
command = ["sh", "-c", "exit 1"]
"#;

async fn k08_the_same_key_is_answered_with_the_same_run_and_does_the_work_once(place: Place) {
    let site = Site::new(place, JOBS).await;
    site.until_idle();
    let first = site.onebell(&["trigger", "report", "--key", "k", "--format", "json"]).ended(0).json();
    assert_eq!(first, json!({"run": first["run"], "already": false, "status": null}));
    let replay = ["trigger", "report", "--key", "k"];
    site.onebell(&replay).ended(0).says(&[first["run"].as_str().unwrap(), "opened before by the same key"]);
    site.until_idle();
    let again = site.onebell(&["trigger", "report", "--key", "k", "--wait", "--format", "json"]).ended(0).json();
    assert_eq!(again, json!({"run": first["run"], "already": true, "status": "succeeded"}));
    site.until_idle();
    assert_eq!(site.lines("worked").len(), 1);
    // Without a key everybody asks for a run of his own.
    site.onebell(&["trigger", "report"]).ended(0);
    site.onebell(&["trigger", "report"]).ended(0);
    site.until_idle();
    assert_eq!(site.lines("worked").len(), 3);
}

async fn i5_a_key_for_another_job_or_input_is_a_conflict_that_changes_nothing_in_every_state(place: Place) {
    let site = Site::new(place, JOBS).await;
    site.until_idle();
    let trigger = |job: &str, input: &str| site.onebell(&["trigger", job, "--key", "k", "--input", input]);
    let run =
        site.onebell(&["trigger", "report", "--key", "k", "--input", r#"{"a": 1, "b": [2.50]}"#, "--format", "json"]).json();
    for state in ["queued or running", "succeeded"] {
        // The same value, written otherwise.
        trigger("report", r#"{"b":[2.5],"a":1.0}"#).ended(0).says(&["opened before by the same key"]);
        trigger("report", r#"{"a": 1, "b": [2.51]}"#).ended(3).complains(&["conflict", "\"k\"", "another key"]);
        trigger("reports-yearly", r#"{"a": 1, "b": [2.50]}"#).ended(3).complains(&["conflict"]);
        site.onebell(&["trigger", "report", "--key", "k"]).ended(3).complains(&["conflict"]);
        assert_eq!(site.the_run()["id"], run["run"], "{state}");
        site.until_idle();
    }
    let shown = site.onebell(&["show", run["run"].as_str().unwrap(), "--format", "json"]).ended(0).json();
    assert_eq!(shown["input"], r#"{"a": 1, "b": [2.50]}"#, "as it was written");
}

async fn who_waits_is_told_by_the_exit_code_how_the_work_ended(place: Place) {
    let site = Site::new(place, JOBS).await;
    let _replica = site.replica("a");
    site.until("the jobs are registered", || site.onebell(&["jobs"]).out().contains("broken"));
    site.onebell(&["trigger", "report", "--key", "good", "--wait"]).ended(0).says(&["succeeded"]);
    let failed = site.onebell(&["trigger", "broken", "--key", "bad", "--wait"]).ended(1);
    failed.says(&["failed"]).complains(&["the run failed", "onebell show broken-"]);
    // Failed again on replay, and tried no second time.
    site.onebell(&["trigger", "broken", "--key", "bad", "--wait"]).ended(1).says(&["failed", "opened before"]);
    assert_eq!(site.lines("tried").len(), 1);
    let parked = site.onebell(&["trigger", "shaky", "--key", "shaky", "--wait", "--format", "json"]).ended(1);
    assert_eq!(parked.json()["status"], "parked");
    parked.complains(&["the run is parked", "onebell show shaky-"]);
    // Who does not wait is told only that the request stands.
    site.onebell(&["trigger", "broken", "--key", "bad"]).ended(0);
}

async fn what_is_no_request_is_refused_with_the_nearest_right_one_and_leaves_nothing(place: Place) {
    let site = Site::new(place, JOBS).await;
    site.onebell(&["trigger", "report"]).ended(2).complains(&["no job \"report\"", "none is registered yet", "onebell run"]);
    site.until_idle();
    site.onebell(&["trigger", "reprot"]).ended(2).complains(&["no job \"reprot\"; did you mean \"report\"?"]);
    site.onebell(&["trigger", "xyz"]).ended(2).complains(&["no job \"xyz\"; see: onebell jobs"]);
    site.onebell(&["trigger", "report", "--input", "{a: 1}"]).ended(2).complains(&["--input is no JSON"]);
    site.onebell(&["trigger", "report", "--input", r#"{"a":1,"a":2}"#]).ended(2).complains(&["--input", "twice"]);
    site.onebell(&["trigger", "report", "--key", ""]).ended(2).complains(&["--key"]);
    assert_eq!(site.onebell(&["runs", "--format", "json"]).json(), json!({"runs": []}));
}

crate::everywhere!(
    k08_07_an_http_step_that_timed_out_after_the_work_comes_again_with_the_same_key,
    k08_the_same_key_is_answered_with_the_same_run_and_does_the_work_once,
    i5_a_key_for_another_job_or_input_is_a_conflict_that_changes_nothing_in_every_state,
    who_waits_is_told_by_the_exit_code_how_the_work_ended,
    what_is_no_request_is_refused_with_the_nearest_right_one_and_leaves_nothing,
);

/// The server does the work and never answers; the step's timeout ends the attempt.
async fn k08_07_an_http_step_that_timed_out_after_the_work_comes_again_with_the_same_key(place: Place) {
    let answered = AtomicBool::new(false);
    let silent_once = Behaviour::hooked(move |event| match event.phase {
        Phase::Done if !answered.swap(true, Ordering::SeqCst) => Act::Hold(Hold::For(LIMIT)),
        _ => Act::Continue,
    });
    let receiver = Receiver::start(([127, 0, 0, 1], 0), silent_once).await.unwrap();
    let jobs = format!(
        "[jobs.close]\nhttp = {{ method = \"POST\", url = \"http://{}/close\" }}\ntimeout = \"1s\"\n\
         retry = {{ attempts = 3, backoff = \"10ms..10ms\" }}\n",
        receiver.address()
    );
    let site = Site::new(place, &jobs).await;
    let first = site.run_once("close", "november");
    assert_eq!(site.until_status(&first, "succeeded")["steps"][0]["tries"], 2);
    site.run_once("close", "december");
    let seen: Vec<_> = receiver.records().into_iter().map(|record| (record.key, record.attempt)).collect();
    let [one, again, other] = seen.as_slice() else { panic!("{seen:?}") };
    assert!(one.0 == again.0 && !one.0.is_empty() && other.0 != one.0, "{seen:?}");
    assert!(one.1 < again.1, "the fence grows: {seen:?}");
}
