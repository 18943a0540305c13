//! What follows inside a run: failure, parking, a new budget, retry, a person's word.

use onebell::model::job::OnLost;
use onebell::store::{Acted, Resolution};

use super::given::*;
use super::world::World;

contract!(
    a_failed_run_is_retried_with_all_its_open_steps_and_keeps_what_succeeded,
    a_failed_step_is_decided_only_while_its_run_is_parked,
    a_failure_cancels_what_was_not_begun_and_lets_end_what_runs,
    a_held_step_is_decided_by_a_person,
    a_run_parks_when_nothing_of_it_moves_and_goes_on_with_a_new_budget,
    a_run_succeeds_with_its_last_step,
    i14_a_run_that_undid_something_is_not_retried,
    i3_the_number_of_an_attempt_only_grows,
    people_are_told_when_a_state_does_not_allow_it,
);

async fn a_run_succeeds_with_its_last_step(world: World) {
    let run = world.open_run(&job("j", vec![step("a"), step("b"), step_after("c", &["a", "b"]), step_after("d", &["c"])])).await;
    let a = world.replica("a").await;
    for (n, expected) in [["a", "b"].as_slice(), &["c"], &["d"]].into_iter().enumerate() {
        let claimed = world.claim(&a, 9).await;
        let mut names: Vec<_> = claimed.iter().map(|step| step.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, expected);
        world.pass(seconds(1));
        world.store.settle_steps(claimed.iter().map(|step| succeeds(&step.claim)).collect()).await.unwrap();
        assert_eq!(world.run_status(&run).await, if n == 2 { "succeeded" } else { "running" });
    }
    let detail = world.store.run(&run).await.unwrap().unwrap();
    assert_eq!(detail.run.finished_at, Some(world.now()));
    let steps: Vec<_> = detail.steps.iter().map(|step| (step.name.as_str(), step.status.as_str())).collect();
    assert_eq!(steps, [("a", "succeeded"), ("b", "succeeded"), ("c", "succeeded"), ("d", "succeeded")]);
}

async fn a_failure_cancels_what_was_not_begun_and_lets_end_what_runs(world: World) {
    let steps = vec![
        with(step("fails"), |step| step.priority = 2),
        with(step("runs"), |step| step.priority = 1),
        step("pends"),
        step_after("waits", &["runs"]),
    ];
    let run = world.open_run(&job("j", steps)).await;
    let a = world.replica("a").await;
    let claimed = world.claim(&a, 2).await;
    world.settle(fails(&claimed[0].claim)).await;
    assert_eq!(world.run_status(&run).await, "failing");
    assert_eq!(world.step_status(&run, "runs").await, "running");
    for name in ["pends", "waits"] {
        assert_eq!(world.step_status(&run, name).await, "cancelled", "{name}");
    }
    assert!(world.claim(&a, 9).await.is_empty());
    assert!(world.renews(&a).await.unwrap().1.is_empty(), "a failing run lets its running steps end");
    world.settle(succeeds(&claimed[1].claim)).await;
    let detail = world.store.run(&run).await.unwrap().unwrap();
    assert_eq!(detail.run.status, "failed");
    assert!(detail.run.reason.is_some_and(|reason| reason.contains("fails")), "it says which step");
    assert_eq!(world.step_status(&run, "runs").await, "succeeded", "what it did is done");
}

async fn a_run_parks_when_nothing_of_it_moves_and_goes_on_with_a_new_budget(world: World) {
    let run = world.open_run(&job("j", vec![step_once("a"), step("b"), step_after("c", &["a", "b"])])).await;
    let a = world.replica("a").await;
    let claimed = world.claim(&a, 9).await;
    let of = |name: &str| claimed.iter().find(|step| step.name == name).unwrap().claim.clone();
    world.settle(retries(&of("a"))).await;
    assert_eq!((world.step_status(&run, "a").await.as_str(), world.run_status(&run).await.as_str()), ("exhausted", "running"));
    world.settle(succeeds(&of("b"))).await;
    let detail = world.store.run(&run).await.unwrap().unwrap();
    assert_eq!(detail.run.status, "parked");
    assert!(detail.run.reason.is_some_and(|reason| reason.contains('a')), "it says why");
    assert!(world.claim(&a, 9).await.is_empty());
    assert_eq!(world.store.retry_run(&run, &actor()).await.unwrap(), Acted::Done);
    world.admit().await;
    let again = world.claim_one(&a).await;
    assert_eq!((again.name.as_str(), again.claim.attempt() > 1, again.tries), ("a", true, 1));
    world.settle(succeeds(&again.claim)).await;
    world.finish_one(&a).await;
    assert_eq!(world.run_status(&run).await, "succeeded");
}

async fn a_held_step_is_decided_by_a_person(world: World) {
    let ends = [
        (Resolution::Succeeded, "succeeded", "succeeded"),
        (Resolution::Failed, "failed", "failed"),
        (Resolution::Retry, "pending", "running"),
    ];
    for (resolution, step_end, run_end) in ends {
        let run = world.open_run(&job(resolution.as_str(), vec![step_on_lost("a", OnLost::Hold)])).await;
        let dead = world.replica(&format!("dead before {resolution}")).await;
        world.claim_one(&dead).await;
        world.declare_lost(&dead).await;
        assert_eq!((world.step_status(&run, "a").await.as_str(), world.run_status(&run).await.as_str()), ("held", "parked"));
        assert_eq!(world.store.resolve_step(&run, "a", resolution, &actor()).await.unwrap(), Acted::Done);
        world.admit().await;
        assert_eq!((world.step_status(&run, "a").await.as_str(), world.run_status(&run).await.as_str()), (step_end, run_end));
        if resolution == Resolution::Retry {
            let step = world.finish_one(&world.replica("finisher").await).await;
            assert_eq!(step.tries, 1, "a new budget");
        }
    }
}

async fn a_failed_run_is_retried_with_all_its_open_steps_and_keeps_what_succeeded(world: World) {
    let run = world.open_run(&job("j", vec![step("a"), step_after("b", &["a"]), step_after("c", &["b"])])).await;
    let a = world.replica("a").await;
    let first = world.claim_one(&a).await.claim;
    world.settle(records(&first, vec![effect("paid", 100)])).await;
    let second = world.claim_one(&a).await.claim;
    world.settle(fails(&second)).await;
    assert_eq!((world.run_status(&run).await.as_str(), world.step_status(&run, "c").await.as_str()), ("failed", "cancelled"));
    assert_eq!(world.store.retry_run(&run, &actor()).await.unwrap(), Acted::Done);
    world.admit().await;
    assert_eq!((world.run_status(&run).await.as_str(), world.step_status(&run, "c").await.as_str()), ("running", "waiting"));
    let again = world.claim_one(&a).await;
    assert_eq!((again.name.as_str(), again.tries), ("b", 1));
    assert!(again.claim.attempt() > second.attempt());
    assert_eq!(world.settle(succeeds(&second)).await, onebell::store::Settled::Already, "its old attempt ended by its own word");
    world.settle(succeeds(&again.claim)).await;
    assert_eq!(world.finish_one(&a).await.name, "c");
    assert_eq!(world.run_status(&run).await, "succeeded");
    assert_eq!(world.store.effects_total("ledger").await.unwrap(), (1, 100));
}

async fn i14_a_run_that_undid_something_is_not_retried(world: World) {
    let run = world.open_run(&job("j", vec![undoable(step("a")), step_after("b", &["a"])])).await;
    let a = world.replica("a").await;
    world.finish_one(&a).await;
    let second = world.claim_one(&a).await.claim;
    world.settle(fails(&second)).await;
    assert_eq!(world.run_status(&run).await, "undoing");
    assert!(matches!(world.store.retry_run(&run, &actor()).await.unwrap(), Acted::NotNow(_)));
    assert_eq!(world.finish_one(&a).await.name, "a~undo");
    assert_eq!(world.run_status(&run).await, "failed");
    assert!(matches!(world.store.retry_run(&run, &actor()).await.unwrap(), Acted::NotNow(_)), "what it did was taken back");
    assert_eq!(world.run_status(&run).await, "failed");
}

async fn a_failed_step_is_decided_only_while_its_run_is_parked(world: World) {
    let run = world.open_run(&job("j", vec![undoable(step("a")), step_after("b", &["a"])])).await;
    let a = world.replica("a").await;
    world.finish_one(&a).await;
    let second = world.claim_one(&a).await.claim;
    world.settle(fails(&second)).await;
    let not_now = async |name: &str| {
        matches!(world.store.resolve_step(&run, name, Resolution::Succeeded, &actor()).await.unwrap(), Acted::NotNow(_))
    };
    assert!(not_now("b").await, "the run is being undone");
    assert!(not_now("a").await, "succeeded already");
    let undo = world.claim_one(&a).await.claim;
    assert!(not_now("a~undo").await, "it runs");
    world.settle(fails(&undo)).await;
    assert_eq!((world.step_status(&run, "a~undo").await.as_str(), world.run_status(&run).await.as_str()), ("failed", "parked"));
    assert_eq!(world.store.resolve_step(&run, "a~undo", Resolution::Succeeded, &actor()).await.unwrap(), Acted::Done);
    assert_eq!(world.run_status(&run).await, "failed", "undone, as a person says");
}

/// Over give-back, stop, retry, loss, new budget, failure, retry of the run and cancellation.
async fn i3_the_number_of_an_attempt_only_grows(world: World) {
    let run = world.open_run(&job("j", vec![step("a"), step("b")])).await;
    let a = world.replica("a").await;
    let mut last = 0;
    let other = world.claim(&a, 2).await;
    let mut claim = other.iter().find(|step| step.name == "a").unwrap().claim.clone();
    let other = other.into_iter().find(|step| step.name == "b").unwrap().claim;
    for (round, settlement) in [gives_back, stops, retries, retries, retries, fails].into_iter().enumerate() {
        assert!(claim.attempt() > last, "round {round}: {} after {last}", claim.attempt());
        last = claim.attempt();
        world.settle(settlement(&claim)).await;
        world.pass(MINUTE);
        match world.step_status(&run, "a").await.as_str() {
            "exhausted" => {
                let acted = world.store.resolve_step(&run, "a", Resolution::Retry, &actor()).await.unwrap();
                assert_eq!(acted, Acted::Done);
            }
            "failed" => break,
            _ => {}
        }
        claim = world.claim_one(&a).await.claim;
    }
    world.settle(gives_back(&other)).await;
    assert_eq!((world.run_status(&run).await.as_str(), world.step_status(&run, "b").await.as_str()), ("failed", "cancelled"));
    world.store.retry_run(&run, &actor()).await.unwrap();
    world.admit().await;
    let dead = world.replica("dead").await;
    for step in world.claim(&dead, 2).await {
        let before = if step.name == "a" { last } else { other.attempt() };
        assert!(step.claim.attempt() > before, "{}: {} after {before}", step.name, step.claim.attempt());
        last = last.max(step.claim.attempt());
    }
    world.declare_lost(&dead).await;
    let twice = world.number("SELECT count(*) - count(DISTINCT attempt) FROM {attempts} WHERE name = 'a'").await;
    assert_eq!(twice, 0);
    let again = world.claim_one(&a).await;
    assert!(again.claim.attempt() > 1);
}

async fn people_are_told_when_a_state_does_not_allow_it(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let not_now = |acted: Acted| if let Acted::NotNow(why) = acted { assert!(!why.is_empty()) } else { panic!("{acted:?}") };
    not_now(world.store.retry_run(&run, &actor()).await.unwrap());
    not_now(world.store.resolve_step(&run, "a", Resolution::Succeeded, &actor()).await.unwrap());
    assert_eq!(world.store.resolve_step(&run, "x", Resolution::Retry, &actor()).await.unwrap(), Acted::NotFound);
    world.finish_one(&world.replica("a").await).await;
    not_now(world.store.retry_run(&run, &actor()).await.unwrap());
    not_now(world.store.cancel_run(&run, &actor()).await.unwrap());
    not_now(world.store.resolve_step(&run, "a", Resolution::Failed, &actor()).await.unwrap());
    let nobody = onebell::model::RunId::from_text("nobody");
    assert_eq!(world.store.cancel_run(&nobody, &actor()).await.unwrap(), Acted::NotFound);
    assert_eq!(world.store.retry_run(&nobody, &actor()).await.unwrap(), Acted::NotFound);
    assert_eq!(world.store.resolve_step(&nobody, "a", Resolution::Retry, &actor()).await.unwrap(), Acted::NotFound);
    assert_eq!(world.run_status(&run).await, "succeeded");
}
