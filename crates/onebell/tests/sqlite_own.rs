//! What only the SQLite store promises: a user's statements inside its one transaction, one file for several processes, and
//! what it says when it cannot work.
#![cfg(feature = "sqlite")]

#[cfg(test)]
mod own {
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::sync::{Arc, Barrier};
    use std::time::Duration;

    use onebell::model::job::{JobDefinition, Overlap, StepDefinition};
    use onebell::model::step::{StepStatus, Verdict};
    use onebell::model::{JobId, Key, Moment, ReplicaId};
    use onebell::store::sqlite::{FsKind, SqliteStore, work};
    use onebell::store::{
        Actor, AgentStore, ClaimSteps, ClaimedStep, Definition, OperatorStore, ReadStore, ReplicaInfo, ReplicaStore,
        SchedulerStore, Settled, Settlement, StepOutput, StoreError, Trigger, Triggered, Work,
    };

    const JOB: &str = "loads";

    fn actor() -> Actor {
        Actor { name: "test".into(), reason: None }
    }

    /// A query is prepared once; what it gives are the columns of now.
    #[tokio::test]
    async fn a_query_that_is_kept_sees_a_table_that_was_changed() {
        let folder = tempfile::tempdir().unwrap();
        let inline = SqliteStore::builder(folder.path().join("a.db")).inline().open_and_migrate().unwrap();
        let threaded = SqliteStore::builder(folder.path().join("b.db")).open_and_migrate().unwrap();
        for store in [inline, threaded] {
            store.execute("CREATE TABLE t (a); INSERT INTO t VALUES (1)").await.unwrap();
            let all = async || store.query_rows("SELECT * FROM t").await.unwrap();
            assert_eq!(all().await, "[{\"a\":1}]");
            store.execute("ALTER TABLE t ADD COLUMN b DEFAULT 2").await.unwrap();
            assert_eq!(all().await, "[{\"a\":1,\"b\":2}]");
            store.execute("ALTER TABLE t DROP COLUMN a").await.unwrap();
            assert_eq!(all().await, "[{\"b\":2}]");
        }
    }

    #[tokio::test]
    async fn an_older_schema_is_brought_up_and_keeps_its_effects() {
        let older = [
            include_str!("../src/store/sqlite/migrations/0001.sql"),
            include_str!("../src/store/sqlite/migrations/0002.sql"),
            include_str!("../src/store/sqlite/migrations/0003.sql"),
        ];
        for version in 1..=older.len() {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("onebell.db");
            let connection = rusqlite::Connection::open(&path).unwrap();
            connection.execute_batch(&older[..version].concat()).unwrap();
            let effect = "INSERT INTO onebell_effects (scope, key, fingerprint, amount, payload, created_at) VALUES ('s', 'k', 'f', 7, '{}', 0)";
            let note = format!("INSERT INTO onebell_schema (version, migrated_at) VALUES ({version}, 0); {effect}");
            connection.execute_batch(&note).unwrap();
            drop(connection);
            assert!(SqliteStore::builder(&path).open().unwrap_err().to_string().contains("onebell migrate"));
            assert_eq!(SqliteStore::builder(&path).migrate(false).unwrap(), ["0002", "0003", "0004"][version - 1..]);
            let store = SqliteStore::builder(&path).inline().open_and_migrate().unwrap();
            assert_eq!(store.effects_total("s").await.unwrap(), (1, 7));
        }
    }

    /// A store with one job of one step, and a replica that carries it.
    async fn prepared(store: &SqliteStore, replica: &str) {
        let mut definition = JobDefinition::new(JOB);
        definition.overlap = Overlap::Allow;
        definition.steps.push(StepDefinition { timeout: Duration::from_secs(1), ..StepDefinition::new("load", "h") });
        let by = ReplicaId::from_text(replica);
        let info = ReplicaInfo {
            id: by.clone(),
            label: replica.into(),
            version: "1".into(),
            tzdata: "2026f".into(),
            jobs: BTreeMap::new(),
            handlers: vec!["h".into()],
            queues: vec!["default".into()],
            channels: Vec::new(),
            lease: Duration::from_secs(10),
        };
        store.enlist(&info).await.unwrap();
        let id = JobId::of_name(JOB);
        let cursor = Moment::from_micros(0);
        let definition = Definition { id, definition, hash: "h".into(), seen: None, cursor, next_slot: None, by };
        store.define_job(&definition).await.unwrap();
    }

    async fn opened(store: &SqliteStore, key: &str) {
        let trigger = Trigger { job: JOB.into(), key: Key::new(key).unwrap(), input: None, actor: actor() };
        assert!(matches!(store.trigger(&trigger).await.unwrap(), Triggered::Opened(_)));
    }

    async fn claimed(store: &SqliteStore, replica: &str, start: u32) -> Result<Vec<ClaimedStep>, StoreError> {
        let request = ClaimSteps {
            replica: ReplicaId::from_text(replica),
            jobs: vec![JobId::of_name(JOB)],
            handlers: vec!["h".into()],
            queues: vec!["default".into()],
            start,
            prefetch: 0,
            idle: true,
            run: None,
        };
        Ok(store.claim_steps(&request).await?.claimed)
    }

    fn done(step: &ClaimedStep, work: Option<Work>) -> Settlement {
        Settlement {
            claim: step.claim.clone(),
            verdict: Verdict::Succeeded,
            effects: Vec::new(),
            messages: Vec::new(),
            work,
            output: StepOutput::default(),
        }
    }

    async fn memory() -> SqliteStore {
        let store = SqliteStore::builder(":memory:").inline().open_and_migrate().unwrap();
        prepared(&store, "a").await;
        let tables = "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER CHECK (balance >= 0));
            CREATE TABLE entry (account INTEGER REFERENCES account (id) DEFERRABLE INITIALLY DEFERRED);
            INSERT INTO account VALUES (1, 100)";
        store.execute(tables).await.unwrap();
        store
    }

    /// Settles a fresh step with these statements: where it stands, and why it was refused.
    async fn settled(store: &SqliteStore, key: &str, work: Work) -> (StepStatus, String) {
        opened(store, key).await;
        let step = claimed(store, "a", 1).await.unwrap().remove(0);
        let settled = store.settle_steps(vec![done(&step, Some(work))]).await.unwrap();
        match &settled[..] {
            [Settled::Applied { status, refused, .. }] => (*status, refused.clone().unwrap_or_default()),
            other => panic!("{other:?}"),
        }
    }

    async fn balance(store: &SqliteStore) -> String {
        store.query_rows("SELECT balance FROM account").await.unwrap()
    }

    fn sql(text: &str) -> Work {
        Work::Sql(text.to_owned())
    }

    #[tokio::test]
    async fn i4_a_refused_statement_fails_its_step_and_leaves_nothing() {
        let store = memory().await;
        for (key, text, word) in [
            ("check", "UPDATE account SET balance = 1; UPDATE account SET balance = -1", "CHECK"),
            ("syntax", "UPDATE account SET balance = 1; SELEC 1", "syntax"),
            ("table", "INSERT INTO nowhere VALUES (1)", "nowhere"),
            ("commit", "UPDATE account SET balance = 1; COMMIT", "not authorized"),
            ("rollback", "ROLLBACK", "not authorized"),
            ("savepoint", "SAVEPOINT a", "not authorized"),
            ("attach", "ATTACH ':memory:' AS other", "not authorized"),
            ("pragma", "PRAGMA synchronous = OFF", "not authorized"),
            ("ours", "DELETE FROM onebell_runs", "not authorized"),
            ("shadow", "CREATE TEMP TABLE onebell_runs (a)", "not authorized"),
            ("deferred", "UPDATE account SET balance = 1; INSERT INTO entry VALUES (9)", "FOREIGN KEY"),
            ("whole", "UPDATE account SET balance = 1; INSERT OR ROLLBACK INTO account VALUES (1, 1)", "UNIQUE"),
            ("parameter", "UPDATE account SET balance = :new", "parameters"),
            ("blob", "UPDATE account SET balance = 1; SELECT x'00' AS b", "blob"),
        ] {
            let (status, refused) = settled(&store, key, sql(text)).await;
            assert_eq!(status, StepStatus::Failed, "{key}");
            assert!(refused.contains(word), "{key}: {refused}");
            assert_eq!(balance(&store).await, "[{\"balance\":100}]", "{key}");
        }
    }

    #[tokio::test]
    async fn a_programs_own_statements_commit_with_the_step_or_not_at_all() {
        let store = memory().await;
        let spend = work(|c| c.execute("UPDATE account SET balance = balance - 60", []).map(drop));
        assert_eq!(settled(&store, "first", spend.clone()).await, (StepStatus::Succeeded, String::new()));
        let (status, refused) = settled(&store, "second", spend).await;
        assert!(status == StepStatus::Failed && refused.contains("CHECK"), "{refused}");
        let panics = work(|c| {
            c.execute("UPDATE account SET balance = 0", [])?;
            panic!("as the test wants it")
        });
        let (status, refused) = settled(&store, "third", panics).await;
        assert!(status == StepStatus::Failed && refused.contains("panicked"), "{refused}");
        let (status, refused) = settled(&store, "fourth", work(|c| c.execute_batch("COMMIT"))).await;
        assert!(status == StepStatus::Failed && refused.contains("neither commit nor roll back"), "{refused}");
        assert_eq!(balance(&store).await, "[{\"balance\":40}]");
    }

    #[tokio::test]
    async fn i10_statements_that_do_not_end_are_ended_and_tried_again_within_the_budget() {
        let store = memory().await;
        let endless =
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) INSERT INTO account SELECT i, i FROM n WHERE i < 0";
        let (status, refused) = settled(&store, "endless", sql(endless)).await;
        assert!(status == StepStatus::Pending && refused.contains("longer"), "{status} {refused}");
        assert_eq!(balance(&store).await, "[{\"balance\":100}]");
    }

    #[tokio::test]
    async fn a_query_only_reads_and_is_bounded() {
        let store = memory().await;
        let refused = async |sql: &str| match store.query_rows(sql).await {
            Err(StoreError::Broken { message }) => message,
            other => panic!("{sql}: {other:?}"),
        };
        assert!(refused("DELETE FROM account").await.contains("only reading"));
        assert!(refused("DELETE FROM account RETURNING id").await.contains("only reading"));
        assert!(refused("SELECT 1; DELETE FROM account").await.contains("one query"));
        assert!(refused("PRAGMA query_only = OFF").await.contains("refused"));
        assert!(refused("BEGIN").await.contains("refused"));
        assert!(refused("SELECT x'00' AS b").await.contains("blob"));
        assert!(refused("SELECT 1e999 AS r").await.contains("infinite"));
        let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000) SELECT i FROM n";
        assert!(refused(many).await.contains("100000 rows"));
        assert!(refused("SELECT printf('%.*c', 17000000, 'x') AS t").await.contains("16 MiB"));
        let mixed = store.query_rows("SELECT 'a\"b' AS t, 1 AS n, 2.5 AS r, NULL AS z -- and a comment").await.unwrap();
        assert_eq!(mixed, r#"[{"t":"a\"b","n":1,"r":2.5,"z":null}]"#);
    }

    #[tokio::test]
    async fn a_database_without_a_fitting_schema_says_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jobs.db");
        let message = |opened: Result<SqliteStore, StoreError>| match opened {
            Err(StoreError::Broken { message }) => message,
            other => panic!("{other:?}"),
        };
        std::fs::write(&path, "").unwrap();
        assert!(message(SqliteStore::builder(&path).open()).contains("onebell migrate"));
        drop(SqliteStore::builder(&path).open_and_migrate().unwrap());
        let raw = rusqlite::Connection::open(&path).unwrap();
        raw.execute("INSERT INTO onebell_schema VALUES (99, 0)", []).unwrap();
        assert!(message(SqliteStore::builder(&path).open()).contains("newer"));
        assert!(message(SqliteStore::builder(&path).open_and_migrate()).contains("newer"));
        assert!(matches!(SqliteStore::builder(&path).migrate(true), Err(StoreError::Broken { .. })));
        let text = folder.path().join("notes.txt");
        std::fs::write(&text, "this is no database, and long enough to be told from one".repeat(20)).unwrap();
        assert!(message(SqliteStore::builder(&text).open()).contains("no SQLite database"));
        assert!(message(SqliteStore::builder(&path).file_system(FsKind::Network("NFS")).open()).contains("NFS"));
        assert!(message(SqliteStore::builder(":memory:").open_and_migrate()).contains(".inline()"));
        assert!(message(SqliteStore::builder(&path).statement("no_such", "SELECT 1").open()).contains("no_such"));
    }

    #[test]
    fn many_processes_may_open_a_new_file_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jobs.db");
        let barrier = Arc::new(Barrier::new(8));
        let open = |path: &Path, barrier: Arc<Barrier>| {
            let path = path.to_owned();
            std::thread::spawn(move || {
                barrier.wait();
                SqliteStore::builder(&path).open_and_migrate().map(drop)
            })
        };
        let opening: Vec<_> = (0..8).map(|_| open(&path, Arc::clone(&barrier))).collect();
        for opened in opening {
            opened.join().unwrap().unwrap();
        }
    }

    /// Of two that meet at a file without a log, SQLite turns one away without asking its busy handler.
    #[test]
    fn whoever_looks_while_a_file_is_made_waits_or_is_told_that_there_is_nothing_yet() {
        for _ in 0..40 {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("jobs.db");
            rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE mine (n)").unwrap();
            let barrier = Arc::new(Barrier::new(6));
            let open = |migrate: bool| {
                let (path, barrier) = (path.clone(), Arc::clone(&barrier));
                std::thread::spawn(move || {
                    barrier.wait();
                    let builder = SqliteStore::builder(&path);
                    if migrate { builder.open_and_migrate().map(drop) } else { builder.open().map(drop) }
                })
            };
            let opening: Vec<_> = (0..6).map(|number| open(number == 0)).collect();
            for opened in opening {
                let opened = opened.join().unwrap();
                assert!(!matches!(opened, Err(StoreError::Contended { .. })), "{opened:?}");
            }
        }
    }

    #[tokio::test]
    async fn a_lock_that_somebody_keeps_is_contended_and_nothing_happened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jobs.db");
        let store = SqliteStore::builder(&path).open_and_migrate().unwrap();
        prepared(&store, "a").await;
        opened(&store, "k").await;
        let other = rusqlite::Connection::open(&path).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert!(matches!(claimed(&store, "a", 1).await, Err(StoreError::Contended { .. })));
        assert_eq!(store.runs(&onebell::store::RunFilter::default()).await.unwrap().len(), 1, "reading goes on");
        other.execute_batch("ROLLBACK").unwrap();
        assert_eq!(claimed(&store, "a", 1).await.unwrap().len(), 1);
    }

    /// A writer that began by reading would find another's commit in its way (SQLITE_BUSY_SNAPSHOT), and waiting cannot help.
    #[tokio::test]
    async fn k14_04_a_transaction_that_writes_has_the_lock_before_it_reads() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jobs.db");
        let store = SqliteStore::builder(&path).open_and_migrate().unwrap();
        prepared(&store, "a").await;
        store.execute("CREATE TABLE account (balance INTEGER)").await.unwrap();
        let refused = Arc::new(std::sync::Mutex::new(None));
        let seen = Arc::clone(&refused);
        let statements = work(move |connection| {
            // The settlement has read its step by now and written nothing yet.
            let other = rusqlite::Connection::open(&path)?;
            other.busy_timeout(Duration::ZERO)?;
            let between = other.execute("INSERT INTO account VALUES (1)", []).map_err(|error| error.sqlite_error_code());
            *seen.lock().unwrap() = Some(between);
            connection.execute("INSERT INTO account VALUES (2)", []).map(drop)
        });
        assert_eq!(settled(&store, "k", statements).await, (StepStatus::Succeeded, String::new()));
        assert_eq!(*refused.lock().unwrap(), Some(Err(Some(rusqlite::ErrorCode::DatabaseBusy))), "nobody comes between");
        assert_eq!(store.query_rows("SELECT * FROM account").await.unwrap(), "[{\"balance\":2}]");
    }

    /// Text compares by its letters: 23:00 with a blank sorts before 01:00 with a T.
    #[tokio::test]
    async fn k14_05_every_instant_is_an_integer_and_compares_as_time_does() {
        let store = memory().await;
        opened(&store, "k").await;
        let columns = "SELECT m.name AS t, c.name AS c, c.type AS type FROM sqlite_schema m, pragma_table_info(m.name) c
            WHERE m.type = 'table' AND m.name LIKE 'onebell\\_%' ESCAPE '\\'
            AND (c.name LIKE '%\\_at' ESCAPE '\\' OR c.name LIKE '%complete\\_by' ESCAPE '\\' OR c.name LIKE '%cursor%'
                OR c.name LIKE '%slot%' OR c.name LIKE '%before%' OR c.name IN ('scheduled_for', 'expires'))";
        let rows: Vec<BTreeMap<String, String>> = serde_json::from_str(&store.query_rows(columns).await.unwrap()).unwrap();
        assert!(rows.len() > 15, "{rows:?}");
        let wrong: Vec<_> = rows.iter().filter(|row| row["type"] != "INTEGER").collect();
        assert!(wrong.is_empty(), "{wrong:?}");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 3)]
    async fn i2_processes_that_claim_at_once_share_the_work_and_take_nothing_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("jobs.db");
        let stores: Vec<SqliteStore> = (0..3).map(|_| SqliteStore::builder(&path).open_and_migrate().unwrap()).collect();
        for (store, replica) in stores.iter().zip(["a", "b", "c"]) {
            prepared(store, replica).await;
        }
        for n in 0..240 {
            opened(&stores[0], &format!("k{n}")).await;
        }
        let agents = stores.into_iter().zip(["a", "b", "c"]).map(|(store, replica)| {
            tokio::spawn(async move {
                let mut settled = 0;
                loop {
                    let steps = claimed(&store, replica, 5).await.unwrap();
                    if steps.is_empty() {
                        return settled;
                    }
                    let settlements = steps.iter().map(|step| done(step, None)).collect();
                    for answer in store.settle_steps(settlements).await.unwrap() {
                        assert!(matches!(answer, Settled::Applied { status: StepStatus::Succeeded, .. }), "{answer:?}");
                        settled += 1;
                    }
                }
            })
        });
        let mut shares = Vec::new();
        for agent in agents.collect::<Vec<_>>() {
            shares.push(agent.await.unwrap());
        }
        assert_eq!(shares.iter().sum::<u32>(), 240);
        assert!(shares.iter().all(|share| *share > 0), "{shares:?}");
    }
}
