use std::time::Duration;

use onebell_testkit::Cluster;

use crate::site::Site;

const JOBS: &str = r#"
[replica]
lease = "2s"

[jobs.work]
timeout = "10m"
shell = true
command = '''
echo "$ONEBELL_ATTEMPT" >> started
while [ ! -e go ]; do sleep 0.02; done
echo done >> done
'''
"#;

/// The server is shut down for longer than a lease while two replicas work.
async fn an_outage_longer_than_a_lease_burns_no_try_and_recovers_nobody(version: u32) {
    let mut cluster = Cluster::start(version);
    let site = Site::on_url(cluster.url(), JOBS);
    let mut replicas = [site.replica("a", &[]), site.replica("b", &[])];
    let store = site.store().await;
    let mut runs = Vec::new();
    for n in 0..4 {
        runs.push(site.trigger(store.as_ref(), "work", &format!("k{n}")).await);
    }
    site.until_line("started", 4).await;
    cluster.stop_immediate();
    // Longer than two leases: everybody's work is ended by its own agent meanwhile.
    tokio::time::sleep(Duration::from_secs(5)).await;
    std::fs::write(site.path("go"), "").unwrap();
    cluster.restart();
    for run in &runs {
        let succeeded = async || {
            let detail = store.run(run).await.ok().flatten()?;
            (detail.run.status == "succeeded").then_some(detail)
        };
        let detail = site.until("it goes on", succeeded).await;
        assert_eq!(detail.steps[0].tries, 1, "{detail:?}");
        let outcomes: Vec<&str> = detail.steps[0].attempts.iter().map(|attempt| attempt.outcome.as_str()).collect();
        assert_eq!(outcomes, ["stopped", "succeeded"], "{}", site.logs());
    }
    assert_eq!(site.read("done").lines().count(), 4);
    assert!(store.recoveries(10).await.unwrap().is_empty());
    assert!(store.replicas().await.unwrap().iter().all(|replica| replica.lost_at.is_none()));
    assert!(replicas.iter_mut().all(|replica| replica.ended().is_none()), "{}", site.logs());
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_15_outage_longer_than_a_lease_burns_no_try_and_recovers_nobody() {
    an_outage_longer_than_a_lease_burns_no_try_and_recovers_nobody(15).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_18_outage_longer_than_a_lease_burns_no_try_and_recovers_nobody() {
    an_outage_longer_than_a_lease_burns_no_try_and_recovers_nobody(18).await;
}
