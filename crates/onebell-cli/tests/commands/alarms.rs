//! `notify`: people are told once, however many replicas saw it, and what they are told to type works.

use serde_json::json;

use onebell_cli::receiver::{Behaviour, Receiver};

use crate::site::{Mail, Place, Site};

const BACKUP: &str = r#"
[defaults]
notify = { channel = "mail", to = "Ops <ops@example.com>", on = ["failed", "parked"] }

[jobs.backup]
shell = true
command = "test -e mended"
exit_codes = { permanent = [1] }
"#;

async fn a_failed_run_is_one_mail_from_three_replicas_and_its_command_mends_it(place: Place) {
    let mail = Mail::new().await;
    let site = Site::new(place, &format!("{}{BACKUP}", mail.channel())).await;
    let replicas = ["first", "second", "third"].map(|name| site.replica(name));
    site.until("the job is known", || {
        site.onebell(&["jobs", "--format", "json"]).ended(0).json()["jobs"].as_array().is_some_and(|jobs| !jobs.is_empty())
    });
    let run = site.onebell(&["trigger", "backup", "--key", "k", "--format", "json"]).ended(0).json()["run"].clone();
    let run = run.as_str().unwrap();
    site.until_status(run, "failed");
    site.until("it is told", || mail.mailbox.received().len() == 1);
    assert_eq!(mail.got(), [("ops@example.com".to_owned(), 1)]);
    assert_eq!(mail.subjects(), ["backup: run failed"]);
    let alarm = format!("alarm/failed/{run}/1");
    site.until("that is written down", || {
        site.onebell(&["outbox", "show", &alarm, "--format", "json"]).ended(0).json()["status"] == "sent"
    });
    site.onebell(&["outbox", "show", &alarm]).ended(0).says(&[&format!("onebell retry {run}"), "step command failed"]);

    site.write("mended", "");
    site.onebell(&["retry", run]).ended(0);
    site.until_status(run, "succeeded");
    for replica in replicas {
        replica.stop();
    }
    assert_eq!((mail.mailbox.received().len(), site.status()["outbox"].clone()["sent"].clone()), (1, json!(1)));
}

const SILENT: &str = r#"
[jobs.backup]
command = ["true"]
expect_within = "1s"
notify = { channel = "mail", to = "ops@example.com", on = ["overdue", "recovered"] }
"#;

async fn a_silent_job_is_one_mail_from_three_replicas_and_another_when_it_runs_again(place: Place) {
    let mail = Mail::new().await;
    let site = Site::new(place, &format!("{}{SILENT}", mail.channel())).await;
    let replicas = ["first", "second", "third"].map(|name| site.replica(name));
    site.until("the silence is told", || !mail.subjects().is_empty());
    assert_eq!(mail.subjects(), ["backup: has not succeeded for too long"]);
    site.onebell(&["trigger", "backup", "--key", "k", "--wait"]).ended(0);
    site.until("it is told that it runs again", || mail.subjects().iter().any(|subject| subject == "backup: runs again"));
    let told = site.onebell(&["outbox", "list", "--format", "json"]).ended(0).json()["messages"].clone();
    let told = told.as_array().unwrap().iter().filter(|told| told["key"].as_str().unwrap().starts_with("alarm/recovered/"));
    assert_eq!(told.count(), 1);
    for replica in replicas {
        replica.stop();
    }
}

async fn a_monitor_outside_hears_of_every_end_and_its_address_is_not_stored(place: Place) {
    let monitor = Receiver::start(([127, 0, 0, 1], 0), Behaviour::default()).await.unwrap();
    let jobs =
        "[jobs.backup]\nshell = true\ncommand = \"test -e good\"\nexit_codes = { permanent = [1] }\nping = { env = \"PING\" }\n";
    let site = Site::new(place, jobs).await;
    let address = format!("http://{}/s3cret-uuid", monitor.address());
    let replica = site.replica_with("a", &[], &[("PING", &address)]);
    site.until("the job is known", || site.onebell(&["jobs"]).out().contains("backup"));
    let heard = |count: usize| site.until("the monitor heard it", || monitor.records().len() == count);
    let failed = site.onebell(&["trigger", "backup", "--key", "1", "--wait", "--format", "json"]).ended(1).json()["run"].clone();
    heard(1);
    site.write("good", "");
    let well = site.onebell(&["trigger", "backup", "--key", "2", "--wait", "--format", "json"]).ended(0).json()["run"].clone();
    heard(2);
    let heard: Vec<_> = monitor.records().into_iter().map(|record| (record.method, record.target, record.key)).collect();
    let post = |path: &str, key: String| ("POST".to_owned(), path.to_owned(), key);
    let key = |run: &serde_json::Value, word: &str| format!("\"alarm/ping/{}/1/{word}\"", run.as_str().unwrap());
    let expected = [post("/s3cret-uuid/fail", key(&failed, "fail")), post("/s3cret-uuid", key(&well, "success"))];
    assert_eq!(heard, expected);
    replica.stop();
    for table in ["jobs", "definitions", "outbox"] {
        let rows = format!("{:?}", site.sql(&format!("SELECT * FROM {{}}{table}")).await);
        let bytes = format!("{:?}", b"s3cret-uuid").replace(['[', ']'], "");
        assert!(!rows.contains("s3cret-uuid") && !rows.contains(&bytes), "{table}: {rows}");
    }
}

crate::everywhere!(
    a_failed_run_is_one_mail_from_three_replicas_and_its_command_mends_it,
    a_monitor_outside_hears_of_every_end_and_its_address_is_not_stored,
    a_silent_job_is_one_mail_from_three_replicas_and_another_when_it_runs_again,
);
