//! The end of an attempt under its claim, and its answer read back.

use std::time::Duration;

use onebell::model::StepId;
use onebell::model::job::OnLost;
use onebell::model::retry::RetryPolicy;
use onebell::model::step::{StepStatus, Verdict};
use onebell::store::{Settled, StepOutput};

use super::given::*;
use super::world::World;

contract!(
    a_join_becomes_ready_when_its_predecessors_settle_in_one_set,
    a_settlement_after_the_deadline_but_before_a_grant_still_counts,
    an_own_stop_costs_no_try,
    answers_come_in_the_order_of_the_settlements,
    i10_a_step_is_claimed_as_often_as_its_budget_says_and_is_then_exhausted,
    i10_total_time_bounds_retries_and_own_stops_from_the_first_claim_on,
    i4_a_step_is_settled_once_though_its_settlement_is_repeated,
    k10_01_every_end_is_already_when_its_acknowledgement_was_lost,
    k13_05_output_is_kept_as_bytes_and_rows_are_read_whole,
    one_attempt_twice_in_a_set_is_written_once,
    the_history_keeps_one_row_for_each_attempt,
    the_other_side_may_put_a_retry_off_further,
    two_sets_over_the_same_runs_in_opposite_orders_end_without_an_error,
);

async fn i4_a_step_is_settled_once_though_its_settlement_is_repeated(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    let claim = world.claim_one(&a).await.claim;
    let done = records(&claim, vec![effect("paid", 100)]);
    assert_eq!(world.settle(done.clone()).await, applied(StepStatus::Succeeded));
    assert_eq!(world.settle(done.clone()).await, Settled::Already);
    assert_eq!(settle_on(&world.another().await, done).await, Settled::Already, "also over another connection");
    assert_eq!(world.store.effects_total("ledger").await.unwrap(), (1, 100));
    assert_eq!(world.step(&run, "a").await.attempts.len(), 1);
}

/// The end is written, the answer is lost, the agent settles again: whatever the end was.
async fn k10_01_every_end_is_already_when_its_acknowledgement_was_lost(world: World) {
    let names = ["succeeds", "delivers", "fails", "retries", "gives-back", "stops", "conflicts", "exhausts", "is-held"];
    let steps = names.iter().map(|name| match *name {
        "exhausts" => step_once(name),
        "is-held" => step_on_lost(name, OnLost::Hold),
        _ => step(name),
    });
    for (n, step) in steps.enumerate() {
        world.open_run(&job(&format!("j{n}"), vec![step])).await;
    }
    let a = world.replica("a").await;
    world.open_run(&job("first", vec![with(step("first"), |step| step.priority = 9)])).await;
    let first = world.claim_one(&a).await.claim;
    world.settle(records(&first, vec![effect("taken", 1)])).await;
    for claimed in world.claim(&a, 20).await {
        let claim = &claimed.claim;
        let settlement = match claimed.name.as_str() {
            "succeeds" => succeeds(claim),
            "delivers" => puts(claim, vec![mail("m")]),
            "fails" => fails(claim),
            "retries" | "exhausts" => retries(claim),
            "gives-back" => gives_back(claim),
            "stops" | "is-held" => stops(claim),
            _ => records(claim, vec![effect("taken", 2)]),
        };
        assert!(matches!(world.settle(settlement.clone()).await, Settled::Applied { .. }), "{}", claimed.name);
        let before = world.step(claim.run(), &claimed.name).await;
        assert_eq!(world.settle(settlement).await, Settled::Already, "{}", claimed.name);
        assert_eq!(world.step(claim.run(), &claimed.name).await, before, "{}", claimed.name);
    }
}

async fn a_settlement_after_the_deadline_but_before_a_grant_still_counts(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    let claim = world.claim_one(&a).await.claim;
    world.pass(TIMEOUT + seconds(5));
    assert_eq!(world.sweeps().await, 1, "it is overdue, and somebody asked");
    assert_eq!(world.settle(succeeds(&claim)).await, applied(StepStatus::Succeeded));
    assert_eq!(world.grant_all().await, 0, "the request comes too late");
    assert_eq!(world.run_status(&run).await, "succeeded");
}

async fn a_join_becomes_ready_when_its_predecessors_settle_in_one_set(world: World) {
    let run = world.open_run(&job("j", vec![step("a"), step("b"), step_after("c", &["a", "b"])])).await;
    let a = world.replica("a").await;
    let claimed = world.claim(&a, 9).await;
    assert_eq!(claimed.len(), 2, "the join waits");
    world.store.settle_steps(claimed.iter().map(|step| succeeds(&step.claim)).collect()).await.unwrap();
    assert_eq!(world.finish_one(&a).await.name, "c");
    assert_eq!(world.run_status(&run).await, "succeeded");
}

async fn answers_come_in_the_order_of_the_settlements(world: World) {
    world.register(&job("j", vec![step("a")])).await;
    for run in ["1", "2", "3", "4"] {
        world.trigger("j", run).await;
    }
    let (a, b) = (world.replica("a").await, world.replica("b").await);
    let claims: Vec<_> = world.claim(&a, 9).await.into_iter().map(|step| step.claim).collect();
    world.settle(succeeds(&claims[2])).await;
    world.settle(gives_back(&claims[0])).await;
    world.claim_one(&b).await;
    // Reversed, and with what does not hold between what does.
    let set = vec![stops(&claims[3]), succeeds(&claims[2]), fails(&claims[1]), gives_back(&claims[0])];
    let answers = world.store.settle_steps(set).await.unwrap();
    assert_eq!(answers, [applied(StepStatus::Pending), Settled::Already, applied(StepStatus::Failed), Settled::Already]);
}

async fn one_attempt_twice_in_a_set_is_written_once(world: World) {
    world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    let claim = world.claim_one(&a).await.claim;
    let done = records(&claim, vec![effect("paid", 100)]);
    let answers = world.store.settle_steps(vec![done.clone(), done]).await.unwrap();
    assert_eq!(answers, [applied(StepStatus::Succeeded), Settled::Already]);
    assert_eq!(world.store.effects_total("ledger").await.unwrap(), (1, 100));
}

async fn two_sets_over_the_same_runs_in_opposite_orders_end_without_an_error(world: World) {
    let runs = 20;
    world.register(&job("j", vec![step("a"), step("b"), step_after("c", &["a", "b"])])).await;
    for round in 0..4 {
        for n in 0..runs {
            world.trigger("j", &format!("{round}/{n}")).await;
        }
        let a = world.replica("a").await;
        let claimed = world.claim(&a, 100).await;
        assert_eq!(claimed.len(), 2 * runs);
        let of = |name: &str| claimed.iter().filter(|step| step.name == name).map(|step| succeeds(&step.claim)).collect();
        let (forth, mut back): (Vec<_>, Vec<_>) = (of("a"), of("b"));
        back.reverse();
        let calls = world.others(2).await.into_iter().zip([forth, back]);
        let answers = at_once(calls.map(|(store, set)| async move { store.settle_steps(set).await }).collect()).await;
        for answer in answers {
            assert_eq!(answer.unwrap(), vec![applied(StepStatus::Succeeded); runs]);
        }
        let joins = world.claim(&a, 100).await;
        assert_eq!(joins.len(), runs, "every join became ready");
        world.store.settle_steps(joins.iter().map(|step| succeeds(&step.claim)).collect()).await.unwrap();
    }
    assert_eq!(world.rows("runs", "status <> 'succeeded'").await, 0);
}

async fn i10_a_step_is_claimed_as_often_as_its_budget_says_and_is_then_exhausted(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    for attempt in 1..=3 {
        let step = world.claim_one(&a).await;
        assert_eq!((step.claim.attempt(), step.tries), (attempt, u32::try_from(attempt).unwrap()));
        let end = if attempt == 3 { StepStatus::Exhausted } else { StepStatus::Pending };
        let tried = onebell::store::Settlement { effects: vec![effect("never", 1)], ..retries(&step.claim) };
        assert_eq!(world.settle(tried).await, applied(end));
        world.pass(MINUTE * 2);
    }
    assert!(world.claim(&a, 1).await.is_empty());
    assert_eq!(world.rows("effects", "true").await, 0, "nothing of a settle that did not succeed is applied");
    let step = world.step(&run, "a").await;
    assert_eq!((step.status.as_str(), step.tries), ("exhausted", 3));
    assert_eq!(step.error.as_deref(), Some("busy"));
    assert_eq!(world.run_status(&run).await, "parked");
}

async fn i10_total_time_bounds_retries_and_own_stops_from_the_first_claim_on(world: World) {
    let bounded = |name: &str| {
        with(step(name), |step| {
            step.retry = RetryPolicy { attempts: 100, within_us: Some(30_000_000), ..RetryPolicy::default() };
        })
    };
    let run = world.open_run(&job("j", vec![bounded("retried"), bounded("stopped")])).await;
    let a = world.replica("a").await;
    for end in [StepStatus::Pending, StepStatus::Exhausted] {
        let claimed = world.claim(&a, 2).await;
        let of = |name: &str| claimed.iter().find(|step| step.name == name).unwrap().claim.clone();
        world.pass(seconds(10));
        assert_eq!(world.settle(retries(&of("retried"))).await, applied(end));
        assert_eq!(world.settle(stops(&of("stopped"))).await, applied(end));
        world.pass(seconds(11));
    }
    assert_eq!(world.run_status(&run).await, "parked");
    world.store.retry_run(&run, &actor()).await.unwrap();
    world.admit().await;
    let claimed = world.claim(&a, 2).await;
    assert_eq!(world.settle(retries(&claimed[0].claim)).await, applied(StepStatus::Pending), "a new budget has its own time");
}

async fn an_own_stop_costs_no_try(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    for attempt in 1..=5 {
        let step = world.claim_one(&a).await;
        assert_eq!((step.claim.attempt(), step.tries), (attempt, 1));
        assert_eq!(world.settle(stops(&step.claim)).await, applied(StepStatus::Pending));
        assert_eq!(world.step(&run, "a").await.tries, 0);
    }
}

async fn the_other_side_may_put_a_retry_off_further(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    let claim = world.claim_one(&a).await.claim;
    let verdict = Verdict::Retry { error: "busy".to_owned(), after: Some(Duration::from_secs(600)) };
    world.settle(ends(&claim, verdict)).await;
    assert_eq!(world.step(&run, "a").await.ready_at, Some(world.now() + seconds(600)));
}

async fn the_history_keeps_one_row_for_each_attempt(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    for settlement in [gives_back, stops, retries, succeeds] {
        let claim = world.claim_one(&a).await.claim;
        world.pass(seconds(2));
        world.settle(settlement(&claim)).await;
        world.pass(MINUTE);
    }
    let attempts = world.step(&run, "a").await.attempts;
    let outcomes: Vec<_> = attempts.iter().map(|attempt| (attempt.attempt, attempt.outcome.as_str())).collect();
    assert_eq!(outcomes, [(1, "given_back"), (2, "stopped"), (3, "retry"), (4, "succeeded")]);
    for attempt in &attempts {
        assert_eq!(attempt.replica.as_deref(), Some("a"));
        assert_eq!(attempt.claimed_at.map(|at| attempt.ended_at.since(at)), Some(seconds(2)));
    }
    assert_eq!((attempts[1].error.as_deref(), attempts[2].error.as_deref()), (Some("the store was away"), Some("busy")));
}

async fn k13_05_output_is_kept_as_bytes_and_rows_are_read_whole(world: World) {
    let run = world.open_run(&job("j", vec![step("a"), step_after("b", &["a"])])).await;
    let a = world.replica("a").await;
    let claim = world.claim_one(&a).await.claim;
    let rows = format!("[{}]", vec!["{\"name\":\"Nguyễn\"}"; 5_000].join(","));
    let output = StepOutput {
        rows: Some(rows.clone()),
        stdout: b"ok\0\xff\nH\xe8".to_vec(),
        stderr: b"\0".to_vec(),
        summary: "exit code 0".to_owned(),
    };
    world.settle(onebell::store::Settlement { output: output.clone(), ..succeeds(&claim) }).await;
    let attempt = world.step(&run, "a").await.attempts.remove(0);
    assert_eq!((attempt.stdout, attempt.stderr, attempt.summary), (output.stdout, output.stderr, output.summary));
    assert_eq!(world.store.step_rows(&run, "a").await.unwrap(), Some(rows));
    assert_eq!(world.store.step_rows(&run, "b").await.unwrap(), None);
    assert_eq!(claim.step(), &StepId::of(&run, "a"));
}
