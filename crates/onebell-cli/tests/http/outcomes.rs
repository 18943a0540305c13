//! What is known of a webhook after every kind of end.

use std::sync::Arc;
use std::time::Duration;

use onebell_cli::http::HttpConfig;
use onebell_cli::mailbox::Hold;
use onebell_cli::receiver::{Act, Behaviour, Phase};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::world::{KEY, Store, World, accepted, again, attempt, config, deferred, message, message_of, rejected, unknown};

fn silence() -> Act {
    Act::Hold(Hold::Until(Arc::new(Notify::new())))
}

fn raw(words: &str) -> Act {
    Act::Raw(words.as_bytes().to_vec())
}

#[tokio::test]
async fn an_honest_receiver_does_the_work_once_and_its_words_are_the_receipt() {
    let world = World::new(Behaviour::default()).await;
    let delivery = world.deliver(&message()).await;
    assert_eq!(accepted(&delivery), "200 OK: {\"ok\":true}");
    assert_eq!(world.receiver.done_by_key(), [(KEY.to_owned(), 1)].into());
    let records = world.receiver.records();
    let record = &records[0];
    assert_eq!((record.method.as_str(), record.target.as_str(), record.attempt), ("POST", "/hooks/ops", 1));
    assert_eq!(record.header("host"), Some(world.receiver.address().to_string().as_str()));
    assert_eq!(record.header("content-type"), Some("application/json"));
    assert_eq!(record.body.as_deref(), Some("{\"customer\":\"Nguyễn\"}".as_bytes()));
    assert_eq!(record.header("webhook-signature"), None, "nobody gave a secret");
}

#[tokio::test]
async fn every_attempt_carries_the_same_key_and_its_own_number() {
    let world = World::at(Phase::Request, Act::status(503)).await;
    deferred(&world.deliver(&message()).await);
    let honest = World::new(Behaviour::default()).await;
    for message in [message(), again(message()), again(again(message()))] {
        accepted(&honest.deliver(&message).await);
    }
    let seen: Vec<_> = honest.receiver.records().into_iter().map(|record| (record.key, record.attempt)).collect();
    assert_eq!(seen, [(KEY.to_owned(), 1), (KEY.to_owned(), 2), (KEY.to_owned(), 3)]);
}

#[tokio::test]
async fn a_status_is_a_yes_a_no_a_not_now_or_no_word_on_the_work() {
    for (status, class) in [(204, "yes"), (202, "yes"), (429, "not now"), (503, "not now"), (408, "not now"), (425, "not now")] {
        let world = World::at(Phase::Request, Act::status(status)).await;
        let delivery = world.deliver(&message()).await;
        if class == "yes" { drop(accepted(&delivery).to_owned()) } else { drop(deferred(&delivery).0.to_owned()) }
    }
    for status in [400, 401, 404, 409, 410, 413, 422] {
        let world = World::at(Phase::Request, Act::status(status)).await;
        assert!(rejected(&world.deliver(&message()).await).starts_with(&status.to_string()));
    }
    for status in [500, 502, 504] {
        let world = World::at(Phase::Done, Act::status(status)).await;
        assert!(unknown(&world.deliver(&message()).await).contains("does not say whether the work was done"));
        assert_eq!(world.done(), 1, "a {status} came after the work: that is why it says nothing");
    }
}

#[tokio::test]
async fn a_receiver_that_names_a_time_is_left_alone_until_then_and_not_for_ever() {
    for (value, wait) in [("7", 7), ("86400", 3600)] {
        for status in [429, 503] {
            let world = World::at(Phase::Request, Act::status_with(status, "Retry-After", value)).await;
            assert_eq!(deferred(&world.deliver(&message()).await).1, Some(Duration::from_secs(wait)), "{status} {value}");
        }
    }
    let dated = Act::Answer {
        status: 503,
        headers: vec![
            ("Date".into(), "Sun, 06 Nov 1994 08:49:07 GMT".into()),
            ("Retry-After".into(), "Sun, 06 Nov 1994 08:49:37 GMT".into()),
        ],
        body: String::new(),
    };
    let world = World::at(Phase::Request, dated).await;
    assert_eq!(deferred(&world.deliver(&message()).await).1, Some(Duration::from_secs(30)));
}

#[tokio::test]
async fn no_redirect_is_followed() {
    let elsewhere = World::new(Behaviour::default()).await;
    let there = format!("http://{}/", elsewhere.receiver.address());
    for status in [301, 302, 303, 307, 308] {
        let world = World::at(Phase::Request, Act::status_with(status, "Location", &there)).await;
        assert!(rejected(&world.deliver(&message()).await).contains(&there));
    }
    assert_eq!(elsewhere.log(), Vec::<String>::new());
}

#[tokio::test]
async fn i9_an_answer_that_is_lost_after_the_work_leaves_the_outcome_unknown() {
    for act in [Act::Close, Act::Reset, Act::RawThenReset(b"HTTP/1.1 20".to_vec()), raw("HTTP/1.1 200 OK\r\nContent-Le")] {
        let world = World::at(Phase::Done, act.clone()).await;
        unknown(&world.deliver(&message()).await);
        assert_eq!(world.done(), 1, "{act:?}");
    }
}

#[tokio::test]
async fn i9_a_connection_that_breaks_once_the_request_began_is_unknown_whatever_was_done() {
    for phase in [Phase::Head, Phase::Request] {
        for act in [Act::Close, Act::Reset] {
            let world = World::at(phase, act).await;
            unknown(&world.deliver(&message()).await);
            assert_eq!(world.done(), 0, "{phase}");
        }
    }
}

#[tokio::test]
async fn i9_a_receiver_that_is_late_leaves_the_outcome_unknown_when_the_window_is_over() {
    for phase in [Phase::Request, Phase::Done] {
        let mut world = World::at(phase, silence()).await;
        let attempt = world.begin(world.config(), message());
        world.reaches(phase).await;
        world.timer.advance(world.config().window);
        assert!(unknown(&attempt.await.unwrap()).contains("too long"));
        assert_eq!(world.done(), u64::from(phase == Phase::Done));
    }
}

#[tokio::test]
async fn what_is_no_http_is_no_answer() {
    for words in
        ["220 mail.example.com ESMTP\r\n", "\0\u{1}\u{2}\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 101 \r\nUpgrade: x\r\n\r\n"]
    {
        let world = World::at(Phase::Done, raw(words)).await;
        unknown(&world.deliver(&message()).await);
    }
    let endless = format!("HTTP/1.1 200 OK\r\n{}", "X-More: and more\r\n".repeat(20_000));
    let world = World::at(Phase::Done, raw(&endless)).await;
    unknown(&world.deliver(&message()).await);
}

#[tokio::test]
async fn who_speaks_or_leaves_before_being_asked_gets_nothing() {
    let too_early = raw("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    for act in [too_early, Act::Close, Act::Reset] {
        let world = World::at(Phase::Connected, act.clone()).await;
        let receiver = Arc::clone(&world.receiver);
        let events = Arc::new(tokio::sync::Mutex::new(receiver.events()));
        let store = Store::answering(&world.log, move || {
            let events = Arc::clone(&events);
            async move {
                while events.lock().await.recv().await.unwrap().phase != Phase::Closed {}
                // Lets the runtime hear of it from the kernel.
                for _ in 0..20 {
                    tokio::task::yield_now().await;
                }
                Ok(onebell::store::Marked::Go)
            }
        });
        let delivery = world.deliver_with(&message(), store).await;
        assert!(deferred(&delivery).0.starts_with("nothing was sent"), "{act:?} {delivery:?}");
        assert_eq!(world.done(), 0);
    }
}

#[tokio::test]
async fn a_status_counts_however_its_body_ends() {
    for words in [
        "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\n\r\nuntil the end",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 500 twice\r\nContent-Length: 0\r\n\r\n",
    ] {
        let world = World::at(Phase::Done, raw(words)).await;
        accepted(&world.deliver(&message()).await);
    }
    let long = Act::Answer { status: 200, headers: vec![], body: "x".repeat(1 << 20) };
    let world = World::at(Phase::Done, long).await;
    let delivery = world.deliver(&message()).await;
    assert!(accepted(&delivery).len() < 300, "of a long answer only the beginning is kept: {delivery:?}");
}

#[tokio::test]
async fn a_receiver_that_drips_is_waited_for_within_the_window() {
    let world = World::at(Phase::Done, Act::Drip(Duration::from_millis(1))).await;
    accepted(&world.deliver(&message()).await);

    let first = Arc::new(Notify::new());
    let halfway = Act::All(vec![Act::Hold(Hold::Until(Arc::clone(&first))), raw("HTTP/1.1 200 OK\r\nX-Half: ")]);
    let mut world = World::at(Phase::Done, halfway).await;
    let attempt = world.begin(world.config(), message());
    world.reaches(Phase::Done).await;
    world.timer.advance(world.config().window);
    first.notify_one();
    unknown(&attempt.await.unwrap());
}

#[tokio::test]
async fn nobody_listening_is_deferred_and_names_the_receiver() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let world = World::new(Behaviour::default()).await;
    let delivery = attempt(config(address), &world.timer, &message(), Store::granting(&world.log)).await;
    assert!(deferred(&delivery).0.contains(&address.to_string()), "{delivery:?}");
    assert!(!world.log().contains(&"sending committed".to_owned()));
    let nowhere = HttpConfig::new("http://no-such-host.invalid/".parse().unwrap());
    deferred(&attempt(nowhere, &world.timer, &message(), Store::granting(&world.log)).await);
}

#[tokio::test]
async fn a_host_that_is_not_allowed_is_not_even_looked_up() {
    let world = World::new(Behaviour::default()).await;
    let config = HttpConfig { allow_hosts: Some(vec!["api.example.com".into()]), ..world.config() };
    let delivery = attempt(config, &world.timer, &message(), Store::granting(&world.log)).await;
    assert!(deferred(&delivery).0.contains("allow_hosts"), "{delivery:?}");
    assert_eq!(world.log(), Vec::<String>::new());
}

#[tokio::test]
async fn a_payload_that_is_no_webhook_is_rejected_without_a_connection() {
    let world = World::new(Behaviour::default()).await;
    for bad in [
        json!({"to": "a@example.com", "subject": "s", "text": "t"}),
        json!({"body": "", "content_type": "text/plain", "headers": {"X-A": "a\r\nX-B: b"}}),
        json!({"body": "", "content_type": "text/plain", "headers": {"Idempotency-Key": "mine"}}),
    ] {
        rejected(&world.deliver(&message_of(bad)).await);
    }
    assert_eq!(world.log(), Vec::<String>::new());
}

#[tokio::test]
async fn headers_of_the_message_go_over_those_of_the_channel_and_secrets_are_not_repeated() {
    let echo = Act::Answer { status: 403, headers: vec![], body: "no entry for Bearer s3cret-token".into() };
    let world = World::at(Phase::Done, echo).await;
    let config = HttpConfig {
        headers: vec![("Authorization".into(), "Bearer s3cret-token".into()), ("X-Kind".into(), "channel".into())],
        secrets: vec!["s3cret-token".into()],
        ..world.config()
    };
    let payload = json!({"body": "", "content_type": "text/plain", "headers": {"x-kind": "Kỳ 11"}});
    let delivery = attempt(config, &world.timer, &message_of(payload), Store::granting(&world.log)).await;
    assert_eq!(rejected(&delivery), "403 Forbidden: no entry for Bearer ***");
    let records = world.receiver.records();
    assert_eq!(records[0].header("authorization"), Some("Bearer s3cret-token"));
    assert_eq!(records[0].header("x-kind"), Some("Kỳ 11"));
    assert_eq!(records[0].headers.iter().filter(|(name, _)| name == "x-kind").count(), 1);
}
