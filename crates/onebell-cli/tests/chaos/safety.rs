//! What belongs to the user stays as it is: database, channels, commands, variables.

use std::net::TcpListener;

use crate::site::Site;

/// No kill at all: here it is of interest what is touched, not what survives.
const CALM: [&str; 8] = ["--kills", "0", "--pauses", "0", "--runs", "2", "--seed", "1"];

fn job(port: u16) -> String {
    format!(
        r#"
database = "sqlite:own.db"

[channels.mail]
kind = "smtp"
host = "127.0.0.1"
port = {port}
from = "Us <us@example.com>"
password = {{ env = "A_VARIABLE_THAT_NOBODY_SET" }}

[[jobs.report.steps]]
name = "compute"
command = ["sh", "-c", "echo ran >> ran; exit 64"]
env = {{ TOKEN = {{ env = "ANOTHER_ONE" }} }}
queue = "heavy"

[channels.hook]
kind = "http"
url = "http://127.0.0.1:{port}/hook"

[[jobs.report.steps]]
name = "call"
after = []
http = {{ method = "POST", url = "http://127.0.0.1:{port}/step" }}

[[jobs.report.steps]]
name = "hook"
after = ["call"]
for_each = {{ output_of = "call" }}
[jobs.report.steps.message]
channel = "hook"
key = "hook/{{{{ row.id }}}}"
json = "{{{{ row.word }}}}"

[[jobs.report.steps]]
name = "mail"
after = ["compute"]
for_each = {{ output_of = "compute" }}
[jobs.report.steps.message]
channel = "mail"
key = "report/{{{{ row.id }}}}"
to = "{{{{ row.name }}}} <{{{{ row.email }}}}>"
subject = "{{{{ row.cents | int // 100 }}}}"
text = "hello"
"#
    )
}

#[test]
fn neither_database_nor_channel_nor_command_of_the_job_file_is_touched() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    server.set_nonblocking(true).unwrap();
    let site = Site::new(&job(server.local_addr().unwrap().port()));
    let mut command = site.command(&[&CALM[..], &["--format", "json"]].concat());
    let variable = site.path("of-the-variable.db");
    let output = command.env("ONEBELL_DATABASE", format!("sqlite:{}", variable.display())).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{told}");
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    // Twenty rows made up by each of two stand-ins; two runs in a row have the same, and their keys hold.
    assert!(report["messages"]["accepted"].as_u64().unwrap() >= 40, "{report:#}");
    assert!(report["prevented"]["messages"].as_u64().unwrap() >= 40, "{report:#}");
    assert!(server.accept().is_err(), "nobody called the user's servers");
    for name in ["own.db", "onebell.db", "of-the-variable.db", "ran"] {
        assert!(!site.path(name).exists(), "{name}");
    }
    assert_eq!(site.leftovers().len(), 0);
}

#[test]
fn commands_run_as_they_are_only_with_real_steps() {
    let jobs = "[jobs.mark]\nschedule = \"0 3 * * *\"\nfrom = 2099-01-01\ncommand = [\"sh\", \"-c\", \"echo $WORD $PWD >> ran\"]\nenv = { WORD = \"here\" }\n";
    let site = Site::new(jobs);
    site.json(0, &CALM);
    assert!(!site.path("ran").exists());
    let report = site.json(0, &[&CALM[..], &["--real-steps"]].concat());
    let ran = site.read("ran");
    assert_eq!(ran.lines().count() as u64, report["runs"].as_u64().unwrap());
    assert!(ran.starts_with("here /"), "{ran}");
}

#[test]
fn rows_of_the_users_own_go_through_the_stand_in() {
    let site = Site::new(&job(9));
    std::fs::write(site.path("rows.ndjson"), "{\"id\": 1, \"name\": \"A\", \"email\": \"a@example.com\", \"cents\": 100}\n")
        .unwrap();
    let report = site.json(0, &[&CALM[..], &["--rows", "compute=rows.ndjson"]].concat());
    let accepted = report["messages"]["accepted"].as_u64().unwrap();
    assert_eq!(accepted % 20, 1, "one mail in all runs, beside webhooks of made-up rows: {report:#}");
}
