//! I9: nothing of the request goes out before `sending` is committed, and not without the right to.

use std::sync::Arc;

use onebell::model::message::Delivery;
use onebell::store::{Marked, StoreError};
use onebell_cli::mailbox::Hold;
use onebell_cli::receiver::{Act, Behaviour, Phase};
use tokio::sync::Notify;

use crate::world::{Store, World, accepted, deferred, message};

#[tokio::test]
async fn i9_sending_is_committed_after_the_connection_and_before_the_first_byte_of_the_request() {
    let mut world = World::new(Behaviour::default()).await;
    let (log, receiver) = (Arc::clone(&world.log), Arc::clone(&world.receiver));
    let events = Arc::new(tokio::sync::Mutex::new(receiver.events()));
    let store = Store::answering(&log, move || {
        let events = Arc::clone(&events);
        async move {
            while events.lock().await.recv().await.unwrap().phase != Phase::Connected {}
            Ok(Marked::Go)
        }
    });
    accepted(&world.deliver_with(&message(), store).await);
    world.reaches(Phase::Closed).await;
    assert_eq!(world.log(), ["connected", "sending committed", "head", "request", "done"]);
}

#[tokio::test]
async fn i9_a_gate_that_refuses_lets_nothing_of_the_request_out() {
    for refused in [Ok(Marked::Superseded), Ok(Marked::Dropped), Err(StoreError::broken("no such table"))] {
        let mut world = World::new(Behaviour::default()).await;
        let answer = refused.clone();
        let store = Store::answering(&world.log, move || std::future::ready(answer.clone()));
        assert_eq!(world.deliver_with(&message(), store).await, Delivery::GivenBack, "{refused:?}");
        world.reaches(Phase::Closed).await;
        assert!(!world.log().contains(&"head".to_owned()), "{refused:?}: {:?}", world.log());
        assert_eq!(world.done(), 0);
    }
}

#[tokio::test]
async fn i9_a_window_that_passed_between_the_gate_and_the_request_sends_nothing() {
    let mut world = World::new(Behaviour::default()).await;
    let (timer, window) = (world.timer.clone(), world.config().window);
    let store = Store::answering(&world.log, move || {
        // The commit took, or this host slept, as long as the whole window.
        timer.advance(window);
        std::future::ready(Ok(Marked::Go))
    });
    let delivery = world.deliver_with(&message(), store).await;
    assert!(deferred(&delivery).0.contains("window"), "{delivery:?}");
    world.reaches(Phase::Closed).await;
    assert!(!world.log().contains(&"head".to_owned()), "{:?}", world.log());
}

/// A dropped attempt is what a kill looks like from the receiver: the connection ends.
#[tokio::test]
async fn i9_a_crash_leaves_the_mark_exactly_when_the_request_may_have_gone_out() {
    for (phase, done) in [(Phase::Head, 0), (Phase::Request, 1), (Phase::Done, 1)] {
        let go_on = Arc::new(Notify::new());
        let mut world = World::at(phase, Act::Hold(Hold::Until(Arc::clone(&go_on)))).await;
        let attempt = world.begin(world.config(), message());
        world.reaches(phase).await;
        attempt.abort();
        assert!(attempt.await.unwrap_err().is_cancelled());
        go_on.notify_one();
        world.reaches(Phase::Closed).await;
        assert!(world.log().contains(&"sending committed".to_owned()), "{phase}");
        if phase != Phase::Head {
            assert_eq!(world.done(), done, "{phase}: the count survives its sender");
        }
    }
}
