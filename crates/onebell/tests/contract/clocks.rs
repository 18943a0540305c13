//! The store's clock when it is set back.

use onebell::model::behind::behind;
use onebell::model::job::Overlap;
use onebell::model::zone_version::Left;
use onebell::store::{Acted, Prevented};

use super::given::*;
use super::planned::bundled;
use super::world::{START, World};

mod of_the_host {
    use super::*;

    contract!(sqlite only:
        a_clock_set_back_lies_behind_and_a_renewal_hides_nothing,
        accepting_a_clock_moves_pauses_and_claims_back_with_it,
        an_accepted_clock_plans_on_and_no_slot_runs_twice,
    );

    async fn a_clock_set_back_lies_behind_and_a_renewal_hides_nothing(world: World) {
        let (a, none) = (world.replica("a").await, Prevented::default());
        world.store.renew(&a, &none).await.unwrap();
        world.clock.set(START - seconds(86_400));
        let b = world.replica("b").await;
        for id in [&a, &b] {
            world.store.renew(id, &none).await.unwrap();
        }
        let (now, newest) = (world.store.scheduler_now().await.unwrap(), world.store.newest_renewal().await.unwrap());
        assert_eq!(behind(now, newest.unwrap(), seconds(10)), Some(seconds(86_400)));
        let told: Vec<_> = world.store.replicas().await.unwrap().iter().map(|replica| replica.clock_behind_s).collect();
        assert_eq!(told, [Some(86_400), Some(86_400)]);
        world.clock.set(START + seconds(1));
        world.store.renew(&a, &none).await.unwrap();
        world.store.leave(&b).await.unwrap();
        assert!(world.store.replicas().await.unwrap().iter().all(|replica| replica.clock_behind_s.is_none()));
        assert_eq!(world.store.accept_clock(&actor()).await.unwrap(), not_behind());
    }

    fn not_behind() -> Acted {
        Acted::NotNow("is not behind anything in the database".to_owned())
    }

    async fn an_accepted_clock_plans_on_and_no_slot_runs_twice(world: World) {
        let zones = bundled();
        let rules = rules(&zones, "2026f");
        let job = world.registered(&rules, &minutely("j", Overlap::Allow)).await;
        let a = world.replica("a").await;
        let mut left = Left::default();
        for n in 1..=3 {
            world.clock.set(slot(n));
            world.pass_over(&rules, &mut left, &job).await;
        }
        world.store.renew(&a, &Prevented::default()).await.unwrap();
        world.clock.set(START + seconds(30));
        assert_eq!(world.store.accept_clock(&actor()).await.unwrap(), Acted::Done);
        assert_eq!(world.store.newest_renewal().await.unwrap(), Some(world.now()));
        world.pass_over(&rules, &mut left, &job).await;
        assert_eq!(world.state(&job).await.next_slot, Some(slot(1)), "planned from the clock on");
        for n in 1..=5 {
            world.clock.set(slot(n));
            assert_eq!(world.pass_over(&rules, &mut left, &job).await.opened, u32::from(n > 3), "slot {n}");
        }
        assert_eq!(world.slots_of("j").await, (1..=5).map(slot).collect::<Vec<_>>());
        assert_eq!(world.rows("audit_log", "action = 'accept_clock'").await, 1);
        assert_eq!(world.store.accept_clock(&actor()).await.unwrap(), not_behind());
    }

    async fn accepting_a_clock_moves_pauses_and_claims_back_with_it(world: World) {
        world.open_run(&job("j", vec![step("waits"), step("runs")])).await;
        let a = world.replica("a").await;
        let waits = world.claim_one(&a).await;
        world.settle(retries(&waits.claim)).await;
        let runs = world.claim_one(&a).await;
        let term = world.store.campaign("prune", &a, seconds(10)).await.unwrap().unwrap();
        world.store.renew(&a, &Prevented::default()).await.unwrap();
        let ready = world.number("SELECT min(ready_at) FROM {job_steps} WHERE status = 'pending'").await;
        let back = seconds(86_400);
        world.clock.set(START - back);
        world.store.accept_clock(&actor()).await.unwrap();
        let micros = i64::try_from(back.as_micros()).unwrap();
        assert_eq!(world.number("SELECT min(ready_at) FROM {job_steps} WHERE status = 'pending'").await, ready - micros);
        let until = world.number("SELECT complete_by FROM {job_steps} WHERE status = 'running'").await;
        assert_eq!(until, runs.complete_by.micros() - micros);
        let b = world.replica("b").await;
        let next = world.store.campaign("prune", &b, seconds(10)).await.unwrap().expect("a term from before the clock has ended");
        assert!(next.epoch() > term.epoch());
        assert_eq!(world.settle(succeeds(&runs.claim)).await, applied(onebell::model::step::StepStatus::Succeeded));
    }
}

mod of_the_server {
    use super::*;

    contract!(postgres only: a_replicas_clock_does_not_count_where_the_database_has_its_own);

    async fn a_replicas_clock_does_not_count_where_the_database_has_its_own(world: World) {
        let a = world.replica("a").await;
        world.store.renew(&a, &Prevented::default()).await.unwrap();
        assert_eq!(world.store.newest_renewal().await.unwrap(), None);
        assert!(matches!(world.store.accept_clock(&actor()).await.unwrap(), Acted::NotNow(_)));
    }
}
