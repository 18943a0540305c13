//! What putting a message means: one per key, with the step that put it, and how a delivering step is closed.

use onebell::model::job::OnMessageFailed;
use onebell::model::message::{MessageStatus, NewMessage};
use onebell::model::step::StepStatus;
use onebell::store::{MessageVerdict, Settled};

use super::given::*;
use super::outbox::{accepted, asks, rejected, unknown};
use super::world::World;

contract!(
    i9_a_step_run_again_still_waits_for_its_message_in_doubt,
    a_delivering_step_is_held_while_a_message_is_in_doubt_and_goes_on_when_it_is_proven,
    a_delivering_step_succeeds_when_its_last_message_is_sent,
    a_failed_message_fails_its_step_only_where_that_is_declared,
    a_run_does_not_end_before_its_messages_do,
    a_step_that_put_only_what_was_sent_before_succeeds,
    closing_is_bounded_and_safe_at_once,
    i5_a_message_put_with_another_payload_is_a_conflict_in_every_state,
    i9_a_message_put_again_is_already_and_is_sent_once,
);

fn put(messages_already: u32) -> Settled {
    Settled::Applied { status: StepStatus::Delivering, effects_already: 0, messages_already, refused: None }
}

impl World {
    /// Sends everything that is ready.
    pub(super) async fn send_all(&self) -> usize {
        let relay = self.replica("sender").await;
        let claimed = self.store.claim_messages(&asks(&relay, 100)).await.unwrap();
        for message in &claimed {
            self.mark(&message.claim).await;
            self.deliver(&message.claim, accepted()).await;
        }
        claimed.len()
    }

    pub(super) async fn close(&self) -> u32 {
        let seen = self.scheduler_has_work().await;
        let closed = self.store.close_deliveries(100).await.unwrap();
        assert!(seen || closed == 0, "a pass would have rested");
        closed
    }
}

async fn i9_a_message_put_again_is_already_and_is_sent_once(world: World) {
    world.put("one", vec![mail("m1")]).await;
    world.open_run(&job("two", vec![step("a")])).await;
    let claim = world.claim_one(&world.replica("a").await).await.claim;
    assert_eq!(world.settle(puts(&claim, vec![mail("m2"), mail("m1")])).await, put(1));
    assert_eq!((world.send_all().await, world.send_all().await), (2, 0));
    assert_eq!(world.rows("outbox", "true").await, 2);
}

async fn a_step_that_put_only_what_was_sent_before_succeeds(world: World) {
    world.put("one", vec![mail("m")]).await;
    world.send_all().await;
    let run = world.open_run(&job("two", vec![step("a")])).await;
    let claim = world.claim_one(&world.replica("a").await).await.claim;
    let Settled::Applied { messages_already: 1, refused: None, .. } = world.settle(puts(&claim, vec![mail("m")])).await else {
        panic!("not Already");
    };
    world.close().await;
    assert_eq!(world.run_status(&run).await, "succeeded");
}

async fn i5_a_message_put_with_another_payload_is_a_conflict_in_every_state(world: World) {
    let (relay, agent) = (world.replica("relay").await, world.replica("agent").await);
    for state in [
        MessageStatus::Sent,
        MessageStatus::Failed,
        MessageStatus::InDoubt,
        MessageStatus::Dropped,
        MessageStatus::Sending,
        MessageStatus::Claimed,
        MessageStatus::Ready,
    ] {
        world.put(state.as_str(), vec![mail(state.as_str())]).await;
        if state == MessageStatus::Dropped {
            world.store.resolve_message(state.as_str(), MessageVerdict::Drop, &actor()).await.unwrap();
        } else if state != MessageStatus::Ready {
            let claim = world.take(&relay).await.claim;
            if !matches!(state, MessageStatus::Claimed | MessageStatus::Failed) {
                world.mark(&claim).await;
            }
            match state {
                MessageStatus::Sent => drop(world.deliver(&claim, accepted()).await),
                MessageStatus::Failed => drop(world.deliver(&claim, rejected()).await),
                MessageStatus::InDoubt => drop(world.deliver(&claim, unknown()).await),
                _ => {}
            }
        }
        assert_eq!(world.message_status(state.as_str()).await, state);
        let before = world.store.message(state.as_str()).await.unwrap();
        world.open_run(&job(&format!("again {state}"), vec![step("a")])).await;
        let claim = world.claim_one(&agent).await.claim;
        let beside = NewMessage { ..mail(&format!("beside {state}")) };
        let settled = world.settle(puts(&claim, vec![beside, mail_saying(state.as_str(), "goodbye")])).await;
        let Settled::Applied { status: StepStatus::Failed, refused: Some(why), .. } = settled else {
            panic!("{state}: {settled:?}")
        };
        assert!(why.contains(state.as_str()), "{why}");
        assert_eq!(world.store.message(state.as_str()).await.unwrap(), before, "the first is untouched");
    }
    assert_eq!(world.rows("outbox", "key LIKE 'beside%'").await, 0, "nothing of a refused settlement is kept");
}

async fn a_delivering_step_succeeds_when_its_last_message_is_sent(world: World) {
    let run = world.open_run(&job("j", vec![step("a"), step_after("b", &["a"])])).await;
    let a = world.replica("a").await;
    let claim = world.claim_one(&a).await.claim;
    assert_eq!(world.settle(puts(&claim, vec![mail("m1"), mail("m2")])).await, put(0));
    let first = world.take(&a).await.claim;
    world.mark(&first).await;
    world.deliver(&first, accepted()).await;
    assert_eq!(world.close().await, 0, "one is still on its way");
    assert_eq!(world.step_status(&run, "a").await, "delivering");
    assert!(world.claim(&a, 9).await.is_empty(), "who comes after waits for the delivery");
    world.send_all().await;
    assert_eq!(world.close().await, 1);
    assert_eq!(world.step_status(&run, "a").await, "succeeded");
    assert_eq!(world.finish_one(&a).await.name, "b");
    assert_eq!(world.run_status(&run).await, "succeeded");
}

async fn a_run_does_not_end_before_its_messages_do(world: World) {
    let run = world.put("j", vec![mail("m")]).await;
    world.close().await;
    assert_eq!(world.run_status(&run).await, "running");
    assert!(!world.store.is_idle().await.unwrap());
    world.send_all().await;
    assert!(!world.store.is_idle().await.unwrap(), "sent, but its step is not closed yet");
    world.close().await;
    assert_eq!((world.run_status(&run).await.as_str(), world.store.is_idle().await.unwrap()), ("succeeded", true));
}

async fn a_delivering_step_is_held_while_a_message_is_in_doubt_and_goes_on_when_it_is_proven(world: World) {
    let claim = world.in_doubt("m").await;
    let run = onebell::model::RunId::from_text(world.store.message("m").await.unwrap().unwrap().run.unwrap());
    assert_eq!(world.close().await, 1);
    assert_eq!((world.step_status(&run, "a").await.as_str(), world.run_status(&run).await.as_str()), ("held", "parked"));
    assert_eq!(world.close().await, 0, "nothing changed since");
    world.deliver(&claim, accepted()).await;
    assert_eq!(world.close().await, 1);
    assert_eq!(world.step_status(&run, "a").await, "succeeded");
    world.admit().await;
    assert_eq!(world.run_status(&run).await, "succeeded");
}

async fn i9_a_step_run_again_still_waits_for_its_message_in_doubt(world: World) {
    world.in_doubt("m").await;
    let run = onebell::model::RunId::from_text(world.store.message("m").await.unwrap().unwrap().run.unwrap());
    world.close().await;
    assert_eq!(world.store.retry_run(&run, &actor()).await.unwrap(), onebell::store::Acted::Done);
    world.admit().await;
    let claim = world.claim_one(&world.replica("again").await).await.claim;
    assert_eq!(status_of(&world.settle(puts(&claim, vec![mail("m")])).await), StepStatus::Delivering);
    world.close().await;
    assert_eq!((world.step_status(&run, "a").await.as_str(), world.run_status(&run).await.as_str()), ("held", "parked"));
    world.store.resolve_message("m", onebell::store::MessageVerdict::Sent, &actor()).await.unwrap();
    world.close().await;
    world.admit().await;
    assert_eq!(world.run_status(&run).await, "succeeded");
}

async fn a_failed_message_fails_its_step_only_where_that_is_declared(world: World) {
    let bystander = with(step("a"), |step| step.on_message_failed = OnMessageFailed::Fail);
    let beside = world.open_run(&job("beside", vec![bystander])).await;
    let claim = world.claim_one(&world.replica("a").await).await.claim;
    world.settle(puts(&claim, vec![NewMessage { channel: "sms".to_owned(), ..mail("beside") }])).await;
    for (name, policy, end) in [("lenient", OnMessageFailed::Continue, "succeeded"), ("strict", OnMessageFailed::Fail, "failed")]
    {
        let strictness = with(step("a"), |step| step.on_message_failed = policy);
        let run = world.open_run(&job(name, vec![strictness])).await;
        let a = world.replica("a").await;
        let claim = world.claim_one(&a).await.claim;
        world.settle(puts(&claim, vec![mail(&format!("{name} 1")), mail(&format!("{name} 2"))])).await;
        let refused = world.take(&a).await.claim;
        world.deliver(&refused, rejected()).await;
        world.send_all().await;
        assert_eq!(world.close().await, 1);
        assert_eq!((world.step_status(&run, "a").await.as_str(), world.run_status(&run).await.as_str()), (end, end));
        assert_eq!(world.step(&run, "a").await.attempts.last().is_some_and(|attempt| attempt.error.is_some()), end == "failed");
        assert_eq!(world.step_status(&beside, "a").await, "delivering", "its message is still on its way");
    }
}

async fn closing_is_bounded_and_safe_at_once(world: World) {
    world.register(&job("j", vec![step("a")])).await;
    for n in 0..12 {
        world.trigger("j", &format!("{n}")).await;
    }
    for (n, claimed) in world.claim(&world.replica("a").await, 100).await.iter().enumerate() {
        world.settle(puts(&claimed.claim, vec![mail(&format!("m{n}"))])).await;
    }
    world.send_all().await;
    assert_eq!(world.store.close_deliveries(2).await.unwrap(), 2);
    let calls = world.others(3).await.into_iter().map(|store| async move {
        let mut closed = 0;
        loop {
            match store.close_deliveries(3).await.unwrap() {
                0 => return closed,
                some => closed += some,
            }
        }
    });
    assert!(at_once(calls.collect()).await.into_iter().sum::<u32>() <= 10, "each is closed once");
    world.close().await;
    assert_eq!(world.rows("runs", "status = 'succeeded'").await, 12);
    assert_eq!(world.rows("attempts", "outcome = 'delivering'").await, 12);
}
