//! What no live replica carries: its step is parked with that reason, and goes on when one comes that carries it.

use onebell::model::job::Overlap;
use onebell::model::recovery::{Grant, RequestKind};
use onebell::model::{JobDefinition, ReplicaId, RunId};
use onebell::store::{Acted, ReplicaInfo, Resolution};

use super::given::*;
use super::recovering::ABSENT_AFTER;
use super::world::World;

contract!(
    a_message_that_no_live_replica_carries_says_so,
    a_parked_step_goes_on_when_somebody_carries_it_again,
    a_person_may_decide_what_nobody_carries,
    a_request_is_refused_when_a_carrier_came_meanwhile,
    an_undo_that_nobody_carries_is_parked_too,
    i12_a_step_that_no_live_replica_carries_is_parked_with_that_reason,
    i14_what_nobody_carried_is_not_taken_up_once_its_run_ends,
    nothing_is_asked_while_a_successor_may_be_on_its_way,
    what_is_not_ready_or_not_admitted_is_not_parked_for_its_carriers,
);

/// A replica that looks after everything and carries nothing.
async fn watcher(world: &World) -> ReplicaId {
    world.replica_with("watcher", |info| info.handlers.clear()).await
}

/// Carries this job, as every replica of a fleet does.
fn carries(world: &World, job: &JobDefinition) -> impl FnOnce(&mut ReplicaInfo) + use<> {
    let (id, hash) = (world.job_id(&job.name), hash(job));
    move |info| drop(info.jobs.insert(id, hash))
}

/// A run whose only step nobody carries any longer, parked for that.
async fn parked(world: &World, job: &JobDefinition) -> RunId {
    watcher(world).await;
    let run = world.open_run(job).await;
    world.pass(ABSENT_AFTER);
    assert_eq!((world.sweeps().await, world.grant_all().await), (1, 1));
    assert_eq!(world.run_status(&run).await, "parked");
    run
}

async fn i12_a_step_that_no_live_replica_carries_is_parked_with_that_reason(world: World) {
    watcher(&world).await;
    let carried = job("carried", vec![step("a")]);
    let (other, slow) =
        (with(step("a"), |step| step.handler = "rare".into()), with(step("a"), |step| step.queue = "slow".into()));
    let uncarried = [job("job", vec![step("a")]), job("handler", vec![other]), job("queue", vec![slow])];
    world
        .replica_with("carrier", |info| {
            for job in [&carried, &uncarried[1], &uncarried[2]] {
                carries(&world, job)(info);
            }
        })
        .await;
    let kept = world.open_run(&carried).await;
    let mut runs = Vec::new();
    for job in &uncarried {
        runs.push(world.open_run(job).await);
    }
    world.pass(ABSENT_AFTER - seconds(1));
    assert_eq!(world.sweeps().await, 0, "not yet");
    world.pass(seconds(1));
    assert_eq!(world.sweeps().await, 3);
    assert_eq!(world.sweeps().await, 0, "asked once");
    assert_eq!(world.grant_all().await, 3);
    assert_eq!(world.step_status(&kept, "a").await, "pending");
    for (run, job) in runs.iter().zip(&uncarried) {
        let held = world.step(run, "a").await;
        assert_eq!((held.status.as_str(), world.run_status(run).await.as_str()), ("held", "parked"), "{}", job.name);
        let step = &job.steps[0];
        let id = world.job_id(&job.name);
        let reason = format!("no live replica carries it (job {id}, handler {}, queue {})", step.handler, step.queue);
        assert_eq!(held.error, Some(reason));
        assert_eq!((held.attempt, held.tries), (0, 0), "it costs nothing");
    }
    world.pass(ABSENT_AFTER * 5);
    assert_eq!(world.sweeps().await, 0, "parked is parked");
}

async fn a_parked_step_goes_on_when_somebody_carries_it_again(world: World) {
    let job = job("j", vec![step("a"), step_after("b", &["a"])]);
    let run = parked(&world, &job).await;
    let carrier = world.replica_with("carrier", carries(&world, &job)).await;
    assert_eq!((world.sweeps().await, world.grant_all().await), (1, 1));
    let step = world.step(&run, "a").await;
    assert_eq!((step.status.as_str(), step.error, step.ready_at), ("pending", None, Some(world.now())));
    world.admit().await;
    for name in ["a", "b"] {
        assert_eq!(world.finish_one(&carrier).await.name, name);
    }
    assert_eq!(world.run_status(&run).await, "succeeded");
}

/// It never ran: taken up it would wait for ever in a run that is over, or run beside what undoes the others.
async fn i14_what_nobody_carried_is_not_taken_up_once_its_run_ends(world: World) {
    let job = job("j", vec![step("a"), step_after("b", &["a"])]);
    let run = parked(&world, &job).await;
    assert_eq!(world.store.cancel_run(&run, &actor()).await.unwrap(), Acted::Done);
    assert_eq!(world.run_status(&run).await, "cancelled");
    world.replica_with("carrier", carries(&world, &job)).await;
    assert_eq!((world.sweeps().await, world.grant_all().await), (0, 0));
    assert_eq!(world.step_status(&run, "a").await, "held");
}

/// It waits in `ready`: whoever comes with the channel delivers it.
async fn a_message_that_no_live_replica_carries_says_so(world: World) {
    let run = world.put("j", vec![mail("m")]).await;
    let filter = onebell::store::MessageFilter { status: None, run: Some(run.to_string()), limit: 9 };
    let note = async || {
        let listed = world.store.messages(&filter).await.unwrap().remove(0).note;
        assert_eq!(world.store.message("m").await.unwrap().unwrap().note, listed);
        listed
    };
    assert_eq!(note().await, None);
    world.store.leave(&ReplicaId::from_text("putter")).await.unwrap();
    assert_eq!(note().await.as_deref(), Some("no live replica carries its channel"));
    world.replica("carrier").await;
    assert_eq!(note().await, None);
    assert_eq!(world.send_all().await, 1);
}

async fn nothing_is_asked_while_a_successor_may_be_on_its_way(world: World) {
    let job = job("j", vec![step("a")]);
    let carrier = world.replica_with("carrier", carries(&world, &job)).await;
    let run = world.open_run(&job).await;
    watcher(&world).await;
    world.pass(ABSENT_AFTER * 3);
    assert_eq!(world.sweeps().await, 0, "it is only slow");
    world.store.leave(&carrier).await.unwrap();
    world.pass(ABSENT_AFTER - seconds(1));
    assert_eq!(world.sweeps().await, 0, "its successor may be about to start");
    let successor = world.replica_with("successor", carries(&world, &job)).await;
    world.pass(ABSENT_AFTER * 2);
    assert_eq!(world.sweeps().await, 0);
    world.declare_lost(&successor).await;
    world.pass(ABSENT_AFTER - seconds(1));
    assert_eq!(world.sweeps().await, 0);
    // A whole fleet that was away: whoever comes back first does not judge the others.
    world.store.leave(&ReplicaId::from_text("watcher")).await.unwrap();
    world.pass(ABSENT_AFTER * 10);
    let early = world.replica("the first one back").await;
    let look = onebell::store::Sweep { by: early, ..super::recovering::sweep() };
    assert_eq!(world.store.request_recovery(&look).await.unwrap(), 0);
    world.pass(ABSENT_AFTER);
    assert_eq!(world.store.request_recovery(&look).await.unwrap(), 1);
    assert_eq!(world.grant_all().await, 1);
    assert_eq!(world.step_status(&run, "a").await, "held");
}

async fn a_request_is_refused_when_a_carrier_came_meanwhile(world: World) {
    watcher(&world).await;
    let job = job("j", vec![step("a")]);
    let run = world.open_run(&job).await;
    world.pass(ABSENT_AFTER);
    assert_eq!(world.sweeps().await, 1);
    world.replica_with("carrier", carries(&world, &job)).await;
    assert_eq!(world.grant(RequestKind::Run, run.as_str()).await, Grant::Refused);
    assert_eq!(world.step_status(&run, "a").await, "pending");
}

async fn a_person_may_decide_what_nobody_carries(world: World) {
    for (name, resolution, end) in [
        ("done", Resolution::Succeeded, "succeeded"),
        ("not", Resolution::Failed, "failed"),
        ("again", Resolution::Retry, "running"),
    ] {
        let run = parked(&world, &job(name, vec![step("a")])).await;
        assert_eq!(world.store.resolve_step(&run, "a", resolution, &actor()).await.unwrap(), Acted::Done);
        world.admit().await;
        assert_eq!(world.run_status(&run).await, end, "{name}");
    }
    // Asked to try again while nobody carries it, it is parked again after its time.
    world.pass(ABSENT_AFTER);
    assert_eq!((world.sweeps().await, world.grant_all().await), (1, 1));
    assert_eq!(world.rows("runs", "status = 'parked'").await, 1);
}

async fn an_undo_that_nobody_carries_is_parked_too(world: World) {
    watcher(&world).await;
    let job = job(
        "j",
        vec![undoable(step("a")), with(step_after("b", &["a"]), |step| step.retry = onebell::model::retry::RetryPolicy::once())],
    );
    let carrier = world.replica_with("carrier", carries(&world, &job)).await;
    let run = world.open_run(&job).await;
    world.finish_one(&carrier).await;
    let claim = world.claim_one(&carrier).await.claim;
    world.settle(fails(&claim)).await;
    assert_eq!(world.run_status(&run).await, "undoing");
    world.store.leave(&carrier).await.unwrap();
    world.pass(ABSENT_AFTER + seconds(1));
    assert_eq!((world.sweeps().await, world.grant_all().await), (1, 1));
    assert_eq!((world.step_status(&run, "a~undo").await.as_str(), world.run_status(&run).await.as_str()), ("held", "parked"));
    let carrier = world.replica_with("another", carries(&world, &job)).await;
    assert_eq!((world.sweeps().await, world.grant_all().await), (1, 1));
    assert_eq!(world.run_status(&run).await, "undoing", "an undo needs no admission");
    assert_eq!(world.finish_one(&carrier).await.name, "a~undo");
    assert_eq!(world.run_status(&run).await, "failed");
}

async fn what_is_not_ready_or_not_admitted_is_not_parked_for_its_carriers(world: World) {
    watcher(&world).await;
    let one = with(job("j", vec![step("a")]), |job| job.overlap = Overlap::Skip);
    let carrier = world.replica_with("carrier", carries(&world, &one)).await;
    let first = world.open_run(&one).await;
    let claim = world.claim_one(&carrier).await.claim;
    world
        .settle(with(retries(&claim), |settlement| {
            let after = Some(ABSENT_AFTER * 3);
            settlement.verdict = onebell::model::step::Verdict::Retry { error: "later".into(), after };
        }))
        .await;
    world.store.leave(&carrier).await.unwrap();
    world.pass(ABSENT_AFTER * 2);
    assert_eq!(world.sweeps().await, 0, "it waits out its pause");
    world.pass(ABSENT_AFTER * 2);
    assert_eq!((world.sweeps().await, world.grant_all().await), (1, 1));
    assert_eq!(world.step_status(&first, "a").await, "held");
}
