//! A duty that cannot be split by row: one holder at a time by terms, and no safety rests on it.

use onebell::model::ReplicaId;
use onebell::store::Guarded;

use super::given::*;
use super::retention::prune_all;
use super::world::World;

contract!(
    a_replica_that_is_not_live_takes_no_duty,
    a_resigned_duty_is_free_at_once_and_its_epoch_grows,
    a_term_runs_out_unless_a_pass_of_the_duty_completed,
    i3_a_stale_leaders_guarded_write_changes_nothing,
    i3_an_old_term_of_the_same_holder_or_of_a_restored_store_is_nothing,
    i8_asking_again_does_not_extend_a_term,
    k07_02_an_idle_leader_does_not_flap,
    one_of_many_candidates_takes_a_free_duty,
    two_duties_have_leaders_of_their_own,
);

const LEASE: std::time::Duration = std::time::Duration::from_secs(10);
const DUTY: &str = "retention";

async fn one_of_many_candidates_takes_a_free_duty(world: World) {
    for epoch in 1..=5 {
        let mut calls = Vec::new();
        for (n, store) in world.others(4).await.into_iter().enumerate() {
            let replica = world.replica(&format!("r{epoch}-{n}")).await;
            calls.push(async move { store.campaign(DUTY, &replica, LEASE).await.unwrap() });
        }
        let terms: Vec<_> = at_once(calls).await.into_iter().flatten().collect();
        assert_eq!(terms.len(), 1);
        assert_eq!((terms[0].duty(), terms[0].epoch()), (DUTY, epoch));
        world.pass(LEASE + seconds(1));
    }
}

async fn i8_asking_again_does_not_extend_a_term(world: World) {
    let (a, b) = (world.replica("a").await, world.replica("b").await);
    let term = world.store.campaign(DUTY, &a, LEASE).await.unwrap().unwrap();
    for _ in 0..9 {
        world.pass(seconds(1));
        assert_eq!(world.store.campaign(DUTY, &a, LEASE).await.unwrap().as_ref(), Some(&term), "its own term again");
        assert_eq!(world.store.campaign(DUTY, &b, LEASE).await.unwrap(), None);
    }
    world.pass(seconds(2));
    let next = world.store.campaign(DUTY, &b, LEASE).await.unwrap().expect("the hung leader's term ran out");
    assert_eq!((next.epoch(), next.holder()), (2, &b));
}

async fn a_term_runs_out_unless_a_pass_of_the_duty_completed(world: World) {
    let (a, b) = (world.replica("a").await, world.replica("b").await);
    let term = world.store.campaign(DUTY, &a, LEASE).await.unwrap().unwrap();
    for _ in 0..5 {
        world.pass(seconds(8));
        assert!(world.store.report_duty(&term, LEASE).await.unwrap());
        assert_eq!(world.store.campaign(DUTY, &b, LEASE).await.unwrap(), None);
    }
    world.pass(LEASE + seconds(1));
    assert!(world.store.campaign(DUTY, &b, LEASE).await.unwrap().is_some());
    assert!(!world.store.report_duty(&term, LEASE).await.unwrap(), "it is somebody else's");
    assert_eq!(world.store.campaign(DUTY, &a, LEASE).await.unwrap(), None);
}

async fn k07_02_an_idle_leader_does_not_flap(world: World) {
    let (a, b) = (world.replica("a").await, world.replica("b").await);
    let mut epochs = std::collections::BTreeSet::new();
    for _ in 0..60 {
        for replica in [&a, &b] {
            if let Some(term) = world.store.campaign(DUTY, replica, LEASE).await.unwrap() {
                assert_eq!(prune_all(&world, &term).await, Guarded::Done(onebell::store::Pruned::default()), "nothing to do");
                assert!(world.store.report_duty(&term, LEASE).await.unwrap());
                epochs.insert((term.epoch(), term.holder().to_string()));
            }
        }
        world.pass(seconds(5));
    }
    assert_eq!(epochs.len(), 1, "{epochs:?}");
}

async fn a_resigned_duty_is_free_at_once_and_its_epoch_grows(world: World) {
    let (a, b) = (world.replica("a").await, world.replica("b").await);
    let term = world.store.campaign(DUTY, &a, LEASE).await.unwrap().unwrap();
    world.store.resign(&term).await.unwrap();
    let next = world.store.campaign(DUTY, &b, LEASE).await.unwrap().expect("free at once");
    assert_eq!(next.epoch(), 2);
    world.store.resign(&term).await.unwrap();
    assert_eq!(world.store.campaign(DUTY, &a, LEASE).await.unwrap(), None, "an old term lets go of nothing");
    assert!(world.store.report_duty(&next, LEASE).await.unwrap());
    world.store.resign(&next).await.unwrap();
    let again = world.store.campaign(DUTY, &b, LEASE).await.unwrap().unwrap();
    assert_eq!(again.epoch(), 3, "also for the one who let go");
}

async fn a_replica_that_is_not_live_takes_no_duty(world: World) {
    let (lost, left) = (world.replica("lost").await, world.replica("left").await);
    world.declare_lost(&lost).await;
    world.store.leave(&left).await.unwrap();
    for replica in [lost, left, ReplicaId::from_text("never enlisted")] {
        assert_eq!(world.store.campaign(DUTY, &replica, LEASE).await.unwrap(), None, "{replica}");
    }
    let live = world.replica("live").await;
    assert_eq!(
        world.store.campaign(DUTY, &live, LEASE).await.unwrap().map(|term| term.epoch()),
        Some(1),
        "it was free all along"
    );
}

async fn two_duties_have_leaders_of_their_own(world: World) {
    let (a, b) = (world.replica("a").await, world.replica("b").await);
    let first = world.store.campaign("retention", &a, LEASE).await.unwrap().unwrap();
    let second = world.store.campaign("the user's own", &b, LEASE).await.unwrap().unwrap();
    assert_eq!((first.epoch(), second.epoch()), (1, 1));
    world.pass(seconds(6));
    assert!(world.store.report_duty(&first, LEASE).await.unwrap());
    world.pass(seconds(6));
    assert_eq!(world.store.campaign("retention", &b, LEASE).await.unwrap(), None, "its pass completed");
    assert!(world.store.campaign("the user's own", &a, LEASE).await.unwrap().is_some(), "nothing was reported of this one");
    world.store.resign(&first).await.unwrap();
    assert_eq!(world.store.campaign("the user's own", &b, LEASE).await.unwrap(), None, "somebody let go of the other");
}

async fn i3_a_stale_leaders_guarded_write_changes_nothing(world: World) {
    let (a, b) = (world.replica("a").await, world.replica("b").await);
    world.open_run(&job("j", vec![step("a")])).await;
    world.finish_one(&a).await;
    world.pass(MINUTE * 60 * 24 * 30);
    let stale = world.store.campaign(DUTY, &a, LEASE).await.unwrap().unwrap();
    world.pass(LEASE + seconds(1));
    let term = world.store.campaign(DUTY, &b, LEASE).await.unwrap().unwrap();
    assert_eq!(prune_all(&world, &stale).await, Guarded::Superseded);
    assert_eq!(world.rows("runs", "true").await, 1, "nothing was pruned");
    let Guarded::Done(pruned) = prune_all(&world, &term).await else { panic!("the leader's own term") };
    assert_eq!(pruned.runs, 1);
    world.store.resign(&term).await.unwrap();
    world.store.campaign(DUTY, &a, LEASE).await.unwrap().unwrap();
    assert_eq!(prune_all(&world, &term).await, Guarded::Superseded, "also after it let go");
}

async fn i3_an_old_term_of_the_same_holder_or_of_a_restored_store_is_nothing(world: World) {
    let (a, zombie) = (world.replica("a").await, ReplicaId::from_text("zombie"));
    let before = World::sqlite().await;
    before.replica("zombie").await;
    let restored = before.store.campaign(DUTY, &zombie, LEASE).await.unwrap().unwrap();
    let old = world.store.campaign(DUTY, &a, LEASE).await.unwrap().unwrap();
    assert_eq!(restored.epoch(), old.epoch());
    assert!(!world.store.report_duty(&restored, LEASE).await.unwrap());
    assert_eq!(prune_all(&world, &restored).await, Guarded::Superseded);
    world.store.resign(&restored).await.unwrap();
    assert!(world.store.report_duty(&old, LEASE).await.unwrap(), "it let go of nothing");
    world.pass(LEASE + seconds(1));
    let new = world.store.campaign(DUTY, &a, LEASE).await.unwrap().unwrap();
    assert_eq!((new.epoch(), new.holder()), (2, old.holder()));
    assert!(!world.store.report_duty(&old, LEASE).await.unwrap());
    assert_eq!(prune_all(&world, &old).await, Guarded::Superseded);
    assert!(matches!(prune_all(&world, &new).await, Guarded::Done(_)));
}
