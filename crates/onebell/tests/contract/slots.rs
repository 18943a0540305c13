//! I1 and I11: a slot is opened once, for ever, and none is lost.

use onebell::model::job::Overlap;
use onebell::model::overlap::Origin;
use onebell::model::{JobDefinition, JobId, Moment, ReplicaId, RunId};
use onebell::store::{Defined, Definition, JobState, Opened, PauseChange, PlannedSlot, SkipRange, SlotPlan};

use super::given::*;
use super::world::{START, World};

contract!(
    a_definition_seen_in_another_state_is_stale,
    a_job_may_begin_paused_and_is_let_go_once_for_ever,
    a_paused_job_is_not_due_and_its_pause_is_one_skip,
    a_plan_of_another_cursor_or_version_is_stale_and_writes_nothing,
    a_renamed_job_keeps_its_id_its_cursor_and_its_runs,
    a_run_keeps_the_definition_it_was_opened_with,
    due_jobs_are_carried_unpaused_and_the_most_overdue_first,
    i11_skips_are_recorded_with_the_plan_that_decided_them,
    i1_a_slot_opened_before_is_neither_opened_nor_an_error,
    i1_many_schedulers_with_one_plan_open_one_run,
    k04_01_many_schedulers_open_every_slot_once,
    one_of_many_registrations_at_once_is_written,
    several_slots_are_opened_the_oldest_first,
    the_next_slot_is_the_earliest_of_the_carried_jobs,
);

impl World {
    pub(super) async fn state(&self, id: &JobId) -> JobState {
        self.store.jobs_named(None).await.unwrap().into_iter().find(|job| job.id == *id).expect("a registered job")
    }

    /// A plan that moves nothing and opens nothing.
    pub(super) async fn plan(&self, id: &JobId) -> SlotPlan {
        let JobState { version, cursor, next_slot, .. } = self.state(id).await;
        SlotPlan {
            job: id.clone(),
            version,
            cursor_seen: cursor,
            cursor,
            next_slot,
            open: Vec::new(),
            skips: Vec::new(),
            actor: None,
        }
    }

    /// Opens one slot that has just come due.
    pub(super) async fn open_slot(&self, id: &JobId, at: Moment) -> Opened {
        let plan = with(self.plan(id).await, |plan| {
            plan.cursor = at;
            plan.next_slot = Some(at + MINUTE);
            plan.open = vec![PlannedSlot { at, origin: Origin::Slot }];
        });
        self.store.open_slots(&plan).await.unwrap()
    }

    /// Registers `job` over what stands, and when it is due next.
    pub(crate) async fn redefine(&self, id: &JobId, job: &JobDefinition, next_slot: Option<Moment>) -> Defined {
        let state = self.state(id).await;
        let definition = Definition {
            id: id.clone(),
            definition: job.clone(),
            hash: hash(job),
            seen: Some((state.version, state.cursor)),
            cursor: state.cursor,
            next_slot,
            by: ReplicaId::from_text("registrar"),
        };
        self.store.define_job(&definition).await.unwrap()
    }
}

pub(super) const OPENED: Opened = Opened::Applied { opened: 1, skipped: 0 };

async fn i1_many_schedulers_with_one_plan_open_one_run(world: World) {
    let id = world.register(&minutely("m", Overlap::Skip)).await;
    let plan = with(world.plan(&id).await, |plan| {
        plan.cursor = slot(1);
        plan.open = vec![PlannedSlot { at: slot(1), origin: Origin::Slot }];
    });
    let calls = world.others(6).await.into_iter().map(|store| {
        let plan = plan.clone();
        async move { store.open_slots(&plan).await.unwrap() }
    });
    let answers = at_once(calls.collect()).await;
    assert_eq!(answers.iter().filter(|answer| **answer == OPENED).count(), 1, "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| **answer == Opened::Stale).count(), 5, "{answers:?}");
    let run = world.store.run(&RunId::of_slot(&id, slot(1))).await.unwrap().expect("the run of this slot").run;
    assert_eq!((run.status.as_str(), run.origin.as_str(), run.scheduled_for), ("running", "slot", Some(slot(1))));
    assert_eq!(world.rows("runs", "true").await, 1);
    assert_eq!(world.rows("job_steps", "true").await, 1);
}

/// Each plans for itself from what it reads, as replicas do; five of them, twenty slots.
async fn k04_01_many_schedulers_open_every_slot_once(world: World) {
    let id = world.register(&with(minutely("m", Overlap::Allow), |job| job.missed = onebell::model::job::Missed::All(20))).await;
    world.clock.set(slot(20));
    let calls = world.others(5).await.into_iter().map(|store| {
        let id = id.clone();
        async move {
            let mut opened = 0;
            loop {
                let state = store.jobs_named(None).await.unwrap().remove(0);
                let at = state.cursor + MINUTE;
                if at > slot(20) {
                    return opened;
                }
                let open = vec![PlannedSlot { at, origin: Origin::Slot }];
                let plan = SlotPlan {
                    job: id.clone(),
                    version: 1,
                    cursor_seen: state.cursor,
                    cursor: at,
                    next_slot: None,
                    open,
                    skips: Vec::new(),
                    actor: None,
                };
                if let Opened::Applied { opened: count, .. } = store.open_slots(&plan).await.unwrap() {
                    opened += count;
                }
            }
        }
    });
    let opened: u32 = at_once(calls.collect()).await.into_iter().sum();
    assert_eq!((opened, world.rows("runs", "true").await), (20, 20));
    assert_eq!(world.number("SELECT count(DISTINCT scheduled_for) FROM {runs}").await, 20);
}

async fn i1_a_slot_opened_before_is_neither_opened_nor_an_error(world: World) {
    let id = world.register(&minutely("m", Overlap::Allow)).await;
    assert_eq!(world.open_slot(&id, slot(1)).await, OPENED);
    world.finish_one(&world.replica("a").await).await;
    for origin in [Origin::Slot, Origin::CatchUp, Origin::Backfill] {
        let plan = with(world.plan(&id).await, |plan| plan.open = vec![PlannedSlot { at: slot(1), origin }]);
        let Opened::Applied { opened: 0, .. } = world.store.open_slots(&plan).await.unwrap() else {
            panic!("opened again: {origin}")
        };
    }
    assert_eq!(world.rows("runs", "status = 'succeeded' AND origin = 'slot'").await, 1);
    assert_eq!(world.rows("job_steps", "true").await, 0);
}

async fn a_plan_of_another_cursor_or_version_is_stale_and_writes_nothing(world: World) {
    let job = minutely("m", Overlap::Skip);
    let id = world.register(&job).await;
    let plan = with(world.plan(&id).await, |plan| {
        plan.cursor = slot(2);
        plan.open = vec![PlannedSlot { at: slot(2), origin: Origin::Slot }];
        plan.skips = vec![SkipRange { from: slot(1), to: slot(1), count: Some(1), reason: "missed".to_owned() }];
    });
    let older = with(plan.clone(), |plan| plan.cursor_seen = START - MINUTE);
    assert_eq!(world.store.open_slots(&older).await.unwrap(), Opened::Stale);
    assert_eq!(world.redefine(&id, &with(job, |job| job.description = "new".to_owned()), None).await, Defined::Registered(2));
    assert_eq!(world.store.open_slots(&plan).await.unwrap(), Opened::Stale, "planned under the old definition");
    assert_eq!(world.rows("runs", "true").await + world.rows("skips", "true").await, 0);
    assert_eq!(world.state(&id).await.cursor, START);
}

async fn i11_skips_are_recorded_with_the_plan_that_decided_them(world: World) {
    let id = world.register(&minutely("m", Overlap::Skip)).await;
    let plan = with(world.plan(&id).await, |plan| {
        plan.cursor = slot(9);
        plan.next_slot = Some(slot(10));
        plan.open = vec![PlannedSlot { at: slot(9), origin: Origin::Slot }];
        plan.skips = vec![
            SkipRange { from: slot(1), to: slot(4), count: None, reason: "outside-window".to_owned() },
            SkipRange { from: slot(5), to: slot(8), count: Some(4), reason: "missed".to_owned() },
        ];
    });
    assert_eq!(world.store.open_slots(&plan).await.unwrap(), OPENED);
    let mut skips = world.store.skips(Some("m"), 9).await.unwrap();
    skips.sort_by_key(|skip| skip.from);
    let seen: Vec<_> = skips.iter().map(|skip| (skip.from, skip.to, skip.count, skip.reason.as_str())).collect();
    assert_eq!(seen, [(slot(1), slot(4), None, "outside-window"), (slot(5), slot(8), Some(4), "missed")]);
    assert!(skips.iter().all(|skip| skip.job == "m" && skip.recorded_at == world.now()));
    let state = world.state(&id).await;
    assert_eq!((state.cursor, state.next_slot), (slot(9), Some(slot(10))));
    assert!(world.store.skips(Some("another"), 9).await.unwrap().is_empty());
}

async fn several_slots_are_opened_the_oldest_first(world: World) {
    let id = world.register(&minutely("m", Overlap::Skip)).await;
    world.clock.set(slot(3));
    let plan = with(world.plan(&id).await, |plan| {
        plan.cursor = slot(3);
        plan.open = [3, 1, 2].map(|n| PlannedSlot { at: slot(n), origin: Origin::CatchUp }).to_vec();
    });
    assert_eq!(world.store.open_slots(&plan).await.unwrap(), Opened::Applied { opened: 3, skipped: 0 });
    let a = world.replica("a").await;
    for n in 1..=3 {
        assert_eq!(world.finish_one(&a).await.scheduled_for, Some(slot(n)), "one at a time, the oldest first");
        world.admit().await;
    }
}

async fn due_jobs_are_carried_unpaused_and_the_most_overdue_first(world: World) {
    for (name, next) in [
        ("late", Some(slot(1))),
        ("later", Some(slot(2))),
        ("paused", Some(slot(1))),
        ("theirs", Some(slot(1))),
        ("future", Some(slot(9))),
        ("never", None),
    ] {
        let job = minutely(name, Overlap::Skip);
        let id = world.register(&job).await;
        world.redefine(&id, &with(job, |job| job.description = "due".to_owned()), next).await;
    }
    world.clock.set(slot(2));
    world.pause("paused", Some(world.now())).await;
    let carried: Vec<_> = world.carried().into_iter().filter(|id| id.as_str() != "theirs").collect();
    let names = |jobs: Vec<JobState>| jobs.into_iter().map(|job| job.definition.name).collect::<Vec<_>>();
    assert_eq!(names(world.store.due_jobs(&carried, 9).await.unwrap()), ["late", "later"]);
    assert_eq!(names(world.store.due_jobs(&carried, 1).await.unwrap()), ["late"]);
    assert!(world.store.due_jobs(&[], 9).await.unwrap().is_empty());
}

async fn the_next_slot_is_the_earliest_of_the_carried_jobs(world: World) {
    for (name, next) in
        [("b", Some(slot(5))), ("a", Some(slot(3))), ("theirs", Some(slot(1))), ("paused", Some(slot(2))), ("never", None)]
    {
        let job = minutely(name, Overlap::Skip);
        let id = world.register(&job).await;
        world.redefine(&id, &with(job, |job| job.description = "due".to_owned()), next).await;
    }
    world.pause("paused", Some(world.now())).await;
    let carried: Vec<_> = world.carried().into_iter().filter(|id| id.as_str() != "theirs").collect();
    assert_eq!(world.store.next_slot(&carried).await.unwrap(), Some(slot(3)));
    assert_eq!(world.store.next_slot(&[]).await.unwrap(), None);
}

impl World {
    /// Pauses or resumes, with nothing due in between.
    pub(super) async fn pause(&self, name: &str, paused_at: Option<Moment>) {
        let state = self.state(&self.job_id(name)).await;
        let change = PauseChange {
            job: state.id,
            version_seen: state.version,
            cursor_seen: state.cursor,
            paused_at,
            cursor: state.cursor,
            next_slot: state.next_slot,
            skip: None,
            actor: actor(),
        };
        assert!(self.store.set_pause(&change).await.unwrap());
    }
}

async fn a_paused_job_is_not_due_and_its_pause_is_one_skip(world: World) {
    let id = world.register(&minutely("m", Overlap::Skip)).await;
    world.open_slot(&id, slot(1)).await;
    world.clock.set(slot(1));
    world.pause("m", Some(world.now())).await;
    assert_eq!(world.state(&id).await.paused_at, Some(slot(1)));
    world.clock.set(slot(600));
    assert!(world.store.due_jobs(&world.carried(), 9).await.unwrap().is_empty());
    let resume = PauseChange {
        job: id.clone(),
        version_seen: 1,
        cursor_seen: slot(1),
        paused_at: None,
        cursor: world.now(),
        next_slot: Some(slot(601)),
        skip: Some(SkipRange { from: slot(2), to: slot(600), count: Some(599), reason: "paused".to_owned() }),
        actor: actor(),
    };
    let late = with(resume.clone(), |change| change.cursor_seen = slot(0));
    assert!(!world.store.set_pause(&late).await.unwrap(), "the cursor had moved");
    let edited = with(resume.clone(), |change| change.version_seen = 2);
    assert!(!world.store.set_pause(&edited).await.unwrap(), "by another schedule other slots were due, and another one is next");
    assert_eq!(world.rows("skips", "true").await, 0);
    assert!(world.store.set_pause(&resume).await.unwrap());
    let state = world.state(&id).await;
    assert_eq!((state.paused_at, state.cursor, state.next_slot), (None, slot(600), Some(slot(601))));
    let skip = world.store.skips(None, 9).await.unwrap().remove(0);
    assert_eq!((skip.from, skip.to, skip.count, skip.reason.as_str()), (slot(2), slot(600), Some(599), "paused"));
    assert_eq!(world.rows("audit_log", "action LIKE '%pause%' OR action LIKE '%resume%'").await, 2);
}

async fn a_job_may_begin_paused_and_is_let_go_once_for_ever(world: World) {
    let job = with(minutely("m", Overlap::Skip), |job| job.begins_paused = true);
    let id = world.register(&job).await;
    assert_eq!(world.state(&id).await.paused_at, Some(START));
    world.redefine(&id, &with(job.clone(), |job| job.description = "due".to_owned()), Some(slot(1))).await;
    world.clock.set(slot(1));
    assert!(world.store.due_jobs(&world.carried(), 9).await.unwrap().is_empty());
    world.pause("m", None).await;
    world.redefine(&id, &with(job, |job| job.description = "edited".to_owned()), Some(slot(1))).await;
    assert_eq!(world.state(&id).await.paused_at, None, "an edit of what was let go pauses nothing");
    assert_eq!(world.store.due_jobs(&world.carried(), 9).await.unwrap().len(), 1);
}

async fn a_definition_seen_in_another_state_is_stale(world: World) {
    let job = minutely("m", Overlap::Skip);
    let id = world.register(&job).await;
    let next = with(job.clone(), |job| job.description = "second".to_owned());
    let definition = |seen| Definition {
        id: id.clone(),
        definition: next.clone(),
        hash: hash(&next),
        seen,
        cursor: START,
        next_slot: Some(slot(1)),
        by: ReplicaId::from_text("registrar"),
    };
    for seen in [None, Some((2, START)), Some((1, START + MINUTE))] {
        assert_eq!(world.store.define_job(&definition(seen)).await.unwrap(), Defined::Stale, "{seen:?}");
    }
    assert_eq!(world.store.define_job(&definition(Some((1, START)))).await.unwrap(), Defined::Registered(2));
    let state = world.state(&id).await;
    assert_eq!((state.version, state.definition.description.as_str(), state.hash), (2, "second", hash(&next)));
    assert_eq!((state.known_hashes, state.next_slot), (vec![hash(&job), hash(&next)], Some(slot(1))));
}

async fn one_of_many_registrations_at_once_is_written(world: World) {
    for round in 0..3 {
        let calls = world.others(4).await.into_iter().enumerate().map(|(n, store)| {
            let job = with(minutely(&format!("m{round}"), Overlap::Skip), |job| job.description = format!("by {n}"));
            let definition = Definition {
                id: JobId::of_name(&job.name),
                hash: hash(&job),
                definition: job,
                seen: None,
                cursor: START,
                next_slot: None,
                by: ReplicaId::from_text(format!("r{n}")),
            };
            async move { store.define_job(&definition).await.unwrap() }
        });
        let answers = at_once(calls.collect()).await;
        assert_eq!(answers.iter().filter(|answer| **answer == Defined::Registered(1)).count(), 1, "{answers:?}");
        assert_eq!(answers.iter().filter(|answer| **answer == Defined::Stale).count(), 3, "{answers:?}");
    }
}

async fn a_run_keeps_the_definition_it_was_opened_with(world: World) {
    let job = minutely("m", Overlap::Allow);
    let id = world.register(&job).await;
    world.open_slot(&id, slot(1)).await;
    let next = with(job, |job| {
        job.steps[0].spec = "\"second\"".to_owned();
        job.steps.push(step_after("b", &["a"]));
    });
    assert_eq!(world.redefine(&id, &next, None).await, Defined::Registered(2));
    world.open_slot(&id, slot(2)).await;
    let a = world.replica("a").await;
    let specs: Vec<_> = world.claim(&a, 9).await.into_iter().map(|step| (step.scheduled_for, step.spec)).collect();
    assert_eq!(specs, [(Some(slot(1)), "null".to_owned()), (Some(slot(2)), "\"second\"".to_owned())]);
    let steps = async |n| world.store.run(&RunId::of_slot(&id, slot(n))).await.unwrap().unwrap().steps.len();
    assert_eq!((steps(1).await, steps(2).await), (1, 2));
}

async fn a_renamed_job_keeps_its_id_its_cursor_and_its_runs(world: World) {
    let old = minutely("old", Overlap::Skip);
    let id = world.register(&old).await;
    world.open_slot(&id, slot(1)).await;
    let new = with(old, |job| (job.name, job.formerly) = ("new".to_owned(), Some("old".to_owned())));
    assert_eq!(world.redefine(&id, &new, Some(slot(2))).await, Defined::Registered(2));
    // As a replica asks that carries the new definition.
    let found = world.store.jobs_named(Some(&["new".to_owned(), "old".to_owned()])).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!((&found[0].id, found[0].cursor), (&id, slot(1)));
    assert!(world.store.jobs_named(Some(&["other".to_owned()])).await.unwrap().is_empty());
    assert!(world.store.run(&RunId::of_slot(&id, slot(1))).await.unwrap().is_some());
    assert_eq!(world.store.jobs().await.unwrap()[0].name, "new");
}
