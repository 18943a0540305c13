//! A database that was restored from a backup while the world outside had gone on.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::site::{LIMIT, Mail, Place, Site};

crate::everywhere!(a_restored_database_repeats_nothing_that_a_person_does_not_ask_for);

const JOBS: &str = r#"
[replica]
lease = "3s"
[jobs.remind]
[[jobs.remind.steps]]
name = "collect"
command = ["sh", "-c", "echo ran >> collected"]
[[jobs.remind.steps]]
name = "remind"
after = ["collect"]
for_each = { csv = "customers.csv" }
message = { channel = "mail", key = "reminder/{{ row.id }}", to = "{{ row.email }}", subject = "Reminder {{ row.id }}", text = "You owe." }
[[jobs.remind.steps]]
name = "report"
after = ["remind"]
command = ["sh", "-c", "echo ran >> reported"]
[jobs.tick]
every = "1h"
command = ["sh", "-c", "echo ran >> ticks"]
"#;

impl Site {
    /// A copy of the database as it stands: its URL.
    async fn backup(&self) -> String {
        match self.url.strip_prefix("sqlite:") {
            Some(_) => {
                let copy = self.path("backup.db");
                self.sql(&format!("VACUUM INTO '{}'", copy.display())).await;
                format!("sqlite:{}", copy.display())
            }
            None => {
                let config: tokio_postgres::Config = self.url.parse().unwrap();
                let name = config.get_dbname().unwrap().to_owned();
                let (admin, connection) = config.clone().dbname("postgres").connect(tokio_postgres::NoTls).await.unwrap();
                tokio::spawn(connection);
                // Sessions of a process that was killed end when the server notices.
                let copied = async || admin.execute(&format!("CREATE DATABASE {name}_backup TEMPLATE {name}"), &[]).await;
                let begun = std::time::Instant::now();
                while let Err(error) = copied().await {
                    assert!(begun.elapsed() < LIMIT, "the database could not be copied: {error}");
                }
                self.url.replacen(&name, &format!("{name}_backup"), 1)
            }
        }
    }

    async fn drop_backup(&self) {
        if self.url.starts_with("postgres") {
            let config: tokio_postgres::Config = self.url.parse().unwrap();
            let name = config.get_dbname().unwrap().to_owned();
            let (admin, connection) = config.clone().dbname("postgres").connect(tokio_postgres::NoTls).await.unwrap();
            tokio::spawn(connection);
            admin.execute(&format!("DROP DATABASE {name} WITH (FORCE)"), &[]).await.unwrap();
        }
    }

    fn after_restore(&self, code: i32, steps: u32) {
        let typed = [
            "doctor",
            "--after-restore",
            "2020-01-01T00:00:00Z",
            "--actor",
            "Hạnh",
            "--reason",
            "the disk died",
            "--format",
            "json",
        ];
        let told = self.onebell(&typed).ended(code).json();
        assert_eq!((&told["held"]["steps"], &told["held"]["messages"]), (&json!(steps), &json!(0)), "{told}");
    }

    fn step(&self, run: &str, name: &str) -> Value {
        let shown = self.onebell(&["show", run, "--format", "json"]).ended(0).json();
        let steps = shown["steps"].as_array().unwrap();
        steps.iter().find(|step| step["name"] == name).unwrap()["status"].clone()
    }
}

async fn a_restored_database_repeats_nothing_that_a_person_does_not_ask_for(place: Place) {
    let mail = Mail::new().await;
    let mut site = Site::new(place, &format!("{}{JOBS}", mail.channel())).await;
    site.write("customers.csv", "id,email\n1,a@example.com\n2,b@example.com\n3,c@example.com\n");
    site.until_idle();
    let trigger = |key: &str| {
        site.onebell(&["trigger", "remind", "--key", key, "--format", "json"]).ended(0).json()["run"].as_str().unwrap().to_owned()
    };
    // One run whose mails are about to go out, one that is about to begin.
    let delivering = trigger("1");
    let deaf = site.replica_with("deaf", &["--roles", "scheduler,agent"], &[]);
    site.until("the mails are ready", || site.status()["outbox"]["ready"] == 3);
    deaf.signal(Signal::KILL);
    drop(deaf);
    let pending = trigger("2");
    let restored = site.backup().await;

    // What the backup does not know.
    site.until_idle();
    assert_eq!(mail.got().iter().map(|(_, count)| *count).collect::<Vec<_>>(), [1, 1, 1], "the second run's mails are the same");
    assert_eq!((site.lines("collected").len(), site.lines("reported").len()), (2, 2));

    site.url = restored;
    let typed = ["doctor", "--after-restore", "2020-01-01T00:00:00Z"];
    site.until("the killed replica's lease is over", || {
        let answer = site.onebell(&typed);
        let lives = answer.code == 2 && answer.stderr.contains("stop all replicas");
        assert!(lives || answer.code == 3, "{} {}", answer.code, answer.stderr);
        !lives
    });
    // Asked about once, and not done with before a person has decided.
    site.after_restore(3, 0);
    site.onebell(&typed).ended(3).says(&["undecided      1 steps", "in doubt       3 messages", "before a replica starts"]);
    assert_eq!((site.status()["outbox"]["in_doubt"].clone(), site.step(&pending, "collect")), (json!(3), json!("held")));
    site.until_idle();
    assert_eq!((mail.mailbox.received().len(), site.lines("collected").len()), (3, 2), "nobody decided, nothing was repeated");

    // A person looks outside, and says what happened; what follows is asked about as well.
    for key in ["reminder/1", "reminder/2", "reminder/3"] {
        site.onebell(&["outbox", "resolve", key, "--as", "sent"]).ended(0);
    }
    let resolve = |run: &str, step: &str, word: &str| site.onebell(&["resolve", run, step, "--as", word]).ended(0);
    resolve(&pending, "collect", "succeeded");
    site.after_restore(3, 2);
    resolve(&delivering, "report", "succeeded");
    resolve(&pending, "remind", "succeeded");
    site.after_restore(3, 1);
    resolve(&pending, "report", "retry");
    site.after_restore(0, 0);
    site.until_idle();
    assert_eq!(mail.mailbox.received().len(), 3);
    assert_eq!((site.lines("collected").len(), site.lines("reported").len()), (2, 3), "the one that a person asked for");
    for run in [&delivering, &pending] {
        site.until_status(run, "succeeded");
    }
    let mut acts = site.audit().await;
    acts.retain(|act| act[0] == "question");
    assert_eq!(acts.last().unwrap()[1..], ["2020-01-01T00:00:00Z", "Hạnh", "the disk died"]);
    site.drop_backup().await;
}

#[test]
fn a_restore_to_the_future_or_to_no_time_is_refused() {
    let site = Site::plain("[jobs.a]\ncommand = [\"true\"]\n");
    site.until_idle();
    site.onebell(&["doctor", "--after-restore", "2999-01-01T00:00:00Z"])
        .ended(2)
        .complains(&["lies in the future", "restored to"]);
    for no_instant in ["yesterday", "1h"] {
        site.onebell(&["doctor", "--after-restore", no_instant]).ended(2).complains(&["write the instant that was restored"]);
    }
    site.onebell(&["doctor", "--after-restore", "2020-01-01T00:00:00Z"]).ended(0).says(&["replicas can start"]);
}
