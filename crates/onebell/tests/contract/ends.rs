//! Cancelling a run, against everything that may happen to it at the same time.

use onebell::model::RunId;
use onebell::model::job::Overlap;
use onebell::model::step::{StepStatus, Verdict};
use onebell::store::{Acted, Settled};

use super::given::*;
use super::world::World;

contract!(
    a_cancelled_run_ends_when_its_agent_confirms_or_its_claim_lapses,
    a_queued_or_parked_run_is_cancelled_at_once,
    a_settlement_after_the_cancellation_still_counts_and_is_undone,
    a_settlement_before_the_cancellation_wins,
    cancel_and_settle_at_once_end_in_one_of_two_ways,
    k09_01_a_run_can_be_cancelled_at_any_time,
);

async fn cancel(world: &World, run: &RunId) -> Acted {
    world.store.cancel_run(run, &actor()).await.unwrap()
}

async fn a_queued_or_parked_run_is_cancelled_at_once(world: World) {
    world.register(&with(minutely("m", Overlap::Skip), |job| job.steps = vec![step_once("a"), step_after("b", &["a"])])).await;
    let a = world.replica("a").await;
    let first = world.trigger("m", "1").await;
    let queued = world.trigger("m", "2").await;
    assert_eq!(cancel(&world, &queued).await, Acted::Done);
    assert_eq!(
        (world.run_status(&queued).await.as_str(), world.step_status(&queued, "a").await.as_str()),
        ("cancelled", "cancelled")
    );
    let claim = world.claim_one(&a).await.claim;
    world.settle(retries(&claim)).await;
    assert_eq!(world.run_status(&first).await, "parked");
    assert_eq!(cancel(&world, &first).await, Acted::Done);
    assert_eq!(
        (world.run_status(&first).await.as_str(), world.step_status(&first, "b").await.as_str()),
        ("cancelled", "cancelled")
    );
    assert_eq!(world.admit().await, 0);
    assert!(world.claim(&a, 9).await.is_empty());
}

async fn a_cancelled_run_ends_when_its_agent_confirms_or_its_claim_lapses(world: World) {
    world.register(&job("j", vec![step("a"), step_after("b", &["a"])])).await;
    let a = world.replica("a").await;
    for (name, end) in [
        ("confirmed", Some(Verdict::Cancelled)),
        ("stopped", Some(Verdict::Stopped { error: "drain".to_owned() })),
        ("lapsed", None),
    ] {
        let run = world.trigger("j", name).await;
        let claim = world.claim_one(&a).await.claim;
        assert_eq!(cancel(&world, &run).await, Acted::Done);
        assert_eq!(
            (world.run_status(&run).await.as_str(), world.step_status(&run, "a").await.as_str()),
            ("cancelling", "running")
        );
        assert_eq!(world.renews(&a).await.unwrap().1, [claim.step().clone()]);
        match end {
            Some(verdict) => assert_eq!(status_of(&world.settle(ends(&claim, verdict)).await), StepStatus::Cancelled),
            None => {
                world.pass(TIMEOUT + seconds(1));
                world.sweeps().await;
                assert_eq!(world.grant_all().await, 1);
                assert_eq!(world.settle(succeeds(&claim)).await, Settled::Superseded);
            }
        }
        assert_eq!(world.run_status(&run).await, "cancelled", "{name}");
        assert_eq!(
            (world.step_status(&run, "a").await.as_str(), world.step_status(&run, "b").await.as_str()),
            ("cancelled", "cancelled")
        );
        assert!(world.renews(&a).await.unwrap().1.is_empty());
    }
}

async fn a_settlement_before_the_cancellation_wins(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    world.finish_one(&world.replica("a").await).await;
    assert!(matches!(cancel(&world, &run).await, Acted::NotNow(_)));
    assert_eq!(world.run_status(&run).await, "succeeded");
}

async fn a_settlement_after_the_cancellation_still_counts_and_is_undone(world: World) {
    let run = world.open_run(&job("j", vec![undoable(step("a")), step_after("b", &["a"])])).await;
    let a = world.replica("a").await;
    let claim = world.claim_one(&a).await.claim;
    cancel(&world, &run).await;
    assert_eq!(world.settle(records(&claim, vec![effect("paid", 100)])).await, applied(StepStatus::Succeeded), "its fence held");
    assert_eq!(world.store.effects_total("ledger").await.unwrap(), (1, 100));
    assert_eq!(world.run_status(&run).await, "undoing");
    assert_eq!(world.finish_one(&a).await.name, "a~undo");
    assert_eq!(world.run_status(&run).await, "cancelled");
}

async fn cancel_and_settle_at_once_end_in_one_of_two_ways(world: World) {
    world.register(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    for round in 0..8 {
        let run = world.trigger("j", &format!("{round}")).await;
        let claim = world.claim_one(&a).await.claim;
        let (first, second, other) = (world.another().await, world.another().await, run.clone());
        let done = succeeds(&claim);
        let calls: Vec<std::pin::Pin<Box<dyn Future<Output = String> + Send>>> = vec![
            Box::pin(async move { format!("{:?}", settle_on(&first, done).await) }),
            Box::pin(async move { format!("{:?}", second.cancel_run(&other, &actor()).await.unwrap()) }),
        ];
        let answers = at_once(calls).await;
        assert!(answers[0].starts_with("Applied"), "{answers:?}");
        let end = world.run_status(&run).await;
        // Nothing was left to do when it was cancelled: then all of it had succeeded and there was nothing to undo.
        let expected = if answers[1] == "Done" { "cancelled" } else { "succeeded" };
        assert_eq!(end, expected, "{answers:?}");
        assert_eq!(world.step_status(&run, "a").await, "succeeded");
    }
}

async fn k09_01_a_run_can_be_cancelled_at_any_time(world: World) {
    let run = world.open_run(&job("j", vec![step("poison"), step_after("next", &["poison"])])).await;
    let worker = world.replica("worker").await;
    world.claim_one(&worker).await;
    world.declare_lost(&worker).await;
    assert_eq!(cancel(&world, &run).await, Acted::Done);
    assert_eq!(world.run_status(&run).await, "cancelled");
    assert!(world.claim(&world.replica("next").await, 9).await.is_empty());
}
