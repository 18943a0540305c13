//! Slots as passes of the Scheduler plan them, over the clock that a test moves.

use std::time::Duration;

use onebell::model::job::{Dst, Missed, Overlap, ScheduleDefinition, When};
use onebell::model::zone_version::Left;
use onebell::model::{JobDefinition, JobId, Moment, ReplicaId};
use onebell::roles::scheduler::{Carried, Report, Rules, pass, register};
use onebell::store::RunFilter;

use super::given::*;
use super::world::World;

contract!(
    k01_every_shared_vector_opens_its_slots_and_no_other,
    i12_a_scheduler_rests_until_the_next_slot_unless_something_waits,
    k02_01_a_clock_that_runs_back_an_hour_opens_no_slot_twice_and_loses_none,
    k02_02_after_three_days_one_run_and_one_row_account_for_every_slot,
    k02_04_an_edit_fires_nothing_of_the_day_it_is_made,
    k02_07_every_slot_of_a_stall_is_accounted_for_from_where_planning_stood,
    an_outage_over_a_clock_change_catches_up_at_the_right_instants,
);

pub(super) fn at(text: &str) -> Moment {
    // The shared vectors leave seconds out.
    let text = if text.len() == 17 { text.replace('Z', ":00Z") } else { text.to_owned() };
    text.parse().unwrap()
}

pub(super) fn cron(name: &str, expression: &str, zone: &str) -> JobDefinition {
    with(minutely(name, Overlap::Allow), |job| {
        let when = When::Cron { expression: expression.to_owned(), seconds: false };
        job.schedules = vec![ScheduleDefinition { when, time_zone: zone.to_owned(), dst: Dst::Vixie }];
    })
}

impl World {
    /// Registers as a replica does.
    pub(super) async fn registered(&self, rules: &Rules<'_>, job: &JobDefinition) -> JobId {
        let carried = Carried { definition: job.clone(), hash: hash(job) };
        register(self.store.as_ref(), rules, &ReplicaId::from_text("registrar"), &carried).await.unwrap()
    }

    /// One pass over one job.
    pub(super) async fn pass_over(&self, rules: &Rules<'_>, left: &mut Left, job: &JobId) -> Report {
        pass(self.store.as_ref(), rules, left, std::slice::from_ref(job), true).await.unwrap()
    }

    /// The same by the bundled rules, at an instant.
    async fn plan_at(&self, job: &JobId, now: Moment) -> Report {
        self.clock.set(now);
        self.pass_over(&rules(&bundled(), "2026f"), &mut Left::default(), job).await
    }

    async fn register_at(&self, job: &JobDefinition, now: &str) -> JobId {
        self.clock.set(at(now));
        self.registered(&rules(&bundled(), "2026f"), job).await
    }

    /// The slots of a job that were opened, oldest first.
    pub(super) async fn slots_of(&self, job: &str) -> Vec<Moment> {
        let filter = RunFilter { job: Some(job.to_owned()), limit: 1_000, ..RunFilter::default() };
        let mut slots: Vec<_> = self.store.runs(&filter).await.unwrap().iter().filter_map(|run| run.scheduled_for).collect();
        slots.sort_unstable();
        slots
    }

    async fn skipped(&self, job: &str) -> Vec<(Moment, Moment, Option<u64>, String)> {
        let skips = self.store.skips(Some(job), 1_000).await.unwrap();
        skips.into_iter().map(|skip| (skip.from, skip.to, skip.count, skip.reason)).collect()
    }
}

pub(super) fn bundled() -> jiff::tz::TimeZoneDatabase {
    jiff::tz::TimeZoneDatabase::bundled()
}

async fn k01_every_shared_vector_opens_its_slots_and_no_other(world: World) {
    let vectors: Vec<serde_json::Value> = serde_json::from_str(include_str!("../data/times.json")).unwrap();
    let mut walked = 0;
    for vector in &vectors {
        let text = |name: &str| vector[name].as_str().unwrap();
        // Steps past the end are refused (`tests/times.rs` says why).
        let refused = ["T-step60", "T-step25h"].contains(&text("id"));
        let Some(fires) = vector["fires"].as_array().filter(|_| !refused) else { continue };
        let wanted: Vec<Moment> = fires.iter().map(|slot| at(slot.as_str().unwrap())).collect();
        let name = format!("{} {}", text("case"), text("id"));
        let job = world.register_at(&cron(&name, text("expr"), text("zone")), text("after")).await;
        for slot in &wanted {
            let before = Moment::from_micros(slot.micros() - 1);
            assert_eq!(world.plan_at(&job, before).await.opened, 0, "{vector}: nothing early");
            assert_eq!(world.plan_at(&job, *slot).await.opened, 1, "{vector}: {slot}");
        }
        assert_eq!(world.slots_of(&name).await, wanted, "{vector}");
        assert_eq!(world.skipped(&name).await, [], "{vector}");
        walked += 1;
    }
    assert!(walked > 40, "{walked} vectors were walked");
}

async fn k02_01_a_clock_that_runs_back_an_hour_opens_no_slot_twice_and_loses_none(world: World) {
    let job = world.register_at(&cron("j", "*/10 * * * *", "UTC"), "2026-11-29T10:00:00Z").await;
    let minutes = |from: &str, count: u32| (1..=count).map(|n| at(from) + MINUTE * n).collect::<Vec<_>>();
    for now in minutes("2026-11-29T10:00:00Z", 61) {
        world.plan_at(&job, now).await;
    }
    let before = world.slots_of("j").await;
    assert_eq!(before.len(), 6);
    for now in minutes("2026-11-29T10:00:00Z", 69) {
        assert_eq!(world.plan_at(&job, now).await.opened, 0, "{now}");
    }
    assert_eq!(world.plan_at(&job, at("2026-11-29T11:11:00Z")).await.opened, 1);
    let after = world.slots_of("j").await;
    assert_eq!(after, [before, vec![at("2026-11-29T11:10:00Z")]].concat());
    assert_eq!(world.skipped("j").await, []);
}

async fn i12_a_scheduler_rests_until_the_next_slot_unless_something_waits(world: World) {
    let job = world
        .register_at(&with(cron("j", "*/10 * * * *", "UTC"), |job| job.overlap = Overlap::Skip), "2026-11-29T10:00:00Z")
        .await;
    world.carried.lock().unwrap().push(job.clone());
    let (slot, jobs) = (at("2026-11-29T10:10:00Z"), std::slice::from_ref(&job));
    let looks = async || world.store.rest(jobs).await.unwrap();
    let rest = looks().await;
    assert_eq!((rest.is_quiet(), rest.has_work, rest.next_slot, rest.now), (true, false, Some(slot), world.now()));
    let report = world.plan_at(&job, Moment::from_micros(slot.micros() - 1)).await;
    assert_eq!((report.next_slot, report.now, report.planned), (Some(slot), world.now(), 0));
    world.clock.set(slot);
    assert!(!looks().await.is_quiet(), "a slot is due at its instant");
    assert_eq!(world.plan_at(&job, slot).await.opened, 1);
    assert!(looks().await.is_quiet(), "the run is its agent's now");
    let another = world.store.rest(&[]).await.unwrap();
    assert_eq!((another.next_slot, another.is_quiet()), (None, true), "who carries nothing has nothing to plan");
    world.trigger("j", "k").await;
    world.finish_one(&world.replica("a").await).await;
    assert!(looks().await.has_work, "the other one may start now");
    assert_eq!(world.plan_at(&job, slot).await.admitted, 1);
    assert!(looks().await.is_quiet());
}

async fn k02_02_after_three_days_one_run_and_one_row_account_for_every_slot(world: World) {
    let (last, now) = ("2026-11-27T00:00:00Z", at("2026-11-30T00:00:30Z"));
    let all = |n| with(cron("all", "*/5 * * * *", "UTC"), |job| job.missed = Missed::All(n));
    let latest = world.register_at(&cron("latest", "*/5 * * * *", "UTC"), last).await;
    let ten = world.register_at(&all(10), last).await;
    assert_eq!((world.plan_at(&latest, now).await.opened, world.plan_at(&ten, now).await.opened), (1, 10));
    assert_eq!(world.slots_of("latest").await, [at("2026-11-30T00:00:00Z")]);
    let missed = (at("2026-11-27T00:05:00Z"), at("2026-11-29T23:55:00Z"), Some(863), "missed".to_owned());
    assert_eq!(world.skipped("latest").await, [missed]);
    assert_eq!(world.slots_of("all").await[0], at("2026-11-29T23:15:00Z"));
    let counted: u64 = world.skipped("all").await.iter().filter_map(|skip| skip.2).sum();
    assert_eq!(counted, 854, "i11: 864 slots, ten of them run");
    assert_eq!(world.plan_at(&latest, at("2026-11-30T00:05:00Z")).await.opened, 1, "the job is alive");
}

async fn k02_04_an_edit_fires_nothing_of_the_day_it_is_made(world: World) {
    let a = world.register_at(&cron("a", "15 9 * * *", "UTC"), "2026-12-01T00:00:00Z").await;
    let b = world.register_at(&cron("b", "0 23 * * *", "UTC"), "2026-12-01T00:00:00Z").await;
    world.plan_at(&a, at("2026-12-01T09:15:00Z")).await;
    world.register_at(&cron("b", "0 5 * * *", "UTC"), "2026-12-01T12:00:00Z").await;
    world.register_at(&cron("a", "0 14 * * *", "UTC"), "2026-12-01T18:00:00Z").await;
    for (hour, job) in (18..48).flat_map(|hour| [(hour, &a), (hour, &b)]) {
        world.plan_at(job, at("2026-12-01T00:00:00Z") + Duration::from_secs(hour * 3600)).await;
    }
    assert_eq!(world.slots_of("a").await, [at("2026-12-01T09:15:00Z"), at("2026-12-02T14:00:00Z")]);
    assert_eq!(world.slots_of("b").await, [at("2026-12-02T05:00:00Z")]);
}

async fn k02_07_every_slot_of_a_stall_is_accounted_for_from_where_planning_stood(world: World) {
    let job = world.register_at(&cron("j", "* * * * *", "UTC"), "2026-11-29T10:00:10Z").await;
    assert_eq!(world.plan_at(&job, at("2026-11-29T10:02:20Z")).await.opened, 1);
    let minute = at("2026-11-29T10:01:00Z");
    assert_eq!(world.slots_of("j").await, [at("2026-11-29T10:02:00Z")]);
    assert_eq!(world.skipped("j").await, [(minute, minute, Some(1), "missed".to_owned())]);
}

async fn an_outage_over_a_clock_change_catches_up_at_the_right_instants(world: World) {
    let job = with(cron("j", "30 2 * * *", "Europe/Berlin"), |job| {
        job.missed = Missed::All(10);
        job.missed_window = Duration::from_secs(10 * 86_400);
    });
    let autumn = world.register_at(&with(job.clone(), |job| job.name = "autumn".to_owned()), "2026-10-23T12:00:00Z").await;
    world.plan_at(&autumn, at("2026-10-26T12:00:00Z")).await;
    let instants = ["2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"].map(at);
    assert_eq!(world.slots_of("autumn").await, instants, "the first pass of the hour that comes twice");
    let spring = world.register_at(&with(job, |job| job.name = "spring".to_owned()), "2027-03-26T12:00:00Z").await;
    world.plan_at(&spring, at("2027-03-29T12:00:00Z")).await;
    let instants = ["2027-03-27T01:30:00Z", "2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"].map(at);
    assert_eq!(world.slots_of("spring").await, instants, "the first instant after the gap");
}
