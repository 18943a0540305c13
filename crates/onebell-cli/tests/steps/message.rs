//! `message` and `sql`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use onebell::handler::{Handler, Outcome};
use onebell::model::message::{InDoubtPolicy, NewMessage};
use onebell::model::retry::RetryPolicy;
use onebell::model::{Fingerprint, StepDefinition};
use onebell::store::Work;
use onebell_cli::steps::spec::{MessageStep, Rows, SqlStep};
use onebell_cli::steps::{ChannelFacts, MessageHandler, SqlHandler};
use tempfile::TempDir;

use crate::fake::{Fake, attempt, done, failed, retried};

/// Refuses a line break in the subject, as a mail channel does.
fn check(payload: &str) -> Result<(), String> {
    let payload: serde_json::Value = serde_json::from_str(payload).expect("JSON");
    match payload["subject"].as_str() {
        Some(subject) if subject.contains('\n') => Err("subject: a line break in a header; remove it".to_owned()),
        _ => Ok(()),
    }
}

fn message(rows: Option<Rows>) -> MessageStep {
    MessageStep {
        channel: "mail".into(),
        rows,
        key: "reminder/{{ row.id }}".into(),
        to: "{{ row.email }}".into(),
        subject: "Nhắc nợ {{ row.name }}".into(),
        text: Some("Dear {{ row.name }},\nyou owe {{ row.amount }}.\n".into()),
        html: None,
        reply_to: None,
        body: None,
        headers: BTreeMap::new(),
        on_in_doubt: None,
        retry: RetryPolicy { attempts: 10, ..RetryPolicy::default() },
    }
}

async fn run_in(folder: PathBuf, step: MessageStep, store: Fake) -> Outcome {
    let mut definition = StepDefinition::new("remind", "message");
    definition.spec = serde_json::to_string(&step).expect("JSON");
    let facts = ChannelFacts { default_in_doubt: InDoubtPolicy::Hold, check };
    let handler = MessageHandler::new(BTreeMap::from([("mail".to_owned(), facts)]), folder);
    handler.run(attempt(&definition, &Arc::new(store)).context).await
}

async fn run(step: MessageStep, store: Fake) -> Outcome {
    run_in(PathBuf::new(), step, store).await
}

fn of_compute() -> MessageStep {
    message(Some(Rows::OutputOf("compute".into())))
}

async fn over(rows: &str) -> Outcome {
    run(of_compute(), Fake::rows("compute", rows)).await
}

fn payload(message: &NewMessage) -> serde_json::Value {
    serde_json::from_str(&message.payload).expect("JSON")
}

const AN: &str = r#"{"id":1,"name":"An","email":"an@example.com","amount":1.50}"#;
const BINH: &str = r#"{"id":2,"name":"Bình","email":"binh@example.com","amount":2000000}"#;

#[tokio::test]
async fn each_row_is_one_message_with_its_key_and_the_fingerprint_of_channel_and_payload() {
    let done = done(over(&format!("[{AN},{BINH}]")).await);
    let [first, second] = done.messages.as_slice() else { panic!("{:?}", done.messages) };
    assert_eq!((first.key.as_str(), second.key.as_str(), first.channel.as_str()), ("reminder/1", "reminder/2", "mail"));
    let expected = serde_json::json!({"to": "an@example.com", "subject": "Nhắc nợ An", "text": "Dear An,\nyou owe 1.50."});
    assert_eq!(payload(first), expected);
    let whole = serde_json::json!({"payload": expected, "channel": "mail"}).to_string();
    assert_eq!(first.fingerprint, Fingerprint::of_json(&whole).unwrap());
    assert_eq!((first.on_in_doubt, first.retry.attempts, done.output.summary.as_str()), (InDoubtPolicy::Hold, 10, "2 messages"));
}

#[tokio::test]
async fn the_same_rows_give_the_same_messages_on_every_attempt() {
    let rows = format!("[{AN},{BINH}]");
    assert_eq!(done(over(&rows).await).messages, done(over(&rows).await).messages);
}

#[tokio::test]
async fn the_steps_policy_wins_over_the_channels() {
    let step = MessageStep { on_in_doubt: Some(InDoubtPolicy::Resend), ..of_compute() };
    let done = done(run(step, Fake::rows("compute", &format!("[{AN}]"))).await);
    assert_eq!(done.messages[0].on_in_doubt, InDoubtPolicy::Resend);
}

#[tokio::test]
async fn without_rows_it_is_one_message_that_may_speak_of_its_run() {
    let step = MessageStep {
        key: "report/{{ run.scheduled_for }}".into(),
        to: "ops@example.com".into(),
        subject: "{{ job }} {{ step }} {{ run.id }} {{ run.input.limit }}".into(),
        text: None,
        html: Some("<p>{{ '<' }}</p>".into()),
        reply_to: Some("r@example.com".into()),
        headers: BTreeMap::from([("X-Job".to_owned(), "{{ job }}".to_owned())]),
        ..message(None)
    };
    let done = done(run(step, Fake::default()).await);
    assert_eq!(done.messages[0].key.as_str(), "report/2026-11-29T19:00:00Z");
    let expected = serde_json::json!({
        "to": "ops@example.com", "subject": "j remind j-20261129T190000Z 10", "html": "<p>&lt;</p>",
        "reply_to": "r@example.com", "headers": {"X-Job": "j"},
    });
    assert_eq!((payload(&done.messages[0]), done.output.summary.as_str()), (expected, "1 message"));
}

#[tokio::test]
async fn nobody_to_write_to_is_a_result() {
    assert_eq!(done(over("[]").await).output.summary, "0 messages");
    assert_eq!(done(run(of_compute(), Fake::default()).await).messages.len(), 0);
}

#[tokio::test]
async fn rows_come_from_csv_ndjson_and_sql_as_well() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("c.csv"), "\u{feff}id,name,email,amount\n007,An,an@example.com,1.50\n").unwrap();
    fs::write(folder.path().join("c.ndjson"), format!("{AN}\n\n{BINH}\n")).unwrap();
    let path = || folder.path().to_owned();
    let csv = done(run_in(path(), message(Some(Rows::Csv("c.csv".into()))), Fake::default()).await);
    assert_eq!((csv.messages.len(), csv.messages[0].key.as_str()), (1, "reminder/007"));
    let ndjson = done(run_in(path(), message(Some(Rows::Ndjson("c.ndjson".into()))), Fake::default()).await);
    assert_eq!(ndjson.messages.len(), 2);
    let store = Fake { query: Some(format!("[{AN}]")), ..Fake::default() };
    assert_eq!(done(run(message(Some(Rows::Sql("SELECT 1".into()))), store).await).messages.len(), 1);
}

#[tokio::test]
async fn a_field_that_is_missing_stops_all_and_names_template_field_and_row() {
    let error = failed(over(&format!("[{AN},{{\"id\":2,\"name\":\"B\",\"amount\":1}}]")).await);
    assert_eq!(
        error,
        "row 2 of step \"compute\": template \"to\": row.email does not exist; row has amount, id, name; nothing was sent"
    );
    let error = failed(over(r#"[{"id":1,"name":"A","email":null,"amount":1}]"#).await);
    assert!(error.starts_with("row 1 of step \"compute\": template \"to\": row.email is null"), "{error}");
}

#[tokio::test]
async fn a_csv_file_without_the_named_column_is_told_with_its_columns() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("c.csv"), "id,name,mail,amount\n1,An,an@example.com,1\n").unwrap();
    let error = failed(run_in(folder.path().to_owned(), message(Some(Rows::Csv("c.csv".into()))), Fake::default()).await);
    let path = folder.path().join("c.csv").display().to_string();
    let expected = format!(
        "row 1 (line 2 of {path}): template \"to\": there is no column \"email\" in {path}; its columns are id, name, mail, amount; nothing was sent"
    );
    assert_eq!(error, expected);
    let error = failed(run_in(folder.path().to_owned(), message(Some(Rows::Csv("gone.csv".into()))), Fake::default()).await);
    assert!(error.starts_with(&format!("cannot read {}: No such file", folder.path().join("gone.csv").display())), "{error}");
}

#[tokio::test]
async fn a_line_break_in_a_mail_header_is_refused_with_row_and_field() {
    let error = failed(over(r#"[{"id":1,"name":"An\nBcc: x@example.com","email":"e","amount":1}]"#).await);
    assert_eq!(error, "row 1 of step \"compute\": subject: a line break in a header; remove it; nothing was sent");
}

#[tokio::test]
async fn one_key_twice_is_one_message_if_it_says_the_same_and_an_error_if_not() {
    let done = done(over(&format!("[{AN},{AN},{BINH}]")).await);
    assert_eq!((done.messages.len(), done.output.summary.as_str()), (2, "2 messages; 1 row repeated another"));
    let error = failed(over(&format!("[{AN},{BINH},{}]", BINH.replace("Bình", "Bình B"))).await);
    assert!(error.starts_with("row 2 of step \"compute\" and row 3 of step \"compute\" have the key \"reminder/2\""), "{error}");
    let error = failed(over(r#"[{"id":"a\nb","name":"A","email":"e","amount":1}]"#).await);
    assert!(error.contains("row 1 of step \"compute\": key: the key contains the control character U+000A"), "{error}");
}

#[tokio::test]
async fn a_store_that_is_away_is_tried_again_and_a_query_that_is_wrong_is_not() {
    let away = Fake { away: true, ..Fake::default() };
    assert!(retried(run(of_compute(), away).await).contains("no connection"));
    let error = failed(run(message(Some(Rows::Sql("SELECT * FROM debts".into()))), Fake::default()).await);
    assert_eq!(error, "for_each.sql: no such table: debts");
    let elsewhere = MessageStep { channel: "sms".into(), ..of_compute() };
    assert!(retried(run(elsewhere, Fake::default()).await).contains("no channel \"sms\""));
}

#[tokio::test]
async fn ten_thousand_rows_are_rendered_in_seconds() {
    let rows: Vec<String> = (0..10_000).map(|id| AN.replace("\"id\":1", &format!("\"id\":{id}"))).collect();
    let rendered = tokio::time::timeout(Duration::from_secs(60), over(&format!("[{}]", rows.join(",")))).await;
    assert_eq!(done(rendered.expect("in time")).messages.len(), 10_000);
}

#[tokio::test]
async fn sql_is_handed_to_the_settling_transaction_and_run_by_nobody_else() {
    let mut step = StepDefinition::new("pull", "sql");
    step.spec = serde_json::to_string(&SqlStep { sql: "SELECT 1".into() }).unwrap();
    let done = done(SqlHandler.run(attempt(&step, &Arc::default()).context).await);
    assert!(matches!(done.work, Some(Work::Sql(text)) if text == "SELECT 1"));
    step.spec = "{}".into();
    assert!(failed(SqlHandler.run(attempt(&step, &Arc::default()).context).await).contains("another version"));
}
