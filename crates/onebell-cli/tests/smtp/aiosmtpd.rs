//! A server that nobody here wrote takes the mail, and Python's own reader says what it reads.

use std::path::Path;
use std::process::Stdio;

use onebell::handler::Outgoing;
use onebell::model::message::Delivery;
use onebell::time::ManualTimer;
use onebell_cli::smtp::message_id;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::world::{Log, Store, attempt, config, soon};

struct Sink {
    // Its stdin is what keeps the server alive.
    _process: Child,
    lines: Lines<BufReader<ChildStdout>>,
    port: u16,
}

impl Sink {
    async fn start() -> Self {
        let python = std::env::var("ONEBELL_TEST_AIOSMTPD").expect("run scripts/test: it finds or installs aiosmtpd");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/smtp/aiosmtpd_sink.py");
        let mut process = Command::new(python)
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("run scripts/test: it finds or installs aiosmtpd");
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let port = soon(lines.next_line()).await.unwrap().expect("aiosmtpd did not start").parse().unwrap();
        Self { _process: process, lines, port }
    }

    async fn read(&mut self, key: &str, payload: Value) -> Value {
        let message = Outgoing { key: key.into(), attempt: 1, payload: payload.to_string() };
        let config = config(([127, 0, 0, 1], self.port).into());
        let delivery = attempt(config, &ManualTimer::default(), &message, Store::granting(&Log::default())).await;
        assert_eq!(delivery, Delivery::Accepted { receipt: "250 2.0.0 taken".into() });
        serde_json::from_str(&soon(self.lines.next_line()).await.unwrap().unwrap()).unwrap()
    }
}

#[tokio::test]
async fn a_vietnamese_reminder_arrives_as_it_was_written() {
    let text = "Kính gửi chị Nguyễn Thị Hạnh,\n\nchị còn thiếu 1.250.000 ₫.\n.\n..Trân trọng\n";
    let html = format!("<p>{}</p>", "Kính gửi chị Hạnh ".repeat(30));
    let mail = json!({
        "to": "Nguyễn Thị Hạnh <hanh@example.com>", "subject": "Nhắc nợ", "text": text, "html": html,
        "headers": {"X-Ref": "hợp đồng số 17"},
    });
    let key = format!("nhắc-nợ/{}/2026-11", "khách-hàng-".repeat(12));
    let read = Sink::start().await.read(&key, mail).await;
    assert_eq!(read["sender"], "billing@example.com");
    assert_eq!(read["recipients"], json!(["hanh@example.com"]));
    assert_eq!(read["from"], "Công nợ <billing@example.com>");
    assert_eq!(read["to"], "Nguyễn Thị Hạnh <hanh@example.com>");
    assert_eq!((&read["key"], &read["ref"]), (&json!(key), &json!("hợp đồng số 17")));
    assert_eq!(read["message_id"], message_id(&key, "example.com"));
    assert_eq!(read["charset"], "utf-8");
    assert_eq!(read["text"].as_str().unwrap().trim_end(), text.trim_end());
    assert_eq!(read["html"].as_str().unwrap().trim_end(), html);
}

#[tokio::test]
async fn k12_04_python_reads_every_word_of_a_subject_alone_and_the_whole_as_it_was() {
    let mut sink = Sink::start().await;
    let reminder = "Nhắc nợ kỳ 11/2026: khách hàng Nguyễn Thị Hạnh còn thiếu 1.250.000 ₫ – vui lòng thanh toán trước 30/11";
    for subject in [reminder.to_owned(), format!("A{}", "ậ".repeat(40)), "=?utf-8?q?not_encoded?= ".repeat(9).trim_end().into()]
    {
        let read = sink.read("k", json!({"to": "a@example.com", "subject": subject, "text": "t"})).await;
        assert_eq!(read["subject"], *subject);
        let words: Vec<&str> = read["subject_words"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        assert_eq!(words.concat(), subject);
        assert!(read["subject_lines"].as_array().unwrap().iter().all(|length| length.as_u64().unwrap() <= 76), "{read}");
    }
}

#[tokio::test]
async fn text_that_is_hard_to_carry_arrives_whole() {
    let mut sink = Sink::start().await;
    for text in [
        "x".repeat(5000),
        "a\u{b}b\tc\u{1b}[0m".into(),
        "From here\n.\n".into(),
        "=3D = \u{a0}\n".into(),
        String::new(),
        "🔔\n".repeat(500),
    ] {
        let read = sink.read("k", json!({"to": "a@example.com", "subject": "s", "text": text})).await;
        assert_eq!(
            read["text"].as_str().unwrap().trim_end_matches('\n'),
            text.trim_end_matches('\n'),
            "{} characters",
            text.len()
        );
    }
}
