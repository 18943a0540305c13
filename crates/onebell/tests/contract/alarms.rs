//! What goes wrong is told once: the message is put by the transaction that makes the event, under a key that names the event.

use onebell::model::alarm::{AlarmKind, Notify};
use onebell::model::job::{OnMessageFailed, Overlap};
use onebell::model::message::{Delivery, InDoubtPolicy, MessageStatus};
use onebell::model::overlap::Origin;
use onebell::model::retry::RetryPolicy;
use onebell::model::{JobDefinition, Moment, RunId};
use onebell::store::{Acted, MessageFilter, MessageSettled, MessageVerdict, Opened, PlannedSlot, Resolution, SkipRange};

use super::given::*;
use super::outbox::{asks, rejected, unknown};
use super::slots::OPENED;
use super::world::World;

contract!(
    a_finished_run_is_late_only_if_it_ended_late,
    a_job_is_told_of_only_what_it_asked_for,
    a_message_in_doubt_is_one_alarm_each_time_and_an_alarm_in_doubt_is_none,
    a_pause_is_no_skip_in_a_row_and_ends_none,
    a_retry_that_fails_again_is_a_second_alarm,
    a_run_in_between_starts_a_new_count,
    a_run_keeps_the_alarms_of_the_definition_it_was_opened_with,
    a_run_late_to_finish_is_one_alarm,
    a_run_that_parks_again_is_a_second_alarm,
    a_slot_too_late_to_start_is_a_skip_and_no_run,
    a_waiting_slot_that_gets_too_late_is_cancelled_and_recorded,
    an_alarm_fails_nobody_when_it_cannot_be_delivered,
    an_alarm_is_not_dropped_with_its_run,
    a_backfill_ends_no_row_of_skips,
    missed_slots_before_a_run_are_told_as_well,
    slots_that_waited_too_long_are_skips_in_a_row,
    so_many_skips_in_a_row_are_one_alarm,
    the_same_failure_seen_by_many_is_one_alarm,
);

fn notify(on: &[AlarmKind]) -> Notify {
    Notify::new("mail", on.iter().copied())
}

/// A job that wants everything told that goes wrong.
fn watched(job: JobDefinition) -> JobDefinition {
    let wrong: Vec<AlarmKind> = AlarmKind::ALL.iter().copied().filter(|kind| *kind != AlarmKind::Recovered).collect();
    with(job, |job| job.notify = Some(notify(&wrong)))
}

impl World {
    /// Keys of alarms, sorted.
    pub(super) async fn alarms(&self) -> Vec<String> {
        let filter = MessageFilter { limit: 1_000, ..MessageFilter::default() };
        let messages = self.store.messages(&filter).await.unwrap();
        let mut keys: Vec<String> = messages.into_iter().map(|message| message.key).collect();
        keys.retain(|key| key.starts_with("alarm/"));
        keys.sort();
        keys
    }

    pub(super) async fn payload(&self, key: &str) -> String {
        self.store.message(key).await.unwrap().expect("the alarm").payload
    }

    /// Slots of a plan, opened or skipped as overlap says.
    async fn due(&self, id: &onebell::model::JobId, slots: std::ops::RangeInclusive<u32>, skips: Vec<SkipRange>) -> Opened {
        let plan = with(self.plan(id).await, |plan| {
            plan.cursor = slot(*slots.end());
            plan.open = slots.map(|n| PlannedSlot { at: slot(n), origin: Origin::Slot }).collect();
            plan.skips = skips;
        });
        self.clock.set(self.now().max(plan.cursor));
        self.store.open_slots(&plan).await.unwrap()
    }
}

fn missed(from: u32, to: u32, reason: &str) -> SkipRange {
    SkipRange { from: slot(from), to: slot(to), count: Some(u64::from(to - from + 1)), reason: reason.to_owned() }
}

async fn the_same_failure_seen_by_many_is_one_alarm(world: World) {
    let steps = vec![step_on_lost("a", onebell::model::job::OnLost::Fail)];
    let run = world.open_run(&watched(job("backup", steps))).await;
    let dead = world.replica("dead").await;
    world.claim_one(&dead).await;
    world.pass(TIMEOUT * 2);
    world.sweeps().await;
    let requests = world.store.open_requests(9).await.unwrap();
    let calls = world.others(3).await.into_iter().map(|store| {
        let requests = requests.clone();
        async move {
            for request in &requests {
                store.grant(request).await.unwrap();
            }
        }
    });
    at_once(calls.collect()).await;
    assert_eq!(world.run_status(&run).await, "failed");
    assert_eq!(world.alarms().await, [format!("alarm/failed/{run}/1")]);
    let told = world.payload(&format!("alarm/failed/{run}/1")).await;
    assert!(told.contains(&format!("onebell retry {run}")) && told.contains("step a failed"), "{told}");
    assert_eq!(world.rows("outbox", "job_id = 'backup' AND run_id IS NULL AND step_id IS NULL AND channel = 'mail'").await, 1);
}

async fn a_retry_that_fails_again_is_a_second_alarm(world: World) {
    let run = world.open_run(&watched(job("j", vec![step("a"), step_after("b", &["a"])]))).await;
    let agent = world.replica("agent").await;
    for attempt in 1..=2 {
        world.settle(fails(&world.claim_one(&agent).await.claim)).await;
        assert_eq!(world.run_status(&run).await, "failed");
        assert_eq!(world.alarms().await.len(), attempt, "the step that was never claimed says nothing");
        world.store.retry_run(&run, &actor()).await.unwrap();
        world.admit().await;
    }
    world.finish_one(&agent).await;
    world.finish_one(&agent).await;
    assert_eq!((world.run_status(&run).await.as_str(), world.alarms().await.len()), ("succeeded", 2));
}

async fn a_run_that_parks_again_is_a_second_alarm(world: World) {
    let run = world.open_run(&watched(job("j", vec![step_once("a")]))).await;
    let agent = world.replica("agent").await;
    for attempt in 1..=2 {
        world.settle(retries(&world.claim_one(&agent).await.claim)).await;
        assert_eq!(world.run_status(&run).await, "parked");
        assert_eq!(world.alarms().await.last(), Some(&format!("alarm/parked/{run}/{attempt}")));
        world.store.resolve_step(&run, "a", Resolution::Retry, &actor()).await.unwrap();
        world.admit().await;
    }
    assert_eq!(world.alarms().await.len(), 2);
}

async fn a_message_in_doubt_is_one_alarm_each_time_and_an_alarm_in_doubt_is_none(world: World) {
    let job = with(job("j", vec![step_once("a")]), |job| {
        job.notify = Some(with(notify(&[AlarmKind::InDoubt]), |notify| notify.on_in_doubt = InDoubtPolicy::Hold));
    });
    let run = world.open_run(&job).await;
    world.settle(puts(&world.claim_one(&world.replica("agent").await).await.claim, vec![mail("m")])).await;
    let relay = world.replica("relay").await;
    let claim = world.take(&relay).await.claim;
    world.mark(&claim).await;
    let calls = world.others(3).await.into_iter().map(|store| {
        let word = (claim.clone(), unknown());
        async move { store.settle_messages(&[word]).await.unwrap() }
    });
    at_once(calls.collect()).await;
    assert_eq!(world.alarms().await, ["alarm/in_doubt/m/1"]);
    let told = world.payload("alarm/in_doubt/m/1").await;
    assert!(told.contains("onebell outbox resolve m --as sent") && told.contains(run.as_str()), "{told}");

    // The alarm's own relay dies while it may be going out.
    let alarm = world.take(&relay).await.claim;
    assert_eq!(alarm.key(), "alarm/in_doubt/m/1");
    world.mark(&alarm).await;
    world.declare_lost(&relay).await;
    assert_eq!(world.message_status("alarm/in_doubt/m/1").await, MessageStatus::InDoubt);
    assert_eq!(world.alarms().await.len(), 1, "an alarm has none of its own");

    assert_eq!(world.store.resolve_message("m", MessageVerdict::Resend, &actor()).await.unwrap(), Acted::Done);
    let second = world.replica("second").await;
    let again = world.take(&second).await.claim;
    world.mark(&again).await;
    world.declare_lost(&second).await;
    assert_eq!(world.alarms().await, ["alarm/in_doubt/m/1", "alarm/in_doubt/m/2"]);
}

async fn an_alarm_is_not_dropped_with_its_run(world: World) {
    let run = world.open_run(&watched(job("j", vec![step_once("a")]))).await;
    let agent = world.replica("agent").await;
    world.settle(retries(&world.claim_one(&agent).await.claim)).await;
    let parked = format!("alarm/parked/{run}/1");
    let relay = world.replica("relay").await;
    let claim = world.take(&relay).await.claim;
    world.store.cancel_run(&run, &actor()).await.unwrap();
    assert_eq!(world.run_status(&run).await, "cancelled");
    assert_eq!(world.deliver(&claim, Delivery::GivenBack).await, MessageSettled::Applied(MessageStatus::Ready));
    assert_eq!(world.message_status(&parked).await, MessageStatus::Ready);
    assert_eq!(world.send_all().await, 1);
    assert_eq!((world.message_status(&parked).await, world.alarms().await.len()), (MessageStatus::Sent, 1));
}

async fn an_alarm_fails_nobody_when_it_cannot_be_delivered(world: World) {
    let steps = vec![with(step_once("a"), |step| step.on_message_failed = OnMessageFailed::Fail), step_after("b", &["a"])];
    let job = with(watched(job("j", steps)), |job| job.notify.as_mut().unwrap().retry = RetryPolicy::once());
    let run = world.open_run(&job).await;
    let agent = world.replica("agent").await;
    world.settle(retries(&world.claim_one(&agent).await.claim)).await;
    let claim = world.take(&world.replica("relay").await).await.claim;
    world.mark(&claim).await;
    assert_eq!(world.deliver(&claim, rejected()).await, MessageSettled::Applied(MessageStatus::Failed));
    world.store.retry_run(&run, &actor()).await.unwrap();
    world.admit().await;
    world.finish_one(&agent).await;
    world.close().await;
    world.finish_one(&agent).await;
    assert_eq!((world.run_status(&run).await.as_str(), world.alarms().await.len()), ("succeeded", 1));
}

async fn a_job_is_told_of_only_what_it_asked_for(world: World) {
    let agent = world.replica("agent").await;
    let silent = world.open_run(&job("silent", vec![step("a")])).await;
    world.settle(fails(&world.claim_one(&agent).await.claim)).await;
    let parks = with(job("parks", vec![step("a")]), |job| job.notify = Some(notify(&[AlarmKind::Parked])));
    let loud = world.open_run(&parks).await;
    world.settle(fails(&world.claim_one(&agent).await.claim)).await;
    assert_eq!((world.run_status(&silent).await.as_str(), world.run_status(&loud).await.as_str()), ("failed", "failed"));
    assert_eq!(world.rows("outbox", "true").await, 0);
}

async fn a_run_keeps_the_alarms_of_the_definition_it_was_opened_with(world: World) {
    let first = watched(job("j", vec![step("a")]));
    let run = world.open_run(&first).await;
    let id = world.job_id("j");
    let quiet = with(first, |job| job.notify = None);
    let definition = onebell::store::Definition {
        id: id.clone(),
        hash: hash(&quiet),
        definition: quiet,
        seen: Some((1, world.state(&id).await.cursor)),
        cursor: world.now(),
        next_slot: None,
        by: onebell::model::ReplicaId::from_text("registrar"),
    };
    assert_eq!(world.store.define_job(&definition).await.unwrap(), onebell::store::Defined::Registered(2));
    world.settle(fails(&world.claim_one(&world.replica("agent").await).await.claim)).await;
    assert_eq!(world.alarms().await, [format!("alarm/failed/{run}/1")]);
}

fn counted(overlap: Overlap, after_skips: u32) -> JobDefinition {
    with(minutely("m", overlap), |job| {
        job.notify = Some(with(notify(&[AlarmKind::Skipped]), |notify| notify.after_skips = after_skips));
    })
}

async fn so_many_skips_in_a_row_are_one_alarm(world: World) {
    let id = world.register(&counted(Overlap::Skip, 3)).await;
    assert_eq!(world.open_slot(&id, slot(1)).await, OPENED);
    for n in 2..=3 {
        world.open_slot(&id, slot(n)).await;
    }
    assert_eq!(world.alarms().await, [""; 0], "two are not three");
    let stores = world.others(3).await;
    let plan = with(world.plan(&id).await, |plan| {
        plan.cursor = slot(4);
        plan.open = vec![PlannedSlot { at: slot(4), origin: Origin::Slot }];
    });
    let calls = stores.into_iter().map(|store| {
        let plan = plan.clone();
        async move { store.open_slots(&plan).await.unwrap() }
    });
    at_once(calls.collect()).await;
    let key = format!("alarm/skipped/m/{}", slot(1));
    assert_eq!(world.alarms().await, [key.as_str()]);
    let told = world.payload(&key).await;
    assert!(told.contains("onebell skips --job m") && told.contains(&slot(2).to_string()), "{told}");
    for n in 5..=9 {
        world.open_slot(&id, slot(n)).await;
    }
    assert_eq!(world.alarms().await, [key], "it is told once, however long the row grows");
}

async fn a_run_in_between_starts_a_new_count(world: World) {
    let id = world.register(&counted(Overlap::Skip, 2)).await;
    let agent = world.replica("agent").await;
    for first in [1, 4, 6] {
        assert_eq!(world.open_slot(&id, slot(first)).await, OPENED);
        for n in first + 1..=first + if first == 4 { 1 } else { 2 } {
            world.open_slot(&id, slot(n)).await;
        }
        world.finish_one(&agent).await;
    }
    assert_eq!(world.alarms().await, [1, 6].map(|n| format!("alarm/skipped/m/{}", slot(n))));
}

async fn missed_slots_before_a_run_are_told_as_well(world: World) {
    let id = world.register(&counted(Overlap::Skip, 8)).await;
    world.due(&id, 9..=9, vec![missed(1, 8, "missed")]).await;
    assert_eq!(world.run_status(&RunId::of_slot(&id, slot(9))).await, "running");
    assert_eq!(world.alarms().await, ["alarm/skipped/m/beginning"]);
    world.finish_one(&world.replica("agent").await).await;
    world.due(&id, 17..=17, vec![missed(10, 16, "outside-window")]).await;
    assert_eq!(world.alarms().await.len(), 1, "seven are not eight");
}

async fn a_pause_is_no_skip_in_a_row_and_ends_none(world: World) {
    let id = world.register(&counted(Overlap::Skip, 3)).await;
    world.open_slot(&id, slot(1)).await;
    world.open_slot(&id, slot(2)).await;
    world.due(&id, 21..=21, vec![missed(3, 20, "paused")]).await;
    assert_eq!(world.alarms().await, [""; 0], "two were in the way of something");
    world.open_slot(&id, slot(22)).await;
    assert_eq!(world.alarms().await.len(), 1);
}

/// Due every minute, and to start within half of one.
fn prompt(overlap: Overlap) -> JobDefinition {
    with(watched(minutely("m", overlap)), |job| {
        job.start_within = Some(seconds(30));
        job.notify.as_mut().unwrap().after_skips = 100;
    })
}

async fn a_slot_too_late_to_start_is_a_skip_and_no_run(world: World) {
    let id = world.register(&prompt(Overlap::Allow)).await;
    world.clock.set(slot(2) + seconds(30));
    let answer = world.due(&id, 1..=2, Vec::new()).await;
    assert_eq!(answer, Opened::Applied { opened: 1, skipped: 1 }, "within means within");
    assert!(world.store.run(&RunId::of_slot(&id, slot(1))).await.unwrap().is_none());
    let skips = world.store.skips(Some("m"), 9).await.unwrap();
    assert_eq!(skips.iter().map(|skip| (skip.from, skip.reason.as_str())).collect::<Vec<_>>(), [(slot(1), "late")]);
    assert_eq!(world.alarms().await, [format!("alarm/late_start/m/{}", slot(1))]);
    let asked = with(world.plan(&id).await, |plan| plan.open = vec![PlannedSlot { at: slot(1), origin: Origin::Backfill }]);
    assert_eq!(world.store.open_slots(&asked).await.unwrap(), OPENED, "what a person asks for is never too late");
}

async fn a_waiting_slot_that_gets_too_late_is_cancelled_and_recorded(world: World) {
    let id = world.register(&prompt(Overlap::Queue)).await;
    let agent = world.replica("agent").await;
    for n in 1..=2 {
        world.clock.set(slot(n));
        assert_eq!(world.open_slot(&id, slot(n)).await, OPENED);
    }
    let busy = world.claim_one(&agent).await.claim;
    world.clock.set(slot(3));
    assert_eq!(world.open_slot(&id, slot(3)).await, OPENED, "the one that waited too long is not in its way");
    let waiting = world.store.run(&RunId::of_slot(&id, slot(2))).await.unwrap().expect("the run").run;
    assert_eq!((waiting.status.as_str(), waiting.started_at), ("cancelled", None));
    assert!(waiting.reason.is_some_and(|reason| reason.contains("start_within")));
    assert_eq!(world.rows("skips", "reason = 'late'").await, 1);
    world.pass(seconds(31));
    world.settle(succeeds(&busy)).await;
    let stores = world.others(3).await;
    let carried = world.carried();
    let calls = stores.into_iter().map(|store| {
        let carried = carried.clone();
        async move { store.admit_runs(&carried, 9).await.unwrap() }
    });
    assert_eq!(at_once(calls.collect()).await, [0; 3], "slot 3 waited too long as well");
    assert_eq!(world.rows("runs", "status = 'cancelled' AND started_at IS NULL").await, 2);
    assert_eq!(world.alarms().await, [2, 3].map(|n| format!("alarm/late_start/m/{}", slot(n))));
    world.trigger("m", "now").await;
    world.finish_one(&agent).await;
    assert_eq!(world.rows("runs", "status = 'succeeded'").await, 2);
}

async fn slots_that_waited_too_long_are_skips_in_a_row(world: World) {
    let id = world.register(&with(prompt(Overlap::Queue), |job| job.notify.as_mut().unwrap().after_skips = 2)).await;
    for n in 1..=4 {
        world.clock.set(slot(n));
        assert_eq!(world.open_slot(&id, slot(n)).await, OPENED, "the one before waited too long");
    }
    assert_eq!(world.rows("skips", "reason = 'late'").await, 2);
    let key = format!("alarm/skipped/m/{}", slot(1));
    assert!(world.alarms().await.contains(&key), "though a run follows them");
    assert!(world.payload(&key).await.contains(&format!("from {} to {}", slot(2), slot(3))));
}

async fn a_backfill_ends_no_row_of_skips(world: World) {
    let id = world.register(&counted(Overlap::Skip, 4)).await;
    world.open_slot(&id, slot(1)).await;
    for n in 2..=4 {
        world.open_slot(&id, slot(n)).await;
    }
    let asked = with(world.plan(&id).await, |plan| plan.open = vec![PlannedSlot { at: slot(3), origin: Origin::Backfill }]);
    assert_eq!(world.store.open_slots(&asked).await.unwrap(), OPENED);
    assert_eq!(world.alarms().await, [""; 0]);
    world.open_slot(&id, slot(5)).await;
    assert_eq!(world.alarms().await, [format!("alarm/skipped/m/{}", slot(1))]);
}

impl World {
    async fn late_ones(&self) -> u32 {
        let seen = self.scheduler_has_work().await;
        let told = self.store.tell_late_finishes(9).await.unwrap();
        assert!(seen || told == 0, "a pass would have rested");
        told
    }
}

fn timely(job: JobDefinition) -> JobDefinition {
    with(watched(job), |job| job.finish_within = Some(seconds(90)))
}

async fn a_run_late_to_finish_is_one_alarm(world: World) {
    let id = world.register(&timely(minutely("m", Overlap::Allow))).await;
    world.clock.set(slot(1));
    world.open_slot(&id, slot(1)).await;
    let run = RunId::of_slot(&id, slot(1));
    let claim = world.claim_one(&world.replica("agent").await).await.claim;
    world.clock.set(slot(1) + seconds(90));
    assert_eq!(world.late_ones().await, 0, "within means within");
    world.pass(seconds(1));
    let calls = world.others(3).await.into_iter().map(|store| async move { store.tell_late_finishes(9).await.unwrap() });
    assert_eq!(at_once(calls.collect()).await.iter().sum::<u32>(), 1, "one of them tells it");
    let key = format!("alarm/late_finish/{run}");
    assert_eq!(world.alarms().await, [key.as_str()]);
    let due: Moment = slot(1) + seconds(90);
    assert!(world.payload(&key).await.contains(&due.to_string()));
    world.pass(seconds(999));
    assert_eq!(world.late_ones().await, 0);
    world.settle(fails(&claim)).await;
    assert_eq!(world.alarms().await, [format!("alarm/failed/{run}/1"), key], "its end says nothing more of it");
    assert_eq!(world.late_ones().await, 0);
}

async fn a_finished_run_is_late_only_if_it_ended_late(world: World) {
    world.register(&timely(job("j", vec![step("a")]))).await;
    let agent = world.replica("agent").await;
    world.trigger("j", "in time").await;
    world.pass(seconds(90));
    world.finish_one(&agent).await;
    world.pass(seconds(90));
    assert_eq!((world.late_ones().await, world.alarms().await.len()), (0, 0));
    let late = world.trigger("j", "late").await;
    world.pass(seconds(91));
    world.finish_one(&agent).await;
    assert_eq!(world.alarms().await, [format!("alarm/late_finish/{late}")], "though no scheduler looked meanwhile");
    assert_eq!(world.store.claim_messages(&asks(&agent, 9)).await.unwrap().len(), 1);
}
