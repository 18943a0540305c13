//! I14: a run ends as a unit. What finished and declares an undo is undone in reverse order, once.

use onebell::model::job::OnMessageFailed;
use onebell::store::{Acted, Resolution};

use super::given::*;
use super::outbox::{rejected, unknown};
use super::world::World;

contract!(
    a_failed_undo_parks_the_run_and_goes_on_without_admission,
    i14_a_cancelled_run_is_undone_and_ends_cancelled,
    i14_finished_steps_are_undone_in_reverse_order_once,
    i14_a_step_whose_work_was_committed_before_it_ended_badly_is_undone_too,
    i14_undo_waits_for_what_still_runs_and_undoes_that_too,
    undo_steps_have_effects_and_attempts_of_their_own,
);

fn pipeline() -> onebell::model::JobDefinition {
    let steps = vec![
        undoable(step("reserve")),
        undoable(step_after("bill", &["reserve"])),
        undoable(step_after("mail", &["reserve"])),
        step_after("plain", &["reserve"]),
        step_after("ship", &["bill", "mail", "plain"]),
    ];
    job("order", steps)
}

/// Runs the pipeline up to its last step; gives that step's claim.
async fn up_to_ship(world: &World) -> (onebell::model::RunId, onebell::model::Claim) {
    let run = world.open_run(&pipeline()).await;
    let a = world.replica("a").await;
    for _ in 0..4 {
        world.finish_one(&a).await;
    }
    (run, world.claim_one(&a).await.claim)
}

async fn i14_finished_steps_are_undone_in_reverse_order_once(world: World) {
    let (run, ship) = up_to_ship(&world).await;
    let a = world.replica("a").await;
    world.settle(fails(&ship)).await;
    assert_eq!(world.run_status(&run).await, "undoing");
    let mut undone = Vec::new();
    loop {
        let claimed = world.claim(&a, 9).await;
        let [step] = claimed.as_slice() else { break };
        assert_eq!(step.handler, "undo");
        undone.push(step.name.clone());
        let done = succeeds(&step.claim);
        world.settle(done.clone()).await;
        assert_eq!(world.settle(done).await, onebell::store::Settled::Already);
    }
    assert_eq!(undone, ["mail~undo", "bill~undo", "reserve~undo"], "one at a time; equal rank: by name, backwards");
    assert_eq!(world.run_status(&run).await, "failed");
    world.pass(MINUTE * 60);
    world.sweeps().await;
    world.grant_all().await;
    assert!(world.claim(&a, 9).await.is_empty(), "and not again");
    let detail = world.store.run(&run).await.unwrap().unwrap();
    let names: Vec<_> = detail.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!(names.len(), 8);
    assert!(names[5..].iter().all(|name| name.ends_with("~undo")), "undo steps last: {names:?}");
}

async fn i14_undo_waits_for_what_still_runs_and_undoes_that_too(world: World) {
    let steps = vec![undoable(step("slow")), with(step("fails"), |step| step.priority = 1)];
    let run = world.open_run(&job("j", steps)).await;
    let a = world.replica("a").await;
    let claimed = world.claim(&a, 2).await;
    world.settle(fails(&claimed[0].claim)).await;
    assert_eq!(world.run_status(&run).await, "failing");
    assert!(world.claim(&a, 9).await.is_empty(), "no undo begins while a step runs");
    world.settle(succeeds(&claimed[1].claim)).await;
    assert_eq!(world.run_status(&run).await, "undoing");
    assert_eq!(world.finish_one(&a).await.name, "slow~undo");
    assert_eq!(world.run_status(&run).await, "failed");
}

async fn i14_a_cancelled_run_is_undone_and_ends_cancelled(world: World) {
    let (run, ship) = up_to_ship(&world).await;
    let a = world.replica("a").await;
    assert_eq!(world.store.cancel_run(&run, &actor()).await.unwrap(), Acted::Done);
    assert_eq!(world.run_status(&run).await, "cancelling");
    world.settle(ends(&ship, onebell::model::step::Verdict::Cancelled)).await;
    assert_eq!(world.run_status(&run).await, "undoing");
    assert!(matches!(world.store.cancel_run(&run, &actor()).await.unwrap(), Acted::NotNow(_)), "it is being undone already");
    for _ in 0..3 {
        world.finish_one(&a).await;
    }
    assert_eq!(
        (world.run_status(&run).await.as_str(), world.step_status(&run, "ship").await.as_str()),
        ("cancelled", "cancelled")
    );
}

async fn a_failed_undo_parks_the_run_and_goes_on_without_admission(world: World) {
    let serial = with(minutely("m", onebell::model::job::Overlap::Skip), |job| job.steps = pipeline().steps);
    world.register(&serial).await;
    let run = world.trigger("m", "1").await;
    let a = world.replica("a").await;
    for _ in 0..4 {
        world.finish_one(&a).await;
    }
    let ship = world.claim_one(&a).await.claim;
    world.settle(fails(&ship)).await;
    let undo = world.claim_one(&a).await.claim;
    world.settle(retries(&undo)).await;
    assert_eq!(
        (world.step_status(&run, "mail~undo").await.as_str(), world.run_status(&run).await.as_str()),
        ("exhausted", "parked")
    );
    assert!(world.claim(&a, 9).await.is_empty(), "the undo before it has to be decided first");
    assert_eq!(world.store.resolve_step(&run, "mail~undo", Resolution::Retry, &actor()).await.unwrap(), Acted::Done);
    assert_eq!(world.run_status(&run).await, "undoing", "an undo waits for no admission");
    for name in ["mail~undo", "bill~undo", "reserve~undo"] {
        assert_eq!(world.finish_one(&a).await.name, name);
    }
    assert_eq!(world.run_status(&run).await, "failed");
}

async fn undo_steps_have_effects_and_attempts_of_their_own(world: World) {
    let run = world.open_run(&job("j", vec![undoable(step("pay")), step_after("fails", &["pay"])])).await;
    let a = world.replica("a").await;
    let pay = world.claim_one(&a).await.claim;
    world.settle(records(&pay, vec![effect("paid", 100)])).await;
    let failing = world.claim_one(&a).await.claim;
    world.settle(fails(&failing)).await;
    let dead = world.replica("dead").await;
    assert_eq!(world.claim_one(&dead).await.claim.attempt(), 1);
    world.store.leave(&dead).await.unwrap();
    world.sweeps().await;
    world.grant_all().await;
    // Its one try is spent: a person looks, and lets it go on.
    assert_eq!(world.run_status(&run).await, "parked");
    world.store.retry_run(&run, &actor()).await.unwrap();
    let undo = world.claim_one(&a).await.claim;
    assert_eq!(
        world.settle(records(&undo, vec![effect("paid back", -100)])).await,
        applied(onebell::model::step::StepStatus::Succeeded)
    );
    assert_eq!(world.store.effects_total("ledger").await.unwrap(), (2, 0));
    assert_eq!(world.step(&run, "pay").await.attempts.len(), 1);
    assert_eq!(world.run_status(&run).await, "failed");
}

/// Its effects and messages were committed when it began to deliver; what came after may not hide that.
async fn i14_a_step_whose_work_was_committed_before_it_ended_badly_is_undone_too(world: World) {
    let (a, relay) = (world.replica("a").await, world.replica("relay").await);
    for end in ["its message failed", "a person calls it failed", "its next attempt fails", "its run is cancelled"] {
        let strict = with(undoable(step("pay")), |step| step.on_message_failed = OnMessageFailed::Fail);
        let run = world.open_run(&job(end, vec![strict])).await;
        let claim = world.claim_one(&a).await.claim;
        world.settle(puts(&claim, vec![mail(end)])).await;
        let message = world.take(&relay).await.claim;
        world.mark(&message).await;
        world.deliver(&message, if end == "its message failed" { rejected() } else { unknown() }).await;
        assert_eq!(world.close().await, 1, "{end}");
        match end {
            "its message failed" => {}
            "a person calls it failed" => {
                world.store.resolve_step(&run, "pay", Resolution::Failed, &actor()).await.unwrap();
            }
            "its next attempt fails" => {
                world.store.resolve_step(&run, "pay", Resolution::Retry, &actor()).await.unwrap();
                world.admit().await;
                let again = world.claim_one(&a).await.claim;
                world.settle(fails(&again)).await;
            }
            _ => {
                world.store.resolve_step(&run, "pay", Resolution::Retry, &actor()).await.unwrap();
                world.store.cancel_run(&run, &actor()).await.unwrap();
            }
        }
        assert_eq!(world.run_status(&run).await, "undoing", "{end}");
        assert_eq!(world.finish_one(&a).await.name, "pay~undo", "{end}");
        assert_eq!(world.run_status(&run).await, if end.ends_with("cancelled") { "cancelled" } else { "failed" }, "{end}");
    }
    // What never committed anything has nothing to be undone.
    let run = world.open_run(&job("plain", vec![undoable(step("pay"))])).await;
    let claim = world.claim_one(&a).await.claim;
    world.settle(fails(&claim)).await;
    assert_eq!(world.run_status(&run).await, "failed");
}
