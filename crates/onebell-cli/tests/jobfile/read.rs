//! What a right file gives.

use std::fs;
use std::path::Path;
use std::time::Duration;

use onebell::model::job::{Missed, OnLost, OnMessageFailed, Overlap, ScheduleDefinition, When};
use onebell::model::message::InDoubtPolicy;
use onebell_cli::jobfile::{ChannelConfig, JobFile, Promise, Tls, describe, promises};
use onebell_cli::secret::SecretRef;
use onebell_cli::steps::spec::{CommandStep, MessageStep, Rows, SqlStep};
use tempfile::TempDir;

use crate::{CHANNEL, job, message, parse, the_one};

#[test]
fn the_example_of_the_documents_is_read_as_written() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("pull.sql"), "SELECT 1").unwrap();
    fs::write(folder.path().join("reminder.txt"), "Dear {{ row.name }}\n").unwrap();
    let text = r#"
[defaults]
time_zone = "Asia/Ho_Chi_Minh"
retry = { attempts = 4, backoff = "1s..1m", within = "30m" }
[replica]
lease = "10s"
concurrency = 4
queues = ["default", "slow"]
[channels.mail]
kind = "smtp"
host = "127.0.0.1"
port = 2525
from = "Công nợ <billing@example.com>"
password = { env = "SMTP_PASSWORD" }
[jobs.backup]
schedule = "0 3 * * *"
command = ["pg_dump", "app"]
timeout = "1h"
[jobs.debt-reminders]
description = "Monthly reminders"
schedule = "0 2 * * *"
overlap = "queue"
missed = { all = 10 }
[[jobs.debt-reminders.steps]]
name = "pull"
sql = { file = "pull.sql" }
[[jobs.debt-reminders.steps]]
name = "compute"
command = ["./compute.sh"]
timeout = "15m"
hard_limit = "2h"
on_lost = "hold"
undo = { command = ["./uncompute.sh"] }
[[jobs.debt-reminders.steps]]
name = "remind"
for_each = { output_of = "compute" }
on_in_doubt = "resend"
on_message_failed = "fail"
[jobs.debt-reminders.steps.message]
channel = "mail"
key = "reminder/{{ row.customer_id }}/{{ row.period }}"
to = "{{ row.email }}"
subject = "Nhắc nợ kỳ {{ row.period }}"
text_file = "reminder.txt"
"#;
    let path = folder.path().join("onebell.toml");
    fs::write(&path, text).unwrap();
    let file = JobFile::load(&path).unwrap_or_else(|report| panic!("{report}"));
    assert_eq!(
        (file.folder.as_path(), file.replica.concurrency, file.replica.lease),
        (folder.path(), Some(4), Some(Duration::from_secs(10)))
    );
    let ChannelConfig::Smtp(smtp) = &file.channels["mail"] else { panic!("{file:?}") };
    assert_eq!((smtp.port, smtp.tls, &smtp.password), (2525, Tls::Opportunistic, &Some(SecretRef::Env("SMTP_PASSWORD".into()))));
    assert_eq!(smtp.username.as_deref(), Some("billing@example.com"), "a login without a name is the sender's");
    assert_eq!(file.secrets, [SecretRef::Env("SMTP_PASSWORD".into())]);

    let [backup, reminders] = file.jobs.as_slice() else { panic!("{:?}", file.jobs) };
    let when = When::Cron { expression: "0 3 * * *".into(), seconds: false };
    let schedule = ScheduleDefinition { when, time_zone: "Asia/Ho_Chi_Minh".into(), dst: Default::default() };
    assert_eq!((backup.name.as_str(), backup.schedules.as_slice(), backup.steps.len()), ("backup", &[schedule][..], 1));
    assert_eq!(
        (backup.steps[0].name.as_str(), backup.steps[0].handler.as_str(), backup.steps[0].retry.attempts),
        ("command", "command", 4)
    );
    assert_eq!((backup.steps[0].timeout, backup.steps[0].hard_limit), (Duration::from_secs(3600), Duration::from_secs(36_000)));

    assert_eq!((reminders.overlap, reminders.missed), (Overlap::Queue, Missed::All(10)));
    let [pull, compute, remind] = reminders.steps.as_slice() else { panic!("{:?}", reminders.steps) };
    assert_eq!(serde_json::from_str::<SqlStep>(&pull.spec).unwrap(), SqlStep { sql: "SELECT 1".into() });
    assert_eq!(
        (pull.after.len(), &compute.after[..], &remind.after[..]),
        (0, &["pull".to_owned()][..], &["compute".to_owned()][..])
    );
    assert_eq!((compute.on_lost, compute.hard_limit), (OnLost::Hold, Duration::from_secs(7200)));
    assert_eq!(compute.undo.as_ref().unwrap().handler, "command");
    let spec: CommandStep = serde_json::from_str(&compute.spec).unwrap();
    assert_eq!((spec.argv, spec.cwd, spec.output_cap), (vec!["./compute.sh".to_owned()], None, 65_536));
    let spec: MessageStep = serde_json::from_str(&remind.spec).unwrap();
    assert_eq!((spec.text.as_deref(), spec.rows), (Some("Dear {{ row.name }}\n"), Some(Rows::OutputOf("compute".into()))));
    assert_eq!((spec.on_in_doubt, remind.on_message_failed), (Some(InDoubtPolicy::Resend), OnMessageFailed::Fail));
    // The defaults are for steps; mail waits out a server that is away.
    assert_eq!((remind.retry.attempts, spec.retry.attempts, spec.retry.within()), (4, 100, Some(Duration::from_secs(86_400))));
}

#[test]
fn the_same_file_gives_the_same_definition_on_every_replica_wherever_it_lies() {
    let text = "[jobs.j]\ncommand = [\"./x.sh\"]\ncwd = \"work\"\nenv = { A = \"1\", B = { file = \"b.txt\" } }\n";
    let at = |path: &str| JobFile::parse(text, Path::new(path)).unwrap().jobs;
    assert_eq!(at("/srv/a/onebell.toml"), at("/home/b/onebell.toml"));
    assert!(!at("/srv/a/onebell.toml")[0].steps[0].spec.contains("/srv"));
}

#[test]
fn a_secret_is_never_part_of_a_definition_or_of_debug_output() {
    let file = parse(
        "[channels.m]\nkind = \"smtp\"\nhost = \"h\"\nfrom = \"a@b.c\"\npassword = \"hunter2\"\n[jobs.j]\ncommand = [\"x\"]\nenv = { T = { env = \"TOKEN\" } }\n",
    );
    assert_eq!(
        serde_json::from_str::<CommandStep>(&file.jobs[0].steps[0].spec).unwrap().env["T"],
        SecretRef::Env("TOKEN".into())
    );
    assert!(!format!("{file:?}").contains("hunter2"));
    assert_eq!(file.secret_values(), ["hunter2"]);
}

#[test]
fn several_schedules_are_a_list_and_times_may_be_toml_dates() {
    let file = parse(&job(
        "schedule = [\"0 2 * * *\", \"0 14 * * *\"]\nevery = \"15m\"\nat = 2026-12-01T02:00:00\ntime_zone = \"Europe/Berlin\"",
    ));
    let whens: Vec<_> = file.jobs[0].schedules.iter().map(|schedule| &schedule.when).collect();
    assert_eq!(whens.len(), 4);
    assert_eq!((whens[2], whens[3]), (&When::Every(Duration::from_secs(900)), &When::At("2026-12-01T02:00:00".into())));
    let described: Vec<_> = file.jobs[0].schedules.iter().map(describe).collect();
    assert_eq!(described[1..3], ["0 14 * * * (Europe/Berlin)", "every 15m"]);
}

#[test]
fn a_job_without_a_schedule_lets_requests_run_side_by_side() {
    assert_eq!(parse(&job("")).jobs[0].overlap, Overlap::Allow);
    assert_eq!(parse(&job("every = \"1h\"")).jobs[0].overlap, Overlap::Skip);
    assert_eq!(parse(&job("overlap = \"skip\"")).jobs[0].overlap, Overlap::Skip);
}

#[test]
fn a_string_is_a_command_only_when_the_shell_is_asked_for() {
    let file = parse("[jobs.j]\ncommand = \"a | b\"\nshell = true\n");
    assert_eq!(serde_json::from_str::<CommandStep>(&file.jobs[0].steps[0].spec).unwrap().argv, ["/bin/sh", "-c", "a | b"]);
    assert_eq!(
        the_one("[jobs.j]\ncommand = \"pg_dump app\"\n"),
        "2:11 command: a command is an array of program and arguments; write [\"pg_dump\", \"app\"], or add shell = true"
    );
}

#[test]
fn after_is_the_step_before_unless_it_is_written() {
    let text = "[jobs.j]\n[[jobs.j.steps]]\nname = \"a\"\nsql = \"x\"\n[[jobs.j.steps]]\nname = \"b\"\nsql = \"x\"\nafter = []\n[[jobs.j.steps]]\nname = \"c\"\nsql = \"x\"\nafter = [\"a\", \"b\"]\n";
    let after: Vec<usize> = parse(text).jobs[0].steps.iter().map(|step| step.after.len()).collect();
    assert_eq!(after, [0, 0, 2]);
}

#[test]
fn a_message_budget_keeps_its_patience_in_what_the_step_does_not_say() {
    let text = message("channel = \"mail\"\nkey = \"k\"\nto = \"t\"\nsubject = \"s\"\ntext = \"x\"")
        .replace("name = \"remind\"", "name = \"remind\"\nretry = { attempts = 2 }");
    let step = &parse(&text).jobs[0].steps[0];
    let spec: MessageStep = serde_json::from_str(&step.spec).unwrap();
    assert_eq!((step.retry.attempts, spec.retry.attempts, spec.retry.within()), (2, 2, Some(Duration::from_secs(86_400))));
    assert_eq!(step.retry.within(), None);
}

#[test]
fn each_step_has_the_promise_of_its_kind_and_policies() {
    let text = format!(
        "{CHANNEL}[jobs.j]\nevery = \"1h\"\n[[jobs.j.steps]]\nname = \"a\"\nsql = \"x\"\n[[jobs.j.steps]]\nname = \"b\"\ncommand = [\"x\"]\n\
         [[jobs.j.steps]]\nname = \"c\"\ncommand = [\"x\"]\non_lost = \"hold\"\nretry = {{ attempts = 1 }}\n\
         [[jobs.j.steps]]\nname = \"d\"\nmessage = {{ channel = \"mail\", key = \"k\", to = \"t\", subject = \"s\", text = \"x\" }}\n\
         [[jobs.j.steps]]\nname = \"e\"\non_in_doubt = \"resend\"\nmessage = {{ channel = \"mail\", key = \"{{{{ run.id }}}}\", to = \"t@example.com\", subject = \"s\", text = \"x\" }}\n"
    );
    let file = parse(&text);
    let promises = promises(&file.jobs[0]);
    let kinds: Vec<_> = promises.iter().map(|promise| promise.promise).collect();
    use Promise::{AtLeastOnce, AtMostOnce, ExactlyOnce};
    assert_eq!(kinds, [ExactlyOnce, AtLeastOnce, AtMostOnce, AtMostOnce, AtLeastOnce]);
    assert!(promises[3].warnings[0].contains("once, for ever"), "{:?}", promises[3].warnings);
    assert!(promises[4].warnings.is_empty());
}
