//! One database, a clock that stands still, and as many stores on it as a test wants.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use onebell::model::{JobDefinition, JobId, Moment, ReplicaId};
use onebell::store::postgres::PostgresStore;
use onebell::store::sqlite::SqliteStore;
use onebell::store::{Definition, ReplicaInfo, Store};
use onebell::time::{ManualClock, StoreClock};
use onebell_testkit::{Database, fresh_database};
use tempfile::TempDir;

use super::given::hash;

/// When every test begins.
pub(crate) const START: Moment = Moment::from_micros(1_795_978_800_000_000);

/// A store under test, and what surrounds it.
pub(crate) struct World {
    /// The store.
    pub(crate) store: Arc<dyn Store>,
    /// The one clock, of every store on this database.
    pub(crate) clock: ManualClock,
    /// Jobs registered so far: what the replicas of the test carry.
    pub(crate) carried: Mutex<Vec<JobId>>,
    ground: Ground,
}

enum Ground {
    Sqlite { folder: TempDir, threaded: bool },
    Postgres(Database),
}

impl World {
    pub(crate) async fn sqlite() -> Self {
        Self::on(Ground::Sqlite { folder: tempfile::tempdir().unwrap(), threaded: false }).await
    }

    pub(crate) async fn sqlite_threaded() -> Self {
        Self::on(Ground::Sqlite { folder: tempfile::tempdir().unwrap(), threaded: true }).await
    }

    pub(crate) async fn postgres(version: u32) -> Self {
        Self::on(Ground::Postgres(fresh_database(version).await)).await
    }

    async fn on(ground: Ground) -> Self {
        let clock = ManualClock::at(START);
        let store = open(&ground, &clock).await;
        Self { store, clock, carried: Mutex::default(), ground }
    }

    /// A store of its own on the same database: another process' connection.
    pub(crate) async fn another(&self) -> Arc<dyn Store> {
        open(&self.ground, &self.clock).await
    }

    /// A store of its own that finds the schema as it is: nothing is migrated, so nothing is written.
    pub(crate) async fn another_as_it_is(&self) -> Arc<dyn Store> {
        self.another_through(self.url()).await
    }

    /// As [`Self::another_as_it_is`], by another way to the same PostgreSQL database.
    pub(crate) async fn another_through(&self, url: &str) -> Arc<dyn Store> {
        let clock = StoreClock::Manual(self.clock.clone());
        Arc::new(PostgresStore::builder(url).clock(clock).connect().await.unwrap())
    }

    /// Where the PostgreSQL database is.
    pub(crate) fn url(&self) -> &str {
        let Ground::Postgres(database) = &self.ground else { panic!("not on PostgreSQL") };
        &database.url
    }

    /// `count` stores, each of its own.
    pub(crate) async fn others(&self, count: usize) -> Vec<Arc<dyn Store>> {
        let mut stores = Vec::new();
        for _ in 0..count {
            stores.push(self.another().await);
        }
        stores
    }

    /// What the clock shows.
    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Moves the clock.
    pub(crate) fn pass(&self, span: Duration) {
        self.clock.advance(span);
    }

    /// Enlists a replica that carries everything.
    pub(crate) async fn replica(&self, name: &str) -> ReplicaId {
        self.replica_with(name, |_| {}).await
    }

    /// Enlists a replica that says something else of itself.
    pub(crate) async fn replica_with(&self, name: &str, change: impl FnOnce(&mut ReplicaInfo)) -> ReplicaId {
        let id = ReplicaId::from_text(name);
        let mut info = ReplicaInfo {
            id: id.clone(),
            label: format!("{name} of this test"),
            version: "0.1.0".to_owned(),
            tzdata: "2026f".to_owned(),
            jobs: std::collections::BTreeMap::new(),
            handlers: super::given::handlers(),
            queues: vec!["default".to_owned()],
            channels: super::given::channels(),
            lease: Duration::from_secs(10),
        };
        change(&mut info);
        self.store.enlist(&info).await.unwrap();
        id
    }

    /// Registers a new job; its planning begins now.
    pub(crate) async fn register(&self, job: &JobDefinition) -> JobId {
        job.validate().unwrap();
        let id = JobId::of_name(&job.name);
        let definition = Definition {
            id: id.clone(),
            definition: job.clone(),
            hash: hash(job),
            seen: None,
            cursor: self.now(),
            next_slot: None,
            by: ReplicaId::from_text("registrar"),
        };
        let defined = self.store.define_job(&definition).await.unwrap();
        assert_eq!(defined, onebell::store::Defined::Registered(1));
        self.carried.lock().unwrap().push(id.clone());
        id
    }

    /// What a replica of the test carries.
    pub(crate) fn carried(&self) -> Vec<JobId> {
        self.carried.lock().unwrap().clone()
    }

    /// Runs statements past the store. `{runs}` is the table as this database names it. How many rows the last one changed, or
    /// why it was refused.
    pub(crate) async fn sql(&self, text: &str) -> Result<u64, String> {
        let text = self.named(text);
        match &self.ground {
            Ground::Sqlite { .. } => {
                let connection = self.file();
                connection.execute(&text, []).map(|rows| rows as u64).map_err(|error| error.to_string())
            }
            Ground::Postgres(_) => {
                let client = self.client().await;
                client.execute(&text, &[]).await.map_err(|error| {
                    error
                        .as_db_error()
                        .map_or_else(|| error.to_string(), |refusal| format!("{refusal} {:?}", refusal.constraint()))
                })
            }
        }
    }

    /// One number read past the store.
    pub(crate) async fn number(&self, text: &str) -> i64 {
        let text = self.named(text);
        match &self.ground {
            Ground::Sqlite { .. } => self.file().query_row(&text, [], |row| row.get(0)).unwrap(),
            Ground::Postgres(_) => self.client().await.query_one(&text, &[]).await.unwrap().get(0),
        }
    }

    /// How many rows of `table` there are, with an optional condition.
    pub(crate) async fn rows(&self, table: &str, condition: &str) -> i64 {
        self.number(&format!("SELECT count(*) FROM {{{table}}} WHERE {condition}")).await
    }

    /// `at` as a literal of this database.
    pub(crate) fn literal(&self, at: Moment) -> String {
        match self.ground {
            Ground::Sqlite { .. } => at.micros().to_string(),
            Ground::Postgres(_) => format!("'{at}'::timestamptz"),
        }
    }

    /// The text with the names of tables as this database has them.
    pub(crate) fn named(&self, text: &str) -> String {
        let prefix = match self.ground {
            Ground::Sqlite { .. } => "onebell_",
            Ground::Postgres(_) => "onebell.",
        };
        text.replace('{', prefix).replace('}', "")
    }

    /// A connection of PostgreSQL past the store.
    pub(crate) async fn client(&self) -> tokio_postgres::Client {
        let config = self.url().parse::<tokio_postgres::Config>().unwrap();
        let (client, connection) = config.connect(tokio_postgres::NoTls).await.unwrap();
        tokio::spawn(connection);
        client
    }

    /// For the little that the two databases spell differently.
    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self.ground, Ground::Postgres(_))
    }

    fn file(&self) -> rusqlite::Connection {
        let Ground::Sqlite { folder, .. } = &self.ground else { panic!("not on SQLite") };
        let connection = rusqlite::Connection::open(folder.path().join("onebell.db")).unwrap();
        connection.busy_timeout(Duration::from_secs(20)).unwrap();
        connection
    }
}

async fn open(ground: &Ground, clock: &ManualClock) -> Arc<dyn Store> {
    let clock = StoreClock::Manual(clock.clone());
    match ground {
        Ground::Sqlite { folder, threaded } => {
            let builder = SqliteStore::builder(folder.path().join("onebell.db")).clock(clock);
            let builder = if *threaded { builder } else { builder.inline() };
            Arc::new(builder.open_and_migrate().unwrap())
        }
        Ground::Postgres(database) => {
            Arc::new(PostgresStore::builder(&database.url).clock(clock).connect_and_migrate().await.unwrap())
        }
    }
}
