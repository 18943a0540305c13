//! Replicas at work, and what must be true of them after whatever happened to their database.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use onebell::model::RunId;
use onebell::model::recovery::RequestKind;
use onebell::replica::{Health, Replica, ReplicaError, Settings, Shutdown};
use onebell::store::postgres::PostgresStore;
use onebell::store::sqlite::SqliteStore;
use onebell::store::{RunFilter, Store};
use tokio::task::JoinHandle;

use crate::asker::Asker;
use crate::work::{Hold, Receiver, Receives, TABLE, Tell, Yard, book, jobs, plain};

/// Nothing in these rows takes longer than this, on a slow machine too.
const LIMIT: Duration = Duration::from_secs(100);
/// Steps that are in hand during the whole row.
pub(crate) const HELD: u32 = 4;
/// Longer than two calls that get no answer take.
pub(crate) const LEASE: Duration = Duration::from_secs(7);

/// Where a store is.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    Postgres(String),
    /// With another limit for statements.
    Hasty(String, Duration),
    Sqlite(PathBuf),
}

impl Place {
    /// A store of its own, as another process would have.
    pub(crate) async fn open(&self) -> Arc<dyn Store> {
        match self {
            Self::Postgres(url) => Arc::new(postgres(url).connect().await.unwrap()),
            Self::Hasty(url, limit) => {
                let store = postgres(url).timeouts(*limit, Duration::from_secs(2), Duration::from_secs(2));
                Arc::new(store.connect().await.unwrap())
            }
            Self::Sqlite(path) => Arc::new(SqliteStore::builder(path).open_and_migrate().unwrap()),
        }
    }

    async fn prepare(&self) {
        match self {
            Self::Postgres(url) | Self::Hasty(url, _) => {
                postgres(url).connect_and_migrate().await.unwrap().execute(TABLE).await.unwrap()
            }
            Self::Sqlite(path) => SqliteStore::builder(path).open_and_migrate().unwrap().execute(TABLE).await.unwrap(),
        }
    }
}

/// Short limits, all well below the lease.
pub(crate) fn postgres(url: &str) -> onebell::store::postgres::Builder {
    PostgresStore::builder(url).timeouts(Duration::from_millis(900), Duration::from_millis(500), Duration::from_millis(2_000))
}

pub(crate) struct Fleet {
    pub(crate) yard: Arc<Yard>,
    pub(crate) asker: Asker,
    shutdown: Shutdown,
    replicas: Vec<JoinHandle<Result<(), ReplicaError>>>,
    healths: Vec<Health>,
}

impl Drop for Fleet {
    fn drop(&mut self) {
        self.shutdown.ask();
        self.shutdown.ask();
    }
}

impl Fleet {
    /// One replica for each way to one database; `direct` leads there past every fault. Returns when work is under way.
    pub(crate) async fn at(direct: &Place, ways: Vec<Place>) -> Self {
        Self::telling(direct, ways, Receives::EachTime).await
    }

    /// As [`Self::at`], with a receiver of another kind.
    pub(crate) async fn telling(direct: &Place, ways: Vec<Place>, receives: Receives) -> Self {
        direct.prepare().await;
        let (yard, shutdown) = (Arc::new(Yard::new(receives)), Shutdown::new());
        let (mut replicas, mut healths) = (Vec::new(), Vec::new());
        for way in &ways {
            let replica = replica(way.open().await, &yard);
            healths.push(replica.health());
            replicas.push(tokio::spawn(replica.run(shutdown.clone())));
        }
        let asker = Asker::start(ways[0].open().await, HELD);
        let fleet = Self { yard, asker, shutdown, replicas, healths };
        fleet.in_hand().await;
        fleet.more(20).await;
        fleet
    }

    /// As [`Self::at`], all by one way.
    pub(crate) async fn over(direct: &str, way: &str, count: usize) -> Self {
        let ways = vec![Place::Postgres(way.to_owned()); count];
        Self::at(&Place::Postgres(direct.to_owned()), ways).await
    }

    /// As [`Self::over`] with two replicas, whose statements end sooner than their waits for locks.
    pub(crate) async fn with_statement_limit(direct: &str, way: &str, limit: Duration) -> Self {
        let way = Place::Hasty(way.to_owned(), limit);
        Self::at(&Place::Postgres(direct.to_owned()), vec![way; 2]).await
    }

    /// Waits until the long steps are in hand.
    pub(crate) async fn in_hand(&self) {
        let held = async || (self.yard.held.load(Ordering::SeqCst) == u64::from(HELD)).then_some(());
        until("the long steps are in hand", held).await;
    }

    /// Waits until so many more runs were acknowledged and so many more messages were received: work goes on.
    pub(crate) async fn more(&self, count: usize) {
        let received = || self.yard.received.lock().unwrap().len();
        let (asked, got) = (self.asker.count() + count, received() + count);
        until("work goes on", async || (self.asker.count() >= asked && received() >= got).then_some(())).await;
    }

    /// Waits until whoever asks has met the trouble: so often away, full or busy since `before`.
    pub(crate) async fn troubled(&self, before: (u64, u64, u64), times: u64) {
        let sum = |(away, full, busy)| away + full + busy;
        let met = async || (sum(self.asker.troubles()) >= sum(before) + times).then_some(());
        until("the trouble is felt", met).await;
    }

    /// Waits until every replica says that it can work, or that it cannot.
    pub(crate) async fn says(&self, ready: bool) {
        let all = async || self.healths.iter().all(|health| health.unready().is_empty() == ready).then_some(());
        until(if ready { "every replica is ready" } else { "no replica is ready" }, all).await;
    }

    /// Waits until every replica has renewed its beat twice from now on.
    pub(crate) async fn beats_again(&self, direct: &Place) {
        let judge = direct.open().await;
        let beats = async || -> Vec<u64> { judge.replicas().await.unwrap().iter().map(|replica| replica.beat).collect() };
        let before = beats().await;
        let renewed = async || beats().await.iter().zip(&before).all(|(now, then)| *now >= then + 2).then_some(());
        until("every replica renews its beat", renewed).await;
    }

    /// Lets everything come to its end, and asks what must be true then. `direct` leads to what is the database now.
    pub(crate) async fn all_is_well(mut self, direct: &Place) {
        self.asker.stop().await;
        self.yard.gate.send_replace(true);
        let judge = direct.open().await;
        let acknowledged = self.asker.acknowledged();
        self.everything_ended(judge.as_ref(), acknowledged.len()).await;
        self.nobody_was_taken_for_dead(judge.as_ref()).await;
        for was in &acknowledged {
            no_try_was_spent_on_it(judge.as_ref(), &was.run).await;
        }
        self.everything_once(judge.as_ref(), self.asker.count_of("pay"), self.asker.count_of("hold")).await;
        self.shutdown.ask();
        for replica in std::mem::take(&mut self.replicas) {
            replica.await.unwrap().unwrap();
        }
    }

    async fn everything_ended(&self, judge: &dyn Store, runs: usize) {
        let over = async || {
            let status = judge.status().await.ok()?;
            (status.runs["succeeded"] >= runs as u64 && judge.is_idle().await.ok()?).then_some(())
        };
        let ended = tokio::time::timeout(LIMIT, until("everything came to its end", over)).await;
        let status = judge.status().await;
        assert!(ended.is_ok(), "{runs} runs acknowledged; {status:?}");
        let all = judge.runs(&RunFilter { limit: 10_000, ..RunFilter::default() }).await.unwrap();
        assert_eq!(all.len(), runs, "every run was asked for, and acknowledged");
    }

    async fn nobody_was_taken_for_dead(&self, judge: &dyn Store) {
        let recoveries = judge.recoveries(100).await.unwrap();
        let late_message = |kind| kind == RequestKind::Message && self.yard.receives == Receives::ByKey;
        assert!(recoveries.iter().all(|request| late_message(request.kind)), "taken for dead: {recoveries:?}");
        let replicas = judge.replicas().await.unwrap();
        assert!(replicas.iter().all(|replica| replica.lost_at.is_none()), "{replicas:?}");
        assert!(self.replicas.iter().all(|replica| !replica.is_finished()), "a replica ended by itself");
    }

    async fn everything_once(&self, judge: &dyn Store, told: usize, held: usize) {
        let runs = told + held;
        let booked = numbers(judge, "SELECT count(*) AS a, count(DISTINCT id) AS b FROM booked").await;
        assert_eq!(booked, (runs as u64, runs as u64), "each run booked once, beside its completion");
        assert_eq!(judge.effects_total("paid").await.unwrap(), (runs as u64, 7 * runs as i128));
        let status = judge.status().await.unwrap();
        assert_eq!(status.outbox["sent"], told as u64, "{:?}", status.outbox);
        let received = self.yard.received.lock().unwrap();
        assert_eq!(received.len(), told, "everybody was told under the one key");
        let once = received.values().all(|times| *times == 1);
        assert!(once || self.yard.receives == Receives::ByKey, "told twice: {received:?}");
    }
}

fn replica(store: Arc<dyn Store>, yard: &Arc<Yard>) -> Replica {
    let mut settings = Settings::default().with_lease(LEASE);
    settings.poll = Duration::from_millis(50);
    settings.renewal = Duration::from_millis(300);
    settings.supervision = Duration::from_millis(300);
    settings.concurrency = 16;
    settings.drain = Duration::from_secs(20);
    let mut builder = Replica::builder(store).settings(settings).handler("book", book).handler("plain", plain);
    for job in jobs() {
        builder = builder.job(job);
    }
    builder = builder.handler("tell", Tell(Arc::clone(yard)));
    builder.handler("hold", Hold(Arc::clone(yard))).channel("receiver", Receiver(Arc::clone(yard))).build().unwrap()
}

/// An outage is no fault of the work: every step needed one try, whoever finished it.
async fn no_try_was_spent_on_it(judge: &dyn Store, run: &RunId) {
    let detail = judge.run(run).await.unwrap().unwrap_or_else(|| panic!("{run} was acknowledged and is lost"));
    assert_eq!(detail.run.status, "succeeded", "{detail:?}");
    for step in &detail.steps {
        let outcomes: BTreeSet<&str> = step.attempts.iter().map(|attempt| attempt.outcome.as_str()).collect();
        let fine = outcomes.iter().all(|outcome| ["stopped", "succeeded", "delivering"].contains(outcome));
        assert!(step.tries == 1 && fine, "{step:?}");
    }
}

/// Two numbers `a` and `b` of one row.
pub(crate) async fn numbers(judge: &dyn Store, sql: &str) -> (u64, u64) {
    let rows: serde_json::Value = serde_json::from_str(&judge.query_rows(sql).await.unwrap()).unwrap();
    (rows[0]["a"].as_u64().unwrap(), rows[0]["b"].as_u64().unwrap())
}

/// Waits for a state.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begun.elapsed() < LIMIT, "waited in vain until {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A connection past every store.
pub(crate) async fn client(url: &str) -> tokio_postgres::Client {
    let config: tokio_postgres::Config = url.parse().unwrap();
    let (client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Runs blocking work of the kit beside the runtime.
pub(crate) async fn aside<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.unwrap()
}
