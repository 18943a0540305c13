//! I12: nothing is stuck. Whatever is not over is claimable, has an owner with a deadline, is closed by a pass, is found by the
//! sweep after its time, or is parked with a reason.

use onebell::model::RunId;
use onebell::model::job::{OnLost, Overlap};
use onebell::model::recovery::{Grant, RequestKind};
use onebell::model::run::RunStatus;
use onebell::model::step::{StepStatus, Verdict};

use super::given::*;
use super::outbox::{asks, unknown};
use super::recovering::STUCK_AFTER;
use super::world::World;

contract!(
    a_granted_request_about_a_run_does_not_block_the_next,
    a_run_that_lost_its_last_transition_is_asked_for_and_goes_on,
    a_waiting_step_whose_predecessors_ended_is_found_and_made_ready,
    every_state_that_is_not_over_is_left_by_passes_alone,
    nothing_is_asked_for_a_run_that_moves,
    the_queued_run_of_an_idle_job_is_asked_for_and_admitted,
);

/// One look and its grants, admission and closing, after everything that has a time has passed it.
async fn all_passes(world: &World) {
    world.pass(TIMEOUT * 20);
    world.sweeps().await;
    world.grant_all().await;
    world.close().await;
    world.admit().await;
}

async fn a_waiting_step_whose_predecessors_ended_is_found_and_made_ready(world: World) {
    let run = world.open_run(&job("j", vec![step("a"), step_after("b", &["a"])])).await;
    world.finish_one(&world.replica("a").await).await;
    // As if whoever settled `a` had not seen that `b` is ready.
    world.sql("UPDATE {job_steps} SET status = 'waiting'").await.unwrap();
    world.pass(STUCK_AFTER - seconds(1));
    assert_eq!(world.sweeps().await, 0, "it may be about to move");
    world.pass(seconds(2));
    assert_eq!(world.sweeps().await, 1);
    let request = world.open_request(RequestKind::Run, run.as_str()).await;
    assert_eq!(request.attempt, 0);
    assert!(matches!(world.store.grant(&request).await.unwrap(), Grant::Granted { .. }));
    assert_eq!(world.finish_one(&world.replica("a").await).await.name, "b");
    assert_eq!(world.run_status(&run).await, "succeeded");
}

async fn a_granted_request_about_a_run_does_not_block_the_next(world: World) {
    let run = world.open_run(&job("j", vec![step("a"), step_after("b", &["a"]), step_after("c", &["b"])])).await;
    let a = world.replica("a").await;
    for name in ["a", "b"] {
        assert_eq!(world.finish_one(&a).await.name, name);
        world.sql("UPDATE {job_steps} SET status = 'waiting'").await.unwrap();
        world.pass(STUCK_AFTER + seconds(1));
        assert_eq!(world.sweeps().await, 1, "after {name}");
        assert!(matches!(world.grant(RequestKind::Run, run.as_str()).await, Grant::Granted { .. }), "after {name}");
    }
    assert_eq!(world.finish_one(&a).await.name, "c");
    assert_eq!(world.run_status(&run).await, "succeeded");
}

/// Open runs without open steps: the end of each was lost.
async fn a_run_that_lost_its_last_transition_is_asked_for_and_goes_on(world: World) {
    let a = world.replica("a").await;
    let ends = [
        ("running", "NULL", "succeeded"),
        ("failing", "'failed'", "failed"),
        ("cancelling", "'cancelled'", "cancelled"),
        ("undoing", "'failed'", "failed"),
    ];
    for (status, goal, end) in ends {
        let run = world.open_run(&job(status, vec![step("a")])).await;
        world.finish_one(&a).await;
        let back = format!("UPDATE {{runs}} SET status = '{status}', goal = {goal}, finished_at = NULL WHERE run_id = '{run}'");
        assert_eq!(world.sql(&back).await, Ok(1));
        world.pass(STUCK_AFTER + seconds(1));
        assert_eq!(world.sweeps().await, 1, "{status}");
        assert!(matches!(world.grant(RequestKind::Run, run.as_str()).await, Grant::Granted { .. }), "{status}");
        assert_eq!(world.run_status(&run).await, end);
    }
}

async fn the_queued_run_of_an_idle_job_is_asked_for_and_admitted(world: World) {
    world.register(&minutely("m", Overlap::Skip)).await;
    let first = world.trigger("m", "1").await;
    let second = world.trigger("m", "2").await;
    world.pass(STUCK_AFTER + seconds(1));
    let asked_for_queued = async || world.rows("recovery_requests", &format!("id = '{second}'")).await;
    world.sweeps().await;
    assert_eq!(asked_for_queued().await, 0, "another run of the job is active: it waits for its end");
    world.finish_one(&world.replica("a").await).await;
    world.pass(STUCK_AFTER + seconds(1));
    world.sweeps().await;
    assert_eq!(asked_for_queued().await, 1, "nobody admitted it");
    world.grant_all().await;
    world.admit().await;
    assert_eq!((world.run_status(&first).await.as_str(), world.run_status(&second).await.as_str()), ("succeeded", "running"));
}

async fn nothing_is_asked_for_a_run_that_moves(world: World) {
    let long = with(step("long"), |step| (step.timeout, step.hard_limit) = (TIMEOUT * 1000, TIMEOUT * 1000));
    world.open_run(&job("claimed", vec![long, step_after("b", &["long"])])).await;
    world.claim_one(&world.replica("a").await).await;
    world.open_run(&job("pending", vec![step("a")])).await;
    world.open_run(&job("parked", vec![with(step_once("a"), |step| step.priority = 1)])).await;
    let claim = world.claim_one(&world.replica("a").await).await.claim;
    world.settle(retries(&claim)).await;
    world.pass(TIMEOUT * 20);
    assert_eq!(world.sweeps().await, 0, "one runs in its time, one may be claimed, one waits for a person");
}

/// Puts a run into each state, lets everybody who held something of it die, and leaves the rest to passes and fresh agents.
async fn every_state_that_is_not_over_is_left_by_passes_alone(world: World) {
    let mut runs = Vec::new();
    for status in RunStatus::ALL.iter().copied().filter(|status| !status.is_over()) {
        runs.push((status, state_of_run(&world, status).await));
    }
    for status in [StepStatus::Pending, StepStatus::Running, StepStatus::Delivering] {
        state_of_step(&world, status).await;
    }
    for (status, run) in &runs {
        assert_eq!(world.run_status(run).await, status.as_str());
    }
    world.store.leave(&world.replica("dead").await).await.unwrap();
    let fresh = world.replica("fresh").await;
    for _ in 0..12 {
        all_passes(&world).await;
        loop {
            let claimed = world.claim(&fresh, 9).await;
            if claimed.is_empty() {
                break;
            }
            for step in claimed {
                world.settle(succeeds(&step.claim)).await;
            }
        }
        let relay = world.store.claim_messages(&asks(&fresh, 9)).await.unwrap();
        for message in relay {
            world.mark(&message.claim).await;
            world.deliver(&message.claim, super::outbox::accepted()).await;
        }
    }
    let open = "status NOT IN ('succeeded', 'failed', 'cancelled')";
    let parked = "status = 'parked' AND reason IS NOT NULL";
    assert_eq!(world.rows("runs", open).await, world.rows("runs", parked).await, "what is not over is parked with a reason");
    let moving = "status IN ('waiting', 'pending', 'running', 'delivering') AND run_id NOT IN (SELECT run_id FROM {runs} WHERE status = 'parked')";
    assert_eq!(world.rows("job_steps", moving).await, 0);
    assert_eq!(world.rows("outbox", "status IN ('ready', 'claimed', 'sending')").await, 0);
    assert!(world.store.is_idle().await.unwrap());
}

/// A run in this state, with whatever it has in somebody's hands in those of `dead`.
async fn state_of_run(world: &World, status: RunStatus) -> RunId {
    let dead = world.replica("dead").await;
    let name = format!("run {status}");
    let steps = vec![undoable(step("a")), step_after("b", &["a"]), step_on_lost("c", OnLost::Hold)];
    let job = with(minutely(&name, Overlap::Skip), |job| job.steps = steps);
    world.register(&job).await;
    if status == RunStatus::Queued {
        world.trigger(&name, "in its way").await;
        return world.trigger(&name, "queued").await;
    }
    let run = world.trigger(&name, &name).await;
    let claimed = world.claim(&dead, 99).await;
    let of =
        |step: &str| claimed.iter().find(|claimed| claimed.claim.run() == &run && claimed.name == step).unwrap().claim.clone();
    match status {
        RunStatus::Parked => {
            world.settle(stops(&of("c"))).await;
            world.settle(succeeds(&of("a"))).await;
            world.settle(ends(&world.claim_one(&dead).await.claim, Verdict::Succeeded)).await;
        }
        RunStatus::Failing => drop(world.settle(fails(&of("c"))).await),
        RunStatus::Cancelling => drop(world.store.cancel_run(&run, &actor()).await.unwrap()),
        RunStatus::Undoing => {
            world.settle(succeeds(&of("a"))).await;
            world.settle(fails(&of("c"))).await;
            world.claim(&dead, 9).await;
        }
        _ => {}
    }
    run
}

async fn state_of_step(world: &World, status: StepStatus) {
    let dead = world.replica("dead").await;
    let name = format!("step {status}");
    world.open_run(&job(&name, vec![step("a"), step_after("b", &["a"])])).await;
    if status == StepStatus::Pending {
        return;
    }
    let claimed = world.claim(&dead, 99).await;
    let claim = &claimed.iter().find(|claimed| claimed.job == name).unwrap().claim;
    if status == StepStatus::Delivering {
        let messages = ["ready", "claimed", "sending", "doubt"].map(|word| mail(&format!("{name} {word}")));
        world.settle(puts(claim, messages.to_vec())).await;
        for message in world.store.claim_messages(&asks(&dead, 3)).await.unwrap() {
            if message.claim.key().ends_with("claimed") {
                continue;
            }
            world.mark(&message.claim).await;
            if message.claim.key().ends_with("doubt") {
                world.deliver(&message.claim, unknown()).await;
            }
        }
    }
}
