//! Request keys: one run per key over all jobs, compared before any state.

use onebell::store::{Acted, Triggered};

use super::given::*;
use super::world::World;

contract!(
    a_key_is_one_over_all_jobs,
    a_request_for_no_job_is_told_so_and_keeps_no_key,
    k08_01_the_same_request_is_already_and_another_input_a_conflict_in_every_state,
    k08_02_a_spelling_of_the_same_input_is_the_same_request,
    k10_02_many_requests_with_one_key_at_once_are_one_run,
    many_requests_of_many_kinds_at_once_are_never_skipped,
    what_is_asked_again_after_its_key_was_forgotten_finds_its_run,
);

async fn k08_01_the_same_request_is_already_and_another_input_a_conflict_in_every_state(world: World) {
    let a = world.replica("a").await;
    let input = |amount: u32| Some(format!("{{\"to\":\"acct-7\",\"amount\":{amount},\"currency\":\"VND\"}}"));
    for state in ["running", "succeeded", "failed", "cancelled", "parked", "queued"] {
        let serial = with(job(state, vec![step_once("a")]), |job| {
            job.schedules = minutely("x", onebell::model::job::Overlap::Skip).schedules;
            job.overlap = onebell::model::job::Overlap::Skip;
        });
        world.register(&serial).await;
        if state == "queued" {
            world.trigger(state, "in its way").await;
        }
        let first = request(state, &format!("inv {state}"), input(22_000).as_deref());
        assert_eq!(world.store.asked_before(&first).await.unwrap(), None);
        let Triggered::Opened(run) = world.store.trigger(&first).await.unwrap() else { panic!("new") };
        if state == "cancelled" {
            assert_eq!(world.store.cancel_run(&run, &actor()).await.unwrap(), Acted::Done);
        } else if state != "queued" {
            let claim = world.claim_one(&a).await.claim;
            match state {
                "succeeded" => drop(world.settle(succeeds(&claim)).await),
                "failed" => drop(world.settle(fails(&claim)).await),
                "parked" => drop(world.settle(retries(&claim)).await),
                _ => {}
            }
        }
        assert_eq!(world.run_status(&run).await, state);
        let before = world.store.run(&run).await.unwrap();
        let runs = world.rows("runs", "true").await;
        assert_eq!(world.store.trigger(&first).await.unwrap(), Triggered::Already(run.clone()), "{state}");
        assert_eq!(world.store.asked_before(&first).await.unwrap(), Some(Triggered::Already(run.clone())), "{state}");
        let other = with(first.clone(), |request| request.input = input(220_000));
        let Triggered::Conflict(conflict) = world.store.trigger(&other).await.unwrap() else { panic!("{state}: no conflict") };
        assert_eq!((conflict.what.as_str(), conflict.key.as_str()), ("request", first.key.as_str()));
        assert_ne!(conflict.kept, conflict.refused, "it names both");
        assert_eq!(world.store.asked_before(&other).await.unwrap(), Some(Triggered::Conflict(conflict)), "{state}");
        let none = with(first, |request| request.input = None);
        assert!(matches!(world.store.trigger(&none).await.unwrap(), Triggered::Conflict(_)), "{state}");
        assert_eq!(world.store.run(&run).await.unwrap(), before, "{state}: the first is untouched");
        assert_eq!(world.rows("runs", "true").await, runs);
    }
}

/// Keys are forgotten later than runs, unless somebody erases them.
async fn what_is_asked_again_after_its_key_was_forgotten_finds_its_run(world: World) {
    world.register(&job("close-month", vec![step("a")])).await;
    let request = request("close-month", "k", None);
    let Triggered::Opened(run) = world.store.trigger(&request).await.unwrap() else { panic!("new") };
    world.sql("DELETE FROM {request_keys}").await.unwrap();
    assert_eq!(world.store.asked_before(&request).await.unwrap(), Some(Triggered::Already(run.clone())));
    assert_eq!(world.store.trigger(&request).await.unwrap(), Triggered::Already(run));
    let nobody = with(request, |request| request.job = "nobody".to_owned());
    assert_eq!(world.store.asked_before(&nobody).await.unwrap(), Some(Triggered::NoSuchJob));
}

async fn a_key_is_one_over_all_jobs(world: World) {
    world.register(&job("close-month", vec![step("a")])).await;
    world.register(&job("open-month", vec![step("a")])).await;
    world.trigger("close-month", "k1").await;
    let other = world.store.trigger(&request("open-month", "k1", None)).await.unwrap();
    assert!(matches!(other, Triggered::Conflict(_)), "{other:?}");
    assert_eq!(world.rows("runs", "true").await, 1);
}

async fn k08_02_a_spelling_of_the_same_input_is_the_same_request(world: World) {
    world.register(&job("j", vec![step("a")])).await;
    let said = |input: &str| request("j", "k", Some(input));
    let first = world.store.trigger(&said("{\"dry_run\":true,\"n\":1.50}")).await.unwrap();
    let Triggered::Opened(run) = first else { panic!("{first:?}") };
    let respelled = world.store.trigger(&said("{ \"n\": 15e-1, \"dry_run\": true }")).await.unwrap();
    assert_eq!(respelled, Triggered::Already(run));
    for other in ["{\"dry_run\":false,\"n\":1.5}", "{\"dry_run\":true}", "{\"dry_run\":true,\"n\":1.500001}"] {
        assert!(matches!(world.store.trigger(&said(other)).await.unwrap(), Triggered::Conflict(_)), "{other}");
    }
}

async fn k10_02_many_requests_with_one_key_at_once_are_one_run(world: World) {
    world.register(&job("j", vec![step("a")])).await;
    for round in 0..4 {
        let calls = world.others(6).await.into_iter().enumerate().map(|(n, store)| {
            let input = if n % 3 == 2 { "2" } else { "1" };
            let request = request("j", &format!("k{round}"), Some(input));
            async move { (input, store.trigger(&request).await.unwrap()) }
        });
        let answers = at_once(calls.collect()).await;
        let opened: Vec<_> = answers.iter().filter(|(_, answer)| matches!(answer, Triggered::Opened(_))).collect();
        assert_eq!(opened.len(), 1, "{answers:?}");
        let (input, Triggered::Opened(run)) = opened[0] else { unreachable!() };
        for (other, answer) in &answers {
            match answer {
                Triggered::Already(same) => assert!(same == run && other == input),
                Triggered::Conflict(_) => assert_ne!(other, input),
                Triggered::Opened(_) => {}
                Triggered::NoSuchJob => panic!("{answers:?}"),
            }
        }
        assert_eq!(world.rows("runs", "true").await, i64::from(round) + 1);
    }
}

async fn a_request_for_no_job_is_told_so_and_keeps_no_key(world: World) {
    assert_eq!(world.store.trigger(&request("j", "k", None)).await.unwrap(), Triggered::NoSuchJob);
    world.register(&job("j", vec![step("a")])).await;
    assert!(matches!(world.store.trigger(&request("j", "k", None)).await.unwrap(), Triggered::Opened(_)));
}

async fn many_requests_of_many_kinds_at_once_are_never_skipped(world: World) {
    let id = world.register(&minutely("m", onebell::model::job::Overlap::Skip)).await;
    let calls = world.others(6).await.into_iter().enumerate().map(|(n, store)| async move {
        for m in 0..3 {
            let opened = store.trigger(&request("m", &format!("{n}/{m}"), None)).await.unwrap();
            assert!(matches!(opened, Triggered::Opened(_)), "{opened:?}");
        }
    });
    at_once(calls.collect()).await;
    assert_eq!(world.rows("runs", "status = 'running'").await, 1, "admitted one at a time");
    assert_eq!(world.rows("runs", "status = 'queued'").await, 17);
    world.clock.set(slot(1));
    assert_eq!(world.open_slot(&id, slot(1)).await, onebell::store::Opened::Applied { opened: 0, skipped: 1 });
    let a = world.replica("a").await;
    for _ in 0..18 {
        world.finish_one(&a).await;
        world.admit().await;
    }
    assert_eq!(world.rows("runs", "status = 'succeeded'").await, 18);
}
