//! Overlap and admission: decided under the job lock, one run at a time unless side by side is allowed.

use onebell::model::job::Overlap;
use onebell::model::overlap::Origin;
use onebell::model::{JobId, RunId};
use onebell::store::{Opened, PlannedSlot, Triggered};

use super::given::*;
use super::slots::OPENED;
use super::world::World;

contract!(
    a_parked_run_is_not_in_the_way_and_goes_through_admission_again,
    a_settlement_never_starts_a_queued_run,
    admission_is_bounded_and_only_for_carried_jobs,
    k03_01_under_skip_a_slot_due_beside_an_active_run_is_skipped_and_recorded,
    k03_02_under_queue_one_slot_waits_and_the_next_is_skipped,
    many_admissions_at_once_start_one_run,
    overlap_is_decided_under_the_lock_with_two_openers_at_once,
    replace_cancels_what_is_active_and_what_waits_and_starts_after_its_end,
    under_allow_slots_run_side_by_side,
    what_waits_starts_slot_first_then_the_oldest_request,
);

const SKIPPED: Opened = Opened::Applied { opened: 0, skipped: 1 };

impl World {
    async fn slot_status(&self, id: &JobId, n: u32) -> String {
        self.run_status(&RunId::of_slot(id, slot(n))).await
    }

    async fn backfill(&self, id: &JobId, n: u32) {
        let plan = with(self.plan(id).await, |plan| plan.open = vec![PlannedSlot { at: slot(n), origin: Origin::Backfill }]);
        assert_eq!(self.store.open_slots(&plan).await.unwrap(), OPENED);
    }
}

async fn k03_01_under_skip_a_slot_due_beside_an_active_run_is_skipped_and_recorded(world: World) {
    let id = world.register(&minutely("m", Overlap::Skip)).await;
    let a = world.replica("a").await;
    assert_eq!(world.open_slot(&id, slot(1)).await, OPENED);
    let running = world.claim_one(&a).await.claim;
    assert_eq!(world.open_slot(&id, slot(2)).await, SKIPPED);
    assert_eq!(world.open_slot(&id, slot(3)).await, SKIPPED);
    world.settle(succeeds(&running)).await;
    assert_eq!(world.open_slot(&id, slot(4)).await, OPENED);
    assert_eq!(world.slot_status(&id, 4).await, "running");
    let skips = world.store.skips(Some("m"), 9).await.unwrap();
    let skipped: u64 = skips.iter().filter_map(|skip| skip.count).sum();
    assert!(skipped == 2 && skips.iter().all(|skip| skip.reason == "overlap"), "{skips:?}");
    assert_eq!(world.rows("runs", "true").await, 2);
}

async fn k03_02_under_queue_one_slot_waits_and_the_next_is_skipped(world: World) {
    let id = world.register(&minutely("m", Overlap::Queue)).await;
    let a = world.replica("a").await;
    assert_eq!(world.open_slot(&id, slot(1)).await, OPENED);
    assert_eq!(world.open_slot(&id, slot(2)).await, OPENED);
    for n in 3..=10 {
        assert_eq!(world.open_slot(&id, slot(n)).await, SKIPPED);
    }
    assert_eq!((world.slot_status(&id, 1).await.as_str(), world.slot_status(&id, 2).await.as_str()), ("running", "queued"));
    assert_eq!(world.finish_one(&a).await.scheduled_for, Some(slot(1)));
    assert_eq!(world.admit().await, 1);
    assert_eq!(world.finish_one(&a).await.scheduled_for, Some(slot(2)));
    let skipped: u64 = world.store.skips(None, 99).await.unwrap().iter().filter_map(|skip| skip.count).sum();
    assert_eq!((skipped, world.rows("runs", "status = 'succeeded'").await), (8, 2));
}

async fn under_allow_slots_run_side_by_side(world: World) {
    let id = world.register(&minutely("m", Overlap::Allow)).await;
    for n in 1..=3 {
        assert_eq!(world.open_slot(&id, slot(n)).await, OPENED);
    }
    assert_eq!(world.claim(&world.replica("a").await, 9).await.len(), 3);
}

async fn replace_cancels_what_is_active_and_what_waits_and_starts_after_its_end(world: World) {
    let id = world.register(&minutely("m", Overlap::Replace)).await;
    let a = world.replica("a").await;
    world.open_slot(&id, slot(1)).await;
    let claim = world.claim_one(&a).await.claim;
    assert_eq!(world.open_slot(&id, slot(2)).await, OPENED);
    assert_eq!((world.slot_status(&id, 1).await.as_str(), world.slot_status(&id, 2).await.as_str()), ("cancelling", "queued"));
    assert_eq!(world.admit().await, 0, "its predecessor has not ended yet");
    assert_eq!(world.open_slot(&id, slot(3)).await, OPENED);
    assert_eq!((world.slot_status(&id, 2).await.as_str(), world.slot_status(&id, 3).await.as_str()), ("cancelled", "queued"));
    assert_eq!(world.renews(&a).await.unwrap().1, [claim.step().clone()], "its agent is told to end it");
    world.settle(ends(&claim, onebell::model::step::Verdict::Cancelled)).await;
    assert_eq!(world.slot_status(&id, 1).await, "cancelled");
    assert_eq!(world.admit().await, 1);
    assert_eq!(world.slot_status(&id, 3).await, "running");
    // A request is not a slot: it replaces nothing and waits its turn.
    let request = world.trigger("m", "asked").await;
    assert_eq!((world.slot_status(&id, 3).await.as_str(), world.run_status(&request).await.as_str()), ("running", "queued"));
}

async fn what_waits_starts_slot_first_then_the_oldest_request(world: World) {
    let id = world.register(&minutely("m", Overlap::Queue)).await;
    let a = world.replica("a").await;
    world.trigger("m", "first").await;
    world.pass(seconds(1));
    world.backfill(&id, 7).await;
    world.pass(seconds(1));
    world.trigger("m", "second").await;
    world.pass(seconds(1));
    assert_eq!(world.open_slot(&id, slot(9)).await, OPENED, "queued: what was asked for does not count as waiting");
    let mut order = Vec::new();
    for _ in 0..4 {
        let step = world.finish_one(&a).await;
        order.push((step.origin, step.scheduled_for));
        world.admit().await;
    }
    let expected =
        [(Origin::Request, None), (Origin::Slot, Some(slot(9))), (Origin::Backfill, Some(slot(7))), (Origin::Request, None)];
    assert_eq!(order, expected);
}

async fn many_admissions_at_once_start_one_run(world: World) {
    world.register(&minutely("m", Overlap::Skip)).await;
    let a = world.replica("a").await;
    for n in 0..6 {
        world.trigger("m", &format!("{n}")).await;
    }
    for left in (0..6).rev() {
        assert_eq!(world.rows("runs", "status = 'running'").await, 1);
        world.finish_one(&a).await;
        let carried = world.carried();
        let calls = world.others(4).await.into_iter().map(|store| {
            let carried = carried.clone();
            async move { store.admit_runs(&carried, 100).await.unwrap() }
        });
        let admitted: u32 = at_once(calls.collect()).await.into_iter().sum();
        assert_eq!(admitted, u32::from(left > 0));
    }
}

/// A request and a slot at once, from two processes, over and over: never are two runs active.
async fn overlap_is_decided_under_the_lock_with_two_openers_at_once(world: World) {
    let id = world.register(&minutely("m", Overlap::Skip)).await;
    let a = world.replica("a").await;
    let stores = world.others(2).await;
    for n in 1..=8 {
        world.clock.set(slot(n));
        let plan = with(world.plan(&id).await, |plan| {
            plan.cursor = slot(n);
            plan.open = vec![PlannedSlot { at: slot(n), origin: Origin::Slot }];
        });
        let (first, second) = (stores[0].clone(), stores[1].clone());
        let ask = request("m", &format!("{n}"), None);
        let calls: Vec<std::pin::Pin<Box<dyn Future<Output = bool> + Send>>> = vec![
            Box::pin(async move { first.open_slots(&plan).await.unwrap() == OPENED }),
            Box::pin(async move { matches!(second.trigger(&ask).await.unwrap(), Triggered::Opened(_)) }),
        ];
        let opened = at_once(calls).await;
        assert!(opened[1], "a request is never skipped");
        assert_eq!(world.rows("runs", "status = 'running'").await, 1);
        assert_eq!(world.rows("runs", "status = 'queued'").await, i64::from(opened[0]), "the slot waits or was skipped");
        assert_eq!(world.rows("skips", &format!("from_slot = {}", world.literal(slot(n)))).await, i64::from(!opened[0]));
        while world.rows("runs", "status = 'running'").await == 1 {
            world.finish_one(&a).await;
            world.admit().await;
        }
    }
}

async fn admission_is_bounded_and_only_for_carried_jobs(world: World) {
    let side_by_side = with(minutely("many", Overlap::Skip), |job| job.overlap = Overlap::Queue);
    let id = world.register(&side_by_side).await;
    world.trigger("many", "1").await;
    world.trigger("many", "2").await;
    world.finish_one(&world.replica("a").await).await;
    assert_eq!(world.store.admit_runs(&[], 100).await.unwrap(), 0);
    assert_eq!(world.store.admit_runs(&[JobId::of_name("another")], 100).await.unwrap(), 0);
    assert_eq!(world.store.admit_runs(&[id], 1).await.unwrap(), 1);
}

async fn a_settlement_never_starts_a_queued_run(world: World) {
    world.register(&minutely("m", Overlap::Skip)).await;
    world.trigger("m", "1").await;
    let waiting = world.trigger("m", "2").await;
    let a = world.replica("a").await;
    world.finish_one(&a).await;
    assert_eq!(world.run_status(&waiting).await, "queued");
    assert!(world.claim(&a, 9).await.is_empty());
    assert_eq!(world.admit().await, 1);
    world.finish_one(&a).await;
}

async fn a_parked_run_is_not_in_the_way_and_goes_through_admission_again(world: World) {
    let serial = with(minutely("m", Overlap::Skip), |job| job.steps = vec![step_once("a")]);
    let id = world.register(&serial).await;
    let a = world.replica("a").await;
    world.open_slot(&id, slot(1)).await;
    let claim = world.claim_one(&a).await.claim;
    world.settle(retries(&claim)).await;
    assert_eq!(world.slot_status(&id, 1).await, "parked");
    assert_eq!(world.open_slot(&id, slot(2)).await, OPENED);
    assert_eq!(world.slot_status(&id, 2).await, "running");
    world.store.retry_run(&RunId::of_slot(&id, slot(1)), &actor()).await.unwrap();
    assert_eq!(world.slot_status(&id, 1).await, "queued", "another run is active");
    assert_eq!(world.finish_one(&a).await.scheduled_for, Some(slot(2)));
    world.admit().await;
    assert_eq!(world.finish_one(&a).await.scheduled_for, Some(slot(1)));
}
