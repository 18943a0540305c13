//! What is known of a message after every kind of end.

use std::sync::Arc;
use std::time::Duration;

use onebell::model::message::Delivery;
use onebell_cli::mailbox::{Behaviour, Hold, HookAction, Phase};
use onebell_cli::smtp::{SmtpConfig, message_id};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use super::world::{Store, World, attempt, config, endless_message, message};

fn deferred(delivery: &Delivery) -> &str {
    let Delivery::Deferred { error, .. } = delivery else { panic!("{delivery:?}") };
    error
}

fn unknown(delivery: &Delivery) -> &str {
    let Delivery::Unknown { error } = delivery else { panic!("{delivery:?}") };
    error
}

fn rejected(delivery: &Delivery) -> &str {
    let Delivery::Rejected { error } = delivery else { panic!("{delivery:?}") };
    error
}

fn reply(words: &str) -> HookAction {
    HookAction::Reply(words.into())
}

#[tokio::test]
async fn an_honest_server_accepts_once_and_its_words_are_the_receipt() {
    let world = World::new(Behaviour::default()).await;
    let Delivery::Accepted { receipt } = world.deliver(&message()).await else { panic!() };
    assert!(receipt.starts_with("250 2.0.0 accepted as "), "{receipt}");
    assert_eq!(world.mailbox.accepted_by_recipient(), [("hanh@example.com".into(), 1)].into());
    assert!(world.mailbox.has(&message_id("reminder/17/2026-11", "example.com")));
}

#[tokio::test]
async fn k12_01_a_server_that_stores_and_stays_silent_leaves_the_outcome_unknown() {
    let mut world = World::at(Phase::Accepted, HookAction::Hold(Hold::Until(Arc::new(Notify::new())))).await;
    let attempt = world.begin(message());
    world.reaches(Phase::Accepted).await;
    world.timer.advance(world.config().window);
    let delivery = attempt.await.unwrap();
    assert!(unknown(&delivery).contains("took too long"), "{delivery:?}");
    assert_eq!(world.accepted(), 1, "the server did store it");
    assert!(world.mailbox.has(&message_id("reminder/17/2026-11", "example.com")), "and can be asked for it");
}

#[tokio::test]
async fn k12_01_a_server_that_stores_and_closes_leaves_the_outcome_unknown() {
    for action in [HookAction::Close, HookAction::Reset] {
        let world = World::at(Phase::Accepted, action).await;
        unknown(&world.deliver(&message()).await);
        assert_eq!(world.accepted(), 1);
    }
}

#[tokio::test]
async fn k12_01_a_server_that_closes_after_the_dot_without_storing_leaves_it_unknown_too() {
    let world = World::at(Phase::Dot, HookAction::Close).await;
    unknown(&world.deliver(&message()).await);
    assert_eq!(world.accepted(), 0);
}

#[tokio::test]
async fn k12_01_a_connection_that_breaks_inside_the_content_is_safe_to_repeat() {
    for action in [HookAction::Close, HookAction::Reset] {
        let world = World::at(Phase::BodyFirstByte, action).await;
        deferred(&world.deliver(&endless_message()).await);
        assert_eq!(world.accepted(), 0);
    }
}

#[tokio::test]
async fn k12_01_a_server_that_left_before_the_dot_is_noticed_before_the_dot() {
    let world = World::at(Phase::Data354, HookAction::ReplyThenClose("354 go on".into())).await;
    let mailbox = Arc::clone(&world.mailbox);
    let events = Arc::new(tokio::sync::Mutex::new(mailbox.events()));
    let store = Store::answering(&world.log, move || {
        let events = Arc::clone(&events);
        async move {
            while events.lock().await.recv().await.unwrap().phase != Phase::Closed {}
            // Lets the runtime hear of the end from the kernel.
            for _ in 0..3 {
                tokio::task::yield_now().await;
            }
            Ok(onebell::store::Marked::Go)
        }
    });
    deferred(&world.deliver_with(&message(), store).await);
    assert_eq!(world.accepted(), 0);
}

#[tokio::test]
async fn an_answer_before_the_end_is_no_answer_to_the_message() {
    for (words, rejected_by_it) in
        [("250 2.0.0 accepted", false), ("421 4.3.2 shutting down", false), ("552 5.3.4 too large", true)]
    {
        let world = World::at(Phase::Data354, reply(&format!("354 go on\r\n{words}"))).await;
        let delivery = world.deliver(&message()).await;
        if rejected_by_it {
            rejected(&delivery);
        } else {
            assert!(deferred(&delivery).contains("too early"), "{delivery:?}");
        }
        assert_eq!(world.accepted(), 0, "the dot was not written");
    }
}

#[tokio::test]
async fn k12_01_an_answer_of_421_before_data_sends_nothing() {
    let world = World::at(Phase::Data354, HookAction::ReplyThenClose("421 4.3.2 shutting down".into())).await;
    assert!(deferred(&world.deliver(&message()).await).contains("421 4.3.2"));
    assert!(!world.log().contains(&"sending committed".to_owned()));
}

#[tokio::test]
async fn k12_01_a_yes_counts_even_when_a_reset_follows_it() {
    let world = World::at(Phase::Accepted, HookAction::ContinueThenReset).await;
    assert!(matches!(world.deliver(&message()).await, Delivery::Accepted { .. }));
    assert_eq!(world.accepted(), 1);
}

#[tokio::test]
async fn before_the_content_5xx_rejects_and_4xx_defers_and_sending_is_never_committed() {
    for phase in [Phase::Mail, Phase::Rcpt, Phase::Data354] {
        let world = World::at(phase, reply("550 5.1.1 no such user")).await;
        assert!(rejected(&world.deliver(&message()).await).contains("550 5.1.1"), "{phase}");
        for words in ["421 4.3.2 shutting down", "451 4.7.1 greylisted", "530 5.7.0 log in first", "garbage"] {
            let world = World::at(phase, reply(words)).await;
            deferred(&world.deliver(&message()).await);
            assert!(!world.log().contains(&"sending committed".to_owned()), "{phase} {words}");
        }
    }
    let world = World::at(Phase::Connected, reply("554 5.7.1 not you")).await;
    deferred(&world.deliver(&message()).await);
}

#[tokio::test]
async fn after_the_dot_the_servers_word_decides_and_anything_else_is_unknown() {
    for words in ["451 4.3.0 later", "421 4.3.2 shutting down"] {
        deferred(&World::at(Phase::Dot, reply(words)).await.deliver(&message()).await);
    }
    rejected(&World::at(Phase::Dot, reply("554 5.7.1 spam")).await.deliver(&message()).await);
    for words in ["HTTP/1.1 200 OK", "354 go on", "150 soon", "250-first\r\n550 second"] {
        unknown(&World::at(Phase::Dot, reply(words)).await.deliver(&message()).await);
    }
    let half = HookAction::ReplyThenClose("250-half an answer".into());
    unknown(&World::at(Phase::Dot, half).await.deliver(&message()).await);
    let bare = World::at(Phase::Accepted, reply("250")).await;
    assert!(matches!(bare.deliver(&message()).await, Delivery::Accepted { .. }));
}

#[tokio::test]
async fn silence_before_the_content_is_deferred() {
    for phase in [Phase::Connected, Phase::Rcpt, Phase::Data354] {
        let mut world = World::at(phase, HookAction::Hold(Hold::Until(Arc::new(Notify::new())))).await;
        let attempt = world.begin(message());
        world.reaches(phase).await;
        world.timer.advance(world.config().timeout);
        assert!(deferred(&attempt.await.unwrap()).contains("took too long"), "{phase}");
        assert!(!world.log().contains(&"sending committed".to_owned()), "{phase}");
    }
}

#[tokio::test]
async fn a_window_that_ends_inside_the_content_is_safe_to_repeat_because_the_dot_never_left() {
    let mut world = World::at(Phase::BodyFirstByte, HookAction::Hold(Hold::Until(Arc::new(Notify::new())))).await;
    let attempt = world.begin(endless_message());
    world.reaches(Phase::BodyFirstByte).await;
    world.timer.advance(world.config().window);
    deferred(&attempt.await.unwrap());
    assert_eq!(world.accepted(), 0);
}

#[tokio::test]
async fn a_server_that_drips_its_answers_is_waited_for() {
    let hook = |event: &onebell_cli::mailbox::PhaseEvent| match event.phase {
        Phase::BodyFirstByte | Phase::Dot | Phase::Closed => HookAction::Continue,
        _ => HookAction::Drip(Duration::from_millis(1)),
    };
    let world = World::new(Behaviour::hooked(hook)).await;
    assert!(matches!(world.deliver(&message()).await, Delivery::Accepted { .. }));
}

#[tokio::test]
async fn nobody_listening_is_deferred_and_names_the_server() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let world = World::new(Behaviour::default()).await;
    let delivery = attempt(config(address), &world.timer, &message(), Store::granting(&world.log)).await;
    assert!(deferred(&delivery).contains(&address.to_string()), "{delivery:?}");
}

#[tokio::test]
async fn more_connections_or_larger_messages_than_the_mailbox_allows_are_refused_by_it() {
    let world = World::new(Behaviour { connections_max: 0, ..Behaviour::default() }).await;
    assert!(deferred(&world.deliver(&message()).await).contains("421"));
    let world = World::new(Behaviour { message_max: 100, ..Behaviour::default() }).await;
    assert!(rejected(&world.deliver(&message()).await).contains("552"));
    assert_eq!(world.accepted(), 0);
}

#[tokio::test]
async fn a_payload_that_is_no_mail_is_rejected_without_a_connection() {
    let world = World::new(Behaviour::default()).await;
    let bad = serde_json::json!({"to": "a@example.com\r\nBcc: b@example.com", "subject": "s", "text": "t"});
    assert!(rejected(&world.deliver(&super::world::message_of(bad)).await).contains("line break"));
    assert_eq!(world.log(), Vec::<String>::new());
}

#[tokio::test]
async fn the_client_says_the_name_it_is_given_or_its_address() {
    let world = World::new(Behaviour::default()).await;
    world.deliver(&message()).await;
    let named = SmtpConfig { hello: Some("replica-1.example.com".into()), ..world.config() };
    attempt(named, &world.timer, &message(), Store::granting(&world.log)).await;
    let names: Vec<String> = world.mailbox.received().into_iter().map(|message| message.ehlo).collect();
    assert_eq!(names, ["[127.0.0.1]", "replica-1.example.com"]);
}
