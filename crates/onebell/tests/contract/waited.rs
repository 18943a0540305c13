//! A call on PostgreSQL that waited for a row decides over what the row became, not over what it saw before: a predicate in
//! place of a lock, or a decision in the statement that waits, would act on the past.

use onebell::model::message::MessageStatus;
use onebell::model::recovery::{Grant, RequestKind};
use onebell::store::{Extension, Guarded, Marked, MessageSettled, Settled, Settlement};

use super::given::*;
use super::held::Held;
use super::outbox::{accepted, rejected};
use super::retention::prune_all;
use super::world::World;

contract!(postgres only:
    a_claim_that_meets_the_loss_of_its_replica_gets_nothing,
    a_grant_that_waited_is_refused_when_its_row_moved_on,
    i3_a_settlement_that_waited_for_its_row_sees_that_it_was_taken,
    i3_a_term_taken_while_its_write_waited_writes_nothing,
    i9_a_message_that_was_taken_while_its_settlement_waited_is_not_settled,
    i9_a_message_whose_run_failed_while_its_mark_waited_does_not_go_out,
);

/// Whoever takes the row while the settlement waits for it: the fence is what stands in the row after the wait.
async fn i3_a_settlement_that_waited_for_its_row_sees_that_it_was_taken(world: World) {
    world.register(&job("j", vec![step("a")])).await;
    let agent = world.replica("agent").await;
    let taken = [
        "UPDATE {job_steps} SET attempt = attempt + 1, tries = tries + 1, locked_by = 'other'",
        "UPDATE {job_steps} SET status = 'pending', locked_by = NULL, complete_by = NULL, hard_complete_by = NULL, claimed_at = NULL, started_at = NULL",
        "DELETE FROM {job_steps}",
    ];
    for statement in taken {
        world.sql("DELETE FROM {job_steps}").await.unwrap();
        world.trigger("j", statement).await;
        let claim = world.claim_one(&agent).await.claim;
        let held = Held::by(&world, statement).await;
        let (store, other) = (world.another().await, world.another().await);
        let (late, progress) =
            (Settlement { messages: vec![mail("late")], ..records(&claim, vec![effect("late", 1)]) }, claim.clone());
        let settling = tokio::spawn(async move { settle_on(&store, late).await });
        held.until_waiting(1).await;
        let extending = tokio::spawn(async move { other.extend_step(&progress).await.unwrap() });
        held.until_waiting(2).await;
        held.commit().await;
        assert_eq!(settling.await.unwrap(), Settled::Superseded, "{statement}");
        assert_eq!(extending.await.unwrap(), Extension::Superseded, "{statement}");
        assert_eq!(world.rows("effects", "true").await + world.rows("outbox", "true").await, 0, "{statement}");
    }
}

/// The loss commits while the call waits for the replica's row: whoever looked at liveness before would act for the dead.
async fn a_claim_that_meets_the_loss_of_its_replica_gets_nothing(world: World) {
    world.put("mails", vec![mail("m1"), mail("m2")]).await;
    world.open_run(&job("j", vec![step("a"), step("b")])).await;
    for call in ["claim", "take", "mark", "extend", "campaign"] {
        let replica = world.replica(call).await;
        let message = if call == "mark" { Some(world.take(&replica).await.claim) } else { None };
        let step = if call == "extend" { Some(world.claim_one(&replica).await.claim) } else { None };
        let held =
            Held::by(&world, &format!("UPDATE {{replicas}} SET lost_at = clock_timestamp() WHERE replica_id = '{call}'")).await;
        let (store, ask, of) = (world.another().await, world.asks(&replica, 9), replica.clone());
        let acting = tokio::spawn(async move {
            match call {
                "claim" => store.claim_steps(&ask).await.unwrap().claimed.is_empty(),
                "take" => store.claim_messages(&super::outbox::asks(&of, 9)).await.unwrap().is_empty(),
                "mark" => store.mark_sending(&message.unwrap(), MINUTE).await.unwrap() == Marked::Superseded,
                "extend" => store.extend_step(&step.unwrap()).await.unwrap() == Extension::Superseded,
                _ => store.campaign("retention", &of, MINUTE).await.unwrap().is_none(),
            }
        });
        held.until_waiting(1).await;
        held.commit().await;
        assert!(acting.await.unwrap(), "{call}");
    }
}

async fn i3_a_term_taken_while_its_write_waited_writes_nothing(world: World) {
    let a = world.replica("a").await;
    world.replica("b").await;
    world.open_run(&job("j", vec![step("a")])).await;
    world.finish_one(&a).await;
    world.pass(MINUTE * 60 * 24 * 30);
    let term = world.store.campaign("retention", &a, seconds(10)).await.unwrap().unwrap();
    let held = Held::by(&world, "UPDATE {terms} SET holder = 'b', epoch = epoch + 1").await;
    let world = std::sync::Arc::new(world);
    let (pruning, old) = (std::sync::Arc::clone(&world), term.clone());
    let pruned = tokio::spawn(async move { prune_all(&pruning, &old).await });
    held.until_waiting(1).await;
    held.commit().await;
    assert_eq!(pruned.await.unwrap(), Guarded::Superseded);
    assert_eq!(world.rows("runs", "true").await, 1, "a predicate in place of the lock would have pruned it");
    // And the other way: while a guarded write holds the term, nobody takes it, though its time is over.
    world.sql("UPDATE {terms} SET holder = 'a', epoch = epoch + 1").await.unwrap();
    world.pass(seconds(60));
    let held = Held::by(&world, "SELECT 1 FROM {terms} FOR SHARE").await;
    let store = world.another().await;
    let taken =
        tokio::spawn(async move { store.campaign("retention", &onebell::model::ReplicaId::from_text("b"), seconds(10)).await });
    held.until_waiting(1).await;
    held.commit().await;
    assert_eq!(taken.await.unwrap().unwrap().map(|term| term.epoch()), Some(4));
}

async fn a_grant_that_waited_is_refused_when_its_row_moved_on(world: World) {
    world.put("mails", vec![mail("m")]).await;
    world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    let claim = world.claim_one(&a).await.claim;
    world.take(&a).await;
    world.pass(TIMEOUT + seconds(1));
    world.sweeps().await;
    world.asks_for_loss(&a).await;
    let later = world.literal(world.now() + MINUTE * 60);
    let moves = [
        (
            RequestKind::Step,
            claim.step().as_str(),
            format!("UPDATE {{job_steps}} SET complete_by = {later} WHERE status = 'running'"),
        ),
        (
            RequestKind::Message,
            "m",
            format!("UPDATE {{outbox}} SET status = 'sending', sending_at = now(), complete_by = {later}"),
        ),
        (RequestKind::Replica, "a", "UPDATE {replicas} SET beat = beat + 1".to_owned()),
    ];
    for (kind, id, statement) in moves {
        let request = world.open_request(kind, id).await;
        let held = Held::by(&world, &statement).await;
        let store = world.another().await;
        let granting = tokio::spawn(async move { store.grant(&request).await.unwrap() });
        held.until_waiting(1).await;
        held.commit().await;
        assert_eq!(granting.await.unwrap(), Grant::Refused, "{kind}");
    }
    assert_eq!(world.rows("job_steps", "status = 'running' AND locked_by = 'a'").await, 1);
    assert_eq!((world.message_status("m").await, world.renews(&a).await.is_some()), (MessageStatus::Sending, true));
}

async fn i9_a_message_that_was_taken_while_its_settlement_waited_is_not_settled(world: World) {
    let given_back = "status = 'ready', locked_by = NULL, complete_by = NULL, claimed_at = NULL";
    let taken = "attempt = attempt + 1, tries = tries + 1, locked_by = 'other'";
    for (name, statement) in [("given back", given_back), ("taken", taken)] {
        world.put(name, vec![mail(name)]).await;
        let claim = world.take(&world.replica("relay").await).await.claim;
        let held = Held::by(&world, &format!("UPDATE {{outbox}} SET {statement} WHERE key = '{name}'")).await;
        let mut calls = Vec::new();
        for (n, (store, delivery)) in world.others(2).await.into_iter().zip([accepted(), rejected()]).enumerate() {
            let claim = claim.clone();
            calls.push(tokio::spawn(async move { store.settle_messages(&[(claim, delivery)]).await.unwrap() }));
            held.until_waiting(i64::try_from(n).unwrap() + 1).await;
        }
        held.commit().await;
        for call in calls {
            assert_eq!(call.await.unwrap(), [MessageSettled::Superseded], "{name}");
        }
        assert_eq!(world.rows("outbox", &format!("key = '{name}' AND status IN ('ready', 'claimed')")).await, 1);
        world.sql(&format!("DELETE FROM {{outbox}} WHERE key = '{name}'")).await.unwrap();
    }
}

async fn i9_a_message_whose_run_failed_while_its_mark_waited_does_not_go_out(world: World) {
    let agent = world.replica("agent").await;
    world.open_run(&job("j", vec![with(step("first"), |step| step.priority = 1), step_once("second")])).await;
    let first = world.claim_one(&agent).await.claim;
    world.settle(puts(&first, vec![mail("m")])).await;
    let second = world.claim_one(&agent).await.claim;
    let claim = world.take(&agent).await.claim;
    // The failing settlement is held at its end, behind what it wrote over the message.
    let held = Held::by(&world, "SELECT 1 FROM {outbox} FOR UPDATE").await;
    let (settles, marks) = (world.another().await, world.another().await);
    let failing = tokio::spawn(async move { settle_on(&settles, fails(&second)).await });
    held.until_waiting(1).await;
    let marking = tokio::spawn(async move { marks.mark_sending(&claim, MINUTE).await.unwrap() });
    held.until_waiting(2).await;
    held.commit().await;
    failing.await.unwrap();
    let marked = marking.await.unwrap();
    let status = world.message_status("m").await;
    match marked {
        Marked::Go => assert_eq!(status, MessageStatus::Sending, "it was first"),
        _ => assert_ne!(status, MessageStatus::Sending),
    }
}
