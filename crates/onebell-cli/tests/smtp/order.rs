//! I9: nothing of the content goes out before `sending` is committed, and not without the right to.

use std::sync::atomic::{AtomicU32, Ordering};

use onebell::model::message::Delivery;
use onebell::store::{Marked, StoreError};
use onebell_cli::mailbox::{Behaviour, Phase};

use super::world::{Store, World, message};

#[tokio::test]
async fn k12_02_sending_is_committed_after_354_and_before_the_first_byte_of_the_content() {
    let mut world = World::new(Behaviour::default()).await;
    assert!(matches!(world.deliver(&message()).await, Delivery::Accepted { .. }));
    world.reaches(Phase::Closed).await;
    assert_eq!(world.log(), ["connected", "mail", "rcpt", "data_354", "sending committed", "body_first_byte", "dot", "accepted"]);
}

#[tokio::test]
async fn i9_a_gate_that_refuses_lets_nothing_of_the_content_out() {
    for refused in [Ok(Marked::Superseded), Ok(Marked::Dropped), Err(StoreError::broken("no such table"))] {
        let mut world = World::new(Behaviour::default()).await;
        let answer = refused.clone();
        let store = Store::answering(&world.log, move || std::future::ready(answer.clone()));
        assert_eq!(world.deliver_with(&message(), store).await, Delivery::GivenBack, "{refused:?}");
        world.reaches(Phase::Closed).await;
        assert_eq!(
            world.log(),
            ["connected", "mail", "rcpt", "data_354", "sending committed"],
            "{refused:?}: no byte of the content"
        );
        assert_eq!(world.accepted(), 0);
    }
}

#[tokio::test]
async fn i9_a_window_that_passed_between_the_gate_and_the_write_sends_nothing() {
    let mut world = World::new(Behaviour::default()).await;
    let (timer, window) = (world.timer.clone(), world.config().window);
    let store = Store::answering(&world.log, move || {
        // The commit took, or this host slept, as long as the whole window.
        timer.advance(window);
        std::future::ready(Ok(Marked::Go))
    });
    let delivery = world.deliver_with(&message(), store).await;
    assert!(matches!(&delivery, Delivery::Deferred { error, .. } if error.contains("window")), "{delivery:?}");
    world.reaches(Phase::Closed).await;
    assert!(!world.log().contains(&"body_first_byte".to_owned()), "{:?}", world.log());
}

#[tokio::test]
async fn a_store_that_is_away_for_a_moment_is_asked_again_while_the_server_waits() {
    let world = World::new(Behaviour::default()).await;
    let asked = AtomicU32::new(0);
    let timer = world.timer.clone();
    let store = Store::answering(&world.log, move || {
        let first = asked.fetch_add(1, Ordering::SeqCst) == 0;
        let timer = timer.clone();
        async move {
            if first {
                tokio::spawn(async move {
                    while timer.sleeping() == 0 {
                        tokio::task::yield_now().await;
                    }
                    timer.advance(std::time::Duration::from_millis(100));
                });
                return Err(StoreError::away("failing over"));
            }
            Ok(Marked::Go)
        }
    });
    assert!(matches!(world.deliver_with(&message(), store).await, Delivery::Accepted { .. }));
    assert_eq!(world.accepted(), 1);
}
