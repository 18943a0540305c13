//! Sources that cannot be read from the middle: an address, a command's output, a query. What breaks off is never taken for the end.

use std::path::Path;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::site::{Answer, Place, Site};

super::everywhere!(
    an_address_a_command_and_a_query_are_applied_and_applied_again_add_nothing,
    of_a_source_that_breaks_off_the_whole_chunks_are_applied_and_the_rest_is_left_to_the_next_time,
    steps_try_a_source_again_that_is_away_and_none_that_says_no,
);

const EVENTS: &str = "event_id,amount_cents\nE1,100\nE2,200\nE3,300\nE4,400\nE5,500\n";
const PAYMENTS: [&str; 6] = ["--scope", "payments", "--id", "event_id", "--amount", "amount_cents"];

/// Answers each connection with the next of these, the last one for ever.
struct Web {
    address: std::net::SocketAddr,
    _serving: tokio::task::JoinHandle<()>,
}

impl Web {
    async fn answering(answers: Vec<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let serving = tokio::spawn(async move {
            for answer in answers.iter().chain(std::iter::repeat(answers.last().unwrap())) {
                let (mut stream, _) = listener.accept().await.unwrap();
                let (mut head, mut byte) = (Vec::new(), [0]);
                while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).await.unwrap() == 1 {
                    head.push(byte[0]);
                }
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        });
        Self { address, _serving: serving }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }
}

fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// Of a body that is announced whole, only this much.
fn cut(body: &str, after: usize) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.len(), &body[..after])
}

impl Site {
    fn apply_with(&self, first: &[&str], last: &[&str]) -> Answer {
        self.onebell(&[&["apply", "--format", "json"], first, &PAYMENTS, last].concat())
    }

    fn counted(&self) -> (Value, Value) {
        let mut answer = self.onebell(&["effects", "--scope", "payments", "--format", "json"]).ended(0).json();
        (answer["count"].take(), answer["total"].take())
    }
}

fn applied(answer: &Value) -> (Option<u64>, Option<u64>) {
    (answer["applied"].as_u64(), answer["already"].as_u64())
}

async fn an_address_a_command_and_a_query_are_applied_and_applied_again_add_nothing(place: Place) {
    let site = Site::new(place, "").await;
    site.onebell(&["migrate"]).ended(0);
    let web = Web::answering(vec![answer("200 OK", EVENTS)]).await;
    let address = web.url("events.csv?token=s3cret");
    site.sql("CREATE TABLE orders (event_id text PRIMARY KEY, amount_cents bigint NOT NULL)").await;
    site.sql("INSERT INTO orders VALUES ('E5', 500), ('E6', 9007199254740993)").await;
    site.write("events.csv", EVENTS.replace("E1,100", "E7,7"));
    let query = "SELECT event_id, CAST(amount_cents AS text) AS amount_cents FROM orders ORDER BY event_id";
    for round in 0..2 {
        let from_address = site.apply_with(&[&address], &[]).ended(0).json();
        assert_eq!(applied(&from_address), if round == 0 { (Some(5), Some(0)) } else { (Some(0), Some(5)) });
        let from_command = site.apply_with(&["--input", "csv"], &["--", "cat", "events.csv"]).ended(0).json();
        assert_eq!(applied(&from_command), if round == 0 { (Some(1), Some(4)) } else { (Some(0), Some(5)) });
        let from_query = site.apply_with(&["--query", query], &[]).ended(0).json();
        assert_eq!(applied(&from_query), if round == 0 { (Some(1), Some(1)) } else { (Some(0), Some(2)) });
        assert_eq!(site.counted(), (json!(7), json!("9007199254742500")));
    }
    let kept = site.sql("SELECT source, settings FROM {}batches").await.concat().join(" ");
    assert!(kept.contains("/events.csv?") && !kept.contains("s3cret"), "{kept}");
    let listed = site.onebell(&["batches", "--format", "json"]).ended(0).json();
    let batch = listed["batches"][0]["id"].as_str().unwrap().to_owned();
    site.onebell(&["batches", "resume", &batch]).ended(2);
}

async fn of_a_source_that_breaks_off_the_whole_chunks_are_applied_and_the_rest_is_left_to_the_next_time(place: Place) {
    let site = Site::new(place, "").await;
    let web = Web::answering(vec![cut(EVENTS, EVENTS.len() - 1), answer("200 OK", EVENTS)]).await;
    let address = web.url("events.csv");
    let by_two = ["--chunk", "2"];
    site.apply_with(&[&address], &by_two).ended(1).complains(&["line 6", "it broke off"]);
    assert_eq!(site.counted(), (json!(4), json!("1000")), "the fifth had come, but not its chunk");
    let listed = site.onebell(&["batches", "--format", "json"]).ended(0).json();
    assert_eq!(listed["batches"][0]["status"], "pending", "{listed}");
    assert_eq!(applied(&site.apply_with(&[&address], &by_two).ended(0).json()), (Some(1), Some(4)));
    assert_eq!(site.counted(), (json!(5), json!("1500")));
    // A command that ends badly after it gave everything: for it, the end is not the end of its output.
    site.write("more.csv", EVENTS.replace('E', "F"));
    let fails = "cat more.csv; echo 'half of it is missing' >&2; exit 3";
    let command =
        |script: &str| site.apply_with(&["--input", "csv", "--chunk", "2", "--source", "shop"], &["--", "sh", "-c", script]);
    command(fails).ended(1).complains(&["exit code 3: half of it is missing"]);
    assert_eq!(site.counted().0, 9);
    command("cat more.csv; kill -9 $$").ended(1).complains(&["signal 9"]);
    assert_eq!(site.counted().0, 9);
    assert_eq!(applied(&command("cat more.csv").ended(0).json()), (Some(1), Some(4)));
}

fn steps_of(address: &str, gone: &str) -> String {
    format!(
        r#"
[defaults]
retry = {{ attempts = 5, backoff = "20ms..50ms" }}

[jobs.collect]

[[jobs.collect.steps]]
name = "address"
after = []
apply = {{ url = "{address}", scope = "payments", id = "event_id", amount = "amount_cents" }}

[[jobs.collect.steps]]
name = "command"
after = []
apply = {{ command = ["./fetch.sh"], format = "csv", scope = "payments", id = "event_id", amount = "amount_cents" }}

[[jobs.collect.steps]]
name = "query"
after = []
apply = {{ query = "SELECT event_id, amount_cents FROM orders", scope = "payments", id = "event_id", amount = "amount_cents" }}

[jobs.gone]
apply = {{ url = "{gone}", scope = "payments", id = "event_id" }}
"#
    )
}

async fn steps_try_a_source_again_that_is_away_and_none_that_says_no(place: Place) {
    let web = Web::answering(vec![answer("503 Service Unavailable", "later"), cut(EVENTS, 40), answer("200 OK", EVENTS)]).await;
    let none = Web::answering(vec![answer("404 Not Found", "never heard of it")]).await;
    let site = Site::new(place, &steps_of(&web.url("events.csv"), &none.url("events.csv"))).await;
    site.onebell(&["migrate"]).ended(0);
    site.sql("CREATE TABLE orders (event_id text PRIMARY KEY, amount_cents bigint NOT NULL)").await;
    site.sql("INSERT INTO orders VALUES ('Q1', 1), ('Q2', 2)").await;
    let fetch =
        "#!/bin/sh\nprintf 'event_id,amount_cents\\nC1,10\\n'\ntest \"$ONEBELL_ATTEMPT\" -gt 1 || exit 75\nprintf 'C2,20\\n'\n";
    site.write("fetch.sh", fetch);
    site.onebell(&["check"]).ended(0);
    let run = site.run_once("collect", "monday");
    let shown = site.onebell(&["show", &run, "--format", "json"]).ended(0).json();
    assert_eq!(shown["run"]["status"], "succeeded", "{shown:#}");
    let step = |name: &str| shown["steps"].as_array().unwrap().iter().find(|step| step["name"] == name).unwrap().clone();
    for (name, times, summary) in [
        ("address", 3, "5 applied, 0 already, 0 conflicts, 0 rejected, 0 failed"),
        ("command", 2, "2 applied, 0 already, 0 conflicts, 0 rejected, 0 failed"),
        ("query", 1, "2 applied, 0 already, 0 conflicts, 0 rejected, 0 failed"),
    ] {
        let attempts = step(name)["attempts"].as_array().unwrap().clone();
        assert_eq!((attempts.len(), &attempts.last().unwrap()["summary"]), (times, &json!(summary)), "{name}: {shown:#}");
    }
    assert_eq!(site.counted(), (json!(9), json!("1533")));
    site.run_once("collect", "tuesday");
    assert_eq!(site.counted(), (json!(9), json!("1533")), "collected again, nothing was added");
    let run = site.run_once("gone", "another monday");
    let shown = site.onebell(&["show", &run, "--format", "json"]).ended(0).json();
    let attempts = shown["steps"][0]["attempts"].as_array().unwrap();
    assert_eq!((shown["run"]["status"].as_str(), attempts.len()), (Some("failed"), 1), "{shown:#}");
    assert!(shown.to_string().contains("404 Not Found: never heard of it"), "{shown:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_gives_nothing_is_ended_with_its_step() {
    let job = "[jobs.slow]\napply = { command = [\"./slow.sh\"], format = \"csv\", scope = \"s\", id = \"id\" }\n";
    let site = Site::new(Place::Sqlite, job).await;
    site.write("slow.sh", "#!/bin/sh\necho $$ > started\nmv started pid\nexec sleep 1000\n");
    site.until_idle();
    let run = site.onebell(&["trigger", "slow", "--format", "json"]).ended(0).json()["run"].as_str().unwrap().to_owned();
    let replica = site.replica("one");
    site.until("the command runs", || site.path("pid").exists());
    site.onebell(&["cancel", &run]).ended(0);
    site.until_status(&run, "cancelled");
    let process = format!("/proc/{}", site.read("pid").trim());
    site.until("nothing of it is left", || !Path::new(&process).exists());
    assert!(replica.stop().success());
}

/// The exit code, what is typed before and after the scope, and what is said.
type Wrong<'t> = (i32, &'t [&'t str], &'t [&'t str], &'t [&'t str]);

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_asked_is_told_with_its_remedy_and_nothing_is_applied() {
    let site = Site::plain("");
    site.write("events.csv", EVENTS);
    let endless = Web::answering(vec![format!("HTTP/1.1 200 OK\r\n\r\n{EVENTS}")]).await.url("events.csv");
    let none = Web::answering(vec![answer("404 Not Found", "never heard of it")]).await.url("events.csv");
    let busy = Web::answering(vec![answer("503 Service Unavailable", "")]).await.url("events.csv");
    let moved = "HTTP/1.1 302 Found\r\nLocation: https://example.com/new.csv\r\nContent-Length: 0\r\n\r\n".to_owned();
    let moved = Web::answering(vec![moved]).await.url("events.csv");
    let unnamed = Web::answering(vec![answer("200 OK", EVENTS)]).await.url("export");
    let away = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/events.csv", listener.local_addr().unwrap())
    };
    let wrong: &[Wrong<'_>] = &[
        (2, &[&endless], &[], &["does not say how long it is", "Content-Length"]),
        (2, &[&none], &[], &["404 Not Found: never heard of it"]),
        (2, &[&moved], &[], &["302 Found to https://example.com/new.csv", "redirects are not followed"]),
        (1, &[&busy], &[], &["503 Service Unavailable"]),
        (1, &[&away], &[], &["connecting to 127.0.0.1"]),
        (2, &[&unnamed], &[], &["--input csv"]),
        (2, &["http://example.com/events.csv"], &[], &["write an https:// address"]),
        (2, &["https://u:p@example.com/events.csv"], &[], &["user or password"]),
        (2, &["--input", "csv"], &["--", "./nothing"], &["\"./nothing\" was not found"]),
        (2, &[], &["--", "cat", "events.csv"], &["--input csv"]),
        (2, &["--query", "DELETE FROM onebell_batches"], &[], &["--query"]),
        (2, &["--query", "SELECT 1 AS event_id", "--input", "csv"], &[], &["--input", "rows of a query are objects"]),
        (2, &["--query", "SELECT 1 AS event_id", "events.csv"], &[], &["--query", "cannot be used with"]),
        (2, &["events.csv"], &["--", "cat", "events.csv"], &["cannot be used with"]),
        (2, &[], &[], &["required"]),
    ];
    for (code, first, last, words) in wrong {
        let args = [&["--database", "sqlite:x.db"], *first].concat();
        site.apply_with(&args, last).ended(*code).complains(words);
    }
    let counted = site.onebell(&["effects", "--database", "sqlite:x.db", "--scope", "payments", "--format", "json"]).ended(0);
    assert_eq!(counted.json()["count"], 0);
}
