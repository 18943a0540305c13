//! What the edge promises beyond its roles: a replica in this process, over a real file, by the real clock. Waiting is for
//! states, each with a limit.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]
#![cfg(feature = "sqlite")]
#![expect(clippy::disallowed_methods, reason = "the edge runs by the real clock")]

use std::future::Future;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use onebell::handler::{Context, Outcome, StopReason};
use onebell::model::job::{Dst, JobDefinition, ScheduleDefinition, StepDefinition, When};
use onebell::model::{Key, RunId};
use onebell::replica::{Replica, Roles, Settings, Shutdown};
use onebell::store::sqlite::SqliteStore;
use onebell::store::{Actor, OperatorStore, ReadStore, RunDetail, RunFilter, Store, Trigger, Triggered};
use onebell::time::{ManualClock, ManualTimer, StoreClock, Timer};

const LIMIT: Duration = Duration::from_secs(60);

struct House {
    _folder: tempfile::TempDir,
    store: Arc<SqliteStore>,
    shutdown: Shutdown,
}

impl House {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::builder(folder.path().join("edge.db")).open_and_migrate().unwrap();
        Self { _folder: folder, store: Arc::new(store), shutdown: Shutdown::new() }
    }

    /// A replica with one job of one step; it runs until the house is dropped.
    fn replica<F, Fut>(&self, timeout: Duration, handler: F)
    where
        F: Fn(Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Outcome> + Send + 'static,
    {
        let mut step = StepDefinition::new("work", "work");
        step.timeout = timeout;
        step.retry.backoff_min = Duration::from_millis(1);
        step.retry.backoff_max = Duration::from_millis(1);
        let mut job = JobDefinition::new("job");
        job.overlap = onebell::model::job::Overlap::Allow;
        job.steps.push(step);
        let mut settings = Settings::default().with_lease(Duration::from_secs(2));
        settings.poll = Duration::from_millis(50);
        settings.concurrency = 50;
        settings.drain = Duration::from_secs(5);
        let store: Arc<dyn Store> = Arc::<SqliteStore>::clone(&self.store);
        let replica = Replica::builder(store).settings(settings).job(job).handler("work", handler).build().unwrap();
        tokio::spawn(replica.run(self.shutdown.clone()));
    }

    async fn trigger(&self, key: &str) -> RunId {
        let actor = Actor { name: "test".to_owned(), reason: None };
        let request = Trigger { job: "job".to_owned(), key: Key::new(key).unwrap(), input: None, actor };
        until("the job is registered", async || match self.store.trigger(&request).await.unwrap() {
            Triggered::Opened(run) | Triggered::Already(run) => Some(run),
            _ => None,
        })
        .await
    }

    async fn until_status(&self, run: &RunId, status: &str) -> RunDetail {
        until(status, async || self.store.run(run).await.unwrap().filter(|detail| detail.run.status == status)).await
    }
}

impl Drop for House {
    fn drop(&mut self) {
        self.shutdown.ask();
        self.shutdown.ask();
    }
}

async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut look: impl FnMut() -> F) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begun.elapsed() < LIMIT, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn outcomes(detail: &RunDetail) -> Vec<&str> {
    detail.steps[0].attempts.iter().map(|attempt| attempt.outcome.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn i8_a_handler_that_hangs_in_a_live_process_loses_its_claim_at_complete_by() {
    let house = House::new();
    house.replica(Duration::from_secs(1), async |context| match context.attempt() {
        1 => std::future::pending().await,
        _ => Outcome::done(),
    });
    let run = house.trigger("k").await;
    let detail = house.until_status(&run, "succeeded").await;
    assert_eq!(outcomes(&detail), ["overdue", "succeeded"]);
    assert!(house.store.replicas().await.unwrap()[0].lost_at.is_none(), "the replica itself is alive");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_heeds_its_stop_at_complete_by_is_retried_as_timed_out() {
    let house = House::new();
    house.replica(Duration::from_millis(300), async |context| {
        if context.attempt() > 1 {
            return Outcome::done();
        }
        assert_eq!(context.stop().requested().await, StopReason::Deadline);
        Outcome::Stopped { output: Default::default() }
    });
    let run = house.trigger("k").await;
    let detail = house.until_status(&run, "succeeded").await;
    let first = &detail.steps[0].attempts[0];
    // Either the agent's own clock or the Supervisor is first; both end the attempt.
    assert!(["retry", "overdue"].contains(&first.outcome.as_str()), "{first:?}");
}

/// The keeper of a command has a clock of its own, and may be the first to see that nobody vouches.
#[tokio::test(flavor = "multi_thread")]
async fn work_that_was_ended_because_nobody_vouched_for_it_costs_no_try_whoever_saw_it_first() {
    let house = House::new();
    house.replica(Duration::from_secs(60), async |context| match context.attempt() {
        1 => Outcome::Unvouched { output: Default::default() },
        _ => Outcome::done(),
    });
    let run = house.trigger("k").await;
    let detail = house.until_status(&run, "succeeded").await;
    assert_eq!(outcomes(&detail), ["stopped", "succeeded"]);
    assert_eq!(detail.steps[0].tries, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_panics_is_retried_and_stops_nobody_else() {
    let house = House::new();
    house.replica(Duration::from_secs(60), async |context| match context.attempt() {
        1 => panic!("the first attempt is unlucky"),
        _ => Outcome::done(),
    });
    let runs = [house.trigger("a").await, house.trigger("b").await];
    for run in &runs {
        let detail = house.until_status(run, "succeeded").await;
        assert_eq!(outcomes(&detail), ["retry", "succeeded"]);
        assert!(detail.steps[0].attempts[0].error.as_deref().unwrap().contains("unlucky"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settlements_that_end_together_are_each_settled_once() {
    let house = House::new();
    let done = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&done);
    house.replica(Duration::from_secs(60), move |_| {
        let counter = Arc::clone(&counter);
        async move {
            counter.fetch_add(1, Ordering::SeqCst);
            Outcome::done()
        }
    });
    let mut runs = Vec::new();
    for n in 0..100 {
        runs.push(house.trigger(&format!("k{n}")).await);
    }
    for run in &runs {
        assert_eq!(outcomes(&house.until_status(run, "succeeded").await), ["succeeded"]);
    }
    assert_eq!(done.load(Ordering::SeqCst), 100);
}

/// One claim for each step would be a transaction for each, whatever the settlements are.
#[tokio::test]
async fn what_steps_that_ended_together_leave_free_is_claimed_together() {
    let house = House::new();
    let (open, opened) = tokio::sync::watch::channel(false);
    house.replica(Duration::from_secs(30), move |_| {
        let mut opened = opened.clone();
        async move {
            drop(opened.wait_for(|open| *open).await);
            Outcome::done()
        }
    });
    let mut runs = Vec::new();
    for n in 0..200 {
        runs.push(house.trigger(&format!("k{n}")).await);
    }
    open.send(true).unwrap();
    let mut claims = std::collections::BTreeMap::new();
    for run in &runs {
        let detail = house.until_status(run, "succeeded").await;
        *claims.entry(detail.steps[0].attempts[0].claimed_at.unwrap()).or_insert(0) += 1;
    }
    // The first fifty were claimed as they came.
    let alone = claims.values().filter(|count| **count == 1).count();
    assert!(alone <= 50 + 30, "{alone} of 200 steps were claimed alone: {claims:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn cancelling_a_run_ends_its_running_step() {
    let house = House::new();
    house.replica(Duration::from_secs(600), async |context| {
        assert_eq!(context.stop().requested().await, StopReason::Cancelled);
        Outcome::Stopped { output: Default::default() }
    });
    let run = house.trigger("k").await;
    let running = async || house.store.run(&run).await.unwrap().filter(|detail| detail.steps[0].status == "running");
    until("it runs", running).await;
    house.store.cancel_run(&run, &Actor { name: "test".to_owned(), reason: None }).await.unwrap();
    let detail = house.until_status(&run, "cancelled").await;
    assert_eq!(outcomes(&detail), ["cancelled"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_keeps_a_step_that_is_longer_than_its_timeout() {
    let house = House::new();
    house.replica(Duration::from_millis(800), async |context| {
        for _ in 0..12 {
            tokio::time::sleep(Duration::from_millis(250)).await;
            context.progress().await.unwrap();
        }
        Outcome::done()
    });
    let run = house.trigger("k").await;
    assert_eq!(outcomes(&house.until_status(&run, "succeeded").await), ["succeeded"]);
}

/// A timer that a test moves, and what was asked of it.
#[derive(Clone, Default)]
struct Recorded {
    timer: ManualTimer,
    asked: Arc<Mutex<Vec<Duration>>>,
}

#[async_trait::async_trait]
impl Timer for Recorded {
    fn elapsed(&self) -> Duration {
        self.timer.elapsed()
    }

    async fn sleep(&self, span: Duration) {
        self.asked.lock().unwrap().push(span);
        self.timer.sleep(span).await;
    }
}

#[tokio::test]
async fn an_idle_scheduler_sleeps_until_the_next_known_slot() {
    const SLOT_IN: Duration = Duration::from_secs(20);
    let start = onebell::model::Moment::from_micros(1_795_978_800_000_000);
    let clock = ManualClock::at(start);
    let store = SqliteStore::builder(":memory:").clock(StoreClock::Manual(clock.clone())).inline().open_and_migrate().unwrap();
    let store: Arc<SqliteStore> = Arc::new(store);
    let mut job = JobDefinition::new("bell");
    job.steps.push(StepDefinition::new("work", "work"));
    job.schedules = vec![ScheduleDefinition { when: When::Every(SLOT_IN), time_zone: "UTC".to_owned(), dst: Dst::Vixie }];
    let roles = Roles { scheduler: true, agent: false, supervisor: false, relay: false };
    // No look in between: what is left is the slot.
    let settings = Settings { roles, poll: Duration::from_secs(3_600), ..Settings::default() };
    let recorded = Recorded::default();
    let port: Arc<dyn Store> = Arc::<SqliteStore>::clone(&store);
    let replica = Replica::builder(port)
        .settings(settings)
        .timer(Arc::new(recorded.clone()))
        .job(job)
        .handler("work", async |_| Outcome::done())
        .build()
        .unwrap();
    let shutdown = Shutdown::new();
    let running = tokio::spawn(replica.run(shutdown.clone()));
    let runs = async || store.runs(&RunFilter { limit: 10, ..RunFilter::default() }).await.unwrap();
    let asleep = async || recorded.asked.lock().unwrap().contains(&SLOT_IN).then_some(());
    until("the scheduler sleeps as long as the slot is away", asleep).await;
    for second in 0..20 {
        let renewed = async || (store.replicas().await.unwrap()[0].beat > second).then_some(());
        until("it has renewed", renewed).await;
        assert_eq!(runs().await.len(), 0, "after {second} s");
        clock.advance(Duration::from_secs(1));
        recorded.timer.advance(Duration::from_secs(1));
    }
    let opened = async || {
        // Two passes keep a small distance.
        recorded.timer.advance(Duration::from_millis(5));
        (runs().await.len() == 1).then_some(())
    };
    until("the slot is opened", opened).await;
    assert_eq!(runs().await[0].scheduled_for, Some(start + SLOT_IN));
    // A pass that was woken in between would have kept its distance to the next one.
    let asked: Vec<Duration> = recorded.asked.lock().unwrap().clone();
    let first = asked.iter().take_while(|span| **span >= Duration::from_secs(1));
    assert_eq!(first.filter(|span| **span == SLOT_IN).count(), 1, "one sleep, as long as the slot is away: {asked:?}");
    assert!(asked.iter().take_while(|span| **span >= Duration::from_secs(1)).count() > 20, "also while it renewed: {asked:?}");
    shutdown.ask();
    shutdown.ask();
    running.abort();
}
