//! The receiver is asked whether a message arrived: its yes settles it, anything else sends nothing that was not to be sent.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use onebell::handler::Outgoing;
use onebell::model::message::Delivery;
use onebell_cli::http::HttpConfig;
use onebell_cli::mailbox::Hold;
use onebell_cli::receiver::{Act, Behaviour, Phase, PhaseEvent};
use tokio::sync::Notify;

use crate::world::{Store, World, accepted, again, attempt, deferred, message, unknown};

fn asking(world: &World) -> HttpConfig {
    let ask = format!("http://{}/arrived/{{{{ key }}}}", world.receiver.address()).parse().unwrap();
    HttpConfig { ask: Some(ask), ..world.config() }
}

async fn deliver(world: &World, message: &Outgoing) -> Delivery {
    attempt(asking(world), &world.timer, message, Store::granting(&world.log)).await
}

/// Loses the answer of the first request, and answers questions as told.
fn lossy(phase: Phase, asked: Act) -> Behaviour {
    let lost = AtomicBool::new(false);
    Behaviour::hooked(move |event: &PhaseEvent| match event.phase {
        Phase::Asked => asked.clone(),
        reached if reached == phase && !lost.swap(true, Ordering::SeqCst) => Act::Reset,
        _ => Act::Continue,
    })
}

#[tokio::test]
async fn a_first_attempt_asks_nothing() {
    let world = World::new(Behaviour::default()).await;
    accepted(&deliver(&world, &message()).await);
    assert!(!world.log().contains(&"asked".to_owned()));
}

#[tokio::test]
async fn i9_an_answer_lost_after_the_work_is_settled_by_asking_and_nothing_is_sent_again() {
    let world = World::new(lossy(Phase::Done, Act::Continue)).await;
    let delivery = deliver(&world, &message()).await;
    assert!(accepted(&delivery).contains("asked, has it"), "{delivery:?}");
    assert_eq!(world.done(), 1);
}

#[tokio::test]
async fn i9_a_message_that_arrived_before_its_sender_died_is_settled_without_a_second_one() {
    let mut world = World::at(Phase::Done, Act::Hold(Hold::Until(Arc::new(Notify::new())))).await;
    let dead = world.begin(asking(&world), message());
    world.reaches(Phase::Done).await;
    dead.abort();
    let before = world.log().iter().filter(|line| *line == "sending committed").count();
    assert!(accepted(&deliver(&world, &again(message())).await).contains("asked, has it"));
    assert_eq!(world.done(), 1);
    assert_eq!(world.log().iter().filter(|line| *line == "sending committed").count(), before, "the gate stayed shut");
}

#[tokio::test]
async fn i9_a_no_right_after_an_unknown_outcome_proves_nothing() {
    let world = World::new(lossy(Phase::Request, Act::Continue)).await;
    assert!(unknown(&deliver(&world, &message()).await).contains("did not have it"));
    accepted(&deliver(&world, &again(message())).await);
    assert_eq!(world.done(), 1, "before the next attempt it was asked again, and then sent");
}

#[tokio::test]
async fn i9_whatever_is_neither_yes_nor_no_sends_nothing() {
    for act in
        [Act::status(500), Act::status(202), Act::status(403), Act::status(301), Act::Reset, Act::Raw(b"what?\r\n\r\n".to_vec())]
    {
        let world = World::at(Phase::Asked, act.clone()).await;
        let delivery = deliver(&world, &again(message())).await;
        assert!(deferred(&delivery).0.contains("does not say"), "{act:?}: {delivery:?}");
        assert_eq!(world.done(), 0, "{act:?}");
        assert!(!world.log().contains(&"sending committed".to_owned()));
    }
    let world = World::at(Phase::Asked, Act::status_with(429, "Retry-After", "9")).await;
    assert_eq!(deferred(&deliver(&world, &again(message())).await).1, Some(Duration::from_secs(9)));
}

#[tokio::test]
async fn a_receiver_that_does_not_answer_a_question_is_not_waited_for_beyond_the_timeout() {
    let mut world = World::at(Phase::Asked, Act::Hold(Hold::Until(Arc::new(Notify::new())))).await;
    let attempt = world.begin(asking(&world), again(message()));
    world.reaches(Phase::Asked).await;
    world.timer.advance(world.config().timeout);
    deferred(&attempt.await.unwrap());
}

#[tokio::test]
async fn a_question_is_asked_with_the_channels_headers_about_the_message_alone() {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = Arc::clone(&asked);
    let world = World::new(Behaviour::hooked(move |event| {
        if event.phase == Phase::Asked {
            told.lock().unwrap().push(event.key.clone());
        }
        Act::Continue
    }))
    .await;
    for key in ["a/../b?c#d", "kỳ 11", "50%"] {
        accepted(&deliver(&world, &Outgoing { key: key.into(), attempt: 2, ..message() }).await);
    }
    assert_eq!(*asked.lock().unwrap(), ["a/../b?c#d", "k%E1%BB%B3%2011", "50%25"]);
}
