//! What comes back later than its request: kept once, given to whoever holds the step, and to nobody after an attempt has ended by it.

use std::time::Duration;

use onebell::model::step::StepStatus;
use onebell::model::{Claim, Fingerprint, RunId, StepId};
use onebell::store::{NewCallback, Received};

use super::given::*;
use super::retention::{prune_all, term};
use super::world::World;

mod postgres_only {
    use super::super::held::Held;
    use super::*;

    contract!(postgres only: i3_a_claim_that_is_being_lost_takes_nothing);

    /// Whoever moves the step holds its lock: the fence is compared after that, or a late taker would take from the next attempt.
    async fn i3_a_claim_that_is_being_lost_takes_nothing(world: World) {
        let (_, claim) = world.works().await;
        world.calls_back(&claim, "m1", "{}").await;
        let held = Held::by(&world, "UPDATE {job_steps} SET attempt = attempt + 1").await;
        let (store, of) = (world.another().await, claim.clone());
        let taking = tokio::spawn(async move { store.take_callback(&of).await.unwrap() });
        held.until_waiting(1).await;
        held.commit().await;
        assert_eq!(taking.await.unwrap(), None);
        assert_eq!(world.rows("callbacks", "taken_by IS NOT NULL").await, 0);
    }
}

contract!(
    a_callback_after_the_end_is_over_and_one_that_is_known_is_known,
    a_callback_is_kept_once_and_another_one_is_a_conflict,
    a_callback_of_what_was_never_begun_is_nobodys,
    a_callback_settles_nothing_by_itself_and_may_come_before_the_answer,
    a_callback_that_came_too_late_for_its_attempt_is_the_next_ones,
    callbacks_go_with_their_run,
    i3_a_claim_that_does_not_hold_takes_nothing,
    i3_callbacks_that_meet_are_one,
    what_a_lost_attempt_took_is_the_next_ones,
    what_an_attempt_ended_by_is_used,
    who_is_called_back_is_told_by_the_definition_that_the_run_was_opened_with,
);

fn callback(claim: &Claim, id: &str, body: &str) -> NewCallback {
    let fingerprint = Fingerprint::of_json(body).unwrap();
    NewCallback { step: claim.step().clone(), id: id.to_owned(), fingerprint, body: body.to_owned() }
}

impl World {
    async fn calls_back(&self, claim: &Claim, id: &str, body: &str) -> Received {
        self.store.receive_callback(&callback(claim, id, body)).await.unwrap()
    }

    async fn takes(&self, claim: &Claim) -> Option<String> {
        self.store.take_callback(claim).await.unwrap()
    }

    /// One step that is being worked on.
    async fn works(&self) -> (RunId, Claim) {
        let run = self.open_run(&job("j", vec![step("a")])).await;
        (run, self.claim_one(&self.replica("one").await).await.claim)
    }
}

async fn a_callback_is_kept_once_and_another_one_is_a_conflict(world: World) {
    let (_, claim) = world.works().await;
    assert_eq!(world.takes(&claim).await, None);
    let body = r#"{"status": "succeeded", "n": 1.50}"#;
    assert_eq!(world.calls_back(&claim, "m1", body).await, Received::Kept);
    assert_eq!(
        world.calls_back(&claim, "m1", r#"{"n":15e-1,"status":"succeeded"}"#).await,
        Received::Already,
        "another spelling"
    );
    assert_eq!(world.calls_back(&claim, "m2", body).await, Received::Already, "the same under another id");
    for id in ["m1", "m3"] {
        assert_eq!(world.calls_back(&claim, id, r#"{"status": "failed"}"#).await, Received::Conflict, "{id}");
    }
    assert_eq!(world.takes(&claim).await.as_deref(), Some(body));
    assert_eq!(world.takes(&claim).await.as_deref(), Some(body), "an answer may be lost: it is asked for again");
    assert_eq!(world.rows("callbacks", "true").await, 1);
}

async fn a_callback_settles_nothing_by_itself_and_may_come_before_the_answer(world: World) {
    let (run, claim) = world.works().await;
    assert_eq!(world.calls_back(&claim, "m1", "{}").await, Received::Kept);
    assert_eq!(world.step_status(&run, "a").await, "running");
}

async fn a_callback_of_what_was_never_begun_is_nobodys(world: World) {
    let (run, claim) = world.works().await;
    let waiting = world.open_run(&job("k", vec![step("a")])).await;
    for step in [StepId::of(&run, "b"), StepId::of(&waiting, "a"), StepId::from_text("nobody")] {
        let made_up = NewCallback { step: step.clone(), ..callback(&claim, "m1", "{}") };
        assert_eq!(world.store.called_step(&step).await.unwrap(), None, "{step}");
        assert_eq!(world.store.receive_callback(&made_up).await.unwrap(), Received::Over, "{step}");
    }
    assert_eq!(world.rows("callbacks", "true").await, 0);
}

async fn who_is_called_back_is_told_by_the_definition_that_the_run_was_opened_with(world: World) {
    let old = job("j", vec![step("a"), undoable(step("b"))]);
    let run = world.open_run(&old).await;
    let claim = world.claim_one(&world.replica("one").await).await.claim;
    world.redefine(&world.job_id("j"), &job("j", vec![step("c")]), None).await;
    let called = world.store.called_step(claim.step()).await.unwrap().unwrap();
    assert_eq!((called.run, called.name.as_str(), called.definition), (run.clone(), "a", old.clone()));
    world.settle(succeeds(&claim)).await;
    let over = world.store.called_step(claim.step()).await.unwrap().unwrap();
    assert_eq!((over.run, over.name.as_str(), over.definition), (run, "a", old), "also when it is over");
}

async fn a_callback_after_the_end_is_over_and_one_that_is_known_is_known(world: World) {
    let (_, claim) = world.works().await;
    world.calls_back(&claim, "m1", r#"{"n": 1}"#).await;
    world.takes(&claim).await;
    world.settle(succeeds(&claim)).await;
    assert_eq!(world.calls_back(&claim, "m1", r#"{"n": 1}"#).await, Received::Already);
    assert_eq!(world.calls_back(&claim, "m1", r#"{"n": 2}"#).await, Received::Conflict);
    assert_eq!(world.calls_back(&claim, "m2", r#"{"n": 1}"#).await, Received::Over);
}

async fn what_a_lost_attempt_took_is_the_next_ones(world: World) {
    let (run, first) = world.works().await;
    world.calls_back(&first, "m1", r#"{"n": 1}"#).await;
    assert!(world.takes(&first).await.is_some());
    world.declare_lost(first.replica()).await;
    let second = world.claim_one(&world.replica("two").await).await.claim;
    assert_eq!(world.takes(&second).await.as_deref(), Some(r#"{"n": 1}"#), "before it asks anybody again");
    assert_eq!(world.settle(stops(&second)).await, applied(StepStatus::Pending));
    let third = world.claim_one(&world.replica("three").await).await.claim;
    assert_eq!(world.calls_back(&third, "m3", r#"{"n": 3}"#).await, Received::Conflict, "the first one still waits");
    assert_eq!(world.takes(&third).await.as_deref(), Some(r#"{"n": 1}"#));
    world.settle(succeeds(&third)).await;
    assert_eq!(world.run_status(&run).await, "succeeded");
}

async fn what_an_attempt_ended_by_is_used(world: World) {
    let (run, first) = world.works().await;
    world.calls_back(&first, "m1", r#"{"status": "retry"}"#).await;
    world.takes(&first).await;
    world.settle(retries(&first)).await;
    world.pass(Duration::from_secs(3600));
    let second = world.claim_one(&world.replica("two").await).await.claim;
    assert_eq!(world.takes(&second).await, None, "what it said was done: this one asks again");
    assert_eq!(world.calls_back(&second, "m1", r#"{"status": "retry"}"#).await, Received::Already, "it comes again, late");
    assert_eq!(world.takes(&second).await, None);
    assert_eq!(world.calls_back(&second, "m2", r#"{"status": "failed"}"#).await, Received::Kept);
    assert!(world.takes(&second).await.is_some());
    world.settle(fails(&second)).await;
    world.store.retry_run(&run, &actor()).await.unwrap();
    world.admit().await;
    let third = world.claim_one(&world.replica("three").await).await.claim;
    assert_eq!(world.takes(&third).await, None, "a person wants it tried again");
    assert_eq!(world.calls_back(&third, "m3", r#"{"status": "failed"}"#).await, Received::Kept, "the same word, said anew");
}

async fn a_callback_that_came_too_late_for_its_attempt_is_the_next_ones(world: World) {
    let (_, first) = world.works().await;
    world.settle(retries(&first)).await;
    assert_eq!(world.calls_back(&first, "m1", "{}").await, Received::Kept, "the step is not over");
    world.pass(Duration::from_secs(3600));
    let second = world.claim_one(&world.replica("two").await).await.claim;
    assert_eq!(world.takes(&second).await.as_deref(), Some("{}"));
}

async fn i3_a_claim_that_does_not_hold_takes_nothing(world: World) {
    let (_, old) = world.works().await;
    world.calls_back(&old, "m1", "{}").await;
    world.declare_lost(old.replica()).await;
    assert_eq!(world.takes(&old).await, None);
    let new = world.claim_one(&world.replica("two").await).await.claim;
    assert_eq!(world.takes(&old).await, None);
    assert!(world.takes(&new).await.is_some(), "the old one took nothing away");
}

async fn i3_callbacks_that_meet_are_one(world: World) {
    let (_, claim) = world.works().await;
    let calls = world.others(4).await.into_iter().enumerate().map(|(n, store)| {
        let callback = callback(&claim, &format!("m{n}"), &format!("{{\"n\": {}}}", n % 2));
        async move { store.receive_callback(&callback).await.unwrap() }
    });
    let answers = at_once(calls.collect()).await;
    let count = |what| answers.iter().filter(|answer| **answer == what).count();
    assert_eq!((count(Received::Kept), count(Received::Already), count(Received::Conflict)), (1, 1, 2), "{answers:?}");
}

async fn callbacks_go_with_their_run(world: World) {
    let (_, claim) = world.works().await;
    world.calls_back(&claim, "m1", "{}").await;
    world.settle(succeeds(&claim)).await;
    world.pass(Duration::from_secs(8 * 24 * 3600));
    prune_all(&world, &term(&world).await).await;
    assert_eq!((world.rows("runs", "true").await, world.rows("callbacks", "true").await), (0, 0));
    assert_eq!(world.store.called_step(claim.step()).await.unwrap(), None);
    let run = world.open_run(&job("k", vec![step("a")])).await;
    let claim = world.claim_one(&world.replica("two").await).await.claim;
    world.calls_back(&claim, "m1", "{}").await;
    world.store.cancel_run(&run, &actor()).await.unwrap();
    assert!(world.store.erase_job(&world.job_id("k")).await.unwrap());
    assert_eq!(world.rows("callbacks", "true").await, 0);
}
