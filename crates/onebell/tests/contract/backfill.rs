//! Slots of the past on request: each under its own key, once.

use onebell::model::Moment;
use onebell::model::job::Overlap;
use onebell::model::overlap::Origin;
use onebell::roles::scheduler::{Backfilled, backfill};
use onebell::store::{PlannedSlot, RunFilter, SlotPlan};

use super::given::*;
use super::world::World;

contract!(
    a_backfill_is_refused_with_what_to_write_instead,
    a_backfill_opens_what_did_not_run_and_nothing_twice,
    a_backfill_waits_its_turn_and_is_never_skipped_for_overlap,
    a_backfill_without_an_actor_names_slots_and_writes_nothing,
);

const PAST: u32 = 30;

/// A minutely job whose planning has come to minute 30: slots 1 to 30 were due, of which 10 and 20 ran, and 30 was skipped.
async fn half_a_past(world: &World) {
    let id = world.register(&minutely("j", Overlap::Queue)).await;
    let state = world.store.jobs_named(None).await.unwrap().remove(0);
    world.clock.set(slot(PAST));
    let open = [10, 20].map(|n| PlannedSlot { at: slot(n), origin: Origin::CatchUp }).to_vec();
    let skips = vec![onebell::store::SkipRange { from: slot(30), to: slot(30), count: Some(1), reason: "missed".into() }];
    let (cursor, next_slot) = (slot(PAST), Some(slot(PAST + 1)));
    let plan = SlotPlan { job: id, version: 1, cursor_seen: state.cursor, cursor, next_slot, open, skips, actor: None };
    world.store.open_slots(&plan).await.unwrap();
}

async fn fill(world: &World, from: Moment, to: Moment) -> Backfilled {
    backfill(world.store.as_ref(), jiff::tz::db(), "j", (from, to), Some(&actor())).await.unwrap()
}

async fn slots_that_run(world: &World) -> Vec<Moment> {
    let filter = RunFilter { limit: 1_000, ..RunFilter::default() };
    let mut slots: Vec<Moment> = world.store.runs(&filter).await.unwrap().iter().filter_map(|run| run.scheduled_for).collect();
    slots.sort_unstable();
    slots
}

async fn a_backfill_opens_what_did_not_run_and_nothing_twice(world: World) {
    half_a_past(&world).await;
    let (from, to) = (slot(9), slot(30));
    let all: Vec<Moment> = (9..=30).map(slot).collect();
    assert_eq!(
        fill(&world, from, to).await,
        Backfilled::Done { slots: all.clone(), opened: 20 },
        "10 and 20 ran; 30 becomes a run"
    );
    assert_eq!(slots_that_run(&world).await, all);
    assert_eq!(fill(&world, from, to).await, Backfilled::Done { slots: all.clone(), opened: 0 });
    let both = at_once(
        (0..4)
            .map(|_| {
                let store = world.store.clone();
                async move { backfill(store.as_ref(), jiff::tz::db(), "j", (slot(1), slot(30)), Some(&actor())).await.unwrap() }
            })
            .collect(),
    )
    .await;
    let opened: u32 = both.iter().map(|done| if let Backfilled::Done { opened, .. } = done { *opened } else { 0 }).sum();
    assert_eq!(opened, 8, "however many ask at once");
    assert_eq!(world.rows("runs", "origin = 'backfill'").await, 28);
    assert!(world.rows("audit_log", "action = 'backfill'").await >= 2);
    // Planning goes on where it was.
    let state = world.store.jobs_named(None).await.unwrap().remove(0);
    assert_eq!((state.cursor, state.next_slot), (slot(PAST), Some(slot(PAST + 1))));
}

async fn a_backfill_without_an_actor_names_slots_and_writes_nothing(world: World) {
    half_a_past(&world).await;
    let named = backfill(world.store.as_ref(), jiff::tz::db(), "j", (slot(1), slot(3)), None).await.unwrap();
    assert_eq!(named, Backfilled::Done { slots: (1..=3).map(slot).collect(), opened: 0 });
    assert_eq!(slots_that_run(&world).await.len(), 2);
}

async fn a_backfill_is_refused_with_what_to_write_instead(world: World) {
    half_a_past(&world).await;
    let refused = async |from, to, words: &str| match fill(&world, from, to).await {
        Backfilled::Refused(reason) => assert!(reason.contains(words), "{reason}"),
        other => panic!("{other:?}"),
    };
    refused(slot(3), slot(2), "ends before it begins").await;
    refused(slot(3), slot(31), "in the future").await;
    world.register(&job("no schedule", vec![step("a")])).await;
    let none = backfill(world.store.as_ref(), jiff::tz::db(), "no schedule", (slot(1), slot(2)), Some(&actor())).await.unwrap();
    assert!(matches!(none, Backfilled::Refused(reason) if reason.contains("no schedule")));
    let nobody = backfill(world.store.as_ref(), jiff::tz::db(), "nobody", (slot(1), slot(2)), Some(&actor())).await.unwrap();
    assert_eq!(nobody, Backfilled::NotFound);
    let mark = world.literal(slot(5));
    world.sql(&format!("UPDATE {{jobs}} SET pruned_before = {mark} WHERE name = 'j'")).await.unwrap();
    refused(slot(5), slot(9), "were removed").await;
    assert_eq!(fill(&world, slot(6), slot(6)).await, Backfilled::Done { slots: vec![slot(6)], opened: 1 });
    onebell::roles::scheduler::pause(world.store.as_ref(), jiff::tz::db(), "j", &actor()).await.unwrap();
    world.clock.set(slot(40));
    refused(slot(29), slot(35), "is paused since").await;
    assert_eq!(fill(&world, slot(29), slot(29)).await, Backfilled::Done { slots: vec![slot(29)], opened: 1 });
}

async fn a_backfill_waits_its_turn_and_is_never_skipped_for_overlap(world: World) {
    half_a_past(&world).await;
    fill(&world, slot(1), slot(3)).await;
    let a = world.replica("a").await;
    let mut order = Vec::new();
    for _ in 0..5 {
        world.admit().await;
        order.extend(world.finish_one(&a).await.scheduled_for);
    }
    assert_eq!(order.len(), 5, "one at a time, none skipped");
    assert_eq!(world.rows("skips", "reason = 'overlap'").await, 0);
    assert_eq!(world.rows("runs", "status = 'succeeded'").await, 5);
}
