//! The database was restored: what was open in it may have ended in what was lost, and is neither repeated nor dropped.

use onebell::model::job::{OnLost, Overlap};
use onebell::model::message::{InDoubtPolicy, MessageStatus};
use onebell::model::step::StepStatus;
use onebell::model::{Moment, RunId};
use onebell::roles::scheduler::{Backfilled, backfill, skip_restored};
use onebell::store::{Marked, MessageSettled, MessageVerdict, Prevented, Question, Questioned, Resolution, Settled};

use super::given::*;
use super::outbox::{accepted, asks};
use super::world::{START, World};

contract!(
    a_step_that_is_asked_about_is_not_closed_by_what_it_delivered_before,
    i3_an_attempt_from_before_a_restore_changes_no_state,
    i9_a_message_that_may_have_gone_out_is_in_doubt_after_a_restore,
    a_run_that_ends_goes_on_to_its_end_after_a_restore,
    slots_of_what_was_lost_are_skipped_and_run_by_a_backfill,
    what_follows_an_answer_is_asked_about_as_well,
    what_follows_one_answer_is_asked_about_while_another_one_is_open,
    what_may_have_ended_is_held_and_its_runs_are_parked,
    what_was_to_be_asked_about_is_asked_in_parts,
    while_a_replica_lives_nothing_is_asked,
);

/// Up to here all is known; every replica of the tests was heard of before.
const RESTORED: Moment = START;

impl World {
    /// All replicas are gone for longer than their leases.
    async fn restored(&self) -> (u32, u32) {
        self.pass(seconds(60));
        self.asked(100).await
    }

    async fn asked(&self, limit: u32) -> (u32, u32) {
        match self.store.question(&Question { since: RESTORED, limit, actor: actor() }).await.unwrap() {
            Questioned::Asked { steps, messages } => (steps, messages),
            live @ Questioned::Live { .. } => panic!("{live:?}"),
        }
    }

    async fn stands(&self, run: &RunId, step: &str) -> (String, String) {
        (self.run_status(run).await, self.step_status(run, step).await)
    }
}

fn words(run: &str, step: &str) -> (String, String) {
    (run.to_owned(), step.to_owned())
}

async fn what_may_have_ended_is_held_and_its_runs_are_parked(world: World) {
    let a = world.replica("a").await;
    let running = world.open_run(&job("running", vec![step_on_lost("s", OnLost::Fail)])).await;
    world.claim_one(&a).await;
    let done = world.open_run(&job("done", vec![step("s")])).await;
    world.finish_one(&a).await;
    let pending = world.open_run(&job("pending", vec![step("s"), step_after("after", &["s"])])).await;
    world.register(&with(minutely("serial", Overlap::Queue), |job| job.steps = vec![step("s")])).await;
    let (first, queued) = (world.trigger("serial", "1").await, world.trigger("serial", "2").await);
    assert_eq!(world.run_status(&queued).await, "queued");
    assert_eq!(world.restored().await, (4, 0));
    for run in [&running, &pending, &first, &queued] {
        assert_eq!(world.stands(run, "s").await, words("parked", "held"), "{run}");
        let error = world.step(run, "s").await.error.unwrap();
        assert!(error.contains(&format!("restored to its state of {RESTORED}")), "{error}");
    }
    assert_eq!(world.step_status(&pending, "after").await, "waiting");
    assert_eq!(world.run_status(&done).await, "succeeded");
    assert_eq!(world.rows("audit_log", "action = 'question'").await, 1);
    assert_eq!(world.asked(100).await, (0, 0), "asked once");
    let early = world.replica("early").await;
    assert!(world.claim(&early, 9).await.is_empty());
    world.pass(seconds(60));
    // A person knows: one had ended, one had not.
    world.store.resolve_step(&running, "s", Resolution::Succeeded, &actor()).await.unwrap();
    world.store.retry_run(&queued, &actor()).await.unwrap();
    assert_eq!(world.asked(100).await, (0, 0), "what a person has let go is not asked about again");
    let b = world.replica("b").await;
    world.admit().await;
    assert_eq!(world.run_status(&running).await, "succeeded");
    assert_eq!(world.finish_one(&b).await.claim.run(), &queued);
    assert_eq!(world.run_status(&queued).await, "succeeded");
}

async fn i3_an_attempt_from_before_a_restore_changes_no_state(world: World) {
    let a = world.replica("a").await;
    let run = world.open_run(&job("j", vec![step("s")])).await;
    let before = world.claim_one(&a).await;
    world.restored().await;
    assert_eq!(world.settle(succeeds(&before.claim)).await, Settled::Superseded);
    assert_eq!(world.stands(&run, "s").await, words("parked", "held"));
    world.store.retry_run(&run, &actor()).await.unwrap();
    world.admit().await;
    let b = world.replica("b").await;
    let again = world.claim_one(&b).await;
    assert!(again.claim.attempt() > before.claim.attempt());
    assert_eq!(world.settle(fails(&before.claim)).await, Settled::Superseded);
    assert_eq!(world.settle(succeeds(&again.claim)).await, applied(StepStatus::Succeeded));
}

async fn i9_a_message_that_may_have_gone_out_is_in_doubt_after_a_restore(world: World) {
    let again = with(mail("again"), |message| message.on_in_doubt = InDoubtPolicy::Resend);
    let run = world.put("j", vec![mail("claimed"), mail("sending"), mail("sent")]).await;
    let relay = world.replica("relay").await;
    let claims: Vec<_> =
        world.store.claim_messages(&asks(&relay, 3)).await.unwrap().into_iter().map(|message| message.claim).collect();
    let [claimed, sending, sent] = claims.try_into().unwrap();
    for claim in [&sending, &sent] {
        assert_eq!(world.mark(claim).await, Marked::Go);
    }
    world.deliver(&sent, accepted()).await;
    world.put("k", vec![mail("ready"), again]).await;
    assert_eq!(world.restored().await, (0, 3));
    for key in ["claimed", "sending", "ready"] {
        assert_eq!(world.message_status(key).await, MessageStatus::InDoubt, "{key}");
        let note = world.store.message(key).await.unwrap().unwrap().note.unwrap();
        assert!(note.contains("whether this was sent after that is not known"), "{note}");
    }
    assert_eq!(world.message_status("sent").await, MessageStatus::Sent);
    assert_eq!(world.message_status("again").await, MessageStatus::Ready, "its receiver tells the second one by its key");
    assert_eq!(world.asked(100).await, (0, 0));
    // What comes late proves that it arrived; else a person says so, and the other goes out again, marked as such.
    assert_eq!(world.deliver(&claimed, accepted()).await, MessageSettled::Applied(MessageStatus::Sent));
    world.store.resolve_message("sending", MessageVerdict::Sent, &actor()).await.unwrap();
    world.store.resolve_message("ready", MessageVerdict::Resend, &actor()).await.unwrap();
    world.pass(seconds(60));
    assert_eq!(world.asked(100).await, (0, 0), "what a person has let go is not asked about again");
    let relay = world.replica("another").await;
    let out = world.store.claim_messages(&asks(&relay, 9)).await.unwrap();
    let resent: Vec<_> = out.iter().map(|message| (message.claim.key().to_owned(), message.resent)).collect();
    assert_eq!(resent, [("again".to_owned(), false), ("ready".to_owned(), true)]);
    world.close().await;
    assert_eq!(world.run_status(&run).await, "succeeded");
}

async fn a_step_that_is_asked_about_is_not_closed_by_what_it_delivered_before(world: World) {
    world.in_doubt("m").await;
    world.close().await;
    let run = world.store.runs(&onebell::store::RunFilter { limit: 9, ..Default::default() }).await.unwrap().remove(0).id;
    let run = RunId::from_text(run);
    assert_eq!(world.run_status(&run).await, "parked");
    world.store.retry_run(&run, &actor()).await.unwrap();
    assert_eq!(world.restored().await, (1, 0));
    world.store.resolve_message("m", MessageVerdict::Sent, &actor()).await.unwrap();
    world.close().await;
    assert_eq!(world.run_status(&run).await, "parked", "a person has to say what became of it");
}

async fn while_a_replica_lives_nothing_is_asked(world: World) {
    let a = world.replica("a").await;
    let run = world.open_run(&job("j", vec![step("s")])).await;
    world.claim_one(&a).await;
    world.pass(seconds(60));
    world.store.renew(&a, &Prevented::default()).await.unwrap();
    let question = Question { since: RESTORED, limit: 100, actor: actor() };
    let live = Questioned::Live { label: "a of this test".to_owned(), heard_at: world.now() };
    assert_eq!(world.store.question(&question).await.unwrap(), live);
    assert_eq!(world.stands(&run, "s").await, words("running", "running"));
    assert_eq!(world.rows("audit_log", "action = 'question'").await, 0);
    world.store.leave(&a).await.unwrap();
    assert_eq!(world.asked(100).await, (1, 0), "one that left is no obstacle, and holds nothing");
}

async fn what_follows_an_answer_is_asked_about_as_well(world: World) {
    let run = world.open_run(&job("j", vec![step("a"), step_after("b", &["a"])])).await;
    assert_eq!(world.restored().await, (1, 0));
    world.store.resolve_step(&run, "a", Resolution::Succeeded, &actor()).await.unwrap();
    world.admit().await;
    assert_eq!(world.step_status(&run, "b").await, "pending");
    assert_eq!(world.asked(100).await, (1, 0));
    assert_eq!(world.stands(&run, "b").await, words("parked", "held"));
}

async fn what_follows_one_answer_is_asked_about_while_another_one_is_open(world: World) {
    let run = world.open_run(&job("j", vec![step("a"), step("b"), step_after("c", &["a"])])).await;
    assert_eq!(world.restored().await, (2, 0));
    world.store.resolve_step(&run, "a", Resolution::Succeeded, &actor()).await.unwrap();
    assert_eq!(world.asked(100).await, (1, 0), "{:?}", world.stands(&run, "c").await);
    assert_eq!(world.stands(&run, "c").await, words("parked", "held"));
    assert_eq!(world.step_status(&run, "b").await, "held");
}

async fn a_run_that_ends_goes_on_to_its_end_after_a_restore(world: World) {
    let a = world.replica("a").await;
    let cancelled = world.open_run(&job("cancelled", vec![step("s")])).await;
    world.claim_one(&a).await;
    world.store.cancel_run(&cancelled, &actor()).await.unwrap();
    let undoing = world.open_run(&job("undone", vec![undoable(step("s")), step_after("fails", &["s"])])).await;
    world.finish_one(&a).await;
    let claim = world.claim_one(&a).await.claim;
    world.settle(fails(&claim)).await;
    assert_eq!(world.run_status(&undoing).await, "undoing");
    assert_eq!(world.restored().await, (2, 0));
    assert_eq!(world.stands(&cancelled, "s").await, words("cancelled", "cancelled"));
    assert_eq!(world.stands(&undoing, "s~undo").await, words("parked", "held"), "an undo may have been done as well");
    world.store.retry_run(&undoing, &actor()).await.unwrap();
    let b = world.replica("b").await;
    world.finish_one(&b).await;
    assert_eq!(world.run_status(&undoing).await, "failed");
}

async fn slots_of_what_was_lost_are_skipped_and_run_by_a_backfill(world: World) {
    let (zones, id) = (jiff::tz::db(), world.register(&minutely("j", Overlap::Allow)).await);
    world.register(&minutely("paused", Overlap::Allow)).await;
    onebell::roles::scheduler::pause(world.store.as_ref(), zones, "paused", &actor()).await.unwrap();
    world.clock.set(slot(7));
    let skipped = skip_restored(world.store.as_ref(), zones).await.unwrap();
    let ranges: Vec<_> = skipped.iter().map(|(job, skip)| (job.as_str(), skip.from, skip.to, skip.count)).collect();
    assert_eq!(ranges, [("j", slot(1), slot(7), Some(7))]);
    assert_eq!(world.rows("skips", "reason = 'restored'").await, 1);
    assert_eq!(skip_restored(world.store.as_ref(), zones).await.unwrap(), [], "recorded once");
    let state = world.store.jobs_named(Some(&["j".to_owned()])).await.unwrap().remove(0);
    assert_eq!((state.id, state.next_slot), (id, Some(slot(8))));
    assert_eq!(world.rows("runs", "true").await, 0);
    let filled = backfill(world.store.as_ref(), zones, "j", (slot(3), slot(3)), Some(&actor())).await.unwrap();
    assert_eq!(filled, Backfilled::Done { slots: vec![slot(3)], opened: 1 });
}

async fn what_was_to_be_asked_about_is_asked_in_parts(world: World) {
    world.register(&job("j", vec![step("s")])).await;
    for n in 0..5 {
        world.trigger("j", &format!("{n}")).await;
    }
    world.put("k", (0..5).map(|n| mail(&format!("m{n}"))).collect()).await;
    world.pass(seconds(60));
    assert_eq!(world.asked(0).await, (0, 0), "only whether anybody lives");
    let mut parts = Vec::new();
    while let part @ (1.., _) | part @ (_, 1..) = world.asked(2).await {
        parts.push(part);
    }
    assert_eq!(parts, [(2, 2), (2, 2), (1, 1)]);
    assert_eq!(world.rows("runs", "status = 'parked'").await, 5);
}
