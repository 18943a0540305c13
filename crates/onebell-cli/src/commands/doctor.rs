//! `onebell doctor`: what a person has to set right about time: clocks, zones, and limits that do not fit to the history. It changes
//! nothing unless it is told to.

use onebell::model::Moment;
use onebell::model::behind::behind;
use onebell::model::zone_version::ZoneVersion;
use onebell::replica::{Settings, ZoneData};
use onebell::store::{Acted, ReplicaView, Store};
use serde::Serialize;

use super::{actor, store, times};
use crate::answer::{Answer, Failure, json, line};
use crate::args::{Common, Doctor, Format};

/// What is wrong, and what to do about it.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) fix: String,
}

/// Says what it finds; with `--accept-clock`, accepts the clock first.
pub async fn doctor(common: &Common, args: &Doctor) -> Answer {
    let store = store(common).await?;
    if args.accept_clock {
        accept(store.as_ref(), args).await?;
    }
    let (now, newest) = (store.scheduler_now().await?, store.newest_renewal().await?);
    let mut findings: Vec<Finding> = clock(now, newest).into_iter().collect();
    findings.extend(zones(&store.replicas().await?, ZoneData::newest().version()));
    findings.extend(limits(store.as_ref()).await?);
    if common.format == Format::Json {
        json(&serde_json::json!({ "now": now, "tzdata": ZoneData::newest().version(), "findings": findings }))?;
    } else {
        line(format!("clock           {now}{}", if newest.is_none() { ", the database server's own" } else { ", this host's" }));
        line(format!("time-zone data  {}", ZoneData::newest().version()));
        for finding in &findings {
            line(format!("{}\n    {}", finding.message, finding.fix));
        }
    }
    match findings.len() {
        0 => Ok(()),
        1 => Err(Failure::Findings("1 finding".to_owned())),
        many => Err(Failure::Findings(format!("{many} findings"))),
    }
}

async fn accept(store: &dyn Store, args: &Doctor) -> Answer {
    match store.accept_clock(&actor(&args.acting)).await? {
        Acted::NotNow(why) => Err(Failure::usage(format!("there is no clock to accept: it {why}"))),
        Acted::Done | Acted::NotFound => {
            tracing::info!("the clock is accepted: planning goes on from now; what ran does not run again");
            Ok(())
        }
    }
}

/// Timeouts and periods that do not fit to how long the registered jobs took lately.
async fn limits(store: &dyn Store) -> Result<Vec<Finding>, Failure> {
    let jobs: Vec<_> = store.jobs_named(None).await?.into_iter().map(|job| job.definition).collect();
    let finding = |(job, advice): (String, onebell::model::times::TimeAdvice)| {
        let (code, of) = match &advice.step {
            Some(step) => ("timeout-short", format!("job {job}, step {step}")),
            None => ("longer-than-period", format!("job {job}")),
        };
        Finding { code, message: format!("{of}: {}", advice.message), fix: format!("write {}", advice.paste) }
    };
    Ok(times::advise(store, &jobs).await?.into_iter().map(finding).collect())
}

/// The clock of a host that was set back.
pub(super) fn clock(now: Moment, newest: Option<Moment>) -> Option<Finding> {
    let span = behind(now, newest?, Settings::default().lease)?;
    Some(Finding {
        code: "clock-behind",
        message: format!(
            "this host's clock lies {} s behind what was written in the database before: nothing is planned",
            span.as_secs()
        ),
        fix: "set the clock right; if it is right, end replicas whose clock is ahead and run: onebell doctor --accept-clock"
            .to_owned(),
    })
}

/// Live replicas that plan by different rules.
pub(super) fn zones(replicas: &[ReplicaView], own: &str) -> Vec<Finding> {
    let plan = |replica: &&ReplicaView| replica.lost_at.is_none() && replica.left_at.is_none() && !replica.tzdata.is_empty();
    let mut versions: Vec<&str> = replicas.iter().filter(plan).map(|replica| replica.tzdata.as_str()).collect();
    versions.sort_by_key(|version| ZoneVersion::read(version));
    versions.dedup();
    let fix = || "bring the system's tzdata up to date (or TZDIR, or the program), then start the replica again".to_owned();
    let mut findings = Vec::new();
    if versions.len() > 1 {
        let message = format!("replicas have different time-zone data ({}): the newest plans", versions.join(", "));
        findings.push(Finding { code: "zone-data-differs", message, fix: fix() });
    }
    if let Some(newest) = versions.last().filter(|newest| ZoneVersion::read(newest) > ZoneVersion::read(own)) {
        let message =
            format!("this program has time-zone data {own}, a replica has {newest}: what it explains may be out of date");
        findings.push(Finding { code: "zone-data-older", message, fix: fix() });
    }
    findings
}
