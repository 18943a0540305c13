//! What time costs: slots named per second, a pass over a hundred thousand schedules, a thousand slots due at once. Numbers as
//! measured, on the machine and under the load that it has; nothing is asserted. Run by `scripts/bench`.
//!
//! `time-bench [URL]`: an empty PostgreSQL database; none: only what needs no database.
#![expect(clippy::disallowed_methods, reason = "a bench reads the real clock")]
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a bench that cannot go on ends; its numbers are its answer")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::tz::TimeZoneDatabase;
use onebell::model::job::{Dst, JobDefinition, ScheduleDefinition, StepDefinition, When};
use onebell::model::schedule::Schedule;
use onebell::model::zone_version::Left;
use onebell::model::{JobId, Moment, ReplicaId};
use onebell::roles::scheduler::{Rules, pass};
use onebell::store::postgres::PostgresStore;
use onebell::store::{ReplicaInfo, ReplicaStore};
use tokio_postgres::{Client, NoTls};

const SCHEDULES: usize = 100_000;
const DUE: usize = 1_000;

#[tokio::main]
async fn main() {
    let zones = TimeZoneDatabase::bundled();
    names_slots(&zones);
    match std::env::args().nth(1) {
        Some(url) => over_postgres(&url, &zones).await,
        None => println!("no database was named: the passes are left out"),
    }
}

fn definition(when: When, zone: &str) -> ScheduleDefinition {
    ScheduleDefinition { when, time_zone: zone.to_owned(), dst: Dst::Vixie }
}

/// On one core.
fn names_slots(zones: &TimeZoneDatabase) {
    for (expression, zone) in [
        ("*/5 * * * *", "UTC"),
        ("0 2 * * *", "UTC"),
        ("*/5 * * * *", "Europe/Berlin"),
        ("0 2 * * *", "Europe/Berlin"),
        ("30 9 * * MON-FRI", "America/New_York"),
    ] {
        let when = When::Cron { expression: expression.to_owned(), seconds: false };
        let schedule = Schedule::parse(&definition(when, zone), "j", zones).unwrap();
        let start: Moment = "2026-11-29T12:00:00Z".parse().unwrap();
        let (begun, mut after, mut count) = (Instant::now(), start, 0_u64);
        while begun.elapsed() < Duration::from_secs(1) {
            for _ in 0..1_000 {
                after = schedule.next(after).map_or(start, |slot| slot.at);
            }
            count += 1_000;
        }
        let rate = count as f64 / begun.elapsed().as_secs_f64();
        println!("next {expression:<18} {zone:<18} {:>10.0} slots/s on one core", rate);
    }
}

/// A job as a job file would have it.
fn job(name: &str) -> JobDefinition {
    let mut job = JobDefinition::new(name);
    job.steps.push(StepDefinition::new("work", "work"));
    job.schedules.push(definition(When::Cron { expression: "0 2 * * *".to_owned(), seconds: false }, "Europe/Berlin"));
    job
}

async fn over_postgres(url: &str, zones: &TimeZoneDatabase) {
    let store = PostgresStore::builder(url).connect_and_migrate().await.unwrap();
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let names: Vec<String> = (0..SCHEDULES).map(|n| format!("job {n}")).collect();
    let mut carried: Vec<JobId> = names.iter().map(|name| JobId::of_name(name)).collect();
    fill(&client, &names, &carried).await;
    carried.sort_unstable();
    for name in ["a", "b", "c"] {
        enlist(&store, name, &carried).await;
    }
    client.batch_execute("VACUUM ANALYZE onebell.jobs, onebell.replicas").await.unwrap();
    let version: String = client.query_one("SHOW server_version", &[]).await.unwrap().get(0);
    println!("PostgreSQL {version}, {SCHEDULES} schedules, all of them carried");
    let own = ReplicaId::from_text("a");
    let rules = Rules { zones, version: "2026f", patience: Duration::from_secs(10), replica: Some(&own) };
    // What the round trips alone cost here.
    idle(&store, &rules, &carried[..1]).await;
    idle(&store, &rules, &carried).await;
    for round in 1..=3 {
        burst(url, &client, zones, &carried, round).await;
    }
}

async fn fill(client: &Client, names: &[String], ids: &[JobId]) {
    let definitions: Vec<String> = names.iter().map(|name| serde_json::to_string(&job(name)).unwrap()).collect();
    let ids: Vec<&str> = ids.iter().map(JobId::as_str).collect();
    let text =
        "INSERT INTO onebell.jobs (job_id, name, definition, version, hash, registered_by, registered_at, cursor, next_slot)
        SELECT i, n, d::jsonb, 1, 'h', 'bench', now(), now(), now() + interval '1 hour'
        FROM unnest($1::text[], $2::text[], $3::text[]) AS t (i, n, d)";
    client.execute(text, &[&ids, &names, &definitions]).await.unwrap();
}

async fn enlist(store: &PostgresStore, name: &str, jobs: &[JobId]) {
    let jobs: BTreeMap<JobId, String> = jobs.iter().map(|job| (job.clone(), "h".to_owned())).collect();
    let info = ReplicaInfo {
        id: ReplicaId::from_text(name),
        label: name.to_owned(),
        version: "0".to_owned(),
        tzdata: "2026f".to_owned(),
        jobs,
        handlers: vec!["work".to_owned()],
        queues: vec!["default".to_owned()],
        channels: Vec::new(),
        lease: Duration::from_secs(10),
    };
    store.enlist(&info).await.unwrap();
}

async fn idle(store: &PostgresStore, rules: &Rules<'_>, carried: &[JobId]) {
    let mut took = Vec::new();
    for _ in 0..100 {
        let begun = Instant::now();
        let report = pass(store, rules, &mut Left::default(), carried, true).await.unwrap();
        took.push(begun.elapsed());
        assert_eq!((report.opened, report.next_slot.is_some()), (0, true));
    }
    took.sort_unstable();
    println!(
        "idle pass, {:>6} carried  median {:.2?}  fastest {:.2?}  slowest {:.2?}  of 100",
        carried.len(),
        took[50],
        took[0],
        took[99]
    );
}

/// Three replicas race for what came due in one second.
async fn burst(url: &str, client: &Client, zones: &TimeZoneDatabase, carried: &[JobId], round: usize) {
    let (from, to) = ((round - 1) * DUE, round * DUE);
    let due: Vec<String> = (from..to).map(|n| JobId::of_name(&format!("job {n}")).to_string()).collect();
    // Their slot of today is behind them: one run each.
    let mut stores = Vec::new();
    for _ in 0..3 {
        stores.push(PostgresStore::builder(url).connect().await.unwrap());
    }
    let slot = "UPDATE onebell.jobs SET cursor = now() - interval '24 hours', next_slot = now() WHERE job_id = ANY($1)";
    client.execute(slot, &[&due]).await.unwrap();
    let (begun, carried): (_, Arc<[JobId]>) = (Instant::now(), Arc::from(carried));
    let racing = stores.into_iter().zip(["a", "b", "c"]).map(|(store, name)| {
        let (zones, carried, own) = (zones.clone(), Arc::clone(&carried), ReplicaId::from_text(name));
        tokio::spawn(async move {
            let rules = Rules { zones: &zones, version: "2026f", patience: Duration::from_secs(10), replica: Some(&own) };
            let (mut opened, mut stale, mut left) = (0, 0, Left::default());
            loop {
                let report = pass(&store, &rules, &mut left, &carried, true).await.unwrap();
                (opened, stale) = (opened + report.opened, stale + report.stale);
                if report.planned + report.stale == 0 {
                    return (opened, stale, begun.elapsed());
                }
            }
        })
    });
    let (mut opened, mut stale, mut took) = (0, 0, Duration::ZERO);
    for task in racing.collect::<Vec<_>>() {
        let (mine, lost, until) = task.await.unwrap();
        (opened, stale, took) = (opened + mine, stale + lost, took.max(until));
    }
    let runs: i64 = client.query_one("SELECT count(*) FROM onebell.runs WHERE job_id = ANY($1)", &[&due]).await.unwrap().get(0);
    println!(
        "{DUE} due at once  {took:.2?} until three replicas see none left  runs {runs}  opened {opened}  lost races {stale}"
    );
}
