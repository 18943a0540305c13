//! I6 and what a grant does: the Supervisor asks, the Scheduler compares the fence and moves the row.

use onebell::model::job::OnLost;
use onebell::model::message::MessageStatus;
use onebell::model::recovery::{Grant, RequestKind, RequestStatus};
use onebell::store::{ClaimSteps, Settled, Sweep};

use super::given::*;
use super::recovering::sweep;
use super::world::World;

contract!(
    a_grant_is_about_one_request_of_its_kind_and_attempt,
    a_granted_request_is_kept_with_its_time,
    a_loss_is_granted_only_while_the_beat_is_unchanged,
    a_loss_is_refused_when_the_replica_left_meanwhile,
    a_lost_message_is_ready_at_no_cost_before_the_mark_and_in_doubt_after_it,
    a_refused_request_does_not_block_the_next,
    a_request_is_refused_when_the_row_moved_on,
    a_step_is_recovered_when_its_owner_is_not_live,
    an_overdue_step_is_asked_for_granted_and_pending_and_its_old_attempt_is_superseded,
    i10_a_sweep_asks_for_a_bounded_number,
    i10_total_time_counts_on_over_a_loss,
    i6_one_request_for_each_attempt_however_often_it_is_asked_for,
    i6_several_supervisors_and_schedulers_at_once_recover_once,
    k09_01_a_step_that_kills_its_worker_is_claimed_as_often_as_its_budget_says,
    nothing_is_overdue_while_the_clock_is_not_trusted,
    what_a_lost_replica_held_is_recovered_in_one_grant,
    what_is_lost_after_it_started_does_what_on_lost_says,
    what_was_lost_before_it_started_costs_no_try,
);

async fn an_overdue_step_is_asked_for_granted_and_pending_and_its_old_attempt_is_superseded(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let (a, b) = (world.replica("a").await, world.replica("b").await);
    let old = world.claim_one(&a).await.claim;
    world.pass(TIMEOUT - std::time::Duration::from_micros(1));
    assert_eq!(world.sweeps().await, 0, "complete-by is not past yet");
    world.pass(std::time::Duration::from_micros(2));
    assert_eq!(world.sweeps().await, 1);
    let request = world.open_request(RequestKind::Step, old.step().as_str()).await;
    assert_eq!((request.attempt, request.requested_by.as_str(), request.status), (1, "watcher", RequestStatus::Open));
    assert_eq!(world.step_status(&run, "a").await, "running", "asking changes nothing");
    assert_eq!(world.store.grant(&request).await.unwrap(), Grant::Granted { moved: 1 });
    let step = world.step(&run, "a").await;
    assert_eq!((step.status.as_str(), step.attempt, step.tries), ("pending", 1, 1));
    assert_eq!((step.attempts[0].outcome.as_str(), step.attempts[0].replica.as_deref()), ("overdue", Some("a")));
    assert_eq!(world.claim_one(&b).await.claim.attempt(), 2);
    assert_eq!(world.settle(succeeds(&old)).await, Settled::Superseded);
}

async fn i6_one_request_for_each_attempt_however_often_it_is_asked_for(world: World) {
    world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    world.claim_one(&a).await;
    world.pass(TIMEOUT + seconds(1));
    assert_eq!((world.sweeps().await, world.sweeps().await), (1, 0));
    assert_eq!(world.grant_all().await, 1);
    assert_eq!(world.sweeps().await, 0, "granted: it is not running any longer");
    world.claim_one(&a).await;
    world.pass(TIMEOUT + seconds(1));
    assert_eq!(world.sweeps().await, 1, "the next attempt is another one");
    assert_eq!(world.asks_for_loss(&a).await, 1);
    assert_eq!(world.asks_for_loss(&a).await, 0);
}

async fn i6_several_supervisors_and_schedulers_at_once_recover_once(world: World) {
    for round in 1..=5_u32 {
        world.open_run(&job(&format!("j{round}"), vec![step("a")])).await;
        let dead = world.replica(&format!("dead{round}")).await;
        world.claim_one(&dead).await;
        let lost = vec![world.beat(&dead).await];
        let asking = world.others(3).await.into_iter().map(|store| {
            let sweep = Sweep { lost: lost.clone(), judge_time: false, ..sweep() };
            async move { store.request_recovery(&sweep).await.unwrap() }
        });
        let new: u32 = at_once(asking.collect()).await.into_iter().sum();
        let request = world.open_request(RequestKind::Replica, dead.as_str()).await;
        let open = u32::try_from(world.store.open_requests(100).await.unwrap().len()).unwrap();
        assert_eq!(new, open, "each request was new for one supervisor");
        let granting = world.others(3).await.into_iter().map(|store| {
            let request = request.clone();
            async move { store.grant(&request).await.unwrap() }
        });
        let grants = at_once(granting.collect()).await;
        assert_eq!(grants.iter().filter(|grant| **grant == Grant::Granted { moved: 1 }).count(), 1, "{grants:?}");
        assert_eq!(world.rows("attempts", "outcome = 'lost'").await, i64::from(round));
        let again = world.replica("finisher").await;
        let step = world.claim_one(&again).await;
        assert_eq!((step.claim.attempt(), step.tries), (2, 2));
        world.settle(succeeds(&step.claim)).await;
        world.grant_all().await;
    }
}

/// The clock stepped back between the request and the grant: the step is not overdue after all. Later it is.
async fn a_refused_request_does_not_block_the_next(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    let claim = world.claim_one(&a).await.claim;
    let claimed_at = world.now();
    world.pass(TIMEOUT + seconds(1));
    assert_eq!(world.sweeps().await, 1);
    world.clock.set(claimed_at + seconds(10));
    assert_eq!(world.grant(RequestKind::Step, claim.step().as_str()).await, Grant::Refused);
    assert_eq!(world.rows("recovery_requests", "true").await, 0, "a refused request is gone");
    assert_eq!(world.step_status(&run, "a").await, "running");
    // Now its process dies, and nobody hears of it: only the time tells.
    world.pass(TIMEOUT);
    assert_eq!(world.sweeps().await, 1, "asked for again under the same attempt");
    assert_eq!(world.grant(RequestKind::Step, claim.step().as_str()).await, Grant::Granted { moved: 1 });
    assert_eq!(world.step_status(&run, "a").await, "pending");
}

async fn a_request_is_refused_when_the_row_moved_on(world: World) {
    world.register(&job("j", vec![step("a")])).await;
    let (a, b) = (world.replica("a").await, world.replica("b").await);
    type End = fn(&onebell::model::Claim) -> onebell::store::Settlement;
    for (name, settles) in [("succeeded", succeeds as End), ("failed", fails), ("pending", gives_back)] {
        let run = world.trigger("j", name).await;
        let claim = world.claim_one(&a).await.claim;
        world.pass(TIMEOUT + seconds(1));
        world.sweeps().await;
        let request = world.open_request(RequestKind::Step, claim.step().as_str()).await;
        world.settle(settles(&claim)).await;
        if name == "pending" {
            assert_eq!(world.claim_one(&b).await.claim.attempt(), 2);
        }
        let before = world.step(&run, "a").await;
        assert_eq!(world.store.grant(&request).await.unwrap(), Grant::Refused, "{name}");
        assert_eq!(world.step(&run, "a").await, before, "{name}");
        assert_eq!(world.rows("recovery_requests", "true").await, 0, "{name}");
    }
}

async fn a_step_is_recovered_when_its_owner_is_not_live(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    let claim = world.claim_one(&a).await.claim;
    world.store.leave(&a).await.unwrap();
    let asked = world.store.request_recovery(&Sweep { judge_time: false, ..sweep() }).await.unwrap();
    assert_eq!(asked, 1, "long before its complete-by");
    assert_eq!(world.grant(RequestKind::Step, claim.step().as_str()).await, Grant::Granted { moved: 1 });
    let step = world.step(&run, "a").await;
    assert_eq!((step.status.as_str(), step.attempts[0].outcome.as_str()), ("pending", "lost"));
}

async fn nothing_is_overdue_while_the_clock_is_not_trusted(world: World) {
    world.put("mails", vec![mail("m")]).await;
    world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    world.claim_one(&a).await;
    world.take(&a).await;
    world.pass(TIMEOUT * 100);
    let careful = Sweep { judge_time: false, stuck_after: TIMEOUT * 1000, ..sweep() };
    assert_eq!(world.store.request_recovery(&careful).await.unwrap(), 0);
    assert_eq!(world.store.request_recovery(&Sweep { judge_time: true, ..careful }).await.unwrap(), 2);
}

async fn i10_a_sweep_asks_for_a_bounded_number(world: World) {
    let steps = (0..10).map(|n| step(&format!("s{n}"))).collect();
    world.open_run(&job("j", steps)).await;
    world.claim(&world.replica("a").await, 10).await;
    world.pass(TIMEOUT + seconds(1));
    let bounded = Sweep { limit: 4, ..sweep() };
    for new in [4, 4, 2, 0] {
        assert_eq!(world.store.request_recovery(&bounded).await.unwrap(), new);
    }
    assert_eq!(world.store.open_requests(3).await.unwrap().len(), 3);
}

async fn a_loss_is_granted_only_while_the_beat_is_unchanged(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    let claim = world.claim_one(&a).await.claim;
    world.asks_for_loss(&a).await;
    assert!(world.renews(&a).await.is_some(), "it lives after all");
    assert_eq!(world.grant(RequestKind::Replica, "a").await, Grant::Refused);
    assert_eq!(world.step(&run, "a").await.locked_by.as_deref(), Some("a"));
    assert!(world.renews(&a).await.is_some());
    assert_eq!(world.rows("recovery_requests", "true").await, 0);
    world.asks_for_loss(&a).await;
    assert_eq!(world.grant(RequestKind::Replica, "a").await, Grant::Granted { moved: 1 });
    assert!(world.renews(&a).await.is_none(), "its own renewal tells it");
    assert_eq!(world.settle(succeeds(&claim)).await, Settled::Superseded);
}

async fn what_a_lost_replica_held_is_recovered_in_one_grant(world: World) {
    world.put("mails", vec![mail("m1"), mail("m2"), mail("m3")]).await;
    let steps = (0..30).map(|n| step(&format!("s{n}"))).collect();
    world.open_run(&job("j", steps)).await;
    let (dead, live) = (world.replica("dead").await, world.replica("live").await);
    let ask = ClaimSteps { prefetch: 15, ..world.asks(&dead, 10) };
    assert_eq!(world.store.claim_steps(&ask).await.unwrap().claimed.len(), 25);
    world.claim(&live, 5).await;
    let message = world.take(&dead).await.claim;
    world.mark(&message).await;
    world.take(&dead).await;
    world.take(&live).await;
    assert_eq!(world.declare_lost(&dead).await, 27);
    assert_eq!(world.rows("job_steps", "status = 'running' AND locked_by = 'live'").await, 5);
    assert_eq!(world.rows("job_steps", "status = 'pending' AND tries = 1").await, 10, "started: the try is spent");
    assert_eq!(world.rows("job_steps", "status = 'pending' AND tries = 0").await, 15, "not started: no cost");
    assert_eq!(world.rows("outbox", "locked_by = 'dead'").await, 0);
    assert_eq!(world.rows("outbox", "status = 'in_doubt'").await, 1);
}

async fn what_was_lost_before_it_started_costs_no_try(world: World) {
    let run = world.open_run(&job("j", vec![step_once("a")])).await;
    for n in 1..=4 {
        let dead = world.replica(&format!("dead{n}")).await;
        let ask = ClaimSteps { prefetch: 1, ..world.asks(&dead, 0) };
        let claimed = world.store.claim_steps(&ask).await.unwrap().claimed;
        assert_eq!((claimed[0].claim.attempt(), claimed[0].tries, claimed[0].alone), (n, 1, false));
        if n % 2 == 0 {
            world.declare_lost(&dead).await;
        } else {
            world.pass(TIMEOUT + seconds(1));
            world.sweeps().await;
            world.grant_all().await;
        }
        let step = world.step(&run, "a").await;
        assert_eq!((step.status.as_str(), step.attempt, step.tries), ("pending", n, 0));
    }
}

async fn what_is_lost_after_it_started_does_what_on_lost_says(world: World) {
    let ends = [(OnLost::Retry, "pending", "running"), (OnLost::Hold, "held", "parked"), (OnLost::Fail, "failed", "failed")];
    for (on_lost, step_end, run_end) in ends {
        let run = world.open_run(&job(on_lost.as_str(), vec![step_on_lost("a", on_lost)])).await;
        let dead = world.replica(&format!("dead of {on_lost}")).await;
        world.claim_one(&dead).await;
        assert_eq!(world.declare_lost(&dead).await, 1);
        assert_eq!((world.step_status(&run, "a").await.as_str(), world.run_status(&run).await.as_str()), (step_end, run_end));
        if on_lost == OnLost::Retry {
            world.finish_one(&world.replica("finisher").await).await;
        }
    }
}

async fn k09_01_a_step_that_kills_its_worker_is_claimed_as_often_as_its_budget_says(world: World) {
    let run = world.open_run(&job("j", vec![with(step("poison"), |step| step.priority = 1)])).await;
    for n in 1..=3 {
        let worker = world.replica(&format!("worker{n}")).await;
        let step = world.claim_one(&worker).await;
        assert_eq!((step.claim.attempt(), u64::from(step.tries), step.alone), (n, n, n > 1));
        world.declare_lost(&worker).await;
    }
    assert!(world.claim(&world.replica("next").await, 1).await.is_empty());
    let step = world.step(&run, "poison").await;
    assert_eq!((step.status.as_str(), step.attempt, world.run_status(&run).await.as_str()), ("exhausted", 3, "parked"));
    world.open_run(&job("others", vec![step_once("fine")])).await;
    world.finish_one(&world.replica("next").await).await;
}

async fn a_lost_message_is_ready_at_no_cost_before_the_mark_and_in_doubt_after_it(world: World) {
    world.put("j", vec![mail("claimed"), mail("sending")]).await;
    let dead = world.replica("dead").await;
    world.take(&dead).await;
    let sending = world.take(&dead).await.claim;
    world.mark(&sending).await;
    world.pass(TIMEOUT + seconds(1));
    assert_eq!(world.sweeps().await, 2);
    assert_eq!(world.grant(RequestKind::Message, "claimed").await, Grant::Granted { moved: 1 });
    assert_eq!(world.grant(RequestKind::Message, "sending").await, Grant::Granted { moved: 1 });
    let message = world.store.message("claimed").await.unwrap().unwrap();
    assert_eq!((message.status.as_str(), message.attempt, message.tries), ("ready", 1, 0));
    assert_eq!(world.message_status("sending").await, MessageStatus::InDoubt);
    assert_eq!(world.take(&world.replica("b").await).await.claim.attempt(), 2);
}

async fn a_granted_request_is_kept_with_its_time(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    world.claim_one(&world.replica("a").await).await;
    world.pass(TIMEOUT + seconds(1));
    let asked_at = world.now();
    world.sweeps().await;
    world.pass(seconds(3));
    assert_eq!(world.grant_all().await, 1);
    assert!(world.store.open_requests(9).await.unwrap().is_empty());
    let kept = world.store.recoveries(9).await.unwrap().remove(0);
    assert_eq!((kept.requested_at, kept.granted_at, kept.status), (asked_at, Some(world.now()), RequestStatus::Granted));
    world.claim_one(&world.replica("b").await).await;
    let again = world.store.grant(&kept).await.unwrap();
    assert!(matches!(again, Grant::Refused | Grant::Granted { moved: 0 }), "granted once: {again:?}");
    assert_eq!(world.rows("recovery_requests", "status = 'granted'").await, 1, "and still kept");
    assert_eq!(world.step_status(&run, "a").await, "running");
}

async fn i10_total_time_counts_on_over_a_loss(world: World) {
    let bounded = with(step("a"), |step| (step.retry.attempts, step.retry.within_us) = (100, Some(30_000_000)));
    world.open_run(&job("j", vec![bounded])).await;
    let dead = world.replica("dead").await;
    world.claim_one(&dead).await;
    world.pass(seconds(20));
    world.declare_lost(&dead).await;
    let step = world.claim_one(&world.replica("a").await).await;
    assert!(step.alone);
    world.pass(seconds(11));
    assert_eq!(status_of(&world.settle(retries(&step.claim)).await), onebell::model::step::StepStatus::Exhausted);
}

/// A message whose key is the step's id: only the kind tells the two requests apart.
async fn a_grant_is_about_one_request_of_its_kind_and_attempt(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    let id = world.claim_one(&a).await.claim.step().to_string();
    world.put("mails", vec![mail(&id)]).await;
    world.take(&a).await;
    world.pass(TIMEOUT + seconds(1));
    assert_eq!(world.sweeps().await, 2);
    assert_eq!(world.grant(RequestKind::Message, &id).await, Grant::Granted { moved: 1 });
    assert_eq!((world.message_status(&id).await, world.step_status(&run, "a").await.as_str()), (MessageStatus::Ready, "running"));
    assert_eq!(world.open_request(RequestKind::Step, &id).await.status, RequestStatus::Open);
    assert_eq!(world.grant(RequestKind::Step, &id).await, Grant::Granted { moved: 1 });
    let granted_at = world.now();
    // The next attempt has a request of its own: refused, it takes nothing of the first one's with it.
    let again = world.claim_one(&a).await.claim;
    world.pass(TIMEOUT + seconds(1));
    assert_eq!(world.sweeps().await, 1);
    world.settle(succeeds(&again)).await;
    assert_eq!(world.grant(RequestKind::Step, &id).await, Grant::Refused);
    let kept = world.store.recoveries(9).await.unwrap();
    assert_eq!(kept.len(), 2);
    assert!(kept.iter().all(|request| request.attempt == 1 && request.granted_at == Some(granted_at)), "{kept:?}");
}

async fn a_loss_is_refused_when_the_replica_left_meanwhile(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    world.claim_one(&a).await;
    world.asks_for_loss(&a).await;
    let left_at = world.now();
    world.store.leave(&a).await.unwrap();
    assert_eq!(world.grant(RequestKind::Replica, "a").await, Grant::Refused);
    world.pass(seconds(1));
    world.store.leave(&a).await.unwrap();
    let view = world.store.replicas().await.unwrap().remove(0);
    assert_eq!((view.left_at, view.lost_at), (Some(left_at), None), "it left once");
    assert_eq!((world.sweeps().await, world.grant_all().await), (1, 1), "what it still held is found by its owner's absence");
    assert_eq!(world.step_status(&run, "a").await, "pending");
}
