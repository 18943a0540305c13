//! A request that is answered `202`: what came of it is said later.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onebell::handler::{Handler, Outcome, StopReason};
use onebell::model::StepDefinition;
use onebell::time::SystemTimer;
use onebell_cli::callback::Address;
use onebell_cli::http::Signer;
use onebell_cli::receiver::{Act, Behaviour, Phase, Receiver};
use onebell_cli::secret::SecretRef;
use onebell_cli::steps::spec::{Body, HttpStep};
use onebell_cli::steps::{HttpHandler, HttpSettings};

use crate::fake::{Attempt, Fake, attempt, done, failed, retried};

const SECRET: &str = "hunter22";

async fn taking(status: u16) -> Receiver {
    let behaviour = Behaviour { keep_body: true, ..Behaviour::at(Phase::Done, Act::status(status)) };
    Receiver::start(([127, 0, 0, 1], 0), behaviour).await.expect("a port")
}

fn step(receiver: &Receiver) -> HttpStep {
    let body = Body { template: r#"{"to": {{ callback }}}"#.into(), json: true, content_type: "application/json".into() };
    let text = format!(r#"{{"method": "POST", "url": "http://{}/close"}}"#, receiver.address());
    let alone: HttpStep = serde_json::from_str(&text).expect("a step");
    HttpStep { body: Some(body), secret: Some(SecretRef::Text(SECRET.into())), callback: true, ..alone }
}

fn saying(body: &str) -> Fake {
    Fake { callback: Mutex::new(Some(body.to_owned())), ..Fake::default() }
}

fn begun(step: &HttpStep, store: Fake, timeout: Duration) -> (HttpHandler, Attempt) {
    let mut definition = StepDefinition::new("close", "http");
    definition.spec = serde_json::to_string(step).expect("JSON");
    definition.timeout = timeout;
    let callback_url = Some("https://jobs.example.com".to_owned());
    let settings = HttpSettings { folder: PathBuf::new(), timer: Arc::new(SystemTimer), secrets: Vec::new(), callback_url };
    (HttpHandler::new(settings), attempt(&definition, &Arc::new(store)))
}

async fn run(step: &HttpStep, store: Fake, timeout: Duration) -> Outcome {
    let (handler, attempt) = begun(step, store, timeout);
    handler.run(attempt.context).await
}

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn the_request_names_where_to_call_back_the_same_on_every_attempt() {
    let receiver = taking(200).await;
    done(run(&step(&receiver), Fake::default(), LONG).await);
    let record = &receiver.records()[0];
    let url = record.header("onebell-callback").expect("an address");
    let address = Address::read(url.strip_prefix("https://jobs.example.com").expect("below it")).expect("an address");
    assert!(address.is_proven(&Signer::new(SECRET).expect("a secret")));
    assert_eq!(address.step.as_str(), record.key, "no word of the attempt: its key must not come with another request");
    let body: serde_json::Value = serde_json::from_slice(record.body.as_deref().expect("a body")).expect("JSON");
    assert_eq!(body["to"], url);
}

#[tokio::test]
async fn what_was_said_before_needs_no_request() {
    let receiver = taking(202).await;
    let step = HttpStep { output: true, ..step(&receiver) };
    let said = done(run(&step, saying(r#"{"status": "succeeded", "rows": [{"cents": 1.50}]}"#), LONG).await);
    assert_eq!(
        (said.output.rows.as_deref(), said.output.summary.as_str()),
        (Some(r#"[{"cents": 1.50}]"#), "called back: succeeded")
    );
    let no = failed(run(&step, saying(r#"{"status": "failed", "error": "no\nfunds, says hunter22"}"#), LONG).await);
    assert_eq!(no, "called back: no funds, says ***");
    let again = run(&step, saying(r#"{"status": "retry", "error": "later", "after_seconds": 42}"#), LONG).await;
    let Outcome::Retry { after, error, .. } = again else { panic!("{again:?}") };
    assert_eq!((after, error.as_str()), (Some(Duration::from_secs(42)), "called back: later"));
    assert_eq!(receiver.records().len(), 0);
}

/// The store is asked again after the answer: it is said meanwhile.
#[tokio::test]
async fn what_is_said_after_the_answer_settles_the_attempt() {
    let store = Arc::new(Fake::default());
    let called = Arc::clone(&store);
    let behaviour = Behaviour::hooked(move |event| {
        if event.phase == Phase::Done {
            *called.callback.lock().expect("nobody panicked") = Some(r#"{"status": "succeeded"}"#.to_owned());
            return Act::status(202);
        }
        Act::Continue
    });
    let receiver = Receiver::start(([127, 0, 0, 1], 0), behaviour).await.expect("a port");
    let (handler, _) = begun(&step(&receiver), Fake::default(), LONG);
    let mut definition = StepDefinition::new("close", "http");
    definition.spec = serde_json::to_string(&step(&receiver)).expect("JSON");
    let said = done(handler.run(attempt(&definition, &store).context).await);
    assert_eq!((said.output.summary.as_str(), receiver.records().len()), ("called back: succeeded", 1));
}

#[tokio::test]
async fn who_is_never_called_back_tries_again_before_the_claim_lapses() {
    let receiver = taking(202).await;
    let said = retried(run(&step(&receiver), Fake::default(), Duration::from_millis(200)).await);
    assert_eq!(said, "202 Accepted, and nobody called back within its timeout of 200ms");
}

#[tokio::test]
async fn waiting_ends_with_the_claim() {
    let receiver = taking(202).await;
    let (handler, attempt) = begun(&step(&receiver), Fake::default(), LONG);
    let mut events = receiver.events();
    let running = tokio::spawn(async move { handler.run(attempt.context).await });
    while events.recv().await.expect("an event").phase != Phase::Closed {}
    attempt.stopper.stop(StopReason::OwnStop);
    assert!(matches!(running.await.expect("no panic"), Outcome::Stopped { .. }));
}

#[tokio::test]
async fn only_an_unlisted_202_of_a_step_that_is_called_back_is_waited_for() {
    let receiver = taking(202).await;
    let listed = HttpStep { permanent_on: vec![202], ..step(&receiver) };
    assert!(failed(run(&listed, Fake::default(), LONG).await).starts_with("202"));
    let alone = HttpStep { callback: false, secret: None, body: None, ..step(&receiver) };
    assert_eq!(done(run(&alone, Fake::default(), LONG).await).output.summary, "202 Accepted");
    let other = taking(200).await;
    assert_eq!(done(run(&step(&other), Fake::default(), LONG).await).output.summary, "200 OK");
}

#[tokio::test]
async fn without_the_store_nothing_is_asked_again() {
    let receiver = taking(202).await;
    let away = Fake { away: true, ..Fake::default() };
    assert!(retried(run(&step(&receiver), away, LONG).await).starts_with("whether it was called back: "));
    assert_eq!(receiver.records().len(), 0);
}
