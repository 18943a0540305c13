//! `trigger --dry-run`: what a request would find and what would be sent, and nothing of it happens.

use serde_json::json;

use crate::site::{Mail, Place, Site};

const JOBS: &str = r#"
[jobs.remind]
[[jobs.remind.steps]]
name = "compute"
command = ["sh", "-c", "echo worked >> worked; echo '{\"id\": 9}' > \"$ONEBELL_OUTPUT\""]

[[jobs.remind.steps]]
name = "remind"
for_each = { csv = "customers.csv" }
[jobs.remind.steps.message]
channel = "mail"
key = "reminder/{{ row.id }}"
to = "{{ row.email }}"
subject = "Reminder {{ row.id }} of {{ run.input.period }}"
text = "You owe."

[[jobs.remind.steps]]
name = "tell"
for_each = { output_of = "compute" }
[jobs.remind.steps.message]
channel = "mail"
key = "told/{{ row.id }}"
to = "ops@example.com"
subject = "s"
text = "t"

[jobs.other]
command = ["true"]
"#;

const ASK: [&str; 6] = ["trigger", "remind", "--key", "k", "--input", r#"{"period": "11"}"#];

async fn what_a_request_would_do_is_told_and_nothing_is_done(place: Place) {
    let mail = Mail::new().await;
    let site = Site::new(place, &format!("{}{JOBS}", mail.channel())).await;
    site.write("customers.csv", "id,email\n1,a@example.com\n2,b@example.com\n");
    site.onebell(&["migrate"]).ended(0);
    let dry = [&ASK[..], &["--dry-run", "--format", "json"]].concat();
    let states = |answer: &serde_json::Value, step: usize| -> Vec<String> {
        let messages = answer["steps"][step]["messages"].as_array().unwrap();
        messages.iter().map(|message| format!("{} {}", message["key"], message["state"]).replace('"', "")).collect()
    };
    // Also before any replica knows the job.
    let told = site.onebell(&dry).ended(0).json();
    assert_eq!(told["request"], "new");
    assert_eq!(states(&told, 1), ["reminder/1 new", "reminder/2 new"]);
    assert_eq!(told["steps"][1]["messages"][0]["payload"]["subject"], "Reminder 1 of 11");
    assert!(told["steps"][2]["note"].as_str().unwrap().contains("\"compute\", which was not run"), "{told}");
    assert_eq!(site.onebell(&["runs", "--format", "json"]).ended(0).json()["runs"], json!([]));
    assert!(site.lines("worked").is_empty() && mail.got().is_empty());

    site.until_idle();
    let run = site.onebell(&[&ASK[..], &["--format", "json"]].concat()).ended(0).json()["run"].clone();
    assert_eq!(told["run"], run, "the run that was told of");
    site.until_idle();
    assert_eq!((site.lines("worked").len(), mail.got().len()), (1, 3));

    // The same again: all is there. A row that says something else meets the mail of before.
    let told = site.onebell(&dry).ended(0).json();
    assert_eq!(
        (&told["request"], states(&told, 1), states(&told, 2)),
        (
            &json!("already"),
            vec!["reminder/1 already".to_owned(), "reminder/2 already".to_owned()],
            vec!["told/9 already".to_owned()]
        )
    );
    site.write("customers.csv", "id,email\n1,a@example.com\n2,moved@example.com\n3,c@example.com\n");
    let told = site.onebell(&dry).ended(3).complains(&["1 messages have the key", "make the key name what differs"]).json();
    assert_eq!(states(&told, 1), ["reminder/1 already", "reminder/2 conflict", "reminder/3 new"]);
    let table = site.onebell(&[&ASK[..], &["--dry-run"]].concat()).ended(3);
    table.says(&["already; nothing was opened or sent", "conflict", "reminder/2", "moved@example.com"]);

    // Another question under the same key, and a row that cannot be a mail.
    site.onebell(&["trigger", "remind", "--key", "k", "--input", r#"{"period": "12"}"#, "--dry-run"])
        .ended(3)
        .complains(&["another job or input"]);
    site.onebell(&["trigger", "other", "--key", "k", "--dry-run"]).ended(3).complains(&["ask with another key"]);
    site.write("customers.csv", "id,email\n4,nobody\n");
    site.onebell(&[&["trigger", "remind", "--input", "{\"period\": 1}", "--dry-run"][..], &["--key", "l"]].concat())
        .ended(1)
        .complains(&["step \"remind\"", "row 1", "nobody"]);
    assert_eq!((site.lines("worked").len(), mail.got().len()), (1, 3), "nothing more was done");
    site.onebell(&["trigger", "colse", "--dry-run"]).ended(2).complains(&["no job \"colse\""]);
}

crate::everywhere!(what_a_request_would_do_is_told_and_nothing_is_done,);
