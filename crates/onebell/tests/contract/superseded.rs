//! I3: an attempt that lost its fence changes no state, however it lost it.

use std::pin::Pin;

use onebell::model::recovery::RequestKind;
use onebell::model::run::RunStatus;
use onebell::model::step::{StepStatus, Verdict};
use onebell::model::{Claim, ReplicaId};
use onebell::store::{ClaimSteps, Extension, Marked, MessageSettled, Settled, Settlement, Work};

use super::given::*;
use super::world::World;

contract!(
    i3_a_claim_that_another_replica_holds_by_now_is_superseded,
    i3_a_late_settle_after_a_give_back_changes_nothing_and_costs_no_try,
    i3_a_zombie_is_superseded_after_the_row_moved_to_the_history,
    i3_an_attempt_that_was_cancelled_is_superseded,
    i3_an_attempt_that_was_declared_lost_is_superseded,
    i3_after_a_restore_the_same_attempt_of_another_replica_is_superseded,
    i3_an_attempt_the_store_never_saw_is_superseded,
    i3_every_verdict_of_a_superseded_attempt_changes_nothing,
    i3_superseded_user_statements_are_taken_back,
    k06_01_a_frozen_agent_that_wakes_after_the_takeover_finds_every_door_shut,
    k06_02_a_grant_and_a_settlement_at_once_end_in_one_of_two_ways,
    k06_02_a_grant_and_the_mark_of_a_message_at_once_end_in_one_of_two_ways,
);

/// Everything that a settlement could write: an effect, a message, and the step's success.
fn loud(claim: &Claim) -> Settlement {
    Settlement { effects: vec![effect("late", 1)], messages: vec![mail("late")], ..succeeds(claim) }
}

async fn nothing_of_it_was_written(world: &World) {
    assert_eq!(world.rows("effects", "key = 'late'").await, 0);
    assert_eq!(world.rows("outbox", "key = 'late'").await, 0);
}

async fn i3_a_claim_that_another_replica_holds_by_now_is_superseded(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let (a, b) = (world.replica("a").await, world.replica("b").await);
    let old = world.claim_one(&a).await.claim;
    world.declare_lost(&a).await;
    let new = world.claim_one(&b).await.claim;
    assert_eq!((old.attempt(), new.attempt()), (1, 2));
    assert_eq!(world.settle(loud(&old)).await, Settled::Superseded);
    nothing_of_it_was_written(&world).await;
    let step = world.step(&run, "a").await;
    assert_eq!((step.status.as_str(), step.attempt, step.locked_by.as_deref()), ("running", 2, Some("b")));
    assert_eq!(world.settle(succeeds(&new)).await, applied(StepStatus::Succeeded));
}

async fn i3_an_attempt_that_was_declared_lost_is_superseded(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    let claim = world.claim_one(&a).await.claim;
    world.declare_lost(&a).await;
    assert_eq!(world.settle(loud(&claim)).await, Settled::Superseded);
    assert_eq!(world.settle(loud(&claim)).await, Settled::Superseded, "also when it asks again");
    nothing_of_it_was_written(&world).await;
    assert_eq!(world.step_status(&run, "a").await, "pending");
}

async fn i3_an_attempt_that_was_cancelled_is_superseded(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    let claim = world.claim_one(&a).await.claim;
    world.store.cancel_run(&run, &actor()).await.unwrap();
    world.declare_lost(&a).await;
    assert_eq!(world.run_status(&run).await, RunStatus::Cancelled.as_str());
    assert_eq!(world.settle(loud(&claim)).await, Settled::Superseded);
    nothing_of_it_was_written(&world).await;
    assert_eq!(world.step_status(&run, "a").await, "cancelled");
    assert_eq!(world.run_status(&run).await, RunStatus::Cancelled.as_str());
}

async fn i3_an_attempt_the_store_never_saw_is_superseded(world: World) {
    // A claim of a world that this store knows nothing of: as after a restore, or after pruning.
    let elsewhere = World::sqlite().await;
    elsewhere.open_run(&job("j", vec![step("a")])).await;
    let stranger = elsewhere.claim_one(&elsewhere.replica("a").await).await.claim;
    assert_eq!(world.settle(loud(&stranger)).await, Settled::Superseded);
    nothing_of_it_was_written(&world).await;
    assert_eq!(world.store.extend_step(&stranger).await.unwrap(), Extension::Superseded);
    assert_eq!(world.rows("job_steps", "true").await + world.rows("attempts", "true").await, 0);
}

/// A restore may give out a number again: the replica's random id is the other half of the fence.
async fn i3_after_a_restore_the_same_attempt_of_another_replica_is_superseded(world: World) {
    let before = World::sqlite().await;
    let run = before.put("mails", vec![mail("m")]).await;
    let zombie = before.replica("zombie").await;
    let message = before.take(&zombie).await.claim;
    before.open_run(&job("j", vec![step("a")])).await;
    let claim = before.claim_one(&zombie).await.claim;
    assert_eq!(world.put("mails", vec![mail("m")]).await, run, "the same work has the same ids");
    let a = world.replica("a").await;
    assert_eq!(world.take(&a).await.claim.attempt(), message.attempt());
    world.open_run(&job("j", vec![step("a")])).await;
    let ask = ClaimSteps { prefetch: 1, ..world.asks(&a, 0) };
    let new = world.store.claim_steps(&ask).await.unwrap().claimed.remove(0).claim;
    assert_eq!((claim.step(), claim.attempt()), (new.step(), new.attempt()));
    world.replica("zombie").await;
    assert_eq!(world.settle(loud(&claim)).await, Settled::Superseded);
    assert_eq!(world.store.extend_step(&claim).await.unwrap(), Extension::Superseded);
    assert_eq!(world.store.start_steps(&[claim]).await.unwrap(), [false]);
    assert_eq!(world.mark(&message).await, Marked::Superseded);
    assert_eq!(world.deliver(&message, super::outbox::accepted()).await, MessageSettled::Superseded);
    nothing_of_it_was_written(&world).await;
    assert!(!world.store.held_steps(&a).await.unwrap()[0].started);
    assert_eq!(world.message_status("m").await.as_str(), "claimed");
}

async fn i3_a_zombie_is_superseded_after_the_row_moved_to_the_history(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let (a, b) = (world.replica("a").await, world.replica("b").await);
    let zombie = world.claim_one(&a).await.claim;
    world.declare_lost(&a).await;
    let claim = world.claim_one(&b).await.claim;
    world.settle(records(&claim, vec![effect("paid", 100)])).await;
    assert_eq!(world.rows("job_steps", "true").await, 0, "a done step lives in the history");
    assert_eq!(world.settle(loud(&zombie)).await, Settled::Superseded);
    nothing_of_it_was_written(&world).await;
    let step = world.step(&run, "a").await;
    assert_eq!((step.status.as_str(), step.attempt), ("succeeded", 2));
    assert_eq!(world.run_status(&run).await, RunStatus::Succeeded.as_str());
    assert_eq!(world.settle(succeeds(&claim)).await, Settled::Already);
}

async fn i3_a_late_settle_after_a_give_back_changes_nothing_and_costs_no_try(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let (a, b) = (world.replica("a").await, world.replica("b").await);
    let first = world.claim_one(&a).await.claim;
    assert_eq!(world.settle(gives_back(&first)).await, applied(StepStatus::Pending));
    let step = world.step(&run, "a").await;
    assert_eq!((step.status.as_str(), step.attempt, step.tries), ("pending", 1, 0));
    let second = world.claim_one(&b).await;
    assert_eq!((second.claim.attempt(), second.tries), (2, 1), "the fence grew although the try was given back");
    assert!(!matches!(world.settle(loud(&first)).await, Settled::Applied { .. }));
    nothing_of_it_was_written(&world).await;
    let step = world.step(&run, "a").await;
    assert_eq!((step.status.as_str(), step.attempt, step.tries, step.locked_by.as_deref()), ("running", 2, 1, Some("b")));
    // The same replica takes it again: its own old attempt is as foreign as anybody's.
    world.settle(gives_back(&second.claim)).await;
    let third = world.claim_one(&a).await.claim;
    assert!(!matches!(world.settle(loud(&first)).await, Settled::Applied { .. }));
    nothing_of_it_was_written(&world).await;
    assert_eq!(world.settle(succeeds(&third)).await, applied(StepStatus::Succeeded));
}

async fn i3_every_verdict_of_a_superseded_attempt_changes_nothing(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let (a, b) = (world.replica("a").await, world.replica("b").await);
    let old = world.claim_one(&a).await.claim;
    world.declare_lost(&a).await;
    world.claim_one(&b).await;
    let before = world.step(&run, "a").await;
    for late in [succeeds(&old), fails(&old), retries(&old), gives_back(&old), stops(&old), ends(&old, Verdict::Cancelled)] {
        assert_eq!(world.settle(late).await, Settled::Superseded);
    }
    let after = world.step(&run, "a").await;
    assert_eq!((after.status, after.attempt, after.tries), (before.status, before.attempt, before.tries));
    assert_eq!((after.locked_by, after.complete_by), (before.locked_by, before.complete_by));
    assert_eq!(world.run_status(&run).await, RunStatus::Running.as_str());
}

async fn i3_superseded_user_statements_are_taken_back(world: World) {
    world.sql("CREATE TABLE balance (amount integer NOT NULL)").await.unwrap();
    world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    let claim = world.claim_one(&a).await.claim;
    world.declare_lost(&a).await;
    let pays = Settlement { work: Some(Work::Sql("INSERT INTO balance VALUES (100)".to_owned())), ..succeeds(&claim) };
    assert_eq!(world.settle(pays).await, Settled::Superseded);
    assert_eq!(world.number("SELECT count(*) FROM balance").await, 0);
}

async fn k06_01_a_frozen_agent_that_wakes_after_the_takeover_finds_every_door_shut(world: World) {
    let run = world.open_run(&job("j", vec![step("a"), step("b")])).await;
    let (frozen, other) = (world.replica("frozen").await, world.replica("other").await);
    let held = world.claim_one(&frozen).await.claim;
    world.pass(seconds(40));
    world.declare_lost(&frozen).await;
    let taken = world.claim_one(&other).await;
    world.claim_one(&other).await;
    assert_eq!(world.renews(&frozen).await, None, "its renewal says that it is lost");
    assert_eq!(world.store.extend_step(&held).await.unwrap(), Extension::Superseded);
    assert_eq!(world.store.start_steps(std::slice::from_ref(&held)).await.unwrap(), [false]);
    assert_eq!(world.settle(loud(&held)).await, Settled::Superseded);
    assert!(world.claim(&frozen, 9).await.is_empty());
    assert!(world.store.campaign("retention", &frozen, seconds(10)).await.unwrap().is_none());
    nothing_of_it_was_written(&world).await;
    let step = world.step(&run, &taken.name).await;
    assert_eq!(step.locked_by, Some(ReplicaId::from_text("other").to_string()));
}

async fn k06_02_a_grant_and_a_settlement_at_once_end_in_one_of_two_ways(world: World) {
    world.register(&job("j", vec![step("a")])).await;
    for round in 0..8 {
        let run = world.trigger("j", &format!("{round}")).await;
        let owner = world.replica(&format!("owner{round}")).await;
        let claim = world.claim_one(&owner).await.claim;
        world.asks_for_loss(&owner).await;
        let request = world.open_request(RequestKind::Replica, owner.as_str()).await;
        let (first, second) = (world.another().await, world.another().await);
        let done = Settlement { effects: vec![effect(&format!("{round}"), 1)], ..succeeds(&claim) };
        let calls: Vec<Pin<Box<dyn Future<Output = String> + Send>>> = vec![
            Box::pin(async move { format!("{:?}", settle_on(&first, done).await) }),
            Box::pin(async move { format!("{:?}", second.grant(&request).await.unwrap()) }),
        ];
        let answers = at_once(calls).await;
        let (step, written) = (world.step_status(&run, "a").await, world.rows("effects", &format!("key = '{round}'")).await);
        match answers[0].as_str() {
            "Superseded" => assert_eq!((step.as_str(), written, answers[1].as_str()), ("pending", 0, "Granted { moved: 1 }")),
            _ => assert_eq!((step.as_str(), written, answers[1].as_str()), ("succeeded", 1, "Granted { moved: 0 }")),
        }
        for step in world.claim(&world.replica("finisher").await, 9).await {
            world.settle(succeeds(&step.claim)).await;
        }
    }
}

async fn k06_02_a_grant_and_the_mark_of_a_message_at_once_end_in_one_of_two_ways(world: World) {
    for round in 0..8 {
        let key = format!("m{round}");
        world.put(&key, vec![mail(&key)]).await;
        let owner = world.replica(&format!("owner{round}")).await;
        let claim = world.take(&owner).await.claim;
        world.asks_for_loss(&owner).await;
        let request = world.open_request(RequestKind::Replica, owner.as_str()).await;
        let (first, second) = (world.another().await, world.another().await);
        let calls: Vec<Pin<Box<dyn Future<Output = String> + Send>>> = vec![
            Box::pin(async move { format!("{:?}", first.mark_sending(&claim, MINUTE).await.unwrap()) }),
            Box::pin(async move { format!("{:?}", second.grant(&request).await.unwrap()) }),
        ];
        let answers = at_once(calls).await;
        assert_eq!(answers[1], "Granted { moved: 1 }");
        let status = world.message_status(&key).await;
        let expected = if answers[0] == "Go" { "in_doubt" } else { "ready" };
        assert_eq!(status.as_str(), expected, "{answers:?}: what may have gone out is in doubt");
        world.store.claim_messages(&super::outbox::asks(&world.replica("next").await, 9)).await.unwrap();
    }
}
