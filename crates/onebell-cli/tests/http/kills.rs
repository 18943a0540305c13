//! The program itself, killed at named points of a delivery: how often the receiver did its work, and what is known afterwards.

use std::process::{ExitStatus, Stdio};

use onebell_cli::receiver::{Behaviour, Receiver};
use onebell_testkit::{Database, fresh_database};
use serde_json::Value;
use tokio::process::Command;

use crate::world::{Version, soon};

const KEY: &str = "invoice/1";

struct Site {
    folder: tempfile::TempDir,
    database: Option<Database>,
    receiver: Receiver,
}

impl Site {
    /// `channel`, `step`: further keys; `WHERE` stands for the receiver.
    async fn new(version: Version, channel: &str, step: &str) -> Self {
        let receiver = Receiver::start(([127, 0, 0, 1], 0), Behaviour::default()).await.unwrap();
        let text = format!(
            r#"
[replica]
lease = "1s"
[channels.ops]
kind = "http"
url = "WHERE/hooks"
{channel}
[jobs.tell]
[[jobs.tell.steps]]
name = "tell"
retry = {{ attempts = 5, backoff = "10ms" }}
{step}
message = {{ channel = "ops", key = "{KEY}", json = '{{"run": {{{{ run.id }}}}}}' }}
"#
        );
        let folder = tempfile::tempdir().unwrap();
        let text = text.replace("WHERE", &format!("http://{}", receiver.address()));
        std::fs::write(folder.path().join("onebell.toml"), text).unwrap();
        let database = match version {
            Some(version) => Some(fresh_database(version).await),
            None => None,
        };
        Self { folder, database, receiver }
    }

    async fn onebell(&self, args: &[&str], fault: Option<&str>) -> (ExitStatus, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_onebell"));
        command.args(args).current_dir(self.folder.path()).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        for name in ["ONEBELL_DATABASE", "ONEBELL_LOG", "ONEBELL_FAULT"] {
            command.env_remove(name);
        }
        if let Some(database) = &self.database {
            command.env("ONEBELL_DATABASE", &database.url);
        }
        if let Some(fault) = fault {
            command.env("ONEBELL_FAULT", format!("{fault}:1:kill"));
        }
        let output = soon(command.output()).await.unwrap();
        (output.status, String::from_utf8(output.stdout).unwrap())
    }

    /// A replica dies at `fault`; another one finishes what can be finished. How often the work was done, and the message's state.
    async fn killed_at(&self, fault: &str) -> (u64, String) {
        let idle = ["run", "--until-idle"];
        assert!(self.onebell(&idle, None).await.0.success(), "the job is known");
        assert!(self.onebell(&["trigger", "tell", "--key", "k"], None).await.0.success());
        assert_eq!(self.onebell(&idle, Some(fault)).await.0.code(), None, "{fault}: it was killed");
        assert!(self.onebell(&idle, None).await.0.success());
        let (_, shown) = self.onebell(&["outbox", "show", KEY, "--format", "json"], None).await;
        let message: Value = serde_json::from_str(&shown).unwrap();
        let done = self.receiver.done_by_key().get(KEY).copied().unwrap_or(0);
        (done, message["status"].as_str().unwrap().to_owned())
    }
}

fn told(done: u64, status: &str) -> (u64, String) {
    (done, status.to_owned())
}

async fn a_relay_killed_before_the_request_or_after_the_word_was_written_sends_one_webhook(version: Version) {
    for fault in ["claim_messages.after_commit", "sending.after_commit", "settle_messages.after_commit"] {
        assert_eq!(Site::new(version, "", "").await.killed_at(fault).await, told(1, "sent"), "{fault}");
    }
}

async fn i9_a_relay_killed_after_the_yes_sends_again_by_default_asks_if_it_may_and_never_sends_under_hold(version: Version) {
    let fault = "settle_messages.before_commit";
    assert_eq!(Site::new(version, "", "").await.killed_at(fault).await, told(2, "sent"), "twice, with one key");
    let ask = "ask = \"WHERE/arrived/{{ key }}\"";
    assert_eq!(Site::new(version, ask, "").await.killed_at(fault).await, told(1, "sent"), "asked, and not sent again");
    let hold = "on_in_doubt = \"hold\"";
    let site = Site::new(version, ask, hold).await;
    assert_eq!(site.killed_at(fault).await, told(1, "in_doubt"));
    assert!(site.onebell(&["outbox", "resolve", KEY, "--as", "resend"], None).await.0.success());
    assert!(site.onebell(&["run", "--until-idle"], None).await.0.success());
    let (_, shown) = site.onebell(&["outbox", "show", KEY], None).await;
    assert!(shown.contains("asked, has it"), "{shown}");
    assert_eq!(site.receiver.done_by_key()[KEY], 1, "a person said \"send it again\", and it was asked first");
}

crate::everywhere!(
    a_relay_killed_before_the_request_or_after_the_word_was_written_sends_one_webhook,
    i9_a_relay_killed_after_the_yes_sends_again_by_default_asks_if_it_may_and_never_sends_under_hold,
);
