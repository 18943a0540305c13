//! `http`: one request, and what its answer means.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use onebell::handler::{Handler, Outcome, StopReason};
use onebell::model::StepDefinition;
use onebell::time::{ManualTimer, SystemTimer, Timer};
use onebell_cli::mailbox::Hold;
use onebell_cli::receiver::{Act, Behaviour, Phase, Receiver};
use onebell_cli::secret::SecretRef;
use onebell_cli::steps::spec::{Body, HttpStep};
use onebell_cli::steps::{HttpHandler, HttpSettings};
use tokio::sync::Notify;

use crate::fake::{Fake, attempt, done, failed, retried};

async fn receiver(behaviour: Behaviour) -> Receiver {
    let behaviour = Behaviour { keep_body: true, ..behaviour };
    Receiver::start(([127, 0, 0, 1], 0), behaviour).await.expect("a port")
}

async fn at(phase: Phase, act: Act) -> Receiver {
    receiver(Behaviour::at(phase, act)).await
}

fn get(url: impl Into<String>) -> HttpStep {
    HttpStep {
        method: "GET".into(),
        url: url.into(),
        headers: BTreeMap::new(),
        body: None,
        secret: None,
        input: None,
        expect: vec![],
        retry_on: vec![],
        permanent_on: vec![],
        output: false,
        callback: false,
        ca_file: None,
        proxy: None,
        allow_hosts: None,
    }
}

fn to(receiver: &Receiver, path: &str) -> HttpStep {
    get(format!("http://{}{path}", receiver.address()))
}

fn post(receiver: &Receiver, json: &str) -> HttpStep {
    let body = Body { template: json.into(), json: true, content_type: "application/json".into() };
    HttpStep { method: "POST".into(), body: Some(body), ..to(receiver, "/close") }
}

fn definition(step: &HttpStep) -> StepDefinition {
    let mut definition = StepDefinition::new("close", "http");
    definition.after = vec!["compute".into()];
    definition.spec = serde_json::to_string(step).expect("JSON");
    definition
}

fn handler(timer: Arc<dyn Timer>) -> HttpHandler {
    HttpHandler::new(HttpSettings { folder: PathBuf::new(), timer, secrets: vec!["hunter2".into()], callback_url: None })
}

async fn run_with(step: HttpStep, store: Fake) -> Outcome {
    let attempt = attempt(&definition(&step), &Arc::new(store));
    handler(Arc::new(SystemTimer)).run(attempt.context).await
}

async fn run(step: HttpStep) -> Outcome {
    run_with(step, Fake::default()).await
}

async fn answered(act: Act, adjust: impl FnOnce(HttpStep) -> HttpStep) -> Outcome {
    let receiver = at(Phase::Request, act).await;
    run(adjust(to(&receiver, "/x"))).await
}

#[tokio::test]
async fn a_request_carries_what_the_templates_say_and_the_key_of_the_step() {
    let receiver = receiver(Behaviour::default()).await;
    let step = HttpStep {
        url: format!("http://{}/runs/{{{{ run.scheduled_for }}}}?limit={{{{ run.input.limit }}}}", receiver.address()),
        headers: BTreeMap::from([("X-Job".to_owned(), SecretRef::Text("{{ job }}/{{ step }}".into()))]),
        ..post(&receiver, r#"{"first": {{ rows[0].name }}, "all": {{ rows }}}"#)
    };
    let rows = r#"[{"name":"An \"A\"","cents":1.50},{"name":"Bình","cents":2}]"#;
    let done = done(run_with(step, Fake::rows("compute", rows)).await);
    assert_eq!((done.output.summary.as_str(), done.output.stdout.as_slice()), ("200 OK", &b"{\"ok\":true}"[..]));
    assert_eq!(done.output.rows, None, "nobody asked for rows");
    let records = receiver.records();
    let record = &records[0];
    assert_eq!((record.method.as_str(), record.target.as_str()), ("POST", "/runs/2026-11-29T19%3A00%3A00Z?limit=10"));
    assert_eq!((record.key.as_str(), record.attempt), ("j-20261129T190000Z.close", 3));
    assert_eq!((record.header("x-job"), record.header("content-type")), (Some("j/close"), Some("application/json")));
    let body: serde_json::Value = serde_json::from_slice(record.body.as_deref().expect("a body")).expect("JSON");
    assert_eq!(
        body,
        serde_json::json!({"first": "An \"A\"", "all": [{"name": "An \"A\"", "cents": 1.5}, {"name": "Bình", "cents": 2}]})
    );
}

#[tokio::test]
async fn an_answer_is_done_again_or_never_and_the_job_file_may_say_otherwise() {
    for status in [200, 202, 204] {
        done(answered(Act::status(status), |step| step).await);
    }
    for status in [408, 425, 429, 500, 502, 503, 504] {
        assert!(retried(answered(Act::status(status), |step| step).await).starts_with(&status.to_string()));
    }
    for status in [301, 304, 400, 401, 404, 409, 422] {
        assert!(failed(answered(Act::status(status), |step| step).await).starts_with(&status.to_string()));
    }
    let of = |list: &[u16]| list.to_vec();
    done(answered(Act::status(404), |step| HttpStep { expect: of(&[200, 404]), ..step }).await);
    failed(answered(Act::status(204), |step| HttpStep { expect: of(&[200]), ..step }).await);
    retried(answered(Act::status(409), |step| HttpStep { retry_on: of(&[409]), ..step }).await);
    failed(answered(Act::status(500), |step| HttpStep { permanent_on: of(&[500]), ..step }).await);
}

#[tokio::test]
async fn a_service_that_names_a_time_is_left_alone_until_then() {
    let outcome = answered(Act::status_with(503, "Retry-After", "42"), |step| step).await;
    let Outcome::Retry { after, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(after, Some(Duration::from_secs(42)));
}

#[tokio::test]
async fn a_connection_that_breaks_is_tried_again_and_the_error_says_whether_it_may_have_been_done() {
    for act in [Act::Reset, Act::Close, Act::Raw(b"garbage\r\n\r\n".to_vec())] {
        let receiver = at(Phase::Done, act).await;
        assert!(retried(run(to(&receiver, "/x")).await).contains("may have been done"));
    }
    let gone = receiver(Behaviour::default()).await.address();
    assert!(retried(run(get(format!("http://{gone}/"))).await).starts_with("nothing was sent"));
}

#[tokio::test]
async fn rows_come_as_an_array_as_lines_or_as_one_object_with_their_spelling() {
    for (body, rows) in [
        ("[{\"a\":1.50},\n {\"a\":2}]", Some("[{\"a\":1.50},{\"a\":2}]")),
        ("{\"a\":1.50}\n{\"a\":2}\n", Some("[{\"a\":1.50},{\"a\":2}]")),
        ("{\n  \"a\": 1.50\n}", Some("[{\n  \"a\": 1.50\n}]")),
        ("[]", Some("[]")),
        ("", None),
    ] {
        let answer = Act::Answer { status: 200, headers: vec![], body: body.into() };
        let done = done(answered(answer, |step| HttpStep { output: true, ..step }).await);
        assert_eq!(done.output.rows.as_deref(), rows, "{body}");
    }
    for (body, says) in [("<html>", "line 1"), ("[1]", "row 1"), ("{\"a\":1,\"a\":2}", "twice")] {
        let answer = Act::Answer { status: 200, headers: vec![], body: body.into() };
        assert!(failed(answered(answer, |step| HttpStep { output: true, ..step }).await).contains(says), "{body}");
    }
}

#[tokio::test]
async fn i10_an_answer_that_is_too_long_or_breaks_off_becomes_no_rows() {
    let long = format!("[{{\"a\":\"{}\"}}]", "x".repeat(17 << 20));
    let answer = Act::Answer { status: 200, headers: vec![], body: long };
    assert!(failed(answered(answer, |step| HttpStep { output: true, ..step }).await).contains("longer than 16777216"));
    let half = Act::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[{\"a\":1}".to_vec());
    assert!(retried(answered(half.clone(), |step| HttpStep { output: true, ..step }).await).contains("broke off"));
    done(answered(half, |step| step).await);
    let long = Act::Answer { status: 200, headers: vec![], body: "x".repeat(1 << 20) };
    assert_eq!(done(answered(long, |step| step).await).output.stdout.len(), 64 * 1024);
}

#[tokio::test]
async fn no_secret_goes_out_in_the_clear_when_a_template_made_the_scheme() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("token"), "s3cret-token").expect("a file");
    let step = HttpStep {
        headers: BTreeMap::from([("Authorization".to_owned(), SecretRef::File(folder.path().join("token")))]),
        allow_hosts: Some(vec!["192.0.2.1".into()]),
        ..get("{{ 'http' }}://192.0.2.1/{{ job }}")
    };
    assert!(failed(run(step).await).contains("in the clear; make it an https:// address; nothing was sent"));
}

#[tokio::test]
async fn secrets_go_out_and_never_come_back_into_what_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("token"), "Bearer s3cret-token\n").expect("a file");
    let echo = Act::Answer { status: 200, headers: vec![], body: "hello Bearer s3cret-token and hunter2".into() };
    let receiver = at(Phase::Done, echo).await;
    let token = SecretRef::File(folder.path().join("token"));
    let step = HttpStep { headers: BTreeMap::from([("Authorization".to_owned(), token.clone())]), ..to(&receiver, "/x") };
    assert_eq!(done(run(step.clone()).await).output.stdout, b"hello *** and ***");
    assert_eq!(receiver.records()[0].header("authorization"), Some("Bearer s3cret-token"));
    drop(folder);
    assert!(retried(run(step).await).contains("has to be on every replica"));
}

#[tokio::test]
async fn a_signed_request_is_signed_over_the_keys_own_id() {
    let receiver = receiver(Behaviour::default()).await;
    let secret = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
    let step = HttpStep { secret: Some(SecretRef::Text(secret.into())), ..post(&receiver, "{}") };
    done(run(step).await);
    let records = receiver.records();
    let header = |name| records[0].header(name).expect("signed").to_owned();
    let timestamp: i64 = header("webhook-timestamp").parse().expect("seconds");
    let signer = onebell_cli::http::Signer::new(secret).expect("a secret");
    assert_eq!(header("webhook-id"), onebell_cli::http::webhook_id("j-20261129T190000Z.close"));
    assert_eq!(header("webhook-signature"), signer.sign(&header("webhook-id"), timestamp, b"{}"));
}

#[tokio::test]
async fn what_cannot_be_made_ready_fails_for_good_and_nothing_is_sent() {
    let receiver = receiver(Behaviour::default()).await;
    let wrong = async |step: HttpStep| failed(run(step).await);
    assert!(wrong(post(&receiver, "{\"a\": \"{{ run.id }}\"}")).await.contains("is not JSON"));
    assert!(wrong(post(&receiver, "{{ rows }}")).await.contains("rows does not exist"));
    let listed = HttpStep { allow_hosts: Some(vec!["api.example.com".into()]), ..to(&receiver, "/") };
    assert!(wrong(listed).await.contains("allow_hosts"));
    let secret = HttpStep { secret: Some(SecretRef::Text("whsec_!".into())), ..to(&receiver, "/") };
    assert!(wrong(secret).await.contains("base64"));
    assert_eq!(receiver.records(), []);
}

#[tokio::test]
async fn a_request_ends_with_its_claim() {
    let silent = || at(Phase::Done, Act::Hold(Hold::Until(Arc::new(Notify::new()))));
    let receiver = silent().await;
    let mut events = receiver.events();
    let started = attempt(&definition(&to(&receiver, "/x")), &Arc::new(Fake::default()));
    let timer = ManualTimer::default();
    let work = tokio::spawn({
        let (handler, context) = (handler(Arc::new(timer.clone())), started.context.clone());
        async move { handler.run(context).await }
    });
    while events.recv().await.expect("a phase").phase != Phase::Done {}
    timer.advance(started.context.step().timeout);
    assert!(retried(work.await.expect("an outcome")).contains("too long"));

    let receiver = silent().await;
    let mut events = receiver.events();
    let started = attempt(&definition(&to(&receiver, "/x")), &Arc::new(Fake::default()));
    let handler = handler(Arc::new(SystemTimer));
    let work = tokio::spawn({
        let context = started.context.clone();
        async move { handler.run(context).await }
    });
    while events.recv().await.expect("a phase").phase != Phase::Done {}
    started.stopper.stop(StopReason::Cancelled);
    assert!(matches!(work.await.expect("an outcome"), Outcome::Stopped { .. }));
}
