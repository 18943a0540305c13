//! A secret is nowhere but where it is needed, however it got away: as it is, in base64, percent-encoded, escaped, in pieces.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};

use onebell_cli::receiver::{Act, Behaviour, Phase, Receiver};

use crate::site::{Place, Site};

const SECRET: &str = "s3cr3t-ß-123";
/// What no store, log or argument may hold: the value, its base64 behind any other text, and what an URL and JSON make of it.
const FORMS: [&str; 7] = ["3cr3t-", SECRET, "NjcjN0LcOfLTEy", "Y3IzdC3Dny0xM", "NyM3Qtw58tMTI", "%C3%9F-123", "\\u00df-123"];

fn jobs(mirror: &Receiver, mail: u16) -> String {
    let mirror = mirror.address();
    format!(
        r#"
[channels.ops]
kind = "http"
url = {{ file = "ops-url" }}

[channels.hook]
kind = "http"
url = "http://{mirror}/hook"
secret = {{ env = "SECRET" }}
headers = {{ Authorization = {{ env = "SECRET", prefix = "Bearer " }} }}

[channels.mail]
kind = "smtp"
host = "127.0.0.1"
port = {mail}
from = "ob@example.com"
username = "billing"
password = {{ file = "password" }}

[defaults]
notify = {{ channel = "ops", on = ["failed", "parked"] }}
retry = {{ attempts = 1 }}

[jobs.echo]
command = ["./echo.sh"]
env = {{ TOKEN = {{ env = "SECRET" }} }}

[jobs.capped]
command = ["./echo.sh"]
env = {{ TOKEN = {{ env = "SECRET" }} }}
output_cap = 300

[jobs.rows]
shell = true
command = '''printf '{{"a":"%s"}}' "$TOKEN" > $ONEBELL_OUTPUT'''
env = {{ TOKEN = {{ env = "SECRET" }} }}

[jobs.asked]
http = {{ url = "http://{mirror}/", headers = {{ Authorization = {{ env = "BEARER" }} }} }}

[jobs.answered]
http = {{ url = "http://{mirror}/", headers = {{ Authorization = {{ env = "SECRET", prefix = "Bearer " }} }}, expect = [422], output = true }}

[jobs.post]
message = {{ channel = "hook", key = "k", body = "b" }}
on_message_failed = "fail"

[jobs.letter]
message = {{ channel = "mail", key = "l", to = "a@example.com", subject = "s", text = "t" }}
on_message_failed = "fail"

[jobs.fed]
apply = {{ command = ["./echo.sh"], format = "ndjson", scope = "s", id = "id" }}

[jobs.waits]
shell = true
command = "touch waiting; while [ ! -e go ]; do sleep 0.05; done"
env = {{ TOKEN = {{ env = "SECRET" }} }}
"#
    )
}

/// In two writes, to both streams, and as programs encode it; more than a small cap holds, on both sides of each.
const ECHO: &str = r#"#!/bin/bash
S=s3cr3t-ß-123
said() {
  printf 's3cr'; sleep 0.1; printf '3t-ß-123\n'
  printf %s "$S" | base64; printf 'billing:%s' "$S" | base64; printf '\0billing\0%s' "$S" | base64 | tr '+/' '-_'
  echo "https://h/?a=s3cr3t-%C3%9F-123&b=%733cr3t-%c3%9f-123" '{"a":"s3cr3t-\u00df-123"}'
  for n in {1..40}; do printf '%s' "x$S"; done
}
said; said >&2
printf 'failed with %s%195s%s' "$S" ' ' "$S" >&2
exit 65
"#;

/// An answer that repeats what it was asked with: rows, and longer than what is told of one.
fn mirroring() -> Behaviour {
    let body = format!(
        "[{{\"a\":\"{SECRET} czNjcjN0LcOfLTEyMw== s3cr3t-\\u00df-123 /?s3cr3t-%C3%9F-123 {}{SECRET}\"}}]",
        "x".repeat(90)
    );
    Behaviour::hooked(move |event| match event.phase {
        Phase::Request => Act::Answer { status: 422, headers: Vec::new(), body: body.clone() },
        _ => Act::Continue,
    })
}

/// A mail server that repeats what it heard to whoever asks.
fn mail_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| drop(std::thread::spawn(move || answer(stream)))));
    port
}

fn answer(mut stream: TcpStream) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut say = |words: &str| drop(stream.write_all(format!("{words}\r\n").as_bytes()));
    say("220 mirror");
    while let Some(Ok(line)) = lines.next() {
        match line.split(' ').next().unwrap() {
            "EHLO" => say("250-mirror\r\n250 AUTH PLAIN"),
            "AUTH" => say("235 welcome"),
            "DATA" => say("354 go on"),
            "." => say(&format!("550 5.7.1 no, billing with {SECRET} AGJpbGxpbmcAczNjcjN0LcOfLTEyMw==")),
            "MAIL" | "RCPT" => say("250 ok"),
            _ => {}
        }
    }
}

/// Every file below, as bytes.
fn files(folder: &std::path::Path) -> Vec<(String, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(
            |path| if path.is_dir() { files(&path) } else { vec![(path.display().to_string(), std::fs::read(&path).unwrap())] },
        )
        .collect()
}

#[track_caller]
fn clean(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for form in FORMS {
        let at = text.find(form);
        let around = at.map(|at| text.char_indices().filter(|(i, _)| i.abs_diff(at) < 200).map(|(_, c)| c).collect::<String>());
        assert!(at.is_none(), "{what} holds {form}: {around:?}");
    }
}

/// Arguments of every process of the host, as `ps` shows them.
fn arguments() -> Vec<u8> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok()).collect::<Vec<_>>().concat()
}

#[tokio::test(flavor = "multi_thread")]
async fn k15_05_a_secret_is_in_no_row_log_or_error() {
    let keeping = Behaviour { keep_body: true, ..Behaviour::default() };
    let alarms = Receiver::start(([127, 0, 0, 1], 0), keeping).await.unwrap();
    let mirror = Receiver::start(([127, 0, 0, 1], 0), mirroring()).await.unwrap();
    let site = Site::new(Place::Sqlite, &jobs(&mirror, mail_server())).await;
    site.write("echo.sh", ECHO);
    site.write("password", format!("{SECRET}\n"));
    site.write("ops-url", format!("http://{}/s3cr3t-hook\n", alarms.address()));
    let bearer = format!("Bearer {SECRET}");
    let env = [("SECRET", SECRET), ("BEARER", &bearer), ("ONEBELL_LOG", "trace")];
    let replica = site.replica_with("a", &["-vv"], &env);
    site.until("the jobs are known", || site.onebell(&["jobs"]).out().contains("waits"));
    let trigger = |job: &str| {
        let typed = site.onebell(&["trigger", job, "--key", job, "--format", "json"]).ended(0);
        typed.json()["run"].as_str().unwrap().to_owned()
    };
    let waiting = trigger("waits");
    site.until("it works", || site.path("waiting").exists());
    clean("ps", &arguments());
    site.write("go", "");
    let jobs = ["echo", "capped", "rows", "asked", "answered", "fed", "post", "letter"];
    let runs: Vec<String> = jobs.iter().map(|job| trigger(job)).collect();
    for (job, run) in jobs.iter().zip(&runs) {
        let mut told = String::new();
        site.until(&format!("{job} is over"), || {
            let shown = site.onebell(&["show", run, "--format", "json"]).ended(0).json();
            told = shown.to_string() + &site.onebell(&["outbox", "list", "--run", run]).ended(0).out();
            ["failed", "parked", "held"].contains(&shown["run"]["status"].as_str().unwrap())
        });
        assert!(told.contains("***") || ["rows", "answered"].contains(job), "{job} quotes what it heard: {told}");
    }
    site.until_status(&waiting, "succeeded");
    site.onebell(&["show", &runs[2]]).ended(0).says(&["its rows hold the value of a secret", "leave it out of them"]);
    site.until("all alarms are out", || alarms.records().len() == jobs.len());
    assert!(replica.stop().success());

    for run in &runs {
        for typed in [&["show", run][..], &["logs", run], &["show", run, "--format", "json"], &["logs", run, "--format", "json"]]
        {
            clean(&typed.join(" "), &site.onebell(typed).ended(0).stdout);
        }
    }
    let messages = site.onebell(&["outbox", "list", "--format", "json"]).ended(0);
    clean("outbox list", &messages.stdout);
    for message in messages.json()["messages"].as_array().unwrap() {
        clean("outbox show", &site.onebell(&["outbox", "show", message["key"].as_str().unwrap()]).ended(0).stdout);
    }
    for record in alarms.records() {
        clean("an alarm", &record.body.unwrap());
    }
    let is_theirs = |name: &str| ["echo.sh", "password", "ops-url"].iter().any(|own| name.ends_with(own));
    let kept: Vec<_> = files(site.folder()).into_iter().filter(|(name, _)| !is_theirs(name)).collect();
    assert!(kept.iter().any(|(name, bytes)| name.ends_with("a.log") && !bytes.is_empty()), "the log was looked through");
    for (name, bytes) in kept {
        clean(&name, &bytes);
    }
}

/// Whoever knows such an address may send to it.
#[tokio::test(flavor = "multi_thread")]
async fn k15_05_of_an_address_that_is_a_secret_only_the_host_is_shown() {
    let message =
        "retry = { attempts = 1 }\nmessage = { channel = \"chat\", key = \"{{ run.id }}\", json = '{\"text\": \"hi\"}' }\n";
    let token = "headers = { Authorization = { file = \"token\", prefix = \"Bearer \" } }";
    let jobs = format!("[channels.chat]\nkind = \"http\"\nurl = {{ file = \"chat-url\" }}\n{token}\n[jobs.say]\n{message}");
    let site = Site::new(Place::Sqlite, &jobs).await;
    site.write("token", "s3cr3t-token\n");
    let idle = ["run", "--until-idle"];
    site.onebell(&idle).ended(2).complains(&["channel \"chat\": url", "chat-url"]);
    site.write("chat-url", "ftp://example.com/s3cr3t-hook\n");
    let told = site.onebell(&idle).ended(2).complains(&["channel \"chat\": url", "https://"]);
    clean("run", told.stderr.as_bytes());
    site.write("chat-url", "http://127.0.0.1:1/s3cr3t-hook?token=s3cr3t-token\n");
    site.run_once("say", "k");
    let listed = site.onebell(&["outbox", "list", "--format", "json"]).ended(0);
    clean("outbox list", &listed.stdout);
    assert!(listed.out().contains("no connection to http://127.0.0.1:1/…"), "{}", listed.out());
    let receiver = Receiver::start(([127, 0, 0, 1], 0), Behaviour::default()).await.unwrap();
    site.write("chat-url", format!("http://{}/s3cr3t-hook", receiver.address()));
    let key = listed.json()["messages"][0]["key"].as_str().unwrap().to_owned();
    site.onebell(&["outbox", "resolve", &key, "--as", "resend"]).ended(0);
    site.until_idle();
    let [sent] = receiver.records().try_into().unwrap();
    assert!(sent.headers.contains(&("authorization".to_owned(), "Bearer s3cr3t-token".to_owned())), "{:?}", sent.headers);
}

/// Also where the database cannot be had, and every error speaks of it.
#[tokio::test(flavor = "multi_thread")]
async fn k15_05_the_password_of_the_database_is_in_no_error_log_or_output() {
    let jobs = "[jobs.work]\nschedule = \"* * * * *\"\ncommand = [\"true\"]\n";
    for address in ["127.0.0.1:1/db", "127.0.0.1:port/db", "[::1/db", "no such host/db", "127.0.0.1:1/db?sslmode=nonsense"] {
        let site = Site::on_url(format!("postgres://user:s3cr3t-%C3%9F-123@{address}"), jobs);
        let trace = |typed: &[&str]| {
            let mut command = site.command(typed);
            command.env("ONEBELL_LOG", "trace");
            let answer = site.answer(command);
            clean(&typed.join(" "), &[&answer.stdout, answer.stderr.as_bytes()].concat());
            answer
        };
        for typed in [&["status"][..], &["check"], &["doctor"], &["migrate"], &["once", "--key", "k", "--", "true"]] {
            trace(typed);
        }
        // The command is run all the same, and what it prints is its caller's.
        drop(site.onebell(&["once", "--key", "k", "--if-unavailable", "run", "--", "true"]));
    }
    let site = Site::on_url("postgres://user:s3cr3t-%C3%9F-123@127.0.0.1:1/db".to_owned(), jobs);
    let mut replica = site.replica_with("a", &["-vv"], &[("ONEBELL_LOG", "trace")]);
    site.until("it waits", || site.read("a.log").contains("waiting for it"));
    assert!(replica.ended().is_none());
    clean("ps", &arguments());
    clean("the log", site.read("a.log").as_bytes());
}
