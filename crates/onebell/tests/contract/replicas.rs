//! The lease: a replica's own sign of life, and what it reads beside it.

use onebell::model::ReplicaId;
use onebell::store::{Prevented, Renewal};

use super::given::*;
use super::world::World;

contract!(
    a_renewal_names_the_steps_of_cancelled_runs_that_this_replica_holds,
    a_renewal_reads_the_beats_of_the_others_that_live,
    a_replica_that_left_or_was_never_seen_is_told_that_it_is_lost,
    enlisting_again_changes_what_is_carried,
    k05_04_a_restart_inherits_nothing,
    what_was_prevented_is_added_up,
);

async fn a_renewal_reads_the_beats_of_the_others_that_live(world: World) {
    let [a, b, lost, left] = ["a", "b", "lost", "left"];
    for name in [a, b, lost, left] {
        world.replica(name).await;
    }
    let of = ReplicaId::from_text;
    world.declare_lost(&of(lost)).await;
    world.store.leave(&of(left)).await.unwrap();
    let seen = |beats: Vec<onebell::model::watch::Beat>| {
        beats.into_iter().map(|beat| (beat.replica.to_string(), beat.beat)).collect::<Vec<_>>()
    };
    let (beats, _) = world.renews(&of(a)).await.unwrap();
    assert_eq!(seen(beats), [("b".to_owned(), 1)]);
    let (beats, _) = world.renews(&of(b)).await.unwrap();
    assert_eq!(seen(beats), [("a".to_owned(), 2)], "a renewed once since its first beat");
    let views = world.store.replicas().await.unwrap();
    assert!(views[..2].iter().all(|view| view.lost_at.is_none() && view.left_at.is_none()), "live ones first");
    assert!(views.iter().any(|view| view.id == lost && view.lost_at == Some(world.now())));
    assert!(views.iter().any(|view| view.id == left && view.left_at == Some(world.now())));
}

async fn a_replica_that_left_or_was_never_seen_is_told_that_it_is_lost(world: World) {
    let a = world.replica("a").await;
    world.store.leave(&a).await.unwrap();
    assert!(world.renews(&a).await.is_none());
    assert!(world.renews(&ReplicaId::from_text("never")).await.is_none());
}

async fn enlisting_again_changes_what_is_carried(world: World) {
    let id = world.register(&job("j", vec![step("a")])).await;
    let carried = async || world.store.jobs_named(Some(&["j".to_owned()])).await.unwrap().remove(0).carried;
    assert!(!carried().await, "no replica carries it");
    let other = world.replica_with("old", |info| drop(info.jobs.insert(id.clone(), "another hash".to_owned()))).await;
    assert!(!carried().await, "a replica with another version carries another version");
    let right = hash(&job("j", vec![step("a")]));
    world.replica_with("old", |info| drop(info.jobs.insert(id.clone(), right.clone()))).await;
    assert!(carried().await);
    world.store.leave(&other).await.unwrap();
    assert!(!carried().await, "it left");
}

async fn k05_04_a_restart_inherits_nothing(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let first = world.replica("w-0 first start").await;
    let claim = world.claim_one(&first).await.claim;
    // The same host and process id, another id.
    let second = world.replica_with("w-0 second start", |info| info.label = "w-0 first start of this test".to_owned()).await;
    assert!(world.store.held_steps(&second).await.unwrap().is_empty());
    world.declare_lost(&first).await;
    assert_eq!(world.claim_one(&second).await.claim.attempt(), 2);
    assert_eq!(world.settle(succeeds(&claim)).await, onebell::store::Settled::Superseded);
    assert_eq!(world.step(&run, "a").await.locked_by.as_deref(), Some("w-0 second start"));
}

async fn a_renewal_names_the_steps_of_cancelled_runs_that_this_replica_holds(world: World) {
    world.register(&job("j", vec![step("a")])).await;
    let (a, b) = (world.replica("a").await, world.replica("b").await);
    let (mine, theirs, other) = (world.trigger("j", "1").await, world.trigger("j", "2").await, world.trigger("j", "3").await);
    let claim = world.claim_one(&a).await.claim;
    world.claim_one(&b).await;
    world.claim_one(&a).await;
    for run in [&mine, &theirs] {
        world.store.cancel_run(run, &actor()).await.unwrap();
    }
    let (cancelled_of_a, cancelled_of_b) = (world.renews(&a).await.unwrap().1, world.renews(&b).await.unwrap().1);
    assert_eq!((cancelled_of_a.len(), cancelled_of_b.len()), (1, 1));
    assert!(![&cancelled_of_a[0], &cancelled_of_b[0]].iter().any(|step| step.as_str().starts_with(other.as_str())));
    if cancelled_of_a[0] == *claim.step() {
        world.settle(ends(&claim, onebell::model::step::Verdict::Cancelled)).await;
        assert!(world.renews(&a).await.unwrap().1.is_empty(), "ended: nothing to end any longer");
    }
}

async fn what_was_prevented_is_added_up(world: World) {
    let (a, b) = (world.replica("a").await, world.replica("b").await);
    let some = Prevented { slots: 1, effects: 2, messages: 3, superseded: 4 };
    for replica in [&a, &b, &a] {
        assert!(matches!(world.store.renew(replica, &some).await.unwrap(), Renewal::Renewed { .. }));
    }
    world.declare_lost(&a).await;
    assert_eq!(world.store.renew(&a, &some).await.unwrap(), Renewal::Lost);
    let summed = Prevented { slots: 3, effects: 6, messages: 9, superseded: 12 };
    assert_eq!(world.store.status().await.unwrap().prevented, summed, "also of those that are gone");
}
