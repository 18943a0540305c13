//! What an agent gets, and what it never gets.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use onebell::handler::{Context, Done, Handler, Outcome, Vouch};
use onebell::model::job::OnLost;
use onebell::model::message::NewMessage;
use onebell::model::step::StepStatus;
use onebell::model::{Key, ReplicaId};
use onebell::roles::agent::{Agent, Room};
use onebell::store::{AgentStore, ClaimSteps, ClaimedStep};
use onebell::time::ManualTimer;

use super::given::*;
use super::world::World;

contract!(
    a_claim_carries_what_its_handler_needs_and_what_it_costs,
    a_lost_claim_answer_is_read_back_from_what_the_store_says_is_held,
    a_prefetched_step_begins_its_time_when_it_is_started_and_once,
    a_replica_that_is_not_live_claims_nothing,
    a_step_is_not_claimed_before_it_is_ready,
    a_step_that_must_run_alone_is_taken_by_an_idle_agent_and_nothing_beside_it,
    a_step_that_must_run_alone_stops_nobody_who_could_not_take_it,
    claims_go_by_priority_then_by_readiness_then_by_id,
    i10_a_claim_takes_no_more_than_was_asked_for,
    i2_a_step_has_one_owner_however_many_agents_ask_at_once,
    i8_starting_a_lapsed_claim_does_not_bring_it_back,
    only_carried_jobs_handlers_and_queues_are_claimed,
    starting_is_safe_to_repeat_and_says_which_claims_still_hold,
    who_is_there_for_one_run_claims_no_other,
    a_step_whose_message_would_hide_an_alarm_fails,
    what_its_replica_no_longer_vouches_for_when_the_answer_comes_is_not_begun,
);

fn names(claimed: &[ClaimedStep]) -> Vec<&str> {
    claimed.iter().map(|step| step.name.as_str()).collect()
}

async fn i2_a_step_has_one_owner_however_many_agents_ask_at_once(world: World) {
    let steps: Vec<_> = (0..40).map(|n| step(&format!("s{n:02}"))).collect();
    world.open_run(&job("wide", steps)).await;
    let mut calls = Vec::new();
    for (n, store) in world.others(6).await.into_iter().enumerate() {
        let ask = world.asks(&world.replica(&format!("r{n}")).await, 3);
        calls.push(async move {
            let mut all = Vec::new();
            loop {
                let claimed = store.claim_steps(&ask).await.unwrap().claimed;
                if claimed.is_empty() {
                    return all;
                }
                all.extend(claimed);
            }
        });
    }
    let mut owned: Vec<_> = at_once(calls).await.into_iter().flatten().collect();
    assert!(owned.iter().all(|step| step.claim.attempt() == 1));
    owned.sort_by(|a, b| a.name.cmp(&b.name));
    owned.dedup_by(|a, b| a.name == b.name);
    assert_eq!(owned.len(), 40, "each of forty steps once");
    assert_eq!(world.rows("job_steps", "status = 'running' AND attempt = 1 AND tries = 1").await, 40);
}

async fn i10_a_claim_takes_no_more_than_was_asked_for(world: World) {
    let steps = (0..10).map(|n| step(&format!("s{n}"))).collect();
    world.open_run(&job("wide", steps)).await;
    let a = world.replica("a").await;
    let ask = ClaimSteps { prefetch: 2, ..world.asks(&a, 3) };
    let claimed = world.store.claim_steps(&ask).await.unwrap().claimed;
    assert_eq!(claimed.iter().map(|step| step.started).collect::<Vec<_>>(), [true, true, true, false, false]);
    assert_eq!(world.rows("job_steps", "status = 'running'").await, 5);
    assert_eq!(world.rows("job_steps", "started_at IS NOT NULL").await, 3);
}

async fn claims_go_by_priority_then_by_readiness_then_by_id(world: World) {
    let urgent = with(step("z-urgent"), |step| step.priority = 5);
    world.open_run(&job("first", vec![step("b"), step("a"), urgent])).await;
    world.pass(seconds(1));
    world.open_run(&job("early", vec![step("a"), with(step("late"), |step| step.priority = -1)])).await;
    let a = world.replica("a").await;
    let claimed = world.claim(&a, 9).await;
    assert_eq!(names(&claimed), ["z-urgent", "a", "b", "a", "late"]);
    assert_eq!(claimed[3].job, "early", "it became ready later, although its id comes first");
}

async fn a_step_is_not_claimed_before_it_is_ready(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    let claim = world.claim_one(&a).await.claim;
    assert_eq!(world.settle(retries(&claim)).await, applied(StepStatus::Pending));
    assert!(world.claim(&a, 1).await.is_empty(), "it waits out its backoff");
    let ready_at = world.step(&run, "a").await.ready_at.expect("when it may be claimed again");
    world.clock.set(ready_at - std::time::Duration::from_micros(1));
    assert!(world.claim(&a, 1).await.is_empty(), "a microsecond early");
    world.clock.set(ready_at);
    assert_eq!(world.claim_one(&a).await.claim.attempt(), 2);
}

async fn only_carried_jobs_handlers_and_queues_are_claimed(world: World) {
    let other_handler = with(step("other-handler"), |step| step.handler = "sql".to_owned());
    let other_queue = with(step("other-queue"), |step| step.queue = "slow".to_owned());
    world.open_run(&job("mine", vec![step("a"), other_handler, other_queue])).await;
    world.open_run(&job("theirs", vec![step("a")])).await;
    let a = world.replica("a").await;
    let ask = ClaimSteps { jobs: vec![world.job_id("mine")], ..world.asks(&a, 9) };
    let claimed = world.store.claim_steps(&ask).await.unwrap().claimed;
    assert_eq!((names(&claimed), claimed[0].job.as_str()), (vec!["a"], "mine"));
    let nothing = ClaimSteps { jobs: Vec::new(), ..world.asks(&a, 9) };
    assert!(world.store.claim_steps(&nothing).await.unwrap().claimed.is_empty());
    let slow = ClaimSteps { queues: vec!["slow".to_owned()], ..world.asks(&a, 9) };
    assert_eq!(names(&world.store.claim_steps(&slow).await.unwrap().claimed), ["other-queue"]);
    let sql = ClaimSteps { handlers: vec!["sql".to_owned()], ..world.asks(&a, 9) };
    assert_eq!(names(&world.store.claim_steps(&sql).await.unwrap().claimed), ["other-handler"]);
}

async fn a_replica_that_is_not_live_claims_nothing(world: World) {
    world.open_run(&job("j", vec![step("a")])).await;
    let left = world.replica("left").await;
    world.store.leave(&left).await.unwrap();
    assert!(world.claim(&left, 1).await.is_empty());
    let lost = world.replica("lost").await;
    world.declare_lost(&lost).await;
    assert!(world.claim(&lost, 1).await.is_empty());
    assert!(world.claim(&ReplicaId::from_text("never enlisted"), 1).await.is_empty());
    assert_eq!(world.rows("job_steps", "status = 'pending' AND attempt = 0 AND tries = 0").await, 1);
}

async fn a_step_that_must_run_alone_is_taken_by_an_idle_agent_and_nothing_beside_it(world: World) {
    world.open_run(&job("j", vec![step("poison")])).await;
    let (a, b) = (world.replica("a").await, world.replica("b").await);
    world.claim_one(&a).await;
    world.declare_lost(&a).await;
    world.open_run(&job("others", vec![step("x"), step("y")])).await;
    let busy = world.store.claim_steps(&ClaimSteps { idle: false, ..world.asks(&b, 9) }).await.unwrap();
    assert!(busy.drain, "it is told to claim nothing until it is idle");
    assert!(!names(&busy.claimed).contains(&"poison"));
    for step in busy.claimed {
        world.settle(succeeds(&step.claim)).await;
    }
    world.trigger("others", "again").await;
    loop {
        let answer = world.store.claim_steps(&world.asks(&b, 9)).await.unwrap();
        if names(&answer.claimed) == ["poison"] {
            assert!(answer.claimed[0].alone && answer.claimed[0].claim.attempt() == 2);
            break;
        }
        assert!(!answer.claimed.is_empty(), "an idle agent gets something while there is something");
        assert!(!names(&answer.claimed).contains(&"poison"), "claimed beside others: {:?}", names(&answer.claimed));
        for step in answer.claimed {
            world.settle(succeeds(&step.claim)).await;
        }
    }
}

async fn a_claim_carries_what_its_handler_needs_and_what_it_costs(world: World) {
    let b = with(step_after("b", &["a"]), |step| {
        step.spec = "{\"argv\":[\"true\"]}".to_owned();
        step.hard_limit = TIMEOUT * 3;
    });
    world.register(&job("nightly", vec![step("a"), b])).await;
    let input = Some("{\"day\":1}");
    world.store.trigger(&request("nightly", "k", input)).await.unwrap();
    let a = world.replica("a").await;
    world.finish_one(&a).await;
    world.pass(seconds(5));
    let step = world.claim_one(&a).await;
    assert_eq!((step.claim.attempt(), step.tries, step.claim.replica()), (1, 1, &a));
    assert_eq!((step.job.as_str(), step.name.as_str(), step.handler.as_str()), ("nightly", "b", "work"));
    assert_eq!((step.spec.as_str(), step.after.as_slice()), ("{\"argv\":[\"true\"]}", &["a".to_owned()][..]));
    let input: serde_json::Value = serde_json::from_str(step.input.as_deref().unwrap()).unwrap();
    assert_eq!(input, serde_json::json!({"day": 1}));
    assert_eq!((step.scheduled_for, step.origin), (None, onebell::model::overlap::Origin::Request));
    assert_eq!((step.claimed_at, step.complete_by), (world.now(), world.now() + TIMEOUT));
    assert_eq!((step.timeout, step.hard_complete_by), (TIMEOUT, world.now() + TIMEOUT * 3));
    assert!(step.started && !step.alone);
}

async fn a_lost_claim_answer_is_read_back_from_what_the_store_says_is_held(world: World) {
    world.open_run(&job("j", vec![step("a"), step("b"), step("c")])).await;
    let (a, b) = (world.replica("a").await, world.replica("b").await);
    let ask = ClaimSteps { prefetch: 1, ..world.asks(&a, 1) };
    let mut claimed = world.store.claim_steps(&ask).await.unwrap().claimed;
    world.claim_one(&b).await;
    let mut held = world.another().await.held_steps(&a).await.unwrap();
    claimed.sort_by(|a, b| a.name.cmp(&b.name));
    held.sort_by(|a, b| a.name.cmp(&b.name));
    // When it reads back, time may have passed; all else is the same.
    assert_eq!(held, claimed);
    world.settle(succeeds(&held[0].claim)).await;
    assert_eq!(world.store.held_steps(&a).await.unwrap().len(), 1);
}

async fn a_prefetched_step_begins_its_time_when_it_is_started_and_once(world: World) {
    let run = world.open_run(&job("j", vec![with(step("a"), |step| step.hard_limit = TIMEOUT * 2)])).await;
    let a = world.replica("a").await;
    let ask = ClaimSteps { prefetch: 1, ..world.asks(&a, 0) };
    let claimed = world.store.claim_steps(&ask).await.unwrap().claimed;
    assert!(claimed.len() == 1 && !claimed[0].started);
    world.pass(seconds(40));
    let started_at = world.now();
    for _ in 0..2 {
        assert_eq!(world.store.start_steps(&[claimed[0].claim.clone()]).await.unwrap(), [true]);
        assert_eq!(world.step(&run, "a").await.complete_by, Some(started_at + TIMEOUT), "asking again moves nothing");
        let held = world.store.held_steps(&a).await.unwrap().remove(0);
        assert_eq!((held.started, held.hard_complete_by), (true, started_at + TIMEOUT * 2));
        world.pass(seconds(5));
    }
}

async fn i8_starting_a_lapsed_claim_does_not_bring_it_back(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let a = world.replica("a").await;
    let ask = ClaimSteps { prefetch: 1, ..world.asks(&a, 0) };
    let claim = world.store.claim_steps(&ask).await.unwrap().claimed.remove(0).claim;
    let complete_by = world.step(&run, "a").await.complete_by;
    world.pass(TIMEOUT + seconds(1));
    assert_eq!(world.store.start_steps(&[claim]).await.unwrap(), [false]);
    assert_eq!(world.step(&run, "a").await.complete_by, complete_by);
    assert_eq!((world.sweeps().await, world.grant_all().await), (1, 1));
    assert_eq!(world.step(&run, "a").await.tries, 0, "it never began");
}

async fn starting_is_safe_to_repeat_and_says_which_claims_still_hold(world: World) {
    world.open_run(&job("j", vec![step("a"), step("b"), step("c")])).await;
    let (a, b) = (world.replica("a").await, world.replica("b").await);
    let ask = ClaimSteps { prefetch: 3, ..world.asks(&a, 0) };
    let claims: Vec<_> = world.store.claim_steps(&ask).await.unwrap().claimed.into_iter().map(|step| step.claim).collect();
    world.settle(gives_back(&claims[1])).await;
    assert_eq!(world.store.start_steps(&claims).await.unwrap(), [true, false, true]);
    assert_eq!(world.store.start_steps(&claims).await.unwrap(), [true, false, true]);
    let taken = world.claim_one(&b).await.claim;
    assert_eq!(taken.step(), claims[1].step());
    assert_eq!(world.store.start_steps(&claims).await.unwrap(), [true, false, true], "it is somebody else's now");
    world.settle(gives_back(&taken)).await;
    let again = world.store.claim_steps(&ask).await.unwrap().claimed.remove(0);
    assert!(again.claim.step() == claims[1].step() && !again.started);
    assert_eq!(world.store.start_steps(&claims[1..2]).await.unwrap(), [false], "ours, but by another attempt");
    assert!(world.store.held_steps(&a).await.unwrap().iter().any(|held| held.claim == again.claim && !held.started));
}

async fn a_step_that_must_run_alone_stops_nobody_who_could_not_take_it(world: World) {
    let poison = with(step_on_lost("poison", OnLost::Retry), |step| {
        (step.queue, step.handler) = ("slow".to_owned(), "rare".to_owned());
    });
    let run = world.open_run(&job("j", vec![poison])).await;
    let (a, b) = (world.replica("a").await, world.replica("b").await);
    let rare = |ask: ClaimSteps| ClaimSteps { handlers: vec!["rare".to_owned()], queues: vec!["slow".to_owned()], ..ask };
    world.store.claim_steps(&rare(world.asks(&a, 1))).await.unwrap();
    world.declare_lost(&a).await;
    world.register(&job("others", vec![step("x")])).await;
    let all = rare(ClaimSteps { idle: false, ..world.asks(&b, 1) });
    let without = [
        ClaimSteps { jobs: vec![world.job_id("others")], ..all.clone() },
        ClaimSteps { handlers: handlers(), ..all.clone() },
        ClaimSteps { queues: vec!["default".to_owned()], ..all.clone() },
    ];
    for ask in without {
        for idle in [true, false] {
            let answer = world.store.claim_steps(&ClaimSteps { idle, ..ask.clone() }).await.unwrap();
            assert!(!answer.drain && answer.claimed.is_empty(), "{ask:?}");
        }
    }
    assert!(world.store.claim_steps(&all).await.unwrap().drain, "who could take it is told to make room");
    // Taken alone, it fails in passing: while it waits out its backoff it stops nobody either.
    let taken = world.store.claim_steps(&rare(world.asks(&b, 1))).await.unwrap().claimed.remove(0);
    assert_eq!(world.settle(retries(&taken.claim)).await, applied(StepStatus::Pending));
    let answer = world.store.claim_steps(&ClaimSteps { idle: true, ..all.clone() }).await.unwrap();
    assert!(!answer.drain && answer.claimed.is_empty());
    assert!(!world.store.claim_steps(&all).await.unwrap().drain);
    world.clock.set(world.step(&run, "poison").await.ready_at.unwrap());
    assert!(world.store.claim_steps(&all).await.unwrap().drain);
}

async fn who_is_there_for_one_run_claims_no_other(world: World) {
    let first = world.open_run(&job("first", vec![step("a")])).await;
    let second = world.open_run(&job("second", vec![step("a"), step("b")])).await;
    let a = world.replica("a").await;
    let only = |run: &onebell::model::RunId| ClaimSteps { run: Some(run.clone()), ..world.asks(&a, 5) };
    let claimed = world.store.claim_steps(&only(&second)).await.unwrap().claimed;
    assert!(claimed.len() == 2 && claimed.iter().all(|step| *step.claim.run() == second), "{claimed:?}");
    assert_eq!(world.step_status(&first, "a").await, "pending");
    // One that must run alone is found for its own run, and stops nobody who is there for another.
    world.declare_lost(&a).await;
    let b = world.replica("b").await;
    let answer = world.store.claim_steps(&ClaimSteps { run: Some(first), idle: false, ..world.asks(&b, 1) }).await.unwrap();
    assert!(answer.claimed.len() == 1 && !answer.drain, "{answer:?}");
    let answer = world.store.claim_steps(&ClaimSteps { run: Some(second), ..world.asks(&b, 9) }).await.unwrap();
    assert!(answer.claimed.len() == 1 && answer.claimed[0].alone, "{answer:?}");
}

async fn a_step_whose_message_would_hide_an_alarm_fails(world: World) {
    let replica = world.replica("a").await;
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let handler = |_: Context| {
        let message = NewMessage { key: Key::new("alarm/failed/j/1").unwrap(), ..mail("m") };
        std::future::ready(Outcome::Done(Done { messages: vec![message], ..Done::default() }))
    };
    let agent = world.agent(Arc::new(handler), &ManualTimer::default(), &always_vouched());
    let mut taken = agent.pass(&world.room(replica)).await.unwrap().work;
    taken.remove(0).future.await;
    let step = world.step(&run, "a").await;
    assert_eq!(step.status, "failed");
    assert!(step.error.unwrap().contains("choose another key"));
    assert_eq!(world.rows("outbox", "true").await, 0);
}

/// Vouched for as long as a test lasts.
fn always_vouched() -> tokio::sync::watch::Sender<Vouch> {
    tokio::sync::watch::Sender::new(Vouch { renewed_at: seconds(0), term_after: MINUTE * 99, kill_after: MINUTE * 100 })
}

impl World {
    /// The Agent itself, which runs every step by this handler.
    fn agent(&self, handler: Arc<dyn Handler>, timer: &ManualTimer, vouch: &tokio::sync::watch::Sender<Vouch>) -> Agent {
        let handlers: BTreeMap<_, _> = handlers().into_iter().map(|name| (name, Arc::clone(&handler))).collect();
        let store = Arc::clone(&self.store) as Arc<dyn AgentStore>;
        Agent { store, timer: Arc::new(timer.clone()), handlers, vouch: vouch.subscribe() }
    }

    fn room(&self, replica: ReplicaId) -> Room {
        let queues = vec!["default".to_owned()];
        Room { replica, jobs: self.carried(), queues, start: 2, prefetch: 1, idle: true, run: None }
    }
}

/// A claim may be answered long after it was asked for: whoever waited for a lock, or stood still, begins nothing then.
async fn what_its_replica_no_longer_vouches_for_when_the_answer_comes_is_not_begun(world: World) {
    let replica = world.replica("a").await;
    let steps = vec![with(step("begun"), |step| step.priority = 1), step_on_lost("late", OnLost::Hold), step("prefetched")];
    let run = world.open_run(&job("j", steps)).await;
    let began = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&began);
    let handler = move |_: Context| {
        counter.fetch_add(1, Ordering::SeqCst);
        std::future::ready(Outcome::done())
    };
    let timer = ManualTimer::default();
    let vouch = tokio::sync::watch::Sender::new(Vouch { renewed_at: seconds(0), term_after: seconds(7), kill_after: seconds(9) });
    let (agent, room) = (world.agent(Arc::new(handler), &timer, &vouch), world.room(replica));
    let mut work = agent.pass(&room).await.unwrap().work.into_iter();
    work.next().unwrap().future.await;
    timer.advance(seconds(7));
    for late in work {
        late.future.await;
    }
    assert_eq!(began.load(Ordering::SeqCst), 1, "what was vouched for");
    assert_eq!(world.step_status(&run, "begun").await, "succeeded");
    for name in ["late", "prefetched"] {
        let step = world.step(&run, name).await;
        assert_eq!((step.status.as_str(), step.tries, step.attempts[0].outcome.as_str()), ("pending", 0, "given_back"), "{name}");
    }
    // Vouched for all the time, but the claim itself has lapsed.
    vouch.send_modify(|vouch| vouch.renewed_at = seconds(7));
    let work: Vec<_> = agent.pass(&room).await.unwrap().work.into_iter().filter(|work| work.step.started).collect();
    assert!(!work.is_empty());
    timer.advance(TIMEOUT);
    vouch.send_modify(|vouch| vouch.renewed_at = seconds(7) + TIMEOUT);
    for lapsed in work {
        lapsed.future.await;
    }
    assert_eq!(began.load(Ordering::SeqCst), 1, "what had lapsed was not begun");
}
