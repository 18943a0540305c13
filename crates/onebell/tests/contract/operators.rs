//! What people did is in the audit log, and what was refused is not.

use onebell::store::{Actor, MessageVerdict, Resolution, Trigger, Triggered};

use super::given::*;
use super::world::World;

contract!(each_act_is_in_the_audit_log_once, what_was_refused_is_not_in_the_audit_log);

fn anna() -> Actor {
    Actor { name: "Ánna <anna@example.org>".to_owned(), reason: Some("the bank's file was late; see #4711".to_owned()) }
}

async fn each_act_is_in_the_audit_log_once(world: World) {
    world.register(&job("j", vec![step_once("a")])).await;
    let a = world.replica("a").await;
    let mut expected = 0;
    let mut acted = async |what: &str| {
        expected += 1;
        let condition = format!("actor = '{}' AND reason = '{}'", anna().name, "the bank''s file was late; see #4711");
        assert_eq!(world.rows("audit_log", &condition).await, expected, "{what}");
    };
    let trigger = |request_key: &str| Trigger { actor: anna(), ..request("j", request_key, None) };
    let Triggered::Opened(run) = world.store.trigger(&trigger("1")).await.unwrap() else { panic!("new") };
    acted("trigger").await;
    world.store.trigger(&trigger("1")).await.unwrap();
    let claim = world.claim_one(&a).await.claim;
    world.settle(retries(&claim)).await;
    world.store.retry_run(&run, &anna()).await.unwrap();
    acted("retry of a parked run").await;
    world.admit().await;
    let claim = world.claim_one(&a).await.claim;
    world.settle(retries(&claim)).await;
    world.store.resolve_step(&run, "a", Resolution::Failed, &anna()).await.unwrap();
    acted("resolve of a step").await;
    world.store.retry_run(&run, &anna()).await.unwrap();
    acted("retry of a failed run").await;
    world.store.cancel_run(&run, &anna()).await.unwrap();
    acted("cancel").await;
    for (key, verdict) in [("d1", MessageVerdict::Sent), ("d2", MessageVerdict::Resend), ("d3", MessageVerdict::Drop)] {
        world.in_doubt(key).await;
        world.store.resolve_message(key, verdict, &anna()).await.unwrap();
        acted(key).await;
    }
    let named = format!("target LIKE '%{run}%'");
    assert!(world.rows("audit_log", &named).await >= 4, "a row names what it is about");
}

async fn what_was_refused_is_not_in_the_audit_log(world: World) {
    let run = world.open_run(&job("j", vec![step("a")])).await;
    let before = world.rows("audit_log", "true").await;
    world.store.retry_run(&run, &anna()).await.unwrap();
    world.store.resolve_step(&run, "a", Resolution::Retry, &anna()).await.unwrap();
    world.store.resolve_message("nobody", MessageVerdict::Drop, &anna()).await.unwrap();
    world.store.trigger(&request("j", "first of j", Some("1"))).await.unwrap();
    world.store.trigger(&request("nobody", "k", None)).await.unwrap();
    assert_eq!(world.rows("audit_log", "true").await, before);
}
