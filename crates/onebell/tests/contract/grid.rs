//! The grid of an interval belongs to the job, not to a process.

use std::time::Duration;

use onebell::model::job::When;
use onebell::model::{JobDefinition, Moment, ReplicaId};
use onebell::roles::scheduler::{Carried, register};

use super::given::*;
use super::world::World;

contract!(k02_05_an_interval_is_counted_from_the_first_registration_over_restarts_and_edits);

const DAY: Duration = Duration::from_secs(24 * 3600);

fn every(period: Duration) -> JobDefinition {
    with(minutely("j", onebell::model::job::Overlap::Skip), |job| job.schedules[0].when = When::Every(period))
}

async fn registered(world: &World, job: &JobDefinition) -> (Moment, Moment) {
    let carried = Carried { definition: job.clone(), hash: hash(job) };
    let by = ReplicaId::from_text("registrar");
    register(world.store.as_ref(), &rules(jiff::tz::db(), "2026f"), &by, &carried).await.unwrap();
    let state = world.store.jobs_named(None).await.unwrap().remove(0);
    (state.definition.anchor.unwrap(), state.next_slot.unwrap())
}

async fn k02_05_an_interval_is_counted_from_the_first_registration_over_restarts_and_edits(world: World) {
    let begun = Moment::from_micros(slot(17).micros() + 123_456);
    world.clock.set(begun);
    assert_eq!(registered(&world, &every(DAY)).await, (slot(17), slot(17) + DAY), "to the whole second");
    world.clock.set(begun + DAY / 4);
    assert_eq!(registered(&world, &every(DAY)).await, (slot(17), slot(17) + DAY), "a restart moves nothing");
    world.clock.set(begun + DAY / 2);
    let (anchor, next) = registered(&world, &every(DAY / 3)).await;
    assert_eq!((anchor, next), (slot(17), slot(17) + DAY / 3 * 2), "an edit keeps the grid's beginning");
    // Two that start at once see one grid, whoever was first.
    let job = with(every(DAY), |job| job.name = "raced".to_owned());
    let carried = Carried { definition: job.clone(), hash: hash(&job) };
    let calls = (0..4).map(|n| {
        let (store, carried, clock) = (world.store.clone(), carried.clone(), world.clock.clone());
        async move {
            clock.advance(Duration::from_secs(n));
            register(store.as_ref(), &rules(jiff::tz::db(), "2026f"), &ReplicaId::from_text("one"), &carried).await.unwrap()
        }
    });
    let ids = at_once(calls.collect()).await;
    assert!(ids.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(world.rows("jobs", "name = 'raced'").await, 1);
}
