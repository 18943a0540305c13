//! Behind PgBouncer in transaction mode: servers are handed from client to client between any two transactions.

use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use onebell::model::step::StepStatus;
use onebell::store::postgres::PostgresStore;
use onebell::store::{AgentStore, ReadStore, Settled, StepOutput};
use onebell_testkit::{VERSIONS, fresh_database};
use tempfile::TempDir;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::given::{applied, asks, claimed, does, open, prepare, settle, succeeds};

/// PgBouncer with fewer servers than clients.
struct Pooler {
    child: Child,
    port: u16,
    _folder: TempDir,
}

impl Drop for Pooler {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Pooler {
    fn before(url: &str) -> Self {
        let config: Config = url.parse().unwrap();
        let Host::Unix(socket) = &config.get_hosts()[0] else { panic!("{url} is no socket") };
        let program = std::env::var("ONEBELL_TEST_PGBOUNCER").expect("ONEBELL_TEST_PGBOUNCER is not set. Run scripts/test");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = tempfile::Builder::new().prefix("ob-pb-").tempdir_in("/tmp").unwrap();
        let (users, settings) = (folder.path().join("users"), folder.path().join("ini"));
        std::fs::write(&users, "\"postgres\" \"\"\n").unwrap();
        let text = format!(
            "[databases]\n* = host={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = any\nauth_file = {}\npool_mode = transaction\ndefault_pool_size = 3\nmax_client_conn = 200\n\
             ignore_startup_parameters = extra_float_digits\nuser = postgres\n",
            socket.display(),
            users.display()
        );
        let text = text.replace("* = host=", "* = user=postgres host=").replace("user = postgres\n", "");
        std::fs::write(&settings, text).unwrap();
        let mut command = Command::new(program);
        command.arg("-q").arg(&settings).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let number = |variable: &str| std::env::var(variable).ok().and_then(|text| text.parse::<u32>().ok());
        if let (Some(user), Some(group)) = (number("ONEBELL_TEST_SERVER_UID"), number("ONEBELL_TEST_SERVER_GID")) {
            std::os::unix::fs::chown(folder.path(), Some(user), Some(group)).unwrap();
            command.uid(user).gid(group);
        }
        let mut child = command.spawn().unwrap();
        onebell_testkit::until("PgBouncer takes connections", std::time::Duration::from_secs(20), || {
            assert!(child.try_wait().unwrap().is_none(), "PgBouncer ended at once");
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Self { child, port, _folder: folder }
    }

    fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }
}

/// Claims and settles until nothing is left; how many it settled.
async fn work_off(store: Arc<PostgresStore>) -> usize {
    let mut settled = 0;
    loop {
        let claimed = store.claim_steps(&asks(3)).await.unwrap().claimed;
        if claimed.is_empty() {
            return settled;
        }
        for step in claimed {
            let number = settled.to_string();
            let output = StepOutput { summary: number, ..StepOutput::default() };
            let answer = settle(&store, onebell::store::Settlement { output, ..succeeds(&step) }).await.unwrap();
            assert_eq!(applied(&answer), (StepStatus::Succeeded, None));
            settled += 1;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_clients_over_few_servers_settle_every_step_once() {
    for version in VERSIONS {
        let database = fresh_database(version).await;
        let pooler = Pooler::before(&database.url);
        let url = pooler.url(database.url.rsplit('/').next().unwrap());
        let mut stores = Vec::new();
        for _ in 0..6 {
            stores.push(Arc::new(PostgresStore::builder(&url).connections(3).connect_and_migrate().await.unwrap()));
        }
        prepare(&stores[0]).await;
        for n in 0..60 {
            open(&stores[n % 6], &format!("k{n}")).await;
        }
        let mut workers: Vec<_> = stores.iter().map(|store| tokio::spawn(work_off(Arc::clone(store)))).collect();
        let mut settled = 0;
        for worker in workers.drain(..) {
            settled += worker.await.unwrap();
        }
        assert_eq!(settled, 60);
        assert_eq!(stores[0].status().await.unwrap().runs["succeeded"], 60);
        drop(stores);
        drop(pooler);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_statements_and_queries_work_through_a_pooler() {
    let database = fresh_database(15).await;
    let pooler = Pooler::before(&database.url);
    let url = pooler.url(database.url.rsplit('/').next().unwrap());
    let store = PostgresStore::builder(&url).connect_and_migrate().await.unwrap();
    prepare(&store).await;
    store.execute("CREATE TABLE paid (id integer PRIMARY KEY)").await.unwrap();
    for n in 0..5 {
        let step = claimed(&store, &format!("k{n}")).await;
        let settlement = does(&step, &format!("INSERT INTO paid VALUES ({n}); SET search_path = nowhere; SELECT {n} AS n"));
        assert_eq!(applied(&settle(&store, settlement.clone()).await.unwrap()), (StepStatus::Succeeded, None));
        assert_eq!(settle(&store, settlement).await.unwrap(), Settled::Already);
    }
    assert_eq!(store.query_rows("SELECT count(*) AS n FROM paid").await.unwrap(), "[{\"n\":5}]");
}
