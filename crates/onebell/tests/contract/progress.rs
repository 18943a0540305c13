//! Complete-by judges the work: progress moves it, time alone does not.

use onebell::store::Extension;

use super::given::*;
use super::world::World;

contract!(
    i8_a_lapsed_claim_is_never_extended,
    i8_a_live_replica_that_reports_nothing_loses_its_claim,
    i8_a_renewal_of_the_lease_extends_no_claim,
    k05_02_work_that_reports_progress_is_never_recovered_up_to_its_hard_limit,
    progress_of_a_replica_that_is_not_live_is_superseded,
    progress_under_an_old_attempt_is_superseded,
);

async fn k05_02_work_that_reports_progress_is_never_recovered_up_to_its_hard_limit(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    let claim = world.claim_one(&a).await.claim;
    let claimed_at = world.now();
    for _ in 0..18 {
        world.pass(seconds(30));
        assert_eq!(world.store.extend_step(&claim).await.unwrap(), Extension::Extended(world.now() + TIMEOUT));
        assert_eq!(world.sweeps().await, 0);
    }
    world.pass(seconds(30));
    let hard_limit = claimed_at + TIMEOUT * 10;
    assert_eq!(world.store.extend_step(&claim).await.unwrap(), Extension::Extended(hard_limit));
    let step = world.step(&run, "a").await;
    assert_eq!((step.attempt, step.tries, step.complete_by), (1, 1, Some(hard_limit)));
    world.clock.set(hard_limit + seconds(1));
    assert_eq!(world.store.extend_step(&claim).await.unwrap(), Extension::Superseded);
    assert_eq!((world.sweeps().await, world.grant_all().await), (1, 1));
}

async fn i8_a_lapsed_claim_is_never_extended(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let claim = world.claim_one(&world.replica("a").await).await.claim;
    let complete_by = world.now() + TIMEOUT;
    world.pass(TIMEOUT + std::time::Duration::from_micros(1));
    assert_eq!(world.store.extend_step(&claim).await.unwrap(), Extension::Superseded);
    assert_eq!(world.step(&run, "a").await.complete_by, Some(complete_by), "nobody recovered it, and still it stands");
}

async fn i8_a_renewal_of_the_lease_extends_no_claim(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    world.claim_one(&a).await;
    let before = world.step(&run, "a").await.complete_by;
    for _ in 0..10 {
        world.pass(seconds(1));
        assert!(world.renews(&a).await.is_some());
    }
    assert_eq!(world.step(&run, "a").await.complete_by, before);
}

async fn i8_a_live_replica_that_reports_nothing_loses_its_claim(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let hung = world.replica("hung").await;
    world.claim_one(&hung).await;
    for _ in 0..61 {
        world.pass(seconds(1));
        assert!(world.renews(&hung).await.is_some());
    }
    assert_eq!((world.sweeps().await, world.grant_all().await), (1, 1));
    assert_eq!(world.step(&run, "a").await.attempts[0].outcome, "overdue");
    assert!(world.renews(&hung).await.is_some(), "its process lives; only its claim is gone");
}

async fn progress_under_an_old_attempt_is_superseded(world: World) {
    world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    let old = world.claim_one(&a).await.claim;
    world.settle(gives_back(&old)).await;
    assert_eq!(world.store.extend_step(&old).await.unwrap(), Extension::Superseded);
    let new = world.claim_one(&a).await.claim;
    assert_eq!(world.store.extend_step(&old).await.unwrap(), Extension::Superseded);
    assert!(matches!(world.store.extend_step(&new).await.unwrap(), Extension::Extended(_)));
    world.settle(succeeds(&new)).await;
    assert_eq!(world.store.extend_step(&new).await.unwrap(), Extension::Superseded);
}

async fn progress_of_a_replica_that_is_not_live_is_superseded(world: World) {
    world.open_run(&job("j", vec![step("a")])).await;
    let left = world.replica("left").await;
    world.replica("live").await;
    let claim = world.claim_one(&left).await.claim;
    world.store.leave(&left).await.unwrap();
    assert_eq!(world.store.extend_step(&claim).await.unwrap(), Extension::Superseded);
}
