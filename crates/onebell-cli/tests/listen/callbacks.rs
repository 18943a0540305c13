//! A service that takes a request and calls back, to real replicas: whoever holds the step goes by what it said, once.

use onebell::time::host_now;
use onebell_cli::http::Signer;
use onebell_cli::receiver::{Act, Behaviour, Phase, Receiver};
use rustix::process::Signal;

use super::site::{Listening, Site};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// Takes every request with 202.
async fn service() -> Receiver {
    let behaviour = Behaviour { keep_body: true, ..Behaviour::at(Phase::Done, Act::status(202)) };
    Receiver::start(([127, 0, 0, 1], 0), behaviour).await.unwrap()
}

fn jobs(service: &Receiver) -> String {
    let url = format!("http://{}/close", service.address());
    format!(
        r#"
[replica]
lease = "1s"
callback_url = "https://jobs.example.com/onebell"

[jobs.close]
[[jobs.close.steps]]
name = "ask"
timeout = "60s"
[jobs.close.steps.http]
url = "{url}"
json = '{{"answer_to": {{{{ callback }}}}}}'
secret = {{ file = "secret" }}
callback = true
output = true
[[jobs.close.steps]]
name = "use"
shell = true
command = "cat $ONEBELL_INPUT"
"#
    )
}

/// The path below the replica of the address that the service was told.
async fn address(site: &Site, service: &Receiver) -> String {
    site.until("it is asked", || !service.records().is_empty()).await;
    let url = service.records()[0].header("onebell-callback").unwrap().to_owned();
    url.strip_prefix("https://jobs.example.com/onebell").unwrap().to_owned()
}

fn signed(secret: &str, id: &str, body: &str) -> Vec<(&'static str, String)> {
    let now = host_now().micros() / 1_000_000;
    let signature = Signer::new(secret).unwrap().sign(id, now, body.as_bytes());
    vec![("webhook-id", id.to_owned()), ("webhook-timestamp", now.to_string()), ("webhook-signature", signature)]
}

fn calls(replica: &Listening, path: &str, id: &str, body: &str) -> u16 {
    replica.send(path, &signed(SECRET, id, body), body).0
}

const DONE: &str = r#"{"status": "succeeded", "rows": [{"cents": 1.50}]}"#;

async fn begun(version: Option<u32>) -> (Receiver, Site, String, Listening) {
    let service = service().await;
    let site = Site::new(version, &jobs(&service)).await;
    std::fs::write(site.path("secret"), SECRET).unwrap();
    let replica = site.listening();
    replica.until(&site, "/readyz", 200).await;
    let run = site.typed(&["trigger", "close"], 0).split_whitespace().find(|word| word.starts_with("close-")).unwrap().to_owned();
    (service, site, run, replica)
}

async fn succeeds(site: &Site, run: &str) {
    site.until("the run is over", || site.typed(&["show", run], 0).contains("succeeded")).await;
}

async fn an_answer_that_comes_later_settles_the_step_once(version: Option<u32>) {
    let (service, site, run, replica) = begun(version).await;
    let path = address(&site, &service).await;
    assert_eq!(calls(&replica, &path, "m1", DONE), 200);
    assert_eq!(calls(&replica, &path, "m1", DONE), 200, "the same again");
    assert_eq!(calls(&replica, &path, "m2", r#"{"status": "failed"}"#) / 100, 4, "another word: a conflict, or it is over");
    site.until("the rows came on", || site.typed(&["logs", &run, "--step", "use"], 0).contains("1.50")).await;
    succeeds(&site, &run).await;
    assert_eq!((calls(&replica, &path, "m1", DONE), calls(&replica, &path, "m3", DONE)), (200, 410));
    assert_eq!(service.records().len(), 1);
}

/// Whoever waits is killed; the answer comes to somebody else, and nobody asks the service again.
async fn i8_an_answer_outlives_the_replica_that_waited_for_it(version: Option<u32>) {
    let (service, site, run, replica) = begun(version).await;
    let path = address(&site, &service).await;
    replica.signal(Signal::STOP);
    let only_the_desk = site.listening_as(&["--roles", "supervisor"]);
    only_the_desk.until(&site, "/readyz", 200).await;
    assert_eq!(calls(&only_the_desk, &path, "m1", DONE), 200);
    replica.signal(Signal::KILL);
    let other = site.listening();
    other.until(&site, "/readyz", 200).await;
    succeeds(&site, &run).await;
    assert_eq!(service.records().len(), 1, "the second attempt found what was said to the first");
}

mod on {
    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn sqlite_an_answer_that_comes_later_settles_the_step_once() {
        an_answer_that_comes_later_settles_the_step_once(None).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn postgres_15_an_answer_that_comes_later_settles_the_step_once() {
        an_answer_that_comes_later_settles_the_step_once(Some(15)).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn postgres_18_an_answer_that_comes_later_settles_the_step_once() {
        an_answer_that_comes_later_settles_the_step_once(Some(18)).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn sqlite_i8_an_answer_outlives_the_replica_that_waited_for_it() {
        i8_an_answer_outlives_the_replica_that_waited_for_it(None).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn postgres_15_i8_an_answer_outlives_the_replica_that_waited_for_it() {
        i8_an_answer_outlives_the_replica_that_waited_for_it(Some(15)).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn postgres_18_i8_an_answer_outlives_the_replica_that_waited_for_it() {
        i8_an_answer_outlives_the_replica_that_waited_for_it(Some(18)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn k15_02_nobody_else_is_heard() {
    let (service, site, run, replica) = begun(None).await;
    let path = address(&site, &service).await;
    let said = |status: u16, sent: (u16, String), words: &str| {
        assert!(sent.0 == status && sent.1.contains(words), "{status} {words}: {sent:?}");
    };
    for other in ["GET", "PUT", "DELETE", "HEAD"] {
        assert_eq!(replica.ask(other, &path).0, 405, "{other}");
    }
    let (place, proof) = path.rsplit_once('/').unwrap();
    let wrong_proof = format!("{place}/{}", proof.chars().rev().collect::<String>());
    let other_step = format!("{}/{proof}", place.replace(".ask", ".use"));
    for path in
        [&wrong_proof, &other_step, "/callbacks/x/00", "/callbacks/..%2f..%2fetc%2fpasswd/00", "/callbacks/", "/callbacks"]
    {
        said(404, replica.send(path, &signed(SECRET, "m1", DONE), DONE), "");
    }
    said(401, replica.send(&path, &[], DONE), "webhook-id: name this callback");
    said(401, replica.send(&path, &signed("another", "m1", DONE), DONE), "webhook-signature: ");
    said(401, replica.send(&path, &signed(SECRET, "m1", DONE), r#"{"status": "failed"}"#), "webhook-signature: ");
    let mut old = signed(SECRET, "m1", DONE);
    old[1].1 = "1600000000".to_owned();
    said(401, replica.send(&path, &old, DONE), "webhook-timestamp: it is ");
    let mut renamed = signed(SECRET, "m1", DONE);
    renamed[0].1 = "m2".to_owned();
    said(401, replica.send(&path, &renamed, DONE), "webhook-signature: ");
    for (body, words) in [("", "not JSON"), ("{}", "status: send"), (r#"{"status": "succeeded"}"#, "rows: they are the step's")] {
        said(400, replica.send(&path, &signed(SECRET, "m1", body), body), words);
    }
    let told = format!(r#"{{"status": "failed", "error": "wrong secret: {SECRET}"}}"#);
    said(400, replica.send(&path, &signed(SECRET, "m1", &told), &told), "it holds the step's secret");
    let long = " ".repeat(17 << 20);
    assert_eq!(calls(&replica, &path, "m1", &long), 413);
    assert_eq!(replica.get("/healthz").0, 200);
    assert!(site.typed(&["show", &run], 0).contains("running"), "nothing of it was heard");
    assert_eq!(calls(&replica, &path, "m1", DONE), 200);
    succeeds(&site, &run).await;
}
