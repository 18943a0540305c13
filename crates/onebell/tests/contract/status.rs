//! What people read: counted from the rows, never kept beside them.

use onebell::model::message::MessageStatus;
use onebell::model::run::RunStatus;
use onebell::model::step::StepStatus;
use onebell::store::{MessageFilter, MessageVerdict, RunFilter, Waiting};

use super::given::*;
use super::world::World;

contract!(
    erasing_a_scratch_job_leaves_nothing_of_it_and_all_of_the_others,
    idle_is_when_nothing_moves_and_nothing_is_on_its_way,
    jobs_are_shown_with_their_last_run,
    messages_in_doubt_come_first_then_failed_ones_then_the_newest,
    status_counts_every_state_also_those_that_nothing_is_in,
    the_newest_runs_come_first_and_a_filter_narrows_them,
    what_is_due_is_shown_with_how_long_it_has_waited,
);

async fn status_counts_every_state_also_those_that_nothing_is_in(world: World) {
    let empty = world.store.status().await.unwrap();
    let words =
        |all: &[&'static str]| all.iter().map(|word| ((*word).to_owned(), 0)).collect::<std::collections::BTreeMap<_, _>>();
    let of_runs: Vec<_> = RunStatus::ALL.iter().map(|status| status.as_str()).collect();
    let of_steps: Vec<_> = StepStatus::ALL.iter().map(|status| status.as_str()).collect();
    let of_messages: Vec<_> = MessageStatus::ALL.iter().map(|status| status.as_str()).collect();
    assert_eq!((empty.runs, empty.steps, empty.outbox), (words(&of_runs), words(&of_steps), words(&of_messages)));
    let a = world.replica("a").await;
    world.open_run(&job("done", vec![step("a"), step("b")])).await;
    world.finish_one(&a).await;
    let claim = world.claim_one(&a).await.claim;
    world.settle(records(&claim, vec![effect("e1", 100), effect("e2", 1)])).await;
    world.open_run(&job("failed", vec![step("a"), step_after("b", &["a"])])).await;
    let claim = world.claim_one(&a).await.claim;
    world.settle(fails(&claim)).await;
    world.put("mails", vec![mail("m1"), mail("m2")]).await;
    world.take(&a).await;
    let gone = world.replica("gone").await;
    world.store.leave(&gone).await.unwrap();
    let status = world.store.status().await.unwrap();
    let counted = |counts: &std::collections::BTreeMap<String, u64>| {
        counts
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|(word, count)| format!("{word} {count}"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    assert_eq!(counted(&status.runs), "failed 1, running 1, succeeded 1");
    assert_eq!(counted(&status.steps), "cancelled 1, delivering 1, failed 1, succeeded 2");
    assert_eq!(counted(&status.outbox), "claimed 1, ready 1");
    assert_eq!((status.effects, status.replicas), (2, 2), "a and the one that put the mails");
}

async fn what_is_due_is_shown_with_how_long_it_has_waited(world: World) {
    let waiting = async || world.store.status().await.unwrap().waiting;
    assert_eq!(waiting().await, Waiting::default());
    let slot = world.now() + MINUTE;
    let scheduled = job("scheduled", vec![step("a")]);
    let id = world.register(&scheduled).await;
    world.redefine(&id, &with(scheduled, |job| job.description = "due".to_owned()), Some(slot)).await;
    world.put("mails", vec![mail("m")]).await;
    world.open_run(&job("j", vec![step("a"), step_after("b", &["a"])])).await;
    world.pass(seconds(90));
    let us = |seconds: u64| seconds * 1_000_000;
    assert_eq!(waiting().await, Waiting { step_us: us(90), message_us: us(90), slot_us: us(30) });
    let a = world.replica("a").await;
    world.claim_one(&a).await;
    world.take(&a).await;
    assert_eq!(waiting().await, Waiting { slot_us: us(30), ..Waiting::default() }, "what is in somebody's hands waits no longer");
}

async fn idle_is_when_nothing_moves_and_nothing_is_on_its_way(world: World) {
    let idle = async || world.store.is_idle().await.unwrap();
    assert!(idle().await);
    let run = world.open_run(&job("j", vec![step("a")])).await;
    assert!(!idle().await, "a step waits to be claimed");
    let a = world.replica("a").await;
    let claim = world.claim_one(&a).await.claim;
    world.store.cancel_run(&run, &actor()).await.unwrap();
    assert!(!idle().await, "a cancelled run still ends");
    world.settle(ends(&claim, onebell::model::step::Verdict::Cancelled)).await;
    assert!(idle().await);
    world.open_run(&job("parks", vec![step_once("a")])).await;
    let claim = world.claim_one(&a).await.claim;
    world.settle(retries(&claim)).await;
    assert!(idle().await, "what waits for a person does not move");
}

async fn the_newest_runs_come_first_and_a_filter_narrows_them(world: World) {
    let a = world.replica("a").await;
    world.register(&job("one", vec![step("a")])).await;
    world.register(&job("two", vec![step("a")])).await;
    let mut runs = Vec::new();
    for n in 0..6 {
        world.pass(seconds(10));
        runs.push(world.trigger(if n % 2 == 0 { "one" } else { "two" }, &format!("{n}")).await);
        if n < 2 {
            world.finish_one(&a).await;
        }
    }
    let listed =
        async |filter: RunFilter| world.store.runs(&filter).await.unwrap().into_iter().map(|run| run.id).collect::<Vec<_>>();
    let ids = |of: &[usize]| of.iter().map(|n| runs[*n].to_string()).collect::<Vec<_>>();
    let all = RunFilter { limit: 10, ..RunFilter::default() };
    assert_eq!(listed(all.clone()).await, ids(&[5, 4, 3, 2, 1, 0]));
    assert_eq!(listed(RunFilter { limit: 2, ..all.clone() }).await, ids(&[5, 4]));
    assert_eq!(listed(RunFilter { job: Some("one".to_owned()), ..all.clone() }).await, ids(&[4, 2, 0]));
    assert_eq!(listed(RunFilter { status: Some(RunStatus::Succeeded), ..all.clone() }).await, ids(&[1, 0]));
    let since = world.now() - seconds(20);
    assert_eq!(listed(RunFilter { since: Some(since), ..all.clone() }).await, ids(&[5, 4, 3]));
    assert!(listed(RunFilter { job: Some("three".to_owned()), ..all }).await.is_empty());
}

async fn messages_in_doubt_come_first_then_failed_ones_then_the_newest(world: World) {
    world.put("old", vec![mail("old")]).await;
    world.store.resolve_message("old", MessageVerdict::Drop, &actor()).await.unwrap();
    world.pass(seconds(1));
    let run = world.put("failed", vec![mail("failed")]).await;
    let a = world.replica("a").await;
    let claim = world.take(&a).await.claim;
    world.deliver(&claim, super::outbox::rejected()).await;
    world.pass(seconds(1));
    world.in_doubt("doubt").await;
    world.pass(seconds(1));
    world.put("new", vec![mail("new")]).await;
    let listed = async |filter: MessageFilter| {
        world.store.messages(&filter).await.unwrap().into_iter().map(|message| message.key).collect::<Vec<_>>()
    };
    let all = MessageFilter { limit: 10, ..MessageFilter::default() };
    assert_eq!(listed(all.clone()).await, ["doubt", "failed", "new", "old"]);
    assert_eq!(listed(MessageFilter { limit: 1, ..all.clone() }).await, ["doubt"]);
    assert_eq!(listed(MessageFilter { status: Some(MessageStatus::Dropped), ..all.clone() }).await, ["old"]);
    assert_eq!(listed(MessageFilter { run: Some(run.to_string()), ..all }).await, ["failed"]);
    let detail = world.store.run(&run).await.unwrap().unwrap();
    assert_eq!(detail.messages.get("failed"), Some(&1));
}

async fn jobs_are_shown_with_their_last_run(world: World) {
    let id = world
        .register(&with(minutely("b", onebell::model::job::Overlap::Allow), |job| job.description = "the second".to_owned()))
        .await;
    world.register(&job("a", vec![step("a")])).await;
    world.open_slot(&id, slot(1)).await;
    world.finish_one(&world.replica("r").await).await;
    world.pass(MINUTE * 2);
    world.open_slot(&id, slot(2)).await;
    let views = world.store.jobs().await.unwrap();
    let names: Vec<_> = views.iter().map(|view| view.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!((views[0].last_run.as_deref(), views[0].version), (None, 1));
    let last = onebell::model::RunId::of_slot(&id, slot(2));
    assert_eq!((views[1].last_run.as_deref(), views[1].last_status.as_deref()), (Some(last.as_str()), Some("running")));
    assert_eq!((views[1].description.as_str(), views[1].next_slot, views[1].paused_at), ("the second", Some(slot(3)), None));
}

async fn erasing_a_scratch_job_leaves_nothing_of_it_and_all_of_the_others(world: World) {
    let a = world.replica("a").await;
    for name in ["scratch", "kept"] {
        let id = world
            .register(&with(minutely(name, onebell::model::job::Overlap::Skip), |job| {
                job.steps = vec![step("a"), step_after("b", &["a"])]
            }))
            .await;
        world.trigger(name, &format!("request for {name}")).await;
        let claim = world.claim_one(&a).await.claim;
        let all = onebell::store::Settlement { effects: vec![effect(name, 1)], ..puts(&claim, vec![mail(name)]) };
        world.settle(all).await;
        world.open_slot(&id, slot(1)).await;
    }
    assert!(world.store.erase_job(&world.job_id("scratch")).await.unwrap());
    assert!(!world.store.erase_job(&world.job_id("scratch")).await.unwrap(), "no such job any longer");
    let tables = ["jobs", "definitions", "runs", "job_steps", "attempts", "skips", "request_keys"];
    for table in tables {
        assert_eq!(world.rows(table, "job_id = 'scratch'").await, 0, "{table}");
        assert!(world.rows(table, "job_id = 'kept'").await > 0, "{table}");
    }
    for table in ["effects", "outbox"] {
        assert_eq!((world.rows(table, "key = 'scratch'").await, world.rows(table, "key = 'kept'").await), (0, 1), "{table}");
    }
}
