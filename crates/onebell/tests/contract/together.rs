//! Two transactions at once on PostgreSQL, each held in its middle by a third: what one statement that decides too early, a
//! predicate in place of a lock, or an unsorted set would get wrong.

use onebell::model::step::StepStatus;
use onebell::model::{Effect, Fingerprint};
use onebell::store::{Acted, Settled, Settlement, Triggered};

use super::given::*;
use super::held::Held;
use super::world::World;

contract!(postgres only:
    a_key_share_lock_of_somebodys_open_transaction_blocks_nothing,
    a_request_that_meets_a_key_committed_meanwhile_is_already_or_a_conflict,
    admission_waits_for_the_job_lock,
    i2_a_claim_passes_by_what_is_locked_and_takes_the_rest,
    i4_the_same_settlement_while_the_first_is_still_in_flight_is_already,
    i5_a_message_committed_meanwhile_is_already_or_a_conflict,
    i5_an_effect_committed_meanwhile_is_already_or_a_conflict,
    i5_the_second_of_two_runs_with_one_key_waits_for_the_first,
    k06_02_cancel_and_settle_are_decided_in_the_order_of_their_locks,
    overlap_is_decided_after_the_wait_for_the_job_lock,
    two_predecessors_that_settle_at_once_make_the_join_ready,
);

/// The same payload under every name: only the key tells them apart.
fn anonymous(name: &str, amount: i64) -> Effect {
    Effect::new(key("ledger"), key(name), Some(amount), "\"paid\"").unwrap()
}

/// A copy of the row of `table` whose key is `from`, under the key `to`, as another transaction would write it.
fn copied(table: &str, from: &str, to: &str) -> String {
    format!(
        "INSERT INTO {{{table}}} SELECT (jsonb_populate_record(NULL::{{{table}}}, to_jsonb(t) || jsonb_build_object('key', '{to}'))).* \
         FROM {{{table}}} t WHERE t.key = '{from}'"
    )
}

fn already(effects_already: u32) -> Settled {
    Settled::Applied { status: StepStatus::Succeeded, effects_already, messages_already: 0, refused: None }
}

/// Held on the run, where both wait; and on what only one of them may come to.
async fn two_predecessors_that_settle_at_once_make_the_join_ready(world: World) {
    world.register(&job("j", vec![step("a"), step("b"), step_after("c", &["a", "b"])])).await;
    let agent = world.replica("agent").await;
    let rows = ["{runs}", "{job_steps} WHERE name = 'a'", "{job_steps} WHERE name = 'b'", "{job_steps} WHERE name = 'c'"];
    for (row, waiting) in rows.into_iter().zip([2, 1, 1, 1]) {
        world.trigger("j", row).await;
        let claimed = world.claim(&agent, 9).await;
        let held = Held::by(&world, &format!("SELECT 1 FROM {row} FOR UPDATE")).await;
        let calls: Vec<_> = (world.others(2).await.into_iter().zip(claimed))
            .map(|(store, step)| tokio::spawn(async move { settle_on(&store, succeeds(&step.claim)).await }))
            .collect();
        held.until_waiting(waiting).await;
        held.commit().await;
        for call in calls {
            assert_eq!(call.await.unwrap(), applied(StepStatus::Succeeded));
        }
        assert_eq!(world.finish_one(&agent).await.name, "c");
    }
    assert_eq!(world.rows("runs", "status = 'succeeded'").await, 4);
}

/// The first is held after it wrote its effect, by a message that a third transaction is about to write.
async fn i5_the_second_of_two_runs_with_one_key_waits_for_the_first(world: World) {
    world.put("seed", vec![mail("seed")]).await;
    world.register(&job("j", vec![step("a")])).await;
    for round in 1..=2_u32 {
        world.sql("DELETE FROM {effects}").await.unwrap();
        world.trigger("j", &format!("{round}/1")).await;
        world.trigger("j", &format!("{round}/2")).await;
        let claimed = world.claim(&world.replica("agent").await, 2).await;
        let message = format!("m{round}");
        let held = Held::by(&world, &copied("outbox", "seed", &message)).await;
        let first = Settlement { messages: vec![mail(&message)], ..records(&claimed[0].claim, vec![effect("e1", 100)]) };
        let second = records(&claimed[1].claim, vec![effect("e1", 100)]);
        let mut calls = Vec::new();
        for (n, (store, settlement)) in world.others(2).await.into_iter().zip([first, second]).enumerate() {
            calls.push(tokio::spawn(async move { settle_on(&store, settlement).await }));
            held.until_waiting(i64::try_from(n).unwrap() + 1).await;
        }
        assert_eq!(world.store.effects_total("ledger").await.unwrap(), (0, 0), "neither is seen before it is committed");
        held.roll_back().await;
        assert_eq!(status_of(&calls.remove(0).await.unwrap()), StepStatus::Delivering, "applied");
        assert_eq!(calls.remove(0).await.unwrap(), already(1));
        assert_eq!(world.store.effects_total("ledger").await.unwrap(), (1, 100));
    }
}

async fn i5_an_effect_committed_meanwhile_is_already_or_a_conflict(world: World) {
    world.register(&job("j", vec![step("a")])).await;
    let agent = world.replica("agent").await;
    world.trigger("j", "seed").await;
    let claim = world.claim_one(&agent).await.claim;
    world.settle(records(&claim, vec![anonymous("seed", 100)])).await;
    for (name, amount, commits) in [("same", 100, true), ("other", 900, true), ("taken back", 900, false)] {
        world.trigger("j", name).await;
        let claim = world.claim_one(&agent).await.claim;
        let held = Held::by(&world, &copied("effects", "seed", name)).await;
        let (store, effects) =
            (world.another().await, vec![anonymous("a before", 1), anonymous(name, amount), anonymous("z after", 1)]);
        let call = tokio::spawn(async move { settle_on(&store, records(&claim, effects)).await });
        held.until_waiting(1).await;
        if commits {
            held.commit().await
        } else {
            held.roll_back().await
        }
        let settled = call.await.unwrap();
        match name {
            "same" => assert_eq!(settled, already(1)),
            "other" => {
                let Settled::Applied { status: StepStatus::Failed, refused: Some(why), .. } = settled else {
                    panic!("{settled:?}")
                };
                assert!(why.contains("other"), "{why}");
            }
            _ => assert_eq!(settled, already(2), "the one before and the one after are there since the first"),
        }
    }
    assert_eq!(world.store.effects_total("ledger").await.unwrap(), (6, 100 + 100 + 1 + 1 + 100 + 900));
}

async fn i5_a_message_committed_meanwhile_is_already_or_a_conflict(world: World) {
    world.put("seed", vec![mail("seed")]).await;
    world.register(&job("j", vec![step("a")])).await;
    let agent = world.replica("agent").await;
    let sent = mail("seed").fingerprint;
    for (name, text) in [("same", "hello"), ("other", "goodbye")] {
        world.trigger("j", name).await;
        let claim = world.claim_one(&agent).await.claim;
        let held = Held::by(&world, &copied("outbox", "seed", name)).await;
        let message = mail_saying(name, text);
        assert_eq!(message.fingerprint == sent, name == "same");
        let store = world.another().await;
        let call = tokio::spawn(async move { settle_on(&store, puts(&claim, vec![message])).await });
        held.until_waiting(1).await;
        held.commit().await;
        match (name, call.await.unwrap()) {
            ("same", Settled::Applied { messages_already: 1, refused: None, .. }) => {}
            ("other", Settled::Applied { status: StepStatus::Failed, refused: Some(why), .. }) => assert!(why.contains("other")),
            (_, settled) => panic!("{name}: {settled:?}"),
        }
    }
}

async fn a_request_that_meets_a_key_committed_meanwhile_is_already_or_a_conflict(world: World) {
    world.register(&job("j", vec![step("a")])).await;
    let run = world.trigger("j", "seed").await;
    for (name, input) in [("same", None), ("other", Some("1"))] {
        let held = Held::by(&world, &copied("request_keys", "seed", name)).await;
        let store = world.another().await;
        let call = tokio::spawn(async move { store.trigger(&request("j", name, input)).await.unwrap() });
        held.until_waiting(1).await;
        held.commit().await;
        match (name, call.await.unwrap()) {
            ("same", Triggered::Already(same)) => assert_eq!(same, run),
            ("other", Triggered::Conflict(conflict)) => assert_ne!(conflict.kept, conflict.refused),
            (_, triggered) => panic!("{name}: {triggered:?}"),
        }
    }
    assert_eq!(world.rows("runs", "true").await, 1);
    assert_ne!(Fingerprint::of_json("1").unwrap(), Fingerprint::of_json("null").unwrap());
}

/// The acknowledgement is lost while the server still works on it: the second asking waits for the first.
async fn i4_the_same_settlement_while_the_first_is_still_in_flight_is_already(world: World) {
    world.put("seed", vec![mail("seed")]).await;
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let claim = world.claim_one(&world.replica("agent").await).await.claim;
    let done = Settlement { messages: vec![mail("m")], ..records(&claim, vec![effect("e1", 100)]) };
    let held = Held::by(&world, &copied("outbox", "seed", "m")).await;
    let mut calls = Vec::new();
    for (n, store) in world.others(2).await.into_iter().enumerate() {
        let done = done.clone();
        calls.push(tokio::spawn(async move { settle_on(&store, done).await }));
        held.until_waiting(i64::try_from(n).unwrap() + 1).await;
    }
    held.roll_back().await;
    assert_eq!(status_of(&calls.remove(0).await.unwrap()), StepStatus::Delivering);
    assert_eq!(calls.remove(0).await.unwrap(), Settled::Already);
    assert_eq!(world.store.effects_total("ledger").await.unwrap(), (1, 100));
    assert_eq!(world.step(&run, "a").await.attempts.len(), 1);
}

async fn k06_02_cancel_and_settle_are_decided_in_the_order_of_their_locks(world: World) {
    world.register(&job("j", vec![step("a")])).await;
    let agent = world.replica("agent").await;
    for cancel_first in [false, true] {
        let run = world.trigger("j", if cancel_first { "cancel first" } else { "settle first" }).await;
        let claim = world.claim_one(&agent).await.claim;
        let held = Held::by(&world, &format!("SELECT 1 FROM {{runs}} WHERE run_id = '{run}' FOR UPDATE")).await;
        let (settles, cancels, of) = (world.another().await, world.another().await, run.clone());
        let settle = async move { settle_on(&settles, succeeds(&claim)).await };
        let cancel = async move { cancels.cancel_run(&of, &actor()).await.unwrap() };
        let (settled, cancelled);
        if cancel_first {
            cancelled = tokio::spawn(cancel);
            held.until_waiting(1).await;
            settled = tokio::spawn(settle);
        } else {
            settled = tokio::spawn(settle);
            held.until_waiting(1).await;
            cancelled = tokio::spawn(cancel);
        }
        held.until_waiting(2).await;
        held.commit().await;
        assert_eq!(settled.await.unwrap(), applied(StepStatus::Succeeded), "its fence held either way");
        let acted = cancelled.await.unwrap();
        assert_eq!(acted == Acted::Done, cancel_first, "{acted:?}");
        assert_eq!(world.run_status(&run).await, if cancel_first { "cancelled" } else { "succeeded" });
    }
}

async fn admission_waits_for_the_job_lock(world: World) {
    world.register(&minutely("m", onebell::model::job::Overlap::Skip)).await;
    world.trigger("m", "1").await;
    let waiting = world.trigger("m", "2").await;
    world.finish_one(&world.replica("a").await).await;
    let held = Held::by(&world, "SELECT 1 FROM {jobs} FOR UPDATE").await;
    let (store, carried) = (world.another().await, world.carried());
    let admitted = tokio::spawn(async move { store.admit_runs(&carried, 9).await.unwrap() });
    held.until_waiting(1).await;
    held.commit().await;
    assert_eq!(admitted.await.unwrap(), 1, "a lock that was skipped would have left it to nobody");
    assert_eq!(world.run_status(&waiting).await, "running");
}

/// A run of the job becomes active while the opener waits for the lock: what was true before the wait must not count.
async fn overlap_is_decided_after_the_wait_for_the_job_lock(world: World) {
    let id = world.register(&minutely("m", onebell::model::job::Overlap::Skip)).await;
    world.trigger("m", "1").await;
    let second = world.trigger("m", "2").await;
    world.finish_one(&world.replica("a").await).await;
    let held = Held::by(
        &world,
        &format!("SELECT 1 FROM {{jobs}} FOR UPDATE; UPDATE {{runs}} SET status = 'running' WHERE run_id = '{second}'"),
    )
    .await;
    let plan = with(world.plan(&id).await, |plan| {
        plan.cursor = slot(1);
        plan.open = vec![onebell::store::PlannedSlot { at: slot(1), origin: onebell::model::overlap::Origin::Slot }];
    });
    let store = world.another().await;
    let opened = tokio::spawn(async move { store.open_slots(&plan).await.unwrap() });
    held.until_waiting(1).await;
    held.commit().await;
    assert_eq!(opened.await.unwrap(), onebell::store::Opened::Applied { opened: 0, skipped: 1 });
    assert_eq!(world.rows("runs", "status = 'running'").await, 1);
}

async fn i2_a_claim_passes_by_what_is_locked_and_takes_the_rest(world: World) {
    world.put("mails", vec![mail("m1"), mail("m2")]).await;
    world.open_run(&job("j", vec![with(step("first"), |step| step.priority = 9), step("second")])).await;
    let a = world.replica("a").await;
    let held = Held::by(
        &world,
        "SELECT 1 FROM {job_steps} WHERE name = 'first' FOR UPDATE; SELECT 1 FROM {outbox} WHERE key = 'm1' FOR UPDATE",
    )
    .await;
    assert_eq!(world.claim_one(&a).await.name, "second");
    assert_eq!(world.take(&a).await.claim.key(), "m2");
    held.roll_back().await;
    assert_eq!(world.claim_one(&a).await.name, "first");
    assert_eq!(world.take(&a).await.claim.key(), "m1");
}

/// What a foreign key in a user's own table takes on the rows it points at.
async fn a_key_share_lock_of_somebodys_open_transaction_blocks_nothing(world: World) {
    let id = world.register(&minutely("m", onebell::model::job::Overlap::Allow)).await;
    world.open_slot(&id, slot(1)).await;
    let a = world.replica("a").await;
    let held = Held::by(
        &world,
        "SELECT 1 FROM {jobs} FOR KEY SHARE; SELECT 1 FROM {runs} FOR KEY SHARE; SELECT 1 FROM {replicas} FOR KEY SHARE",
    )
    .await;
    world.finish_one(&a).await;
    world.trigger("m", "asked").await;
    assert_eq!(world.open_slot(&id, slot(2)).await, super::slots::OPENED);
    assert!(world.renews(&a).await.is_some());
    assert_eq!(world.claim(&a, 9).await.len(), 2);
    assert_eq!(world.rows("runs", "status = 'succeeded'").await, 1);
    held.roll_back().await;
}
