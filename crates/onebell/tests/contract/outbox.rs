//! I9: a message is claimed before it is sent, marked before its content goes out, and an unknown outcome is never hidden.

use std::time::Duration;

use onebell::model::message::{Delivery, InDoubtPolicy, MessageStatus, NewMessage};
use onebell::model::{MessageClaim, ReplicaId};
use onebell::store::{ClaimMessages, ClaimedMessage, Marked, MessageSettled};

use super::given::*;
use super::world::World;

contract!(
    a_given_back_message_costs_no_try,
    a_lost_answer_to_a_message_claim_is_read_back,
    a_rejected_message_fails_and_is_not_sent_again,
    a_replica_that_is_not_live_claims_no_message_and_marks_none,
    i10_a_deferred_message_waits_longer_each_time_and_fails_when_its_tries_are_spent,
    i10_total_time_bounds_a_message_from_its_first_claim_on,
    i9_a_late_no_proves_nothing,
    i9_a_late_yes_proves_a_message_in_doubt_under_the_unchanged_attempt,
    i9_a_message_has_one_relay_however_many_ask_at_once,
    i9_a_relay_that_lost_its_second_attempt_is_superseded_though_it_settled_the_first,
    i9_a_settlement_is_already_when_its_acknowledgement_was_lost,
    i9_an_unknown_outcome_is_in_doubt_only_after_the_mark,
    i9_marking_is_safe_to_repeat_and_refused_once_the_claim_lapsed,
    i9_under_resend_an_unknown_outcome_is_sent_again_and_says_so,
    messages_go_by_readiness_then_by_key_on_carried_channels,
);

const WINDOW: Duration = Duration::from_secs(30);

pub(super) fn asks(replica: &ReplicaId, limit: u32) -> ClaimMessages {
    ClaimMessages { replica: replica.clone(), channels: channels(), limit, timeout: TIMEOUT }
}

pub(super) fn accepted() -> Delivery {
    Delivery::Accepted { receipt: "250 queued".to_owned() }
}

pub(super) fn rejected() -> Delivery {
    Delivery::Rejected { error: "550 no such mailbox".to_owned() }
}

pub(super) fn deferred() -> Delivery {
    Delivery::Deferred { error: "421 busy".to_owned(), after: None }
}

pub(super) fn unknown() -> Delivery {
    Delivery::Unknown { error: "connection lost after the dot".to_owned() }
}

impl World {
    /// Opens a run whose one step puts these messages; the step is then delivering.
    pub(super) async fn put(&self, job_name: &str, messages: Vec<NewMessage>) -> onebell::model::RunId {
        let run = self.open_run(&job(job_name, vec![step_once("a")])).await;
        let claim = self.claim_one(&self.replica("putter").await).await.claim;
        self.settle(puts(&claim, messages)).await;
        run
    }

    pub(super) async fn take(&self, replica: &ReplicaId) -> ClaimedMessage {
        let mut claimed = self.store.claim_messages(&asks(replica, 1)).await.unwrap();
        assert_eq!(claimed.len(), 1, "a message to claim");
        claimed.remove(0)
    }

    pub(super) async fn mark(&self, claim: &MessageClaim) -> Marked {
        self.store.mark_sending(claim, WINDOW).await.unwrap()
    }

    pub(super) async fn deliver(&self, claim: &MessageClaim, delivery: Delivery) -> MessageSettled {
        let mut answers = self.store.settle_messages(&[(claim.clone(), delivery)]).await.unwrap();
        assert_eq!(answers.len(), 1);
        answers.remove(0)
    }

    pub(super) async fn message_status(&self, key: &str) -> MessageStatus {
        let message = self.store.message(key).await.unwrap().expect("the message");
        MessageStatus::from_word(&message.status).unwrap()
    }

    /// A message that stands in doubt, and the claim of the relay that lost it.
    pub(super) async fn in_doubt(&self, name: &str) -> MessageClaim {
        self.put(&format!("job of {name}"), vec![mail(name)]).await;
        let claim = self.take(&self.replica("doubter").await).await.claim;
        assert_eq!(self.mark(&claim).await, Marked::Go);
        assert_eq!(self.deliver(&claim, unknown()).await, MessageSettled::Applied(MessageStatus::InDoubt));
        claim
    }
}

async fn i9_a_message_has_one_relay_however_many_ask_at_once(world: World) {
    world.put("j", (0..40).map(|n| mail(&format!("m{n:02}"))).collect()).await;
    let mut calls = Vec::new();
    for (n, store) in world.others(6).await.into_iter().enumerate() {
        let ask = asks(&world.replica(&format!("r{n}")).await, 3);
        calls.push(async move {
            let mut all = Vec::new();
            loop {
                let claimed = store.claim_messages(&ask).await.unwrap();
                if claimed.is_empty() {
                    return all;
                }
                assert!(claimed.len() <= 3);
                all.extend(claimed);
            }
        });
    }
    let mut keys: Vec<_> = at_once(calls).await.into_iter().flatten().map(|message| message.claim.key().to_owned()).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 40);
    assert_eq!(world.rows("outbox", "status = 'claimed' AND attempt = 1 AND tries = 1").await, 40);
}

async fn messages_go_by_readiness_then_by_key_on_carried_channels(world: World) {
    let sms = NewMessage { channel: "sms".to_owned(), ..mail("sms") };
    world.put("j", vec![mail("b"), sms, mail("a")]).await;
    world.pass(seconds(1));
    world.put("k", vec![mail("0")]).await;
    let a = world.replica("a").await;
    let claimed = world.store.claim_messages(&asks(&a, 9)).await.unwrap();
    let keys: Vec<_> = claimed.iter().map(|message| message.claim.key()).collect();
    assert_eq!(keys, ["a", "b", "0"]);
    let first = &claimed[0];
    assert_eq!((first.claim.attempt(), first.tries, first.resent, first.channel.as_str()), (1, 1, false, "mail"));
    assert_eq!((first.claimed_at, first.complete_by), (world.now(), world.now() + TIMEOUT));
    let payload: serde_json::Value = serde_json::from_str(&first.payload).unwrap();
    assert_eq!((payload, first.on_in_doubt), (serde_json::json!({"text": "hello"}), InDoubtPolicy::Hold));
    let other = ClaimMessages { channels: vec!["sms".to_owned()], ..asks(&a, 9) };
    assert_eq!(world.store.claim_messages(&other).await.unwrap().len(), 1);
}

async fn a_replica_that_is_not_live_claims_no_message_and_marks_none(world: World) {
    world.put("j", vec![mail("m1"), mail("m2")]).await;
    let lost = world.replica("lost").await;
    let claim = world.take(&lost).await.claim;
    world.declare_lost(&lost).await;
    assert!(world.store.claim_messages(&asks(&lost, 9)).await.unwrap().is_empty());
    assert_eq!(world.mark(&claim).await, Marked::Superseded);
    assert_eq!(world.deliver(&claim, accepted()).await, MessageSettled::Superseded);
    let left = world.replica("left").await;
    let claim = world.take(&left).await.claim;
    world.store.leave(&left).await.unwrap();
    assert!(world.store.claim_messages(&asks(&left, 9)).await.unwrap().is_empty());
    assert_eq!(world.mark(&claim).await, Marked::Superseded, "who left does not begin to send");
    assert!(world.store.claim_messages(&asks(&ReplicaId::from_text("nobody"), 9)).await.unwrap().is_empty());
}

async fn a_lost_answer_to_a_message_claim_is_read_back(world: World) {
    world.put("j", vec![mail("m1"), mail("m2"), mail("m3")]).await;
    let (a, b) = (world.replica("a").await, world.replica("b").await);
    let claimed = world.store.claim_messages(&asks(&a, 2)).await.unwrap();
    world.take(&b).await;
    let mut held = world.another().await.held_messages(&a).await.unwrap();
    held.sort_by(|a, b| a.claim.key().cmp(b.claim.key()));
    assert_eq!(held, claimed);
    world.mark(&claimed[0].claim).await;
    let held = world.store.held_messages(&a).await.unwrap();
    assert_eq!(held.len(), 1, "what is in sending is not to be begun again");
}

async fn i9_marking_is_safe_to_repeat_and_refused_once_the_claim_lapsed(world: World) {
    world.put("j", vec![mail("m1"), mail("m2")]).await;
    let a = world.replica("a").await;
    let first = world.take(&a).await.claim;
    let second = world.take(&a).await.claim;
    world.pass(seconds(50));
    assert_eq!(world.mark(&first).await, Marked::Go);
    assert_eq!(world.mark(&first).await, Marked::Go, "the answer may have been lost");
    let message = world.store.message("m1").await.unwrap().unwrap();
    assert_eq!((message.status.as_str(), message.sending_at), ("sending", Some(world.now())));
    assert_eq!(world.rows("outbox", &format!("complete_by = {}", world.literal(world.now() + WINDOW))).await, 1);
    world.pass(seconds(11));
    assert_eq!(world.mark(&second).await, Marked::Superseded, "lapsed, although nobody recovered it yet");
    assert_eq!(world.message_status("m2").await, MessageStatus::Claimed);
}

async fn i9_a_settlement_is_already_when_its_acknowledgement_was_lost(world: World) {
    for (name, delivery) in
        [("yes", accepted()), ("no", rejected()), ("later", deferred()), ("back", Delivery::GivenBack), ("unknown", unknown())]
    {
        world.put(name, vec![mail(name)]).await;
        let claim = world.take(&world.replica("a").await).await.claim;
        if name == "yes" || name == "unknown" {
            world.mark(&claim).await;
        }
        assert!(matches!(world.deliver(&claim, delivery.clone()).await, MessageSettled::Applied(_)), "{name}");
        let before = world.store.message(name).await.unwrap();
        let finished_at = before.as_ref().and_then(|message| message.finished_at);
        assert_eq!(finished_at, Some(world.now()).filter(|_| matches!(name, "yes" | "no")), "{name}");
        assert_eq!(world.deliver(&claim, delivery).await, MessageSettled::Already, "{name}");
        assert_eq!(world.store.message(name).await.unwrap(), before, "{name}");
        // Out of the way of the next.
        world.store.claim_messages(&asks(&world.replica("b").await, 9)).await.unwrap();
    }
}

async fn i9_an_unknown_outcome_is_in_doubt_only_after_the_mark(world: World) {
    world.in_doubt("after").await;
    let message = world.store.message("after").await.unwrap().unwrap();
    assert_eq!(message.note.as_deref(), Some("connection lost after the dot"));
    assert!(world.store.claim_messages(&asks(&world.replica("a").await, 9)).await.unwrap().is_empty(), "nobody sends it again");
    world.put("j", vec![mail("before")]).await;
    let claim = world.take(&world.replica("a").await).await.claim;
    assert_eq!(world.deliver(&claim, unknown()).await, MessageSettled::Applied(MessageStatus::Ready));
}

async fn i9_a_late_yes_proves_a_message_in_doubt_under_the_unchanged_attempt(world: World) {
    let claim = world.in_doubt("m").await;
    assert_eq!(world.deliver(&claim, accepted()).await, MessageSettled::Applied(MessageStatus::Sent));
    assert_eq!(world.deliver(&claim, accepted()).await, MessageSettled::Already);
    // Once it is being sent again, the answer to the first attempt is nobody's.
    let claim = world.in_doubt("n").await;
    world.store.resolve_message("n", onebell::store::MessageVerdict::Resend, &actor()).await.unwrap();
    let again = world.take(&world.replica("b").await).await;
    assert_eq!((again.claim.attempt(), again.resent), (2, true));
    assert_eq!(world.deliver(&claim, accepted()).await, MessageSettled::Superseded);
    assert_eq!(world.message_status("n").await, MessageStatus::Claimed);
}

async fn i9_a_relay_that_lost_its_second_attempt_is_superseded_though_it_settled_the_first(world: World) {
    world.put("j", vec![mail("m")]).await;
    let a = world.replica("a").await;
    let first = world.take(&a).await.claim;
    world.deliver(&first, Delivery::GivenBack).await;
    let second = world.take(&a).await.claim;
    world.pass(TIMEOUT + seconds(1));
    assert_eq!((world.sweeps().await, world.grant_all().await), (1, 1));
    assert_eq!(world.deliver(&second, accepted()).await, MessageSettled::Superseded);
    assert_eq!(world.message_status("m").await, MessageStatus::Ready);
}

async fn i9_a_late_no_proves_nothing(world: World) {
    let claim = world.in_doubt("m").await;
    for late in [rejected(), deferred(), Delivery::GivenBack] {
        assert!(!matches!(world.deliver(&claim, late.clone()).await, MessageSettled::Applied(_)), "{late:?}");
        assert_eq!(world.message_status("m").await, MessageStatus::InDoubt, "{late:?}");
    }
}

async fn i9_under_resend_an_unknown_outcome_is_sent_again_and_says_so(world: World) {
    let hook = NewMessage { on_in_doubt: InDoubtPolicy::Resend, ..mail("hook") };
    world.put("j", vec![hook]).await;
    let a = world.replica("a").await;
    let first = world.take(&a).await;
    assert!(!first.resent);
    world.mark(&first.claim).await;
    assert_eq!(world.deliver(&first.claim, unknown()).await, MessageSettled::Applied(MessageStatus::Ready));
    world.pass(MINUTE * 2);
    let second = world.take(&a).await;
    assert_eq!((second.claim.attempt(), second.tries, second.resent), (2, 2, true));
    assert!(world.store.message("hook").await.unwrap().unwrap().resent);
    world.mark(&second.claim).await;
    assert_eq!(world.deliver(&second.claim, accepted()).await, MessageSettled::Applied(MessageStatus::Sent));
}

async fn i10_a_deferred_message_waits_longer_each_time_and_fails_when_its_tries_are_spent(world: World) {
    world.put("j", vec![mail("m")]).await;
    let a = world.replica("a").await;
    let mut waits = Vec::new();
    for attempt in 1..=3 {
        let message = world.take(&a).await;
        assert_eq!((message.claim.attempt(), u64::from(message.tries)), (attempt, attempt));
        let after =
            if attempt == 2 { Delivery::Deferred { error: "421".to_owned(), after: Some(seconds(300)) } } else { deferred() };
        world.deliver(&message.claim, after).await;
        if let Some(ready_at) = world.store.message("m").await.unwrap().unwrap().ready_at.filter(|_| attempt < 3) {
            waits.push(ready_at.since(world.now()));
            assert!(world.store.claim_messages(&asks(&a, 1)).await.unwrap().is_empty(), "not yet");
            world.clock.set(ready_at);
        }
    }
    assert!(waits[0] >= Duration::from_millis(500) && waits[0] <= seconds(1), "{waits:?}");
    assert_eq!(waits[1], seconds(300), "as the other side said");
    let message = world.store.message("m").await.unwrap().unwrap();
    assert_eq!(message.status, MessageStatus::Failed.as_str());
    assert!(message.note.unwrap().contains("421 busy"));
}

async fn i10_total_time_bounds_a_message_from_its_first_claim_on(world: World) {
    let bounded = with(mail("m"), |mail| (mail.retry.attempts, mail.retry.within_us) = (100, Some(30_000_000)));
    world.put("j", vec![bounded]).await;
    world.pass(MINUTE);
    let a = world.replica("a").await;
    for end in [MessageStatus::Ready, MessageStatus::Failed] {
        let claim = world.take(&a).await.claim;
        world.pass(seconds(10));
        assert_eq!(world.deliver(&claim, deferred()).await, MessageSettled::Applied(end));
        world.pass(seconds(11));
    }
}

async fn a_rejected_message_fails_and_is_not_sent_again(world: World) {
    world.put("j", vec![mail("m")]).await;
    let a = world.replica("a").await;
    let claim = world.take(&a).await.claim;
    assert_eq!(world.deliver(&claim, rejected()).await, MessageSettled::Applied(MessageStatus::Failed));
    world.pass(MINUTE * 60);
    assert!(world.store.claim_messages(&asks(&a, 9)).await.unwrap().is_empty());
}

async fn a_given_back_message_costs_no_try(world: World) {
    world.put("j", vec![mail("m")]).await;
    let a = world.replica("a").await;
    for attempt in 1..=5 {
        let message = world.take(&a).await;
        assert_eq!((message.claim.attempt(), message.tries), (attempt, 1));
        assert_eq!(world.deliver(&message.claim, Delivery::GivenBack).await, MessageSettled::Applied(MessageStatus::Ready));
    }
}
