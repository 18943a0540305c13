//! The ledger: one effect per key, and what a second one is.

use onebell::model::run::RunStatus;
use onebell::model::step::StepStatus;
use onebell::model::{Effect, RunId};
use onebell::store::{Settled, Settlement};

use super::given::*;
use super::world::World;

contract!(
    i13_a_total_is_the_exact_sum_of_a_scope_beyond_64_bits,
    i3_an_effect_of_an_attempt_that_does_not_hold_is_not_written,
    i4_effects_messages_and_the_end_commit_together_or_not_at_all,
    i5_a_conflict_fails_its_own_step_in_a_set_of_many,
    i5_an_effect_is_written_once_and_is_already_for_the_next_run,
    i5_another_payload_under_a_key_is_a_conflict_that_names_both,
    i5_one_key_twice_in_a_set_is_written_once,
    i5_two_runs_that_record_one_key_at_once_are_one_applied_and_one_already,
    k08_01_a_conflict_is_found_in_every_state_of_the_first,
    k08_05_a_payload_with_one_field_less_is_another_payload,
    keys_are_their_own_by_scope_case_and_space,
    two_callers_with_the_same_keys_in_opposite_orders_end_without_an_error,
);

/// Opens a run of one step, `name`, and settles it with these effects.
async fn recorded(world: &World, name: &str, effects: Vec<Effect>) -> (RunId, Settled) {
    let run = world.open_run(&job(name, vec![step_once("a")])).await;
    let claim = world.claim_one(&world.replica("a").await).await.claim;
    (run, world.settle(records(&claim, effects)).await)
}

fn already(effects_already: u32) -> Settled {
    Settled::Applied { status: StepStatus::Succeeded, effects_already, messages_already: 0, refused: None }
}

fn refusal(settled: Settled) -> String {
    match settled {
        Settled::Applied { status: StepStatus::Failed, refused: Some(why), .. } => why,
        other => panic!("no conflict: {other:?}"),
    }
}

async fn total(world: &World) -> (u64, i128) {
    world.store.effects_total("ledger").await.unwrap()
}

async fn i5_an_effect_is_written_once_and_is_already_for_the_next_run(world: World) {
    let (_, first) = recorded(&world, "one", vec![effect("e1", 100), effect("e2", 250)]).await;
    assert_eq!(first, already(0));
    let (run, second) = recorded(&world, "two", vec![effect("e2", 250), effect("e3", 75), effect("e1", 100)]).await;
    assert_eq!(second, already(2));
    assert_eq!((world.run_status(&run).await.as_str(), total(&world).await), ("succeeded", (3, 425)));
}

async fn i5_another_payload_under_a_key_is_a_conflict_that_names_both(world: World) {
    recorded(&world, "one", vec![effect("e1", 100)]).await;
    let (kept, refused) = (effect("e1", 100).fingerprint.to_string(), effect("e1", 900).fingerprint.to_string());
    let (run, second) = recorded(&world, "two", vec![effect("e0", 1), effect("e1", 900), effect("e2", 1)]).await;
    let why = refusal(second);
    assert!(why.contains("e1") && why.contains(&kept) && why.contains(&refused), "{why}");
    assert_eq!(total(&world).await, (1, 100), "nothing of the refused settlement is kept");
    assert_eq!((world.step_status(&run, "a").await.as_str(), world.run_status(&run).await.as_str()), ("failed", "failed"));
    let shown = world.step(&run, "a").await.attempts.remove(0);
    assert!(shown.outcome == "failed" && shown.error.is_some_and(|error| error.contains("e1")), "people can read why");
}

async fn i5_a_conflict_fails_its_own_step_in_a_set_of_many(world: World) {
    recorded(&world, "first", vec![effect("e7", 100)]).await;
    world.register(&job("many", vec![step("a")])).await;
    for n in 0..20 {
        world.trigger("many", &format!("{n}")).await;
    }
    let claimed = world.claim(&world.replica("a").await, 100).await;
    let amount = |n: usize| if n == 7 { 900 } else { 1 };
    let set = claimed.iter().enumerate().map(|(n, step)| records(&step.claim, vec![effect(&format!("e{n}"), amount(n))]));
    let answers = world.store.settle_steps(set.collect()).await.unwrap();
    for (n, answer) in answers.into_iter().enumerate() {
        if n == 7 { assert!(refusal(answer).contains("e7")) } else { assert_eq!(answer, already(0), "{n}") }
    }
    assert_eq!(total(&world).await, (20, 119));
    assert_eq!(world.rows("runs", "status = 'succeeded'").await, 20);
    assert_eq!(world.rows("runs", "status = 'failed'").await, 1);
}

async fn i5_one_key_twice_in_a_set_is_written_once(world: World) {
    world.register(&job("j", vec![step("a")])).await;
    for run in ["1", "2", "3", "4"] {
        world.trigger("j", run).await;
    }
    let claims: Vec<_> = world.claim(&world.replica("a").await, 9).await.into_iter().map(|step| step.claim).collect();
    let set = vec![
        records(&claims[0], vec![effect("e1", 100)]),
        records(&claims[1], vec![effect("e1", 100), effect("e2", 1)]),
        records(&claims[2], vec![effect("e2", 7)]),
        records(&claims[3], vec![effect("e3", 5), effect("e3", 5)]),
    ];
    let mut answers = world.store.settle_steps(set).await.unwrap();
    assert!(matches!(answers.remove(3), Settled::Applied { status: StepStatus::Succeeded, .. }));
    assert!(refusal(answers.remove(2)).contains("e2"));
    assert_eq!(answers, [already(0), already(1)]);
    assert_eq!(total(&world).await, (3, 106));
}

async fn k08_01_a_conflict_is_found_in_every_state_of_the_first(world: World) {
    let a = world.replica("a").await;
    let two_steps = |name: &str| job(name, vec![with(step("first"), |step| step.priority = 9), step_after("then", &["first"])]);
    let mut firsts = Vec::new();
    for state in ["running", "succeeded", "failed", "parked", "cancelled"] {
        let run = world.open_run(&two_steps(state)).await;
        let claim = world.claim_one(&a).await.claim;
        world.settle(records(&claim, vec![effect(state, 100)])).await;
        let then = world.claim_one(&a).await.claim;
        match state {
            "succeeded" => drop(world.settle(succeeds(&then)).await),
            "failed" => drop(world.settle(fails(&then)).await),
            "parked" => {
                world.settle(retries(&then)).await;
                for _ in 0..2 {
                    world.pass(MINUTE * 2);
                    let again = world.claim_one(&a).await.claim;
                    world.settle(retries(&again)).await;
                }
            }
            "cancelled" => {
                world.store.cancel_run(&run, &actor()).await.unwrap();
                world.settle(ends(&then, onebell::model::step::Verdict::Cancelled)).await;
            }
            _ => {}
        }
        assert_eq!(world.run_status(&run).await, state);
        firsts.push(run);
    }
    for run in &firsts {
        let state = world.run_status(run).await;
        let before = world.store.run(run).await.unwrap();
        let (_, again) = recorded(&world, &format!("same after {state}"), vec![effect(&state, 100)]).await;
        assert_eq!(again, already(1), "{state}");
        let (_, other) = recorded(&world, &format!("other after {state}"), vec![effect(&state, 900)]).await;
        assert!(refusal(other).contains(&state));
        assert_eq!(world.store.run(run).await.unwrap(), before, "the first is untouched");
    }
    assert_eq!(total(&world).await, (5, 500));
}

async fn k08_05_a_payload_with_one_field_less_is_another_payload(world: World) {
    let of = |name: &str, payload: &str| Effect::new(key("ledger"), key(name), None, payload).unwrap();
    recorded(&world, "one", vec![of("more", "{\"id\":1,\"extra\":\"x\"}"), of("less", "{\"id\":1}")]).await;
    refusal(recorded(&world, "two", vec![of("more", "{\"id\":1}")]).await.1);
    refusal(recorded(&world, "three", vec![of("less", "{\"id\":1,\"extra\":\"x\"}")]).await.1);
    let respelled = of("more", "{ \"extra\": \"x\", \"id\": 1.0 }");
    assert_eq!(recorded(&world, "four", vec![respelled]).await.1, already(1), "another spelling is the same payload");
}

async fn i5_two_runs_that_record_one_key_at_once_are_one_applied_and_one_already(world: World) {
    world.register(&job("j", vec![step("a")])).await;
    for round in 0..10 {
        world.trigger("j", &format!("{round}/1")).await;
        world.trigger("j", &format!("{round}/2")).await;
        let claimed = world.claim(&world.replica("a").await, 2).await;
        let calls = world.others(2).await.into_iter().zip(claimed).map(|(store, step)| async move {
            settle_on(&store, records(&step.claim, vec![effect(&format!("{round}"), 100)])).await
        });
        let answers = at_once(calls.collect()).await;
        assert!(answers.contains(&already(0)) && answers.contains(&already(1)), "{answers:?}");
        assert_eq!(total(&world).await, (round + 1, 100 * i128::from(round + 1)));
    }
}

async fn two_callers_with_the_same_keys_in_opposite_orders_end_without_an_error(world: World) {
    world.register(&job("j", vec![step("a")])).await;
    for round in 0..4 {
        for n in 0..20 {
            world.trigger("j", &format!("{round}/{n}")).await;
        }
        let claimed = world.claim(&world.replica("a").await, 100).await;
        let settlement = |n: usize, reverse: bool| {
            let mut effects: Vec<_> = (0..10).map(|e| effect(&format!("{round}/{}/{e}", n % 10), 1)).collect();
            if reverse {
                effects.reverse();
            }
            records(&claimed[n].claim, effects)
        };
        let forth: Vec<Settlement> = (0..10).map(|n| settlement(n, false)).collect();
        let back: Vec<Settlement> = (10..20).rev().map(|n| settlement(n, true)).collect();
        let calls = world.others(2).await.into_iter().zip([forth, back]);
        let answers = at_once(calls.map(|(store, set)| async move { store.settle_steps(set).await }).collect()).await;
        for answer in answers {
            for settled in answer.unwrap() {
                assert!(settled == already(0) || settled == already(10), "{settled:?}");
            }
        }
        assert_eq!(total(&world).await.0, 100 * (round + 1));
    }
}

async fn i13_a_total_is_the_exact_sum_of_a_scope_beyond_64_bits(world: World) {
    let other = Effect::new(key("other"), key("e1"), Some(5), "1").unwrap();
    let counted = Effect::new(key("ledger"), key("no amount"), None, "1").unwrap();
    recorded(&world, "j", vec![effect("e1", i64::MAX), effect("e2", i64::MAX), effect("e3", -1), other, counted]).await;
    assert_eq!(total(&world).await, (4, 2 * i128::from(i64::MAX) - 1));
    assert_eq!(world.store.effects_total("other").await.unwrap(), (1, 5));
    assert_eq!(world.store.effects_total("nobody").await.unwrap(), (0, 0));
}

async fn keys_are_their_own_by_scope_case_and_space(world: World) {
    let of = |scope: &str, name: &str| Effect::new(key(scope), key(name), Some(1), "1").unwrap();
    let distinct = vec![of("ledger", "inv-1"), of("ledger", "INV-1"), of("ledger", "inv-1 "), of("Ledger", "inv-1")];
    assert_eq!(recorded(&world, "j", distinct).await.1, already(0));
    assert_eq!(total(&world).await, (3, 3));
    let composed = vec![of("ledger", "Nguy\u{1ec5}n"), of("ledger", "Nguye\u{302}\u{303}n 2")];
    recorded(&world, "k", composed).await;
    assert_eq!(recorded(&world, "l", vec![of("ledger", "Nguye\u{302}\u{303}n")]).await.1, already(1));
}

async fn i4_effects_messages_and_the_end_commit_together_or_not_at_all(world: World) {
    recorded(&world, "first", vec![effect("taken", 1)]).await;
    let run = world.open_run(&job("j", vec![step("a"), step_after("b", &["a"])])).await;
    let claim = world.claim_one(&world.replica("a").await).await.claim;
    let refused =
        Settlement { messages: vec![mail("m1"), mail("m2")], ..records(&claim, vec![effect("new", 1), effect("taken", 2)]) };
    refusal(world.settle(refused).await);
    assert_eq!((total(&world).await.0, world.rows("outbox", "true").await), (1, 0));
    assert_eq!(world.run_status(&run).await, RunStatus::Failed.as_str());
    let run = world.open_run(&job("k", vec![step("a")])).await;
    let claim = world.claim_one(&world.replica("a").await).await.claim;
    let all = Settlement { messages: vec![mail("m1"), mail("m2")], ..records(&claim, vec![effect("new", 1)]) };
    assert_eq!(status_of(&world.settle(all).await), StepStatus::Delivering);
    assert_eq!((total(&world).await.0, world.rows("outbox", "status = 'ready'").await), (2, 2));
    assert_eq!(world.step_status(&run, "a").await, "delivering");
}

async fn i3_an_effect_of_an_attempt_that_does_not_hold_is_not_written(world: World) {
    world.register(&job("j", vec![step("a")])).await;
    world.trigger("j", "1").await;
    world.trigger("j", "2").await;
    let (a, b) = (world.replica("a").await, world.replica("b").await);
    let claims: Vec<_> = world.claim(&a, 9).await.into_iter().map(|step| step.claim).collect();
    world.settle(gives_back(&claims[0])).await;
    world.claim_one(&b).await;
    let set = vec![records(&claims[0], vec![effect("shared", 100)]), records(&claims[1], vec![effect("shared", 100)])];
    let answers = world.store.settle_steps(set).await.unwrap();
    assert!(!matches!(answers[0], Settled::Applied { .. }), "{:?}", answers[0]);
    assert_eq!(answers[1], already(0), "only the claim that held wrote, and it found nothing of the other");
    assert_eq!(total(&world).await, (1, 100));
}
