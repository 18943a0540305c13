//! What arrives is what was meant.

use onebell::model::message::Delivery;
use onebell_cli::mailbox::Behaviour;
use onebell_cli::smtp::message_id;
use serde_json::json;

use super::world::{World, message, message_of};

async fn arrived(payload: serde_json::Value) -> String {
    let world = World::new(Behaviour::default()).await;
    let delivery = world.deliver(&message_of(payload)).await;
    assert!(matches!(delivery, Delivery::Accepted { .. }), "{delivery:?}");
    String::from_utf8(world.mailbox.received().remove(0).content.unwrap()).unwrap()
}

#[tokio::test]
async fn dots_that_begin_lines_arrive_as_they_were() {
    let text = ".\n..\n.hidden\n\n.\nQUIT\n";
    let mail = arrived(json!({"to": "a@example.com", "subject": "dots", "text": text})).await;
    let (_, body) = mail.split_once("\r\n\r\n").unwrap();
    assert_eq!(body.trim_end(), text.trim_end().replace('\n', "\r\n"));
}

#[tokio::test]
async fn lone_line_ends_cannot_smuggle_a_second_message() {
    let text = "a\r.\rMAIL FROM:<x@example.com>\r.\nb";
    let mail = arrived(json!({"to": "a@example.com", "subject": "s", "text": text})).await;
    assert!(!mail.replace("\r\n", "").contains(['\r', '\n']), "every line ends in CRLF");
    assert!(mail.contains("\r\n.\r\nMAIL FROM:<x@example.com>\r\n"));
}

#[tokio::test]
async fn every_attempt_carries_the_same_message_id_and_its_own_number() {
    let world = World::new(Behaviour::default()).await;
    for attempt in [1, 2] {
        world.deliver(&onebell::handler::Outgoing { attempt, ..message() }).await;
    }
    let received = world.mailbox.received();
    let id = message_id("reminder/17/2026-11", "example.com");
    assert!(received.iter().all(|mail| mail.message_id.as_deref() == Some(&*id)));
    assert!(received.iter().all(|mail| mail.key.as_deref() == Some("reminder/17/2026-11")));
    for (mail, attempt) in received.iter().zip(1..) {
        let content = String::from_utf8(mail.content.clone().unwrap()).unwrap();
        assert!(content.contains(&format!("\r\nOnebell-Attempt: {attempt}\r\n")));
    }
    assert_eq!(world.accepted(), 2, "the server counts repeats: a duplicate would show");
}

#[tokio::test]
async fn addresses_that_are_not_ascii_go_out_as_utf_8() {
    let mail = arrived(json!({"to": "Hạnh <hạnh@ví-dụ.vn>", "subject": "s", "text": "t"})).await;
    assert!(mail.contains(" <hạnh@ví-dụ.vn>\r\n"));
}
