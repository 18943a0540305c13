//! What the steps of a job file do when they are run.

use rustix::process::Signal;
use serde_json::json;

use crate::site::{Mail, Place, Site};

async fn i14_a_failed_run_undoes_what_was_finished_in_reverse_order_once(place: Place) {
    let jobs = r#"
[jobs.move]
[[jobs.move.steps]]
name = "a"
command = ["sh", "-c", "echo do a >> order"]
undo = { command = ["sh", "-c", "echo undo a >> order"] }
[[jobs.move.steps]]
name = "b"
command = ["sh", "-c", "echo do b >> order"]
[[jobs.move.steps]]
name = "c"
command = ["sh", "-c", "echo do c >> order"]
undo = { command = ["sh", "-c", "echo undo c >> order"] }
[[jobs.move.steps]]
name = "d"
command = ["sh", "-c", "echo do d >> order; exit 65"]
undo = { command = ["sh", "-c", "echo undo d >> order"] }
"#;
    let site = Site::new(place, jobs).await;
    let run = site.run_once("move", "k");
    assert_eq!(site.lines("order"), ["do a", "do b", "do c", "do d", "undo c", "undo a"]);
    assert_eq!(site.the_run()["status"], "failed");
    site.onebell(&["show", &run]).ended(0).says(&["a~undo", "c~undo", "were undone; for another try: onebell trigger move"]);
    site.onebell(&["retry", &run]).ended(2).complains(&["its finished steps were undone; trigger a new run instead"]);
    site.until_idle();
    assert_eq!(site.lines("order").len(), 6);
}

async fn a_cancelled_run_undoes_what_was_finished(place: Place) {
    let jobs = r#"
[jobs.move]
[[jobs.move.steps]]
name = "a"
command = ["sh", "-c", "echo do a >> order"]
undo = { command = ["sh", "-c", "echo undo a >> order"] }
[[jobs.move.steps]]
name = "b"
command = ["sh", "-c", "echo do b >> order; exec sleep 60"]
"#;
    let site = Site::new(place, jobs).await;
    let _replica = site.replica("a");
    site.until("the job is registered", || site.onebell(&["jobs"]).out().contains("move"));
    let run =
        site.onebell(&["trigger", "move", "--key", "k", "--format", "json"]).ended(0).json()["run"].as_str().unwrap().to_owned();
    site.until("b works", || site.lines("order").len() == 2);
    site.onebell(&["cancel", &run]).ended(0);
    site.until_status(&run, "cancelled");
    assert_eq!(site.lines("order"), ["do a", "do b", "undo a"]);
}

async fn work_that_may_run_once_only_is_held_when_its_replica_dies_until_a_person_decides(place: Place) {
    let jobs = r#"
[replica]
lease = "2s"

[jobs.pay]
[[jobs.pay.steps]]
name = "pay"
on_lost = "hold"
retry = { attempts = 1 }
timeout = "10m"
command = ["sh", "-c", "echo $ONEBELL_ATTEMPT >> paid; exec sleep 600"]
[[jobs.pay.steps]]
name = "book"
command = ["sh", "-c", "echo booked >> booked"]
"#;
    let site = Site::new(place, jobs).await;
    site.onebell(&["check"]).ended(0).says(&["pay      at most once"]);
    let first = site.replica("first");
    site.until("the job is registered", || site.onebell(&["jobs"]).out().contains("pay"));
    let run =
        site.onebell(&["trigger", "pay", "--key", "k", "--format", "json"]).ended(0).json()["run"].as_str().unwrap().to_owned();
    site.until("it pays", || site.lines("paid").len() == 1);
    let second = site.replica("second");
    let live = || site.status()["replicas"] == 2;
    site.until("the other one is there", live);
    first.signal(Signal::KILL);
    let shown = site.until_status(&run, "parked");
    assert_eq!(shown["steps"][0]["status"], "held");
    site.onebell(&["recoveries"]).ended(0).says(&["granted"]);
    site.onebell(&["resolve", &run, "pay", "--as", "succeeded", "--reason", "the bank says yes"]).ended(0);
    site.until_status(&run, "succeeded");
    assert_eq!((site.lines("paid"), site.lines("booked").len()), (vec!["1".to_owned()], 1));
    assert!(second.stop().success());
}

async fn progress_moves_the_end_of_a_claim_and_silence_does_not(place: Place) {
    let jobs = r#"
[jobs.talks]
timeout = "4s"
hard_limit = "1m"
retry = { attempts = 1 }
shell = true
command = 'i=0; while [ $i -lt 24 ]; do "$PROGRAM" progress $((i * 4)) || exit 65; i=$((i+1)); sleep 0.25; done; echo $ONEBELL_ATTEMPT >> talked'

[jobs.silent]
timeout = "2s"
retry = { attempts = 1 }
command = ["sleep", "60"]
"#;
    let site = Site::new(place, jobs).await;
    site.until_idle();
    let _replica = site.replica_with("a", &[], &[("PROGRAM", env!("CARGO_BIN_EXE_onebell"))]);
    let trigger = |job: &str| {
        let answer = site.onebell(&["trigger", job, "--key", job, "--format", "json"]).ended(0).json();
        answer["run"].as_str().unwrap().to_owned()
    };
    let (talks, silent) = (trigger("talks"), trigger("silent"));
    // Six seconds of work under a claim of four.
    site.until_status(&talks, "succeeded");
    assert_eq!(site.lines("talked"), ["1"]);
    let shown = site.until_status(&silent, "parked");
    assert_eq!((&shown["steps"][0]["status"], &shown["steps"][0]["tries"]), (&json!("exhausted"), &json!(1)), "{shown:#}");
    let outside = site.onebell(&["progress", "50"]).ended(2);
    outside.complains(&["ONEBELL_PROGRESS is not set", "inside a command step"]);
    site.onebell(&["progress", "101"]).ended(2).complains(&["101"]);
}

async fn k09_exit_codes_say_whether_another_try_can_help_and_the_job_may_say_otherwise(place: Place) {
    // What a step with two attempts does, and how often it is tried.
    let table = [
        ("good", "exit 0", "succeeded", 1),
        ("again", "exit 1", "exhausted", 2),
        ("busy", "exit 75", "exhausted", 2),
        ("usage", "exit 64", "failed", 1),
        ("data", "exit 65", "failed", 1),
        ("config", "exit 78", "failed", 1),
        ("not-executable", "exit 126", "failed", 1),
        ("not-found", "exit 127", "failed", 1),
        ("signal", "kill -9 $$", "exhausted", 2),
        ("said-permanent", "exit 3", "failed", 1),
        ("said-retry", "exit 66", "exhausted", 2),
    ];
    // One that failed takes the others with it: each is a job of its own.
    let mut jobs = String::new();
    for (name, script, ..) in table {
        jobs.push_str(&format!("[jobs.{name}]\ncommand = [\"sh\", \"-c\", \"{script}\"]\n"));
        jobs.push_str("retry = { attempts = 2, backoff = \"1ms..1ms\" }\nexit_codes = { permanent = [3], retry = [66] }\n");
    }
    jobs.push_str("[jobs.none]\ncommand = [\"no-such-program\"]\nretry = { attempts = 2, backoff = \"1ms..1ms\" }\n");
    let site = Site::new(place, &jobs).await;
    site.until_idle();
    let runs: Vec<(&str, &str, u64, String)> = table
        .iter()
        .map(|(name, _, status, tries)| (*name, *status, *tries))
        .chain([("none", "failed", 1)])
        .map(|(name, status, tries)| {
            let answer = site.onebell(&["trigger", name, "--key", name, "--format", "json"]).ended(0).json();
            (name, status, tries, answer["run"].as_str().unwrap().to_owned())
        })
        .collect();
    site.until_idle();
    for (name, status, tries, run) in runs {
        let shown = site.onebell(&["show", &run, "--format", "json"]).ended(0).json();
        let step = &shown["steps"][0];
        assert_eq!((&step["status"], &step["tries"]), (&json!(status), &json!(tries)), "{name}: {shown:#}");
        let told = shown.to_string();
        match name {
            "signal" => assert!(told.contains("signal 9"), "{told}"),
            "none" => assert!(told.contains("no-such-program"), "{told}"),
            _ => {}
        }
    }
}

/// Names that are hard to carry, and a number that no float holds.
const ROWS: &str = "{\"id\":\"1\",\"email\":\"a@example.com\",\"name\":\"Đặng, \\\"Hạnh\\\"\",\"amount\":\"12345678901234567890.10\"}\n\
                    {\"id\":\"2\",\"email\":\"b@example.com\",\"name\":\"O'Neil\",\"amount\":\"0.10\"}\n";
const CSV: &str =
    "id,email,name,amount\n1,a@example.com,\"Đặng, \"\"Hạnh\"\"\",12345678901234567890.10\n2,b@example.com,O'Neil,0.10\n";
const QUERY: &str = "SELECT id, email, name, amount FROM owing ORDER BY id";
const SETUP: &str = "CREATE TABLE owing (id text, email text, name text, amount text); \
    INSERT INTO owing VALUES ('1', 'a@example.com', 'Đặng, \"Hạnh\"', '12345678901234567890.10'), \
    ('2', 'b@example.com', 'O''Neil', '0.10')";

async fn a_mail_per_row_whether_rows_come_from_a_step_a_csv_file_an_ndjson_file_or_a_query(place: Place) {
    let mail = Mail::new().await;
    let message = |job: &str, source: &str| {
        format!(
            "[[jobs.{job}.steps]]\nname = \"remind\"\nfor_each = {{ {source} }}\n[jobs.{job}.steps.message]\nchannel = \"mail\"\n\
             key = \"{job}/{{{{ row.id }}}}\"\nto = \"{{{{ row.email }}}}\"\nsubject = \"{job} {{{{ row.id }}}}\"\n\
             text = \"{{{{ row.name }}}} owes {{{{ row.amount }}}}\"\n"
        )
    };
    let jobs = format!(
        "{}[jobs.output]\n[[jobs.output.steps]]\nname = \"compute\"\ncommand = [\"sh\", \"-c\", \"cp rows.ndjson $ONEBELL_OUTPUT\"]\n{}\
         [jobs.csv]\n{}[jobs.ndjson]\n{}[jobs.sql]\n[[jobs.sql.steps]]\nname = \"setup\"\nsql = {{ file = \"setup.sql\" }}\n{}",
        mail.channel(),
        message("output", "output_of = \"compute\""),
        message("csv", "csv = \"rows.csv\""),
        message("ndjson", "ndjson = \"rows.ndjson\""),
        message("sql", &format!("sql = \"{QUERY}\"")),
    );
    let site = Site::new(place, "").await;
    for (name, text) in [("setup.sql", SETUP), ("rows.ndjson", ROWS), ("rows.csv", CSV), ("onebell.toml", &jobs)] {
        site.write(name, text);
    }
    site.until_idle();
    for job in ["output", "csv", "ndjson", "sql"] {
        site.onebell(&["trigger", job, "--key", job]).ended(0);
    }
    site.until_idle();
    let sources = ["csv", "ndjson", "output", "sql"];
    let expected: Vec<String> = sources.iter().flat_map(|job| [format!("{job} 1"), format!("{job} 2")]).collect();
    assert_eq!(mail.subjects(), expected, "{}", site.onebell(&["runs"]).out());
    let texts: Vec<String> =
        mail.mailbox.received().into_iter().map(|mail| String::from_utf8(mail.content.unwrap()).unwrap()).collect();
    let with = |text: &str| texts.iter().filter(|mail| body(mail).contains(text)).count();
    assert_eq!((with("Đặng, \"Hạnh\" owes 12345678901234567890.10"), with("O'Neil owes 0.10")), (4, 4), "{texts:#?}");
    for job in sources {
        let payload = site.onebell(&["outbox", "show", &format!("{job}/1"), "--format", "json"]).ended(0).json();
        let payload: serde_json::Value = serde_json::from_str(payload["payload"].as_str().unwrap()).unwrap();
        assert_eq!(payload["text"], "Đặng, \"Hạnh\" owes 12345678901234567890.10", "{job}");
    }
}

/// The text of a mail, decoded.
fn body(mail: &str) -> String {
    let (head, body) = mail.split_once("\r\n\r\n").unwrap();
    if !head.contains("quoted-printable") {
        return body.to_owned();
    }
    let mut bytes = Vec::new();
    let mut rest = body.replace("=\r\n", "");
    while let Some((plain, after)) = rest.split_once('=') {
        bytes.extend(plain.bytes());
        bytes.push(u8::from_str_radix(&after[..2], 16).unwrap());
        rest = after[2..].to_owned();
    }
    bytes.extend(rest.bytes());
    String::from_utf8(bytes).unwrap()
}

crate::everywhere!(
    i14_a_failed_run_undoes_what_was_finished_in_reverse_order_once,
    a_cancelled_run_undoes_what_was_finished,
    work_that_may_run_once_only_is_held_when_its_replica_dies_until_a_person_decides,
    progress_moves_the_end_of_a_claim_and_silence_does_not,
    k09_exit_codes_say_whether_another_try_can_help_and_the_job_may_say_otherwise,
    a_mail_per_row_whether_rows_come_from_a_step_a_csv_file_an_ndjson_file_or_a_query,
);
