//! What may be forgotten, and what never is.

use std::time::Duration;

use onebell::model::job::Overlap;
use onebell::model::overlap::Origin;
use onebell::model::record::{Item, Position, Rejection};
use onebell::model::{JobId, ReplicaId, Term};
use onebell::store::{BatchOpened, Chunk, Guarded, Opened, PlannedSlot, Prevented, Pruned, Reader, Retention};

use super::batches::{chunk, opens, record};
use super::given::*;
use super::world::World;

contract!(
    batches_and_their_findings_go_when_keys_go_but_never_the_newest_of_a_source,
    effects_are_kept_for_ever,
    i10_a_prune_is_bounded_and_goes_on_where_it_stopped,
    i11_a_run_that_is_not_over_or_has_unfinished_messages_is_kept,
    i1_a_pruned_slot_is_never_opened_again,
    keys_of_messages_and_requests_outlive_their_runs_and_then_go,
    only_carried_jobs_are_pruned,
    pruned_before_moves_with_the_rows_and_only_forward,
    replicas_that_are_gone_are_forgotten_and_live_ones_are_not,
    what_a_forgotten_replica_prevented_stays_counted,
);

const DAY: Duration = Duration::from_secs(24 * 3600);

fn retention(jobs: Vec<JobId>) -> Retention {
    Retention { jobs, runs: DAY * 7, keys: DAY * 400, replicas: DAY * 7, limit: 100 }
}

/// Prunes what is older than a week, of every job that the test registered.
pub(super) async fn prune_all(world: &World, term: &Term) -> Guarded<Pruned> {
    world.store.prune(term, &retention(world.carried())).await.unwrap()
}

pub(super) async fn term(world: &World) -> Term {
    let leader = world.replica("leader").await;
    world.store.campaign("retention", &leader, DAY * 1000).await.unwrap().expect("the duty is free")
}

fn done(guarded: Guarded<Pruned>) -> Pruned {
    match guarded {
        Guarded::Done(pruned) => pruned,
        Guarded::Superseded => panic!("the term is ours"),
    }
}

/// `count` slots, a minute apart, opened and finished.
async fn finished_slots(world: &World, count: u32) -> JobId {
    let id = world.register(&minutely("m", Overlap::Skip)).await;
    let a = world.replica("a").await;
    for n in 1..=count {
        world.clock.set(slot(n));
        assert_eq!(world.open_slot(&id, slot(n)).await, Opened::Applied { opened: 1, skipped: 0 });
        world.finish_one(&a).await;
    }
    id
}

async fn i10_a_prune_is_bounded_and_goes_on_where_it_stopped(world: World) {
    let id = finished_slots(&world, 5).await;
    let term = term(&world).await;
    assert_eq!(done(prune_all(&world, &term).await).runs, 0, "they are young");
    world.pass(DAY * 8);
    for left in [3, 1, 0] {
        let bounded = Retention { limit: 2, ..retention(vec![id.clone()]) };
        done(world.store.prune(&term, &bounded).await.unwrap());
        assert_eq!(world.rows("runs", "true").await, left);
        assert_eq!(world.rows("attempts", "true").await, left, "their history goes with them");
    }
}

async fn i1_a_pruned_slot_is_never_opened_again(world: World) {
    let id = finished_slots(&world, 3).await;
    world.pass(DAY * 8);
    let term = term(&world).await;
    assert_eq!(done(prune_all(&world, &term).await).runs, 3);
    for n in 1..=3 {
        for origin in [Origin::Slot, Origin::CatchUp, Origin::Backfill] {
            let plan = with(world.plan(&id).await, |plan| plan.open = vec![PlannedSlot { at: slot(n), origin }]);
            assert_eq!(world.store.open_slots(&plan).await.unwrap(), Opened::Applied { opened: 0, skipped: 1 }, "{n} {origin}");
        }
    }
    assert_eq!(world.rows("runs", "true").await, 0);
    assert_eq!(world.open_slot(&id, slot(4)).await, Opened::Applied { opened: 1, skipped: 0 });
}

async fn pruned_before_moves_with_the_rows_and_only_forward(world: World) {
    let id = finished_slots(&world, 3).await;
    let pruned_before = async || world.store.jobs_named(Some(&["m".to_owned()])).await.unwrap().remove(0).pruned_before;
    let term = term(&world).await;
    assert_eq!(pruned_before().await, None);
    world.pass(DAY * 8);
    done(prune_all(&world, &term).await);
    let first = pruned_before().await.expect("moved in the transaction that pruned");
    assert!(first >= slot(3) && first < world.now(), "{first}");
    let backfill = PlannedSlot { at: first + MINUTE, origin: Origin::Backfill };
    let plan = with(world.plan(&id).await, |plan| plan.open = vec![backfill]);
    assert_eq!(world.store.open_slots(&plan).await.unwrap(), Opened::Applied { opened: 1, skipped: 0 });
    world.finish_one(&world.replica("a").await).await;
    world.pass(DAY * 8);
    done(prune_all(&world, &term).await);
    let second = pruned_before().await.unwrap();
    assert!(second > first);
    world.pass(DAY * 8);
    done(prune_all(&world, &term).await);
    assert!(pruned_before().await.unwrap() >= second);
}

async fn i11_a_run_that_is_not_over_or_has_unfinished_messages_is_kept(world: World) {
    let open = world.open_run(&job("open", vec![step("a"), step_after("b", &["a"])])).await;
    let a = world.replica("a").await;
    world.finish_one(&a).await;
    let running = world.claim_one(&a).await;
    let doubtful = world.in_doubt("m").await;
    let in_doubt = onebell::model::RunId::from_text(world.store.message("m").await.unwrap().unwrap().run.unwrap());
    world.close().await;
    world.store.resolve_step(&in_doubt, "a", onebell::store::Resolution::Succeeded, &actor()).await.unwrap();
    world.admit().await;
    assert_eq!(world.run_status(&in_doubt).await, "succeeded", "a person decided over the step, not over the message");
    world.pass(DAY * 500);
    let term = term(&world).await;
    assert_eq!(done(prune_all(&world, &term).await).runs, 0);
    assert_eq!(world.rows("attempts", "outcome = 'succeeded'").await, 1, "outputs and undo of an open run live there");
    world.settle(succeeds(&running.claim)).await;
    world.deliver(&doubtful, super::outbox::accepted()).await;
    world.pass(DAY * 8);
    assert_eq!(done(prune_all(&world, &term).await).runs, 2);
    assert!(world.store.run(&open).await.unwrap().is_none());
}

async fn effects_are_kept_for_ever(world: World) {
    world.open_run(&job("j", vec![step("a")])).await;
    let claim = world.claim_one(&world.replica("a").await).await.claim;
    world.settle(records(&claim, vec![effect("e1", 100)])).await;
    world.pass(DAY * 5000);
    let term = term(&world).await;
    assert_eq!(done(prune_all(&world, &term).await).runs, 1);
    assert_eq!(world.store.effects_total("ledger").await.unwrap(), (1, 100));
    let again = world.trigger("j", "much later").await;
    let claim = world.claim_one(&world.replica("b").await).await.claim;
    let settled = world.settle(records(&claim, vec![effect("e1", 900)])).await;
    assert_eq!(status_of(&settled), onebell::model::step::StepStatus::Failed, "still a conflict");
    assert_eq!(world.run_status(&again).await, "failed");
}

async fn keys_of_messages_and_requests_outlive_their_runs_and_then_go(world: World) {
    world.put("j", vec![mail("m")]).await;
    world.send_all().await;
    world.close().await;
    let term = term(&world).await;
    world.pass(DAY * 300);
    assert_eq!(done(prune_all(&world, &term).await), Pruned { runs: 1, ..Pruned::default() });
    assert!(matches!(
        world.store.trigger(&request("j", "first of j", None)).await.unwrap(),
        onebell::store::Triggered::Already(_)
    ));
    assert_eq!(world.message_status("m").await.as_str(), "sent");
    world.pass(DAY * 101);
    let pruned = done(prune_all(&world, &term).await);
    assert_eq!((pruned.messages, pruned.keys), (1, 1));
    assert_eq!(world.rows("outbox", "true").await + world.rows("request_keys", "true").await, 0);
}

async fn only_carried_jobs_are_pruned(world: World) {
    let a = world.replica("a").await;
    for name in ["mine", "theirs"] {
        world.open_run(&job(name, vec![step("a")])).await;
        world.finish_one(&a).await;
    }
    world.pass(DAY * 8);
    let term = term(&world).await;
    let mine = retention(vec![world.job_id("mine")]);
    assert_eq!(done(world.store.prune(&term, &mine).await.unwrap()).runs, 1);
    assert_eq!(world.rows("runs", "job_id = 'theirs'").await, 1);
}

async fn replicas_that_are_gone_are_forgotten_and_live_ones_are_not(world: World) {
    let (lost, left) = (world.replica("lost").await, world.replica("left").await);
    world.replica("live").await;
    world.declare_lost(&lost).await;
    world.store.leave(&left).await.unwrap();
    let term = term(&world).await;
    assert_eq!(done(prune_all(&world, &term).await).replicas, 0);
    world.pass(DAY * 8);
    assert_eq!(done(prune_all(&world, &term).await).replicas, 2);
    let kept: Vec<_> = world.store.replicas().await.unwrap().into_iter().map(|view| view.id).collect();
    assert_eq!(kept, ["leader", "live"]);
    assert!(world.renews(&lost).await.is_none(), "its row is gone, and it is still told that it is lost");
}

async fn what_a_forgotten_replica_prevented_stays_counted(world: World) {
    let term = term(&world).await;
    let some = Prevented { slots: 1, effects: 2, messages: 3, superseded: 4 };
    for name in ["first", "second", "live"] {
        let replica = world.replica(name).await;
        world.store.renew(&replica, &some).await.unwrap();
    }
    for (name, left) in [("first", 1), ("second", 1), ("nobody", 0)] {
        world.store.leave(&onebell::model::ReplicaId::from_text(name)).await.unwrap();
        world.pass(DAY * 8);
        assert_eq!(done(prune_all(&world, &term).await).replicas, left);
        let sum = Prevented { slots: 3, effects: 6, messages: 9, superseded: 12 };
        assert_eq!(world.store.status().await.unwrap().prevented, sum, "after {name}");
    }
}

async fn batches_and_their_findings_go_when_keys_go_but_never_the_newest_of_a_source(world: World) {
    let mut batches = Vec::new();
    for n in 0..3 {
        let open = with(opens(Reader::Alone(ReplicaId::from_text("a"))), |open| open.atomic = n == 1);
        let BatchOpened::Opened { claim, .. } = world.store.open_batch(&open).await.unwrap() else { panic!("not opened") };
        let place = Position { byte: 0, line: 1 };
        let torn = Item::Rejected(Rejection { place, key: None, reason: "torn".to_owned(), raw: Vec::new() });
        let chunk = Chunk {
            items: vec![torn, Item::Record(record(1, "E1", 1))],
            ..chunk(0, vec![record(0, "E0", 0), record(1, "E1", 1)], true)
        };
        world.store.apply_chunk(&claim, &chunk).await.unwrap();
        batches.push(claim.batch().to_owned());
        world.pass(DAY);
    }
    let left = async || {
        let batches = world.store.batches(None, None, 10).await.unwrap();
        (batches.len(), world.rows("rejections", "true").await, world.rows("staged", "true").await)
    };
    assert_eq!(left().await, (3, 3, 1));
    let term = term(&world).await;
    prune_all(&world, &term).await;
    assert_eq!(left().await, (3, 3, 0), "what was put aside goes at once");
    world.pass(DAY * 397);
    prune_all(&world, &term).await;
    assert_eq!(left().await, (2, 2, 0));
    world.pass(DAY * 10);
    prune_all(&world, &term).await;
    assert_eq!(left().await, (1, 0, 0));
    assert_eq!(world.store.batches(None, None, 10).await.unwrap()[0].id, batches[2]);
    assert_eq!(world.rows("effects", "true").await, 1, "effects are kept for ever");
    // The next reading has a number of its own: what an old one wrote is never taken for its own.
    let open = opens(Reader::Alone(ReplicaId::from_text("a")));
    let BatchOpened::Opened { claim, .. } = world.store.open_batch(&open).await.unwrap() else { panic!("not opened") };
    assert!(!batches.contains(&claim.batch().to_owned()));
}
