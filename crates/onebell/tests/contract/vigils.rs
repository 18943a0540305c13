//! Whether a job still succeeds: a run that was too short, a success after failures and a silence that lasts too long are told once,
//! and pings go to a monitor outside.

use std::time::Duration;

use onebell::model::alarm::{AlarmKind, Notify, Ping};
use onebell::model::message::{InDoubtPolicy, MessageStatus};
use onebell::model::step::StepStatus;
use onebell::model::{JobDefinition, JobId, ReplicaId};
use onebell::store::{Resolution, Settled};

use super::given::*;
use super::outbox::{rejected, unknown};
use super::retention::{prune_all, term};
use super::world::World;

contract!(
    a_failure_that_nobody_was_told_of_ends_in_no_recovery,
    a_job_asked_about_later_counts_from_its_newest_success_or_from_then,
    a_parked_run_that_succeeds_after_all_is_a_recovery,
    a_paused_job_is_never_silent_and_counts_anew_when_it_is_resumed,
    a_ping_that_cannot_be_delivered_is_no_matter_of_the_run,
    a_run_that_worked_too_little_is_one_alarm,
    a_silence_is_told_once_by_many_and_again_only_after_a_success,
    a_silence_is_told_though_the_clock_was_set_back_meanwhile,
    a_silence_that_was_told_ends_in_a_recovery,
    a_silence_that_was_told_stays_told_over_edits_and_pauses,
    a_success_after_failures_is_one_recovery,
    an_edit_keeps_what_silence_counts_from,
    an_erased_job_is_never_silent,
    every_end_of_a_run_is_one_ping,
    silence_counts_from_the_newest_success_though_its_run_was_pruned,
    silence_is_told_also_of_what_nobody_carries,
    successes_at_once_are_one_recovery,
);

const HOUR: Duration = Duration::from_secs(3600);

/// One that wants these told.
fn asking(name: &str, on: &[AlarmKind]) -> JobDefinition {
    with(job(name, vec![step("a")]), |job| job.notify = Some(Notify::new("mail", on.iter().copied())))
}

/// Expected to succeed once in 26 hours.
fn nightly(name: &str) -> JobDefinition {
    with(asking(name, &[AlarmKind::Overdue]), |job| job.expect_within = Some(HOUR * 26))
}

impl World {
    /// A look of a scheduler at what is silent: how many jobs.
    async fn silences(&self) -> u32 {
        let seen = self.scheduler_has_work().await;
        let looked = self.store.tell_silences(9).await.unwrap();
        assert_eq!(seen, looked > 0, "a pass looks exactly when something is due");
        looked
    }

    /// One run of the job that succeeds, or fails for good.
    async fn ends(&self, job: &str, key: &str, well: bool) -> onebell::model::RunId {
        let run = self.trigger(job, key).await;
        let claim = self.claim_one(&self.replica("agent").await).await.claim;
        self.settle(if well { succeeds(&claim) } else { fails(&claim) }).await;
        run
    }

    async fn edit(&self, id: &JobId, definition: &JobDefinition) {
        self.redefine(id, definition, None).await;
    }
}

async fn a_run_that_worked_too_little_is_one_alarm(world: World) {
    let two = with(asking("j", &[AlarmKind::TooShort]), |job| {
        job.steps = vec![step("a"), step_after("b", &["a"])];
        job.runs_at_least = Some(seconds(10));
    });
    let run = world.open_run(&two).await;
    let agent = world.replica("agent").await;
    world.pass(HOUR);
    let first = world.claim_one(&agent).await.claim;
    world.pass(seconds(4));
    world.settle(succeeds(&first)).await;
    world.pass(HOUR);
    let last = world.claim_one(&agent).await.claim;
    world.pass(seconds(5));
    let calls = world.others(3).await.into_iter().map(|store| {
        let settlement = succeeds(&last);
        async move { settle_on(&store, settlement).await }
    });
    let answers = at_once(calls.collect()).await;
    assert_eq!(answers.iter().filter(|answer| **answer == applied(StepStatus::Succeeded)).count(), 1);
    assert_eq!(world.settle(succeeds(&last)).await, Settled::Already, "its answer was lost");
    let key = format!("alarm/too_short/{run}");
    assert_eq!(world.alarms().await, [key.as_str()], "waiting is no work");
    let told = world.payload(&key).await;
    assert!(told.contains("after 9s of work") && told.contains("at least 10s"), "{told}");
    assert!(told.contains(&format!("onebell logs {run}")), "{told}");

    // What an attempt that was in vain worked counts as well.
    world.trigger("j", "long enough").await;
    let in_vain = world.claim_one(&agent).await.claim;
    world.pass(seconds(10));
    world.settle(retries(&in_vain)).await;
    world.pass(HOUR);
    world.finish_one(&agent).await;
    world.finish_one(&agent).await;
    assert_eq!((world.rows("runs", "status = 'succeeded'").await, world.alarms().await.len()), (2, 1));
}

async fn a_success_after_failures_is_one_recovery(world: World) {
    world.register(&asking("j", &[AlarmKind::Failed, AlarmKind::Recovered])).await;
    world.ends("j", "well", true).await;
    assert_eq!(world.alarms().await, [""; 0], "it never failed");
    for key in ["first", "second", "third"] {
        world.ends("j", key, false).await;
    }
    let run = world.ends("j", "well again", true).await;
    let key = format!("alarm/recovered/{run}");
    assert_eq!(world.alarms().await.iter().filter(|key| key.starts_with("alarm/recovered/")).collect::<Vec<_>>(), [&key]);
    let told = world.payload(&key).await;
    assert!(
        told.contains("runs again") && told.contains("after 3 failures") && told.contains(&format!("onebell show {run}")),
        "{told}"
    );
    world.ends("j", "still well", true).await;
    assert_eq!(world.alarms().await.len(), 4, "it is told once");
    world.ends("j", "fails once more", false).await;
    let run = world.ends("j", "well once more", true).await;
    assert!(world.payload(&format!("alarm/recovered/{run}")).await.contains("after 1 failure."));
}

async fn successes_at_once_are_one_recovery(world: World) {
    world.register(&asking("j", &[AlarmKind::Failed, AlarmKind::Recovered])).await;
    world.ends("j", "fails", false).await;
    let mut claims = Vec::new();
    for n in 0..4 {
        world.trigger("j", &format!("run {n}")).await;
    }
    for n in 0..4 {
        claims.push(world.claim_one(&world.replica(&format!("agent {n}")).await).await.claim);
    }
    let calls = world
        .others(4)
        .await
        .into_iter()
        .zip(claims)
        .map(|(store, claim)| async move { settle_on(&store, succeeds(&claim)).await });
    at_once(calls.collect()).await;
    assert_eq!(world.rows("runs", "status = 'succeeded'").await, 4);
    assert_eq!(world.rows("outbox", "key LIKE 'alarm/recovered/%'").await, 1);
}

async fn a_failure_that_nobody_was_told_of_ends_in_no_recovery(world: World) {
    world.register(&asking("j", &[AlarmKind::Parked, AlarmKind::Recovered])).await;
    world.ends("j", "fails", false).await;
    let cancelled = world.trigger("j", "cancelled").await;
    world.store.cancel_run(&cancelled, &actor()).await.unwrap();
    world.ends("j", "well", true).await;
    assert_eq!(world.alarms().await, [""; 0]);
}

async fn a_parked_run_that_succeeds_after_all_is_a_recovery(world: World) {
    let job = with(asking("j", &[AlarmKind::Parked, AlarmKind::Recovered]), |job| job.steps = vec![step_once("a")]);
    let run = world.open_run(&job).await;
    world.settle(retries(&world.claim_one(&world.replica("agent").await).await.claim)).await;
    world.store.resolve_step(&run, "a", Resolution::Succeeded, &actor()).await.unwrap();
    world.admit().await;
    assert_eq!(world.run_status(&run).await, "succeeded");
    assert_eq!(world.alarms().await, [format!("alarm/parked/{run}/1"), format!("alarm/recovered/{run}")]);
}

async fn a_silence_is_told_once_by_many_and_again_only_after_a_success(world: World) {
    let id = world.register(&nightly("backup")).await;
    let beginning = world.now();
    world.pass(HOUR * 26);
    assert_eq!(world.silences().await, 0, "within means within");
    world.pass(seconds(1));
    let calls = world.others(3).await.into_iter().map(|store| async move { store.tell_silences(9).await.unwrap() });
    assert_eq!(at_once(calls.collect()).await.iter().sum::<u32>(), 1, "one of them tells it");
    let first = format!("alarm/overdue/{id}/{beginning}");
    assert_eq!(world.alarms().await, [first.as_str()]);
    let told = world.payload(&first).await;
    assert!(told.contains("onebell pause backup") && told.contains("was to succeed by"), "{told}");
    world.pass(HOUR * 999);
    assert_eq!(world.silences().await, 0, "nothing more until it succeeds");

    world.ends("backup", "well", true).await;
    let well = world.now();
    world.pass(HOUR * 20);
    world.ends("backup", "fails", false).await;
    world.pass(HOUR * 7);
    assert_eq!(world.silences().await, 1, "a failure is no success");
    assert_eq!(world.alarms().await, [first, format!("alarm/overdue/{id}/{well}")]);
    assert!(world.payload(&format!("alarm/overdue/{id}/{well}")).await.contains(&format!("last success was at {well}")));
}

/// Its key is the instant that it counts from: that of an older silence would hide it.
async fn a_silence_is_told_though_the_clock_was_set_back_meanwhile(world: World) {
    world.register(&nightly("n")).await;
    world.pass(HOUR * 27);
    assert_eq!(world.silences().await, 1);
    world.clock.set(world.now() - HOUR * 30);
    world.ends("n", "k", true).await;
    for silence in 2..=3 {
        world.pass(HOUR * 27);
        assert_eq!(world.silences().await, 1);
        assert_eq!(world.rows("outbox", "key LIKE 'alarm/overdue/%'").await, silence);
        world.clock.set(world.now() - HOUR * 27);
        world.ends("n", &format!("k{silence}"), true).await;
    }
}

async fn a_silence_that_was_told_ends_in_a_recovery(world: World) {
    let job = with(nightly("j"), |job| job.notify = Some(Notify::new("mail", [AlarmKind::Overdue, AlarmKind::Recovered])));
    world.register(&job).await;
    world.pass(HOUR * 27);
    world.silences().await;
    let run = world.ends("j", "well", true).await;
    assert!(world.payload(&format!("alarm/recovered/{run}")).await.contains("after it was overdue"));
    world.ends("j", "still well", true).await;
    assert_eq!(world.alarms().await.len(), 2);
}

async fn silence_counts_from_the_newest_success_though_its_run_was_pruned(world: World) {
    let monthly = with(nightly("j"), |job| job.expect_within = Some(HOUR * 24 * 32));
    let id = world.register(&monthly).await;
    world.pass(HOUR * 24);
    world.ends("j", "well", true).await;
    let well = world.now();
    world.pass(HOUR * 24 * 8);
    let term = term(&world).await;
    prune_all(&world, &term).await;
    assert_eq!(world.rows("runs", "true").await, 0);
    // An edit looks for the newest success anew.
    world.edit(&id, &with(monthly, |job| job.description = "edited".to_owned())).await;
    world.pass(HOUR * 24 * 24);
    assert_eq!(world.silences().await, 0);
    world.pass(seconds(1));
    assert_eq!(world.silences().await, 1);
    assert_eq!(world.alarms().await, [format!("alarm/overdue/{id}/{well}")]);
}

async fn a_paused_job_is_never_silent_and_counts_anew_when_it_is_resumed(world: World) {
    let id = world.register(&nightly("j")).await;
    world.pass(HOUR);
    world.pause("j", Some(world.now())).await;
    world.pass(HOUR * 26);
    assert_eq!((world.silences().await, world.alarms().await.len()), (1, 0), "it is looked at, and not told of");
    assert_eq!(world.silences().await, 0, "and not again at once");
    world.pass(HOUR * 500);
    world.pause("j", None).await;
    let resumed = world.now();
    world.pass(HOUR * 26);
    assert_eq!(world.silences().await, 0, "it had no time to succeed yet");
    world.pass(seconds(1));
    assert_eq!(world.silences().await, 1);
    assert_eq!(world.alarms().await, [format!("alarm/overdue/{id}/{resumed}")]);
}

async fn a_silence_that_was_told_stays_told_over_edits_and_pauses(world: World) {
    let id = world.register(&nightly("j")).await;
    world.pass(HOUR * 27);
    assert_eq!(world.silences().await, 1);
    world.edit(&id, &with(nightly("j"), |job| job.expect_within = Some(HOUR))).await;
    world.pause("j", Some(world.now())).await;
    world.pause("j", None).await;
    world.pass(HOUR * 100);
    assert_eq!(world.silences().await, 0);
    // Neither when nobody asked for a while.
    world.edit(&id, &job("j", vec![step("a")])).await;
    world.edit(&id, &nightly("j")).await;
    world.silences().await;
    assert_eq!(world.alarms().await.len(), 1, "its key is there");
}

async fn an_edit_keeps_what_silence_counts_from(world: World) {
    let id = world.register(&nightly("j")).await;
    world.pass(HOUR * 10);
    world.ends("j", "well", true).await;
    let well = world.now();
    world.pass(HOUR * 5);
    world.edit(&id, &with(nightly("j"), |job| job.expect_within = Some(HOUR * 48))).await;
    world.pass(HOUR * 40);
    assert_eq!(world.silences().await, 0, "45 hours are less than 48");
    world.edit(&id, &with(nightly("j"), |job| job.expect_within = Some(HOUR * 44))).await;
    assert_eq!(world.silences().await, 1, "and more than 44");
    assert_eq!(world.alarms().await, [format!("alarm/overdue/{id}/{well}")]);
}

async fn a_job_asked_about_later_counts_from_its_newest_success_or_from_then(world: World) {
    let (never, once) =
        (world.register(&job("never", vec![step("a")])).await, world.register(&job("once", vec![step("a")])).await);
    world.pass(HOUR * 24);
    world.ends("once", "well", true).await;
    let well = world.now();
    world.pass(HOUR * 3);
    world.edit(&never, &nightly("never")).await;
    world.edit(&once, &nightly("once")).await;
    let asked = world.now();
    world.pass(HOUR * 23 + seconds(1));
    assert_eq!(world.silences().await, 1);
    assert_eq!(world.alarms().await, [format!("alarm/overdue/once/{well}")]);
    world.pass(HOUR * 3);
    assert_eq!(world.silences().await, 1);
    assert_eq!(world.alarms().await, [format!("alarm/overdue/never/{asked}"), format!("alarm/overdue/once/{well}")]);
}

async fn silence_is_told_also_of_what_nobody_carries(world: World) {
    world.register(&nightly("j")).await;
    world.carried.lock().unwrap().clear();
    world.pass(HOUR * 27);
    assert_eq!((world.silences().await, world.alarms().await.len()), (1, 1), "that is what it is there for");
}

async fn an_erased_job_is_never_silent(world: World) {
    let id = world.register(&nightly("j")).await;
    world.store.erase_job(&id).await.unwrap();
    world.pass(HOUR * 27);
    assert_eq!(world.silences().await, 0);
}

/// One that pings, and asks for nothing else.
fn pinging(name: &str) -> JobDefinition {
    with(job(name, vec![step_once("a")]), |job| job.ping = Some(Ping::new("mail")))
}

async fn every_end_of_a_run_is_one_ping(world: World) {
    world.register(&pinging("j")).await;
    let well = world.ends("j", "well", true).await;
    let bad = world.ends("j", "fails", false).await;
    let parked = world.trigger("j", "parks").await;
    let claim = world.claim_one(&world.replica("agent").await).await.claim;
    let calls = world.others(3).await.into_iter().map(|store| {
        let settlement = retries(&claim);
        async move { settle_on(&store, settlement).await }
    });
    at_once(calls.collect()).await;
    let cancelled = world.trigger("j", "cancelled").await;
    world.store.cancel_run(&cancelled, &actor()).await.unwrap();
    let mut expected =
        vec![format!("alarm/ping/{bad}/1/fail"), format!("alarm/ping/{parked}/1/fail"), format!("alarm/ping/{well}/1/success")];
    expected.sort();
    assert_eq!(world.alarms().await, expected, "a person ended the other");
    world.store.cancel_run(&parked, &actor()).await.unwrap();
    assert_eq!(world.send_all().await, 3, "the end of the run drops none");
}

async fn a_ping_that_cannot_be_delivered_is_no_matter_of_the_run(world: World) {
    world
        .register(&with(pinging("j"), |job| job.notify = Some(Notify::new("mail", [AlarmKind::Failed, AlarmKind::InDoubt]))))
        .await;
    let run = world.ends("j", "well", true).await;
    let key = format!("alarm/ping/{run}/1/success");
    let relay = ReplicaId::from_text("relay");
    world.replica("relay").await;
    let message = world.take(&relay).await;
    assert_eq!(message.on_in_doubt, InDoubtPolicy::Resend);
    world.mark(&message.claim).await;
    world.deliver(&message.claim, unknown()).await;
    assert_eq!(world.message_status(&key).await, MessageStatus::Ready, "a second one does no harm");
    world.pass(HOUR);
    let again = world.take(&relay).await.claim;
    world.mark(&again).await;
    world.deliver(&again, rejected()).await;
    assert_eq!(world.message_status(&key).await, MessageStatus::Failed);
    assert_eq!((world.run_status(&run).await.as_str(), world.alarms().await.len()), ("succeeded", 1));
}
