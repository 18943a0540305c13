//! `notify`: people are told once, however many replicas saw it, and what they are told to type works.

use serde_json::json;

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

crate::everywhere!(a_failed_run_is_one_mail_from_three_replicas_and_its_command_mends_it);
