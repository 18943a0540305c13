//! What becomes of messages when their run fails or is cancelled, and what people may decide.

use onebell::model::RunId;
use onebell::model::job::{OnLost, OnMessageFailed};
use onebell::model::message::{Delivery, DroppedBy, MessageStatus};
use onebell::model::step::StepStatus;
use onebell::store::{Acted, Marked, MessageSettled, MessageVerdict, Settled};

use super::given::*;
use super::outbox::{accepted, asks, rejected};
use super::world::World;

contract!(
    a_claimed_message_of_a_failed_run_is_dropped_when_it_comes_back_and_may_not_go_out,
    a_message_dropped_by_a_person_stays_dropped,
    a_message_in_sending_is_not_dropped_with_its_run,
    a_retried_run_has_its_dropped_messages_ready_again,
    a_retried_run_waits_for_the_messages_that_were_dropped_with_it,
    a_retried_run_fails_with_a_message_that_was_dropped_with_it,
    a_retried_run_has_its_doubts_held_as_before,
    a_retried_run_waits_for_no_message_whose_step_was_followed_already,
    a_retried_run_keeps_what_is_claimed_of_its_messages_and_no_other_runs,
    i9_a_message_that_was_in_sending_before_is_not_dropped_with_its_run,
    a_run_that_fails_or_is_cancelled_drops_its_unsent_messages,
    i9_a_claimed_message_of_a_failed_run_belongs_to_who_puts_it_again,
    i14_a_loss_that_fails_a_run_drops_the_message_that_was_lost_with_it,
    i9_the_same_message_put_again_by_another_run_revives_a_dropped_one,
    people_decide_a_message_only_where_its_state_allows,
);

/// A run whose step `first` put `messages` and whose step `second` is claimed by `agent`.
async fn half_way(world: &World, name: &str, messages: &[&str]) -> (RunId, onebell::model::Claim) {
    let agent = world.replica("agent").await;
    let run = world.open_run(&job(name, vec![with(step("first"), |step| step.priority = 1), step_once("second")])).await;
    let first = world.claim_one(&agent).await.claim;
    world.settle(puts(&first, messages.iter().map(|name| mail(name)).collect())).await;
    let second = world.claim_one(&agent).await.claim;
    (run, second)
}

async fn dropped_by(world: &World, key: &str) -> Option<String> {
    world.store.message(key).await.unwrap().unwrap().dropped_by
}

async fn a_run_that_fails_or_is_cancelled_drops_its_unsent_messages(world: World) {
    let (_, second) = half_way(&world, "failing", &["f1", "f2"]).await;
    world.settle(fails(&second)).await;
    let (run, _) = half_way(&world, "cancelled", &["c1"]).await;
    world.store.cancel_run(&run, &actor()).await.unwrap();
    for key in ["f1", "f2", "c1"] {
        assert_eq!(world.message_status(key).await, MessageStatus::Dropped, "{key}");
        assert_eq!(dropped_by(&world, key).await.as_deref(), Some(DroppedBy::Run.as_str()));
        assert_eq!(world.store.message(key).await.unwrap().unwrap().finished_at, Some(world.now()), "{key}");
    }
    assert_eq!(world.send_all().await, 0);
}

async fn a_claimed_message_of_a_failed_run_is_dropped_when_it_comes_back_and_may_not_go_out(world: World) {
    let (_, second) = half_way(&world, "j", &["m1", "m2", "m3", "m4"]).await;
    let (relay, dead) = (world.replica("relay").await, world.replica("dead").await);
    let claims: Vec<_> =
        world.store.claim_messages(&asks(&relay, 3)).await.unwrap().into_iter().map(|message| message.claim).collect();
    world.take(&dead).await;
    world.settle(fails(&second)).await;
    for claim in &claims {
        assert_eq!(world.mark(claim).await, Marked::Dropped, "its content must not go out");
    }
    let back = [(0, Delivery::GivenBack), (1, Delivery::Deferred { error: "421".to_owned(), after: None })];
    for (n, delivery) in back {
        assert!(!matches!(world.deliver(&claims[n], delivery).await, MessageSettled::Applied(MessageStatus::Ready)));
    }
    world.declare_lost(&dead).await;
    world.pass(TIMEOUT * 2);
    world.sweeps().await;
    world.grant_all().await;
    assert_eq!(world.rows("outbox", "status = 'dropped' AND dropped_by = 'run'").await, 4);
    assert_eq!(world.rows("outbox", "status <> 'dropped' OR locked_by IS NOT NULL").await, 0);
}

/// One replica held the step whose loss fails the run, and a message of that run.
async fn i14_a_loss_that_fails_a_run_drops_the_message_that_was_lost_with_it(world: World) {
    let replica = world.replica("both").await;
    let steps = vec![with(step("first"), |step| step.priority = 1), step_on_lost("second", OnLost::Fail)];
    let run = world.open_run(&job("j", steps)).await;
    let first = world.claim_one(&replica).await.claim;
    world.settle(puts(&first, vec![mail("m")])).await;
    world.claim_one(&replica).await;
    world.take(&replica).await;
    world.declare_lost(&replica).await;
    assert_eq!(world.step_status(&run, "second").await, "failed");
    assert_eq!(world.message_status("m").await, MessageStatus::Dropped);
    assert_eq!(dropped_by(&world, "m").await.as_deref(), Some(DroppedBy::Run.as_str()));
    assert_eq!(world.send_all().await, 0);
}

async fn a_message_in_sending_is_not_dropped_with_its_run(world: World) {
    let (run, second) = half_way(&world, "j", &["m"]).await;
    let claim = world.take(&world.replica("relay").await).await.claim;
    world.mark(&claim).await;
    world.settle(fails(&second)).await;
    assert_eq!(world.message_status("m").await, MessageStatus::Sending);
    assert_eq!(world.mark(&claim).await, Marked::Go, "it may be out already: the mark is only confirmed");
    assert_eq!(world.deliver(&claim, accepted()).await, MessageSettled::Applied(MessageStatus::Sent));
    world.close().await;
    assert_eq!(world.run_status(&run).await, "failed");
}

async fn i9_the_same_message_put_again_by_another_run_revives_a_dropped_one(world: World) {
    let (_, second) = half_way(&world, "one", &["m"]).await;
    world.settle(fails(&second)).await;
    assert_eq!(world.close().await, 1, "the failed run waits for nothing that is dropped");
    let run = world.open_run(&job("two", vec![step("a")])).await;
    let claim = world.claim_one(&world.replica("agent").await).await.claim;
    assert_eq!(status_of(&world.settle(puts(&claim, vec![mail("m")])).await), StepStatus::Delivering);
    let message = world.store.message("m").await.unwrap().unwrap();
    assert_eq!((message.status.as_str(), message.dropped_by, message.run.as_deref()), ("ready", None, Some(run.as_str())));
    assert_eq!(message.finished_at, None);
    assert_eq!(world.close().await, 0, "the new run waits for it");
    assert_eq!(world.send_all().await, 1);
    world.close().await;
    assert_eq!(world.run_status(&run).await, "succeeded");
}

/// Else it would be dropped when it comes back, and nobody would ever send it.
async fn i9_a_claimed_message_of_a_failed_run_belongs_to_who_puts_it_again(world: World) {
    let (_, second) = half_way(&world, "one", &["m"]).await;
    let relay = world.replica("relay").await;
    let claim = world.take(&relay).await.claim;
    world.settle(fails(&second)).await;
    world.close().await;
    let run = world.open_run(&job("two", vec![step("a")])).await;
    let put = world.claim_one(&world.replica("agent").await).await.claim;
    assert_eq!(status_of(&world.settle(puts(&put, vec![mail("m")])).await), StepStatus::Delivering);
    world.close().await;
    assert_eq!(world.step_status(&run, "a").await, "delivering", "the new run waits for it");
    assert_eq!(world.deliver(&claim, Delivery::GivenBack).await, MessageSettled::Applied(MessageStatus::Ready));
    let again = world.take(&relay).await.claim;
    assert_eq!(world.mark(&again).await, Marked::Go);
    world.deliver(&again, accepted()).await;
    world.close().await;
    assert_eq!(world.run_status(&run).await, "succeeded");
}

async fn a_message_dropped_by_a_person_stays_dropped(world: World) {
    world.put("one", vec![mail("m")]).await;
    assert_eq!(world.store.resolve_message("m", MessageVerdict::Drop, &actor()).await.unwrap(), Acted::Done);
    assert_eq!(dropped_by(&world, "m").await.as_deref(), Some(DroppedBy::Person.as_str()));
    assert_eq!(world.store.message("m").await.unwrap().unwrap().finished_at, Some(world.now()));
    let run = world.open_run(&job("two", vec![step("a")])).await;
    let claim = world.claim_one(&world.replica("agent").await).await.claim;
    let settled = world.settle(puts(&claim, vec![mail("m")])).await;
    assert!(matches!(settled, Settled::Applied { messages_already: 1, refused: None, .. }), "{settled:?}");
    assert_eq!(world.message_status("m").await, MessageStatus::Dropped);
    assert_eq!(world.send_all().await, 0);
    world.close().await;
    assert_eq!(world.run_status(&run).await, "succeeded");
}

async fn a_retried_run_has_its_dropped_messages_ready_again(world: World) {
    let (run, second) = half_way(&world, "j", &["m1", "m2"]).await;
    world.settle(fails(&second)).await;
    assert_eq!(world.run_status(&run).await, "failing", "its first step still delivers");
    world.close().await;
    assert_eq!(world.run_status(&run).await, "failed");
    assert_eq!(world.store.retry_run(&run, &actor()).await.unwrap(), Acted::Done);
    assert_eq!(world.rows("outbox", "status = 'ready' AND dropped_by IS NULL").await, 2);
    assert_eq!(world.send_all().await, 2);
    world.admit().await;
    world.finish_one(&world.replica("agent").await).await;
    world.close().await;
    assert_eq!(world.run_status(&run).await, "succeeded");
}

/// A run whose first step, which may end with its messages under `policy`, delivers again while its second is done.
async fn taken_up(world: &World, policy: OnMessageFailed) -> RunId {
    let agent = world.replica("agent").await;
    let first = with(step("first"), |step| (step.priority, step.on_message_failed) = (1, policy));
    let run = world.open_run(&job("j", vec![first, step_once("second"), step_after("third", &["first"])])).await;
    let first = world.claim_one(&agent).await.claim;
    world.settle(puts(&first, vec![mail("m1"), mail("m2")])).await;
    let second = world.claim_one(&agent).await.claim;
    world.settle(fails(&second)).await;
    world.close().await;
    assert_eq!(world.store.retry_run(&run, &actor()).await.unwrap(), Acted::Done);
    assert_eq!(world.step_status(&run, "first").await, "delivering", "it had succeeded with messages that were never sent");
    assert_eq!(world.step_status(&run, "third").await, "waiting");
    world.admit().await;
    world.finish_one(&agent).await;
    world.close().await;
    assert_eq!(world.run_status(&run).await, "running", "two messages of it are not out yet");
    run
}

async fn a_retried_run_waits_for_the_messages_that_were_dropped_with_it(world: World) {
    let run = taken_up(&world, OnMessageFailed::Continue).await;
    assert_eq!(world.send_all().await, 2);
    assert_eq!(world.close().await, 1);
    world.finish_one(&world.replica("agent").await).await;
    assert_eq!(world.run_status(&run).await, "succeeded");
    let history = world.store.run(&run).await.unwrap().unwrap().steps.into_iter().find(|step| step.name == "first").unwrap();
    let outcomes: Vec<String> = history.attempts.iter().map(|attempt| attempt.outcome.clone()).collect();
    assert_eq!(outcomes, ["delivering", "succeeded", "delivering", "succeeded"]);
}

async fn a_retried_run_fails_with_a_message_that_was_dropped_with_it(world: World) {
    let run = taken_up(&world, OnMessageFailed::Fail).await;
    let relay = world.replica("relay").await;
    let (bad, good) = (world.take(&relay).await.claim, world.take(&relay).await.claim);
    world.deliver(&bad, rejected()).await;
    assert_eq!(world.close().await, 0, "one is still on its way");
    world.mark(&good).await;
    world.deliver(&good, accepted()).await;
    assert_eq!(world.close().await, 1);
    assert_eq!(world.run_status(&run).await, "failed");
}

async fn a_retried_run_has_its_doubts_held_as_before(world: World) {
    let run = taken_up(&world, OnMessageFailed::Continue).await;
    let relay = world.replica("relay").await;
    for delivery in [super::outbox::unknown(), accepted()] {
        let claim = world.take(&relay).await.claim;
        world.mark(&claim).await;
        world.deliver(&claim, delivery).await;
    }
    assert_eq!(world.close().await, 1);
    assert_eq!(world.run_status(&run).await, "parked");
    let doubted = world.store.message("m1").await.unwrap().unwrap().status;
    let key = if doubted == "in_doubt" { "m1" } else { "m2" };
    world.store.resolve_message(key, MessageVerdict::Sent, &actor()).await.unwrap();
    assert_eq!(world.close().await, 1, "decided, it goes on by itself");
    world.admit().await;
    world.finish_one(&world.replica("agent").await).await;
    assert_eq!(world.run_status(&run).await, "succeeded");
}

/// The step had been done without its message, and what follows it had run: it must not wait for it now.
async fn a_retried_run_waits_for_no_message_whose_step_was_followed_already(world: World) {
    let (agent, relay) = (world.replica("agent").await, world.replica("relay").await);
    let run =
        world.open_run(&job("j", vec![step("first"), step_after("second", &["first"]), step_after("third", &["second"])])).await;
    let first = world.claim_one(&agent).await.claim;
    world.settle(puts(&first, vec![mail("m")])).await;
    let refused = world.take(&relay).await.claim;
    world.deliver(&refused, rejected()).await;
    world.close().await;
    let second = world.claim_one(&agent).await.claim;
    world.store.resolve_message("m", MessageVerdict::Resend, &actor()).await.unwrap();
    world.settle(fails(&second)).await;
    assert_eq!(world.run_status(&run).await, "failed");
    assert_eq!(world.message_status("m").await, MessageStatus::Dropped);
    assert_eq!(world.store.retry_run(&run, &actor()).await.unwrap(), Acted::Done);
    assert_eq!(world.step_status(&run, "first").await, "succeeded");
    assert_eq!(world.step_status(&run, "second").await, "pending");
    world.admit().await;
    world.finish_one(&agent).await;
    world.finish_one(&agent).await;
    assert_eq!(world.run_status(&run).await, "succeeded");
    assert_eq!(world.send_all().await, 1, "it goes out all the same");
}

async fn people_decide_a_message_only_where_its_state_allows(world: World) {
    let relay = world.replica("relay").await;
    let keys = ["claimed", "failed", "ready", "rejected", "sending", "sent"];
    world.put("j", keys.map(mail).to_vec()).await;
    for message in world.store.claim_messages(&asks(&relay, 9)).await.unwrap() {
        match message.claim.key() {
            "ready" => drop(world.deliver(&message.claim, Delivery::GivenBack).await),
            "failed" | "rejected" => drop(world.deliver(&message.claim, rejected()).await),
            "sending" => drop(world.mark(&message.claim).await),
            "sent" => {
                world.mark(&message.claim).await;
                world.deliver(&message.claim, accepted()).await;
            }
            _ => {}
        }
    }
    for key in keys {
        for &verdict in MessageVerdict::ALL {
            let allowed = match key {
                "failed" | "rejected" => verdict != MessageVerdict::Sent,
                "ready" => verdict == MessageVerdict::Drop,
                _ => false,
            };
            if !allowed {
                let before = world.message_status(key).await;
                let acted = world.store.resolve_message(key, verdict, &actor()).await.unwrap();
                assert!(matches!(acted, Acted::NotNow(_)), "{key} {verdict}: {acted:?}");
                assert_eq!(world.message_status(key).await, before);
            }
        }
    }
    let allowed = [
        ("failed", MessageVerdict::Resend, "ready"),
        ("ready", MessageVerdict::Drop, "dropped"),
        ("rejected", MessageVerdict::Drop, "dropped"),
    ];
    for (key, verdict, to) in allowed {
        assert_eq!(world.store.resolve_message(key, verdict, &actor()).await.unwrap(), Acted::Done, "{key} {verdict}");
        assert_eq!(world.message_status(key).await.as_str(), to);
    }
    for (key, verdict, to) in
        [("d1", MessageVerdict::Sent, "sent"), ("d2", MessageVerdict::Resend, "ready"), ("d3", MessageVerdict::Drop, "dropped")]
    {
        world.in_doubt(key).await;
        assert_eq!(world.store.resolve_message(key, verdict, &actor()).await.unwrap(), Acted::Done);
        assert_eq!(world.message_status(key).await.as_str(), to);
        if to == "ready" {
            let again = world.store.claim_messages(&asks(&relay, 9)).await.unwrap();
            assert!(again.iter().any(|message| message.claim.key() == key && message.resent), "from now on at least once");
        }
    }
    let nobody = world.store.resolve_message("nobody", MessageVerdict::Sent, &actor()).await.unwrap();
    assert_eq!(nobody, Acted::NotFound);
}

async fn a_retried_run_keeps_what_is_claimed_of_its_messages_and_no_other_runs(world: World) {
    let relay = world.replica("relay").await;
    let (mut claims, mut runs) = (Vec::new(), Vec::new());
    for name in ["retried", "left"] {
        let (run, second) = half_way(&world, name, &[name]).await;
        let refused = world.take(&relay).await.claim;
        world.deliver(&refused, rejected()).await;
        assert_eq!(world.close().await, 1, "its step ended without it");
        world.store.resolve_message(name, MessageVerdict::Resend, &actor()).await.unwrap();
        claims.push(world.take(&relay).await.claim);
        world.settle(fails(&second)).await;
        assert_eq!(world.run_status(&run).await, "failed");
        runs.push(run);
    }
    assert_eq!(world.store.retry_run(&runs[0], &actor()).await.unwrap(), Acted::Done);
    assert_eq!(world.mark(&claims[0]).await, Marked::Go);
    assert_eq!(world.mark(&claims[1]).await, Marked::Dropped);
}

/// Sent under `resend` with an unknown outcome, ready or claimed again: it may have arrived, so it is finished.
async fn i9_a_message_that_was_in_sending_before_is_not_dropped_with_its_run(world: World) {
    let agent = world.replica("agent").await;
    let hook = |name: &str| with(mail(name), |mail| mail.on_in_doubt = onebell::model::message::InDoubtPolicy::Resend);
    let run = world.open_run(&job("j", vec![with(step("first"), |step| step.priority = 1), step_once("second")])).await;
    let first = world.claim_one(&agent).await.claim;
    world.settle(puts(&first, vec![hook("claimed"), hook("ready")])).await;
    let second = world.claim_one(&agent).await.claim;
    for message in world.store.claim_messages(&asks(&agent, 9)).await.unwrap() {
        world.mark(&message.claim).await;
        assert_eq!(world.deliver(&message.claim, super::outbox::unknown()).await, MessageSettled::Applied(MessageStatus::Ready));
    }
    world.pass(MINUTE * 2);
    let claimed = world.take(&agent).await.claim;
    world.settle(fails(&second)).await;
    assert_eq!(world.rows("outbox", "status = 'dropped' OR dropped_by IS NOT NULL").await, 0);
    assert_eq!(world.mark(&claimed).await, Marked::Go);
    assert_eq!(world.deliver(&claimed, accepted()).await, MessageSettled::Applied(MessageStatus::Sent));
    assert_eq!(world.send_all().await, 1);
    world.close().await;
    assert_eq!(world.run_status(&run).await, "failed");
}
