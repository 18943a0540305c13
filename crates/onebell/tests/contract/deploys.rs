//! Two versions of a definition side by side.

use onebell::model::job::JobDefinition;
use onebell::model::zone_version::Left;
use onebell::model::{JobId, Moment, ReplicaId};
use onebell::roles::scheduler::{Carried, register};

use super::given::*;
use super::planned::{at, bundled, cron};
use super::world::World;

contract!(k04_05_of_two_versions_side_by_side_only_the_newer_one_fires_on_whichever_replica);

/// A replica's arrival with what it carries.
async fn arrives(world: &World, name: &str, job: &JobDefinition) -> JobId {
    let by = ReplicaId::from_text(name);
    let carried = Carried { definition: job.clone(), hash: hash(job) };
    let id = register(world.store.as_ref(), &rules(&bundled(), "2026f"), &by, &carried).await.unwrap();
    world.replica_with(name, |info| drop(info.jobs.insert(id.clone(), hash(job)))).await;
    id
}

/// Both replicas plan at every minute from `from` to `to`.
async fn minutes(world: &World, job: &JobId, from: &str, to: &str) {
    let (mut now, end) = (at(from), at(to));
    while now <= end {
        world.clock.set(now);
        for _ in ["old", "new"] {
            world.pass_over(&rules(&bundled(), "2026f"), &mut Left::default(), job).await;
        }
        now = now + MINUTE;
    }
}

async fn k04_05_of_two_versions_side_by_side_only_the_newer_one_fires_on_whichever_replica(world: World) {
    let (one, two) = (cron("nightly", "0 1 * * *", "UTC"), cron("nightly", "30 1 * * *", "UTC"));
    world.clock.set(at("2026-12-01T00:40:00Z"));
    let id = arrives(&world, "old", &one).await;
    world.clock.set(at("2026-12-01T00:50:00Z"));
    assert_eq!(arrives(&world, "new", &two).await, id);
    minutes(&world, &id, "2026-12-01T00:50:00Z", "2026-12-01T01:10:00Z").await;
    // The old one restarts in the middle of it, and does not take its expression back.
    world.store.leave(&ReplicaId::from_text("old")).await.unwrap();
    assert_eq!(arrives(&world, "old again", &one).await, id);
    assert_eq!(world.state(&id).await.definition.schedules, two.schedules);
    minutes(&world, &id, "2026-12-01T01:11:00Z", "2026-12-01T01:40:00Z").await;
    assert_eq!(world.slots_of("nightly").await, [at("2026-12-01T01:30:00Z")]);
    // When nobody carries the newer one any longer, it is a deliberate way back; it fires from then on.
    world.store.leave(&ReplicaId::from_text("new")).await.unwrap();
    arrives(&world, "back", &one).await;
    let state = world.state(&id).await;
    assert_eq!((state.version, state.definition.schedules), (3, one.schedules));
    assert_eq!(state.next_slot, Some(at("2026-12-02T01:00:00Z")));
    let skips: Vec<Moment> = world.store.skips(None, 10).await.unwrap().iter().map(|skip| skip.from).collect();
    assert_eq!(skips, [], "i11: under either definition nothing else came due");
}
