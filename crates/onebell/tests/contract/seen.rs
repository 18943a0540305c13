//! How long things took lately, as the store says it.

use std::time::Duration;

use onebell::model::job::Overlap;
use onebell::model::times::SeenTimes;

use super::given::*;
use super::slots::OPENED;
use super::world::World;

contract!(
    only_the_jobs_that_are_asked_about_are_told_of,
    only_the_newest_runs_are_looked_at,
    times_are_those_of_succeeded_attempts_and_runs,
);

impl World {
    async fn seen(&self, jobs: &[&str]) -> Vec<SeenTimes> {
        let jobs: Vec<String> = jobs.iter().map(|job| (*job).to_owned()).collect();
        let mut seen = self.store.seen_times(&jobs).await.unwrap();
        seen.sort_by(|a, b| (&a.job, &a.step).cmp(&(&b.job, &b.step)));
        seen
    }
}

fn times(job: &str, step: Option<&str>, count: u64, [p50, p99, longest]: [Duration; 3]) -> SeenTimes {
    SeenTimes { job: job.to_owned(), step: step.map(str::to_owned), count, p50, p99, longest }
}

async fn times_are_those_of_succeeded_attempts_and_runs(world: World) {
    world.register(&job("j", vec![step("a"), step_after("b", &["a"])])).await;
    let agent = world.replica("agent").await;
    for n in 1..=10 {
        world.trigger("j", &format!("run {n}")).await;
        let claim = world.claim_one(&agent).await.claim;
        world.pass(seconds(n));
        world.settle(succeeds(&claim)).await;
        world.finish_one(&agent).await;
    }
    // What failed says nothing of how long the work takes; nor does the wait for a message.
    world.trigger("j", "tried twice").await;
    let claim = world.claim_one(&agent).await.claim;
    world.pass(seconds(55));
    world.settle(retries(&claim)).await;
    world.pass(seconds(600));
    let claim = world.claim_one(&agent).await.claim;
    world.settle(puts(&claim, vec![mail("m")])).await;
    world.pass(seconds(300));
    let open = world.seen(&["j"]).await;
    assert_eq!(open[1], times("j", Some("a"), 11, [5, 10, 10].map(seconds)));
    assert_eq!(open[0], times("j", None, 10, [5, 10, 10].map(seconds)), "that run is not over");
    world.send_all().await;
    world.close().await;
    world.finish_one(&agent).await;
    let whole = times("j", None, 11, [6, 955, 955].map(seconds));
    let [a, b] = ["a", "b"].map(|step| times("j", Some(step), 11, if step == "a" { [5, 10, 10] } else { [0; 3] }.map(seconds)));
    assert_eq!(world.seen(&["j"]).await, [whole, a, b]);
}

async fn only_the_newest_runs_are_looked_at(world: World) {
    let id = world.register(&minutely("m", Overlap::Skip)).await;
    let agent = world.replica("agent").await;
    for n in 1..=103 {
        world.clock.set(slot(n));
        assert_eq!(world.open_slot(&id, slot(n)).await, OPENED);
        let claim = world.claim_one(&agent).await.claim;
        world.pass(seconds(if n <= 3 { 30 } else { 1 }));
        world.settle(succeeds(&claim)).await;
    }
    let all = [1, 1, 1].map(seconds);
    assert_eq!(world.seen(&["m"]).await, [times("m", None, 100, all), times("m", Some("a"), 100, all)]);
}

async fn only_the_jobs_that_are_asked_about_are_told_of(world: World) {
    let agent = world.replica("agent").await;
    for name in ["one", "other"] {
        world.open_run(&job(name, vec![step("a")])).await;
        world.finish_one(&agent).await;
    }
    assert_eq!(world.seen(&["one", "unknown"]).await.iter().map(|seen| seen.job.as_str()).collect::<Vec<_>>(), ["one", "one"]);
    assert_eq!(world.seen(&[]).await, []);
}
