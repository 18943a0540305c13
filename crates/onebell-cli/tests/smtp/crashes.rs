//! What a dead relay leaves behind. A dropped attempt is what a kill looks like from the server: the connection ends.

use std::sync::Arc;

use onebell_cli::mailbox::{Hold, HookAction, Phase};
use tokio::sync::Notify;

use super::world::{World, message};

async fn crash_at(phase: Phase) -> World {
    let go_on = Arc::new(Notify::new());
    let mut world = World::at(phase, HookAction::Hold(Hold::Until(Arc::clone(&go_on)))).await;
    let attempt = world.begin(message());
    world.reaches(phase).await;
    attempt.abort();
    assert!(attempt.await.unwrap_err().is_cancelled());
    go_on.notify_one();
    world.reaches(Phase::Closed).await;
    world
}

#[tokio::test]
async fn k12_02_a_crash_before_the_content_leaves_no_mark_and_no_mail() {
    for phase in [Phase::Connected, Phase::Mail, Phase::Rcpt, Phase::Data354] {
        let world = crash_at(phase).await;
        assert!(!world.log().contains(&"sending committed".to_owned()), "{phase}");
        assert_eq!(world.accepted(), 0, "{phase}");
    }
}

#[tokio::test]
async fn k12_02_a_crash_after_the_dot_leaves_the_mark_and_the_server_counts_what_it_took() {
    for phase in [Phase::Dot, Phase::Accepted] {
        let world = crash_at(phase).await;
        assert!(world.log().contains(&"sending committed".to_owned()), "{phase}");
        assert_eq!(world.accepted(), 1, "{phase}: the count survives its sender");
    }
}
