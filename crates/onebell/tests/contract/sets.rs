//! Many jobs that are due at once: opened in sets, by schedulers that race.

use std::collections::BTreeSet;
use std::sync::Arc;

use onebell::model::job::{Missed, Overlap};
use onebell::model::overlap::Origin;
use onebell::model::zone_version::Left;
use onebell::model::{JobDefinition, JobId, ReplicaId, RunId, StepId};
use onebell::roles::scheduler::{Report, Rules, pass};
use onebell::store::{Opened, PlannedSlot, SlotPlan, Store};

use super::given::*;
use super::held::Held;
use super::planned::bundled;
use super::slots::OPENED;
use super::world::{START, World};

contract!(
    a_job_that_cannot_be_opened_stops_no_other_of_its_set,
    a_replica_that_carries_thousands_is_told_of_its_own,
    a_set_admits_what_its_overlap_allows,
    a_set_answers_each_plan_by_itself,
    a_set_that_fails_writes_nothing,
    i11_every_slot_of_a_set_is_opened_or_recorded_as_skipped,
    i1_a_slot_of_a_set_that_was_opened_before_is_neither_opened_nor_an_error,
    i1_many_schedulers_with_one_set_open_every_slot_once,
    i1_racing_schedulers_open_every_slot_of_many_jobs_once,
);

mod beside_a_lock {
    use super::{
        a_job_that_somebody_holds_keeps_no_other_of_its_set_waiting,
        a_pass_with_nothing_else_to_do_waits_for_whoever_holds_the_job,
    };

    contract!(
        postgres only:
        a_job_that_somebody_holds_keeps_no_other_of_its_set_waiting,
        a_pass_with_nothing_else_to_do_waits_for_whoever_holds_the_job,
    );
}

impl World {
    /// A plan for the slot of the first minute.
    async fn plan_of(&self, id: &JobId) -> SlotPlan {
        with(self.plan(id).await, |plan| {
            plan.cursor = slot(1);
            plan.next_slot = Some(slot(2));
            plan.open = vec![PlannedSlot { at: slot(1), origin: Origin::Slot }];
        })
    }

    /// Registers jobs whose slot of the first minute is due, and enlists three replicas.
    async fn many(&self, jobs: &[JobDefinition]) -> Vec<JobId> {
        let mut ids = Vec::new();
        for job in jobs {
            let id = self.register(job).await;
            self.redefine(&id, &with(job.clone(), |job| job.description = "due".to_owned()), Some(slot(1))).await;
            ids.push(id);
        }
        for name in ["a", "b", "c"] {
            self.replica(name).await;
        }
        self.clock.set(slot(1));
        ids
    }
}

fn numbered(count: usize, change: impl Fn(usize, &mut JobDefinition)) -> Vec<JobDefinition> {
    (0..count).map(|n| with(minutely(&format!("m{n:03}"), Overlap::Skip), |job| change(n, job))).collect()
}

/// One pass of the replica `name` over all of them.
async fn pass_as(store: &dyn Store, name: &str, carried: &[JobId]) -> Report {
    let (zones, own) = (bundled(), ReplicaId::from_text(name));
    let rules = Rules { replica: Some(&own), ..rules(&zones, "2026f") };
    pass(store, &rules, &mut Left::default(), carried, true).await.unwrap()
}

/// Passes until one finds nothing.
async fn plans(store: Arc<dyn Store>, name: &'static str, carried: Vec<JobId>) -> u32 {
    let mut opened = 0;
    for _ in 0..1_000 {
        let report = pass_as(store.as_ref(), name, &carried).await;
        opened += report.opened;
        if report.planned + report.stale == 0 && report.next_slot > Some(report.now) {
            return opened;
        }
    }
    panic!("{name} was never done")
}

async fn i1_racing_schedulers_open_every_slot_of_many_jobs_once(world: World) {
    // Some of them want transactions of their own.
    let jobs = numbered(130, |n, job| match n % 13 {
        0 => job.overlap = Overlap::Replace,
        1 => job.start_within = Some(MINUTE),
        2 => job.overlap = Overlap::Allow,
        _ => {}
    });
    let ids = world.many(&jobs).await;
    let others = world.others(3).await.into_iter().zip(["a", "b", "c"]);
    let opened = at_once(others.map(|(store, name)| plans(store, name, ids.clone())).collect()).await;
    assert_eq!(opened.iter().sum::<u32>(), 130, "{opened:?}");
    assert_eq!(world.rows("runs", "status = 'running' AND origin = 'slot'").await, 130);
    assert_eq!(world.number("SELECT count(DISTINCT job_id) FROM {runs}").await, 130);
    assert_eq!((world.rows("job_steps", "status = 'pending'").await, world.rows("skips", "true").await), (130, 0));
    let (seen, next) = (world.literal(slot(1)), world.literal(slot(2)));
    assert_eq!(world.rows("jobs", &format!("cursor = {seen} AND next_slot = {next}")).await, 130);
}

async fn i1_many_schedulers_with_one_set_open_every_slot_once(world: World) {
    let ids = world.many(&numbered(20, |_, _| {})).await;
    let mut plans = Vec::new();
    for id in &ids {
        plans.push(world.plan_of(id).await);
    }
    // Each in an order of its own: whoever locks them as they come deadlocks.
    let calls = world.others(5).await.into_iter().enumerate().map(|(n, store)| {
        let mut plans = plans.clone();
        plans.rotate_left(n * 4);
        if n % 2 == 0 {
            plans.reverse();
        }
        async move { store.open_slots_of_jobs(&plans).await.unwrap() }
    });
    let answers: Vec<Opened> = at_once(calls.collect()).await.concat();
    assert_eq!(answers.iter().filter(|answer| **answer == OPENED).count(), 20, "{answers:?}");
    assert!(answers.iter().all(|answer| matches!(answer, Opened::Applied { .. } | Opened::Stale | Opened::Busy)), "{answers:?}");
    assert_eq!((world.rows("runs", "true").await, world.rows("job_steps", "true").await), (20, 20));
}

async fn a_set_answers_each_plan_by_itself(world: World) {
    let ids = world
        .many(&numbered(5, |n, job| match n {
            1 => job.overlap = Overlap::Replace,
            2 => job.start_within = Some(MINUTE),
            _ => {}
        }))
        .await;
    let mut plans = Vec::new();
    for id in &ids {
        plans.push(world.plan_of(id).await);
    }
    plans[0].cursor_seen = START - MINUTE;
    plans[3].actor = Some(actor());
    let answers = world.store.open_slots_of_jobs(&plans).await.unwrap();
    assert_eq!(answers, [Opened::Stale, Opened::Alone, Opened::Alone, Opened::Alone, OPENED]);
    assert_eq!(world.rows("runs", "true").await, 1);
    for id in &ids[..4] {
        assert_eq!(world.state(id).await.cursor, START, "nothing was written for {id}");
    }
    assert_eq!(world.store.open_slots_of_jobs(&[]).await.unwrap(), []);
}

async fn i1_a_slot_of_a_set_that_was_opened_before_is_neither_opened_nor_an_error(world: World) {
    let ids = world.many(&numbered(2, |_, job| job.overlap = Overlap::Allow)).await;
    world.open_slot(&ids[0], slot(1)).await;
    let again = with(world.plan(&ids[0]).await, |plan| {
        plan.cursor = slot(2);
        plan.open = [1, 2].map(|n| PlannedSlot { at: slot(n), origin: Origin::CatchUp }).to_vec();
    });
    let answers = world.store.open_slots_of_jobs(&[again, world.plan_of(&ids[1]).await]).await.unwrap();
    assert_eq!(answers, [OPENED, OPENED]);
    assert_eq!(world.rows("runs", "true").await, 3);
    assert_eq!(world.rows("runs", "origin = 'slot'").await, 2, "the first one stays what it was");
}

async fn i11_every_slot_of_a_set_is_opened_or_recorded_as_skipped(world: World) {
    let ids = world.many(&numbered(3, |n, job| job.missed = if n == 0 { Missed::Skip } else { Missed::All(2) })).await;
    world.open_slot(&ids[2], slot(1)).await;
    world.clock.set(slot(5));
    assert_eq!(pass_as(world.store.as_ref(), "a", &ids).await.planned, 3);
    for (id, gone) in ids.iter().zip([0, 0, 1]) {
        let runs = world.number(&format!("SELECT count(*) FROM {{runs}} WHERE job_id = '{id}'")).await;
        let skipped =
            world.number(&format!("SELECT CAST(coalesce(sum(count), 0) AS bigint) FROM {{skips}} WHERE job_id = '{id}'")).await;
        assert_eq!(runs + skipped, 5, "{id}, of which {gone} before");
    }
}

async fn a_set_admits_what_its_overlap_allows(world: World) {
    let ids = world.many(&numbered(3, |n, job| job.overlap = [Overlap::Skip, Overlap::Queue, Overlap::Allow][n])).await;
    for id in &ids {
        world.open_slot(id, slot(1)).await;
    }
    let mut plans = Vec::new();
    for id in &ids {
        plans.push(with(world.plan(id).await, |plan| {
            plan.cursor = slot(2);
            plan.open = vec![PlannedSlot { at: slot(2), origin: Origin::Slot }];
        }));
    }
    let answers = world.store.open_slots_of_jobs(&plans).await.unwrap();
    assert_eq!(answers, [Opened::Applied { opened: 0, skipped: 1 }, OPENED, OPENED]);
    let status = async |id| world.store.run(&RunId::of_slot(id, slot(2))).await.unwrap().map(|seen| seen.run.status.to_string());
    assert_eq!(status(&ids[0]).await, None);
    assert_eq!(status(&ids[1]).await.as_deref(), Some("queued"));
    assert_eq!(status(&ids[2]).await.as_deref(), Some("running"));
    assert_eq!(world.rows("skips", "reason = 'overlap'").await, 1);
}

/// More than are named in a statement; others' jobs are due before its own and between them.
async fn a_replica_that_carries_thousands_is_told_of_its_own(world: World) {
    let jobs = numbered(8, |_, _| {});
    for (n, job) in jobs.iter().enumerate() {
        let id = world.register(job).await;
        let next = slot([1, 1, 1, 2, 2, 3, 3, 9][n]);
        world.redefine(&id, &with(job.clone(), |job| job.description = "due".to_owned()), Some(next)).await;
    }
    world.clock.set(slot(4));
    let (own, names) =
        ([2, 3, 6, 7], |jobs: Vec<onebell::store::JobState>| jobs.into_iter().map(|job| job.id).collect::<Vec<_>>());
    let own = own.map(|n| JobId::of_name(&jobs[n].name));
    let unknown = (0..1_200).map(|n| JobId::of_name(&format!("elsewhere {n}")));
    for in_order in [true, false] {
        let mut carried: Vec<JobId> = unknown.clone().chain(own.clone()).collect();
        if in_order {
            carried.sort_unstable();
        }
        for limit in [1, 2, 3, 9] {
            let due = names(world.store.due_jobs(&carried, limit).await.unwrap());
            assert_eq!(due, own[..limit.min(3) as usize], "up to {limit}");
        }
        assert_eq!(world.store.next_slot(&carried).await.unwrap(), Some(slot(1)));
        let rest = world.store.rest(&carried).await.unwrap();
        assert_eq!((rest.next_slot, rest.is_quiet(), rest.has_work), (Some(slot(1)), false, false));
        let late = [unknown.clone().collect(), vec![own[3].clone()]].concat();
        assert_eq!(world.store.next_slot(&late).await.unwrap(), Some(slot(9)));
        assert!(world.store.rest(&late).await.unwrap().is_quiet());
        assert!(world.store.due_jobs(&late, 9).await.unwrap().is_empty());
    }
}

impl World {
    /// A step of another job takes the place of the one that the job's slot would open: that cannot be written.
    async fn spoil(&self, id: &JobId) {
        let thief = self.register(&minutely("thief", Overlap::Skip)).await;
        self.open_slot(&thief, slot(1)).await;
        let taken = StepId::of(&RunId::of_slot(id, slot(1)), "a");
        let text = format!("UPDATE {{job_steps}} SET step_id = '{taken}' WHERE job_id = '{thief}'");
        assert_eq!(self.sql(&text).await, Ok(1));
    }
}

async fn a_set_that_fails_writes_nothing(world: World) {
    let ids = world.many(&numbered(5, |_, _| {})).await;
    world.spoil(&ids[2]).await;
    let mut plans = Vec::new();
    for id in &ids {
        plans.push(world.plan_of(id).await);
    }
    world.store.open_slots_of_jobs(&plans).await.expect_err("one of them cannot be written");
    for id in &ids {
        assert_eq!(world.state(id).await.cursor, START);
        assert_eq!(world.number(&format!("SELECT count(*) FROM {{runs}} WHERE job_id = '{id}'")).await, 0);
    }
}

async fn a_job_that_cannot_be_opened_stops_no_other_of_its_set(world: World) {
    let ids = world.many(&numbered(30, |_, _| {})).await;
    world.spoil(&ids[7]).await;
    let report = pass_as(world.store.as_ref(), "a", &ids).await;
    assert_eq!((report.planned, report.opened), (29, 29));
    assert_eq!(world.state(&ids[7]).await.cursor, START, "it is due still, and not skipped");
    assert_eq!(world.rows("skips", "true").await, 0);
    assert_eq!(pass_as(world.store.as_ref(), "a", &ids).await.opened, 0);
    let opened: BTreeSet<JobId> = world.store.due_jobs(&ids, 99).await.unwrap().into_iter().map(|job| job.id).collect();
    assert_eq!(opened, BTreeSet::from([ids[7].clone()]));
}

async fn a_job_that_somebody_holds_keeps_no_other_of_its_set_waiting(world: World) {
    let ids = world.many(&numbered(12, |_, _| {})).await;
    let holder = Held::by(&world, &format!("SELECT FROM {{jobs}} WHERE job_id = '{}' FOR NO KEY UPDATE", ids[3])).await;
    // The transaction is still open when the pass is over.
    let report = pass_as(world.store.as_ref(), "a", &ids).await;
    assert_eq!((report.planned, report.opened), (11, 11));
    holder.roll_back().await;
    assert_eq!(pass_as(world.store.as_ref(), "a", &ids).await.opened, 1);
}

async fn a_pass_with_nothing_else_to_do_waits_for_whoever_holds_the_job(world: World) {
    let ids = world.many(&numbered(12, |_, _| {})).await;
    let holder = Held::by(&world, "SELECT FROM {jobs} FOR NO KEY UPDATE").await;
    let (store, carried) = (Arc::clone(&world.store), ids.clone());
    let passing = tokio::spawn(async move { pass_as(store.as_ref(), "a", &carried).await });
    holder.until_waiting(1).await;
    holder.roll_back().await;
    assert_eq!(passing.await.unwrap().opened, 1, "the lock was free, and the job as it was seen");
    assert_eq!(plans(Arc::clone(&world.store), "a", ids).await, 11);
}
