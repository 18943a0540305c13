use onebell_testkit::Cluster;
use rustix::process::{Pid, test_kill_process};

use crate::site::{Place, Process, Site};

const JOBS: &str = r#"
[replica]
lease = "2s"

[jobs.work]
timeout = "10m"
shell = true
command = '''
echo "$$" >> started
while [ ! -e go ]; do sleep 0.02; done
echo done >> done
'''
"#;

/// What nobody can be asked about meanwhile.
const WORKS: usize = 4;

/// Two replicas with all their work in hand.
struct Busy {
    site: Site,
    replicas: [Process; 2],
    store: std::sync::Arc<dyn onebell::store::Store>,
    runs: Vec<onebell::model::RunId>,
}

impl Busy {
    async fn on(site: Site) -> Self {
        let replicas = [site.replica("a", &[]), site.replica("b", &[])];
        let store = site.store().await;
        let mut runs = Vec::new();
        for n in 0..WORKS {
            runs.push(site.trigger(store.as_ref(), "work", &format!("k{n}")).await);
        }
        site.until_line("started", WORKS).await;
        Self { site, replicas, store, runs }
    }

    /// Their own agents end the work at 0.7 leases; then as long again passes twice over.
    async fn longer_than_a_lease(&self) {
        let begun = std::time::Instant::now();
        let pids: Vec<Pid> =
            self.site.read("started").lines().filter_map(|line| Pid::from_raw(line.trim().parse().ok()?)).collect();
        assert_eq!(pids.len(), WORKS);
        let ended = async || pids.iter().all(|pid| test_kill_process(*pid).is_err()).then_some(());
        self.site.until("all work is ended by its own agents", ended).await;
        let ended = begun.elapsed();
        self.site.until("a lease is over", async || (begun.elapsed() > ended * 3).then_some(())).await;
    }

    async fn goes_on_as_if_nothing_had_been(mut self) {
        let site = &self.site;
        for run in &self.runs {
            let succeeded = async || {
                let detail = self.store.run(run).await.ok().flatten()?;
                (detail.run.status == "succeeded").then_some(detail)
            };
            let detail = site.until("it goes on", succeeded).await;
            assert_eq!(detail.steps[0].tries, 1, "{detail:?}");
            let outcomes = detail.steps[0].attempts.iter().map(|attempt| attempt.outcome.as_str());
            // A claim that the store answered when nobody vouched for it any longer went back unbegun.
            let begun: Vec<&str> = outcomes.filter(|outcome| *outcome != "given_back").collect();
            assert_eq!(begun, ["stopped", "succeeded"], "{}", site.logs());
        }
        assert_eq!(site.read("started").lines().count(), 2 * WORKS);
        assert_eq!(site.read("done").lines().count(), WORKS);
        assert!(self.store.recoveries(10).await.unwrap().is_empty());
        assert!(self.store.replicas().await.unwrap().iter().all(|replica| replica.lost_at.is_none()));
        assert!(self.replicas.iter_mut().all(|replica| replica.ended().is_none()), "{}", site.logs());
    }
}

/// The server is shut down for longer than a lease while two replicas work.
async fn an_outage_longer_than_a_lease_burns_no_try_and_recovers_nobody(version: u32) {
    let mut cluster = Cluster::start(version);
    let busy = Busy::on(Site::on_url(cluster.url(), JOBS)).await;
    cluster.stop_immediate();
    busy.longer_than_a_lease().await;
    std::fs::write(busy.site.path("go"), "").unwrap();
    cluster.restart();
    busy.goes_on_as_if_nothing_had_been().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_15_outage_longer_than_a_lease_burns_no_try_and_recovers_nobody() {
    an_outage_longer_than_a_lease_burns_no_try_and_recovers_nobody(15).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_18_outage_longer_than_a_lease_burns_no_try_and_recovers_nobody() {
    an_outage_longer_than_a_lease_burns_no_try_and_recovers_nobody(18).await;
}

/// As a replica does that is frozen in the middle of a write: of a file there is no session that a server could end.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_lock_of_sqlite_kept_longer_than_a_lease_burns_no_try_and_recovers_nobody() {
    let busy = Busy::on(Site::new(Place::Sqlite, JOBS).await).await;
    let frozen = rusqlite::Connection::open(busy.site.path("onebell.db")).unwrap();
    frozen.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    frozen.execute_batch("BEGIN IMMEDIATE").unwrap();
    busy.longer_than_a_lease().await;
    std::fs::write(busy.site.path("go"), "").unwrap();
    frozen.execute_batch("ROLLBACK").unwrap();
    busy.goes_on_as_if_nothing_had_been().await;
}
