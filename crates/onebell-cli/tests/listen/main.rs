//! `run --listen`: what monitoring reads of a replica, over real requests.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends")]
#![expect(clippy::disallowed_methods, reason = "real processes run by the real clock")]

mod callbacks;
mod exposition;
mod hostile;
mod site;

use std::collections::BTreeSet;

use onebell_cli::listen::METRICS;
use onebell_testkit::Cluster;
use rustix::process::Signal;

use site::Site;

const JOBS: &str = r#"
[replica]
lease = "1s"

[jobs.quick]
command = ["true"]

[jobs.wrong]
command = ["false"]
retry = { attempts = 1 }
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_is_healthy_ready_and_counted() {
    let site = Site::new(None, JOBS).await;
    let replica = site.listening();
    replica.until(&site, "/readyz", 200).await;
    assert_eq!(replica.get("/healthz"), (200, "ok\n".to_owned()));
    site.typed(&["trigger", "quick", "--wait"], 0);
    site.typed(&["trigger", "wrong", "--wait"], 1);
    let counted = |sample: &str| replica.get("/metrics").1.lines().any(|line| line == sample);
    for sample in [
        "onebell_store_up 1",
        "onebell_replica_ready 1",
        "onebell_live_replicas 1",
        "onebell_runs{status=\"succeeded\"} 1",
        "onebell_runs{status=\"parked\"} 1",
        "onebell_steps{status=\"exhausted\"} 1",
        "onebell_messages{status=\"in_doubt\"} 0",
        "onebell_replica_attempts_total{outcome=\"succeeded\"} 1",
        "onebell_replica_attempts_total{outcome=\"exhausted\"} 1",
        "onebell_waiting_seconds{what=\"step\"} 0",
    ] {
        site.until(sample, || counted(sample)).await;
    }
    let status: serde_json::Value = serde_json::from_str(&site.typed(&["status", "--format", "json"], 0)).unwrap();
    assert_eq!(status["waiting"], serde_json::json!({ "step_us": 0, "message_us": 0, "slot_us": 0 }));
    assert_eq!(replica.get("/nothing").0, 404);
    assert_eq!(replica.ask("POST", "/metrics").0, 405);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_is_what_prometheus_reads_and_the_docs_list() {
    let site = Site::new(None, JOBS).await;
    let replica = site.listening();
    replica.until(&site, "/readyz", 200).await;
    site.typed(&["trigger", "quick", "--wait"], 0);
    let families = exposition::read(&replica.get("/metrics").1).unwrap_or_else(|error| panic!("{error}"));
    let known: BTreeSet<&str> = METRICS.iter().map(|(name, ..)| *name).collect();
    assert!(families.iter().all(|name| known.contains(name.as_str())), "{families:?}");
    let docs = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operations.md")).unwrap();
    let rows = docs.lines().filter(|line| line.contains("` | gauge |") || line.contains("` | counter |"));
    let listed: BTreeSet<&str> =
        rows.filter_map(|line| line.strip_prefix("| `onebell_")?.split_once('`')).map(|(name, _)| name).collect();
    let expected: BTreeSet<&str> = known.iter().map(|name| name.trim_start_matches("onebell_")).collect();
    assert_eq!(listed, expected, "docs/operations.md lists them all");
}

async fn a_replica_whose_store_is_away_is_healthy_and_not_ready(version: u32) {
    let mut cluster = Cluster::start(version);
    let site = Site::over(cluster.url(), JOBS);
    let replica = site.listening();
    replica.until(&site, "/readyz", 200).await;
    cluster.stop_immediate();
    replica.until(&site, "/readyz", 503).await;
    assert!(replica.get("/readyz").1.contains("the store is away"), "{:?}", replica.get("/readyz"));
    assert_eq!(replica.get("/healthz").0, 200);
    site.until("the page says so", || replica.get("/metrics").1.contains("onebell_store_up 0")).await;
    cluster.restart();
    replica.until(&site, "/readyz", 200).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_15_a_replica_whose_store_is_away_is_healthy_and_not_ready() {
    a_replica_whose_store_is_away_is_healthy_and_not_ready(15).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_18_a_replica_whose_store_is_away_is_healthy_and_not_ready() {
    a_replica_whose_store_is_away_is_healthy_and_not_ready(18).await;
}

/// Waiting for a database that was never there: no restart loop, no traffic.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_waits_for_its_database_is_healthy_and_not_ready() {
    let site = Site::over("postgres://nobody@127.0.0.1:1/none".to_owned(), JOBS);
    let replica = site.listening();
    replica.until(&site, "/readyz", 503).await;
    assert_eq!(replica.get("/healthz").0, 200);
    assert!(replica.get("/metrics").1.contains("onebell_store_up 0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_drains_is_not_ready() {
    let job = "[jobs.long]\nshell = true\ncommand = \"echo x > began; while [ ! -e go ]; do sleep 0.02; done\"\n";
    let site = Site::new(None, job).await;
    let replica = site.listening();
    replica.until(&site, "/readyz", 200).await;
    site.typed(&["trigger", "long"], 0);
    site.until("it works", || site.path("began").exists()).await;
    replica.signal(Signal::TERM);
    replica.until(&site, "/readyz", 503).await;
    std::fs::write(site.path("go"), "").unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_cannot_be_had_is_told_and_nothing_runs() {
    let site = Site::new(None, JOBS).await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = site.typed(&["run", "--listen", &address], 2);
    assert!(said.contains(&address) && said.contains("free port"), "{said}");
    assert!(site.typed(&["run", "--listen", "everywhere"], 2).contains("--listen"));
}
