//! A state is tied to its columns by constraints: no statement, ours or a stranger's, leaves half a state behind.

use onebell::model::message::MessageStatus;
use onebell::model::run::RunStatus;
use onebell::model::step::StepStatus;

use super::given::*;
use super::world::World;

contract!(
    every_word_of_the_machines_has_its_place_and_no_other_word_has,
    i1_the_slot_and_the_ledger_are_unique_by_constraint,
    i2_a_step_is_running_exactly_when_it_has_an_owner_and_an_end,
    i9_a_message_is_in_a_relays_hands_exactly_when_it_has_an_owner_and_an_end,
    k06_02_a_run_is_over_exactly_when_it_has_an_end,
);

async fn refused(world: &World, statements: &[&str]) {
    for statement in statements {
        let answer = world.sql(statement).await;
        assert!(answer.is_err(), "accepted: {statement}");
    }
}

async fn i2_a_step_is_running_exactly_when_it_has_an_owner_and_an_end(world: World) {
    world.open_run(&job("j", vec![step("a"), step("b")])).await;
    world.claim_one(&world.replica("a").await).await;
    let running = [
        "UPDATE {job_steps} SET locked_by = NULL WHERE status = 'running'",
        "UPDATE {job_steps} SET complete_by = NULL WHERE status = 'running'",
        "UPDATE {job_steps} SET claimed_at = NULL WHERE status = 'running'",
        "UPDATE {job_steps} SET status = 'pending' WHERE status = 'running'",
        "UPDATE {job_steps} SET status = 'held' WHERE status = 'running'",
        "UPDATE {job_steps} SET status = 'exhausted' WHERE status = 'running'",
        "UPDATE {job_steps} SET tries = -1 WHERE status = 'running'",
        "UPDATE {job_steps} SET tries = 2 WHERE status = 'running'",
    ];
    refused(&world, &running).await;
    let pending = [
        "UPDATE {job_steps} SET status = 'running' WHERE status = 'pending'",
        "UPDATE {job_steps} SET locked_by = 'b' WHERE status = 'pending'",
        "UPDATE {job_steps} SET complete_by = ready_at WHERE status = 'pending'",
        "UPDATE {job_steps} SET status = 'running', locked_by = 'b' WHERE status = 'pending'",
    ];
    refused(&world, &pending).await;
    assert_eq!(world.rows("job_steps", "status IN ('running', 'pending')").await, 2);
}

async fn i9_a_message_is_in_a_relays_hands_exactly_when_it_has_an_owner_and_an_end(world: World) {
    world.put("j", vec![mail("m1"), mail("m2"), mail("m3")]).await;
    let a = world.replica("a").await;
    let sending = world.take(&a).await.claim;
    world.mark(&sending).await;
    world.take(&a).await;
    refused(
        &world,
        &[
            "UPDATE {outbox} SET locked_by = NULL WHERE status = 'claimed'",
            "UPDATE {outbox} SET complete_by = NULL WHERE status = 'sending'",
            "UPDATE {outbox} SET status = 'ready' WHERE status = 'claimed'",
            "UPDATE {outbox} SET status = 'in_doubt' WHERE status = 'sending'",
            "UPDATE {outbox} SET status = 'sending' WHERE status = 'claimed'",
            "UPDATE {outbox} SET status = 'claimed' WHERE status = 'ready'",
            "UPDATE {outbox} SET locked_by = 'b' WHERE status = 'ready'",
            "UPDATE {outbox} SET status = 'dropped' WHERE status = 'ready'",
            "UPDATE {outbox} SET dropped_by = 'person' WHERE status = 'ready'",
        ],
    )
    .await;
}

async fn k06_02_a_run_is_over_exactly_when_it_has_an_end(world: World) {
    world.open_run(&job("open", vec![step("a")])).await;
    let done = world.open_run(&job("done", vec![with(step("a"), |step| step.priority = 1)])).await;
    world.finish_one(&world.replica("a").await).await;
    assert_eq!(world.run_status(&done).await, "succeeded");
    refused(
        &world,
        &[
            "UPDATE {runs} SET status = 'succeeded' WHERE job_id = 'open'",
            "UPDATE {runs} SET finished_at = created_at WHERE job_id = 'open'",
            "UPDATE {runs} SET status = 'failed', finished_at = created_at WHERE job_id = 'open'",
            "UPDATE {runs} SET status = 'undoing' WHERE job_id = 'open'",
            "UPDATE {runs} SET status = 'running' WHERE job_id = 'done'",
            "UPDATE {runs} SET finished_at = NULL WHERE job_id = 'done'",
            "UPDATE {runs} SET scheduled_for = created_at WHERE job_id = 'done'",
        ],
    )
    .await;
}

async fn every_word_of_the_machines_has_its_place_and_no_other_word_has(world: World) {
    world.put("j", vec![mail("m")]).await;
    world.open_run(&job("k", vec![step("a")])).await;
    for table in ["runs", "job_steps", "outbox"] {
        assert!(world.sql(&format!("UPDATE {{{table}}} SET status = 'rescued'")).await.is_err(), "{table}");
    }
    for status in StepStatus::ALL.iter().filter(|status| status.is_done()) {
        assert!(
            world.sql(&format!("UPDATE {{job_steps}} SET status = '{status}'")).await.is_err(),
            "{status} lives in the history"
        );
    }
    for status in StepStatus::ALL.iter().filter(|status| !status.is_done() && **status != StepStatus::Running) {
        world.sql(&format!("UPDATE {{job_steps}} SET status = '{status}'")).await.unwrap();
    }
    for status in RunStatus::ALL.iter().filter(|status| !status.is_over()) {
        world.sql(&format!("UPDATE {{runs}} SET status = '{status}', goal = 'failed'")).await.unwrap();
    }
    for status in [MessageStatus::Ready, MessageStatus::Sent, MessageStatus::Failed, MessageStatus::InDoubt] {
        world.sql(&format!("UPDATE {{outbox}} SET status = '{status}'")).await.unwrap();
    }
}

async fn i1_the_slot_and_the_ledger_are_unique_by_constraint(world: World) {
    let id = world.register(&minutely("m", onebell::model::job::Overlap::Allow)).await;
    world.open_slot(&id, slot(1)).await;
    world.open_slot(&id, slot(2)).await;
    let claim = world.claim_one(&world.replica("a").await).await.claim;
    world.settle(records(&claim, vec![effect("e1", 1), effect("e2", 1)])).await;
    let same_slot = format!("UPDATE {{runs}} SET scheduled_for = {}", world.literal(slot(1)));
    refused(&world, &[&same_slot, "UPDATE {effects} SET key = 'e1'"]).await;
    for table in ["effects", "attempts", "runs", "job_steps"] {
        let again = format!("INSERT INTO {{{table}}} SELECT * FROM {{{table}}}");
        assert!(world.sql(&again).await.is_err(), "{table}");
    }
}
