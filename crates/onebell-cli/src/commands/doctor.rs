//! `onebell doctor`: what a person has to set right about the database and about time: settings, schema, clocks, zones, and limits that
//! do not fit to the history. It changes nothing unless it is told to: to accept a clock, or to hold what a restore left open.

mod database;
mod restored;

use onebell::model::Moment;
use onebell::model::behind::behind;
use onebell::model::zone_version::ZoneVersion;
use onebell::replica::{Settings, ZoneData};
use onebell::store::{Acted, ReplicaView, Store};
use serde::Serialize;

use super::{actor, database as chosen, times};
use crate::answer::{Answer, Failure, json, line};
use crate::args::{Common, Doctor, Format};
use crate::database::Database;

/// What is wrong, and what to do about it.
#[derive(Debug, Serialize)]
pub(super) struct Finding {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) fix: String,
}

/// Says what it finds; with `--accept-clock`, accepts the clock first.
pub async fn doctor(common: &Common, args: &Doctor) -> Answer {
    let database = chosen(common)?;
    if let Some(older) = schema(&database).await? {
        return told(common, &serde_json::json!({ "findings": [&older] }), &[], &[&older]);
    }
    let store = database.look().await?;
    if let Some(since) = args.after_restore {
        return restored::after(common, &database, store.as_ref(), since, &actor(&args.acting)).await;
    }
    if args.accept_clock {
        accept(store.as_ref(), args).await?;
    }
    let (now, newest) = (store.scheduler_now().await?, store.newest_renewal().await?);
    let seen = database::look(&database, store.as_ref()).await?;
    let lines = seen.lines();
    let mut findings = seen.findings;
    findings.extend(clock(now, newest));
    findings.extend(zones(&store.replicas().await?, ZoneData::newest().version()));
    findings.extend(limits(store.as_ref()).await?);
    let tzdata = ZoneData::newest();
    let whose = if newest.is_none() { "the database server's own" } else { "this host's" };
    let of_time = [format!("clock           {now}, {whose}"), format!("time-zone data  {}", tzdata.version())];
    let all = serde_json::json!({
        "now": now, "tzdata": tzdata.version(), "database": seen.facts, "findings": findings,
    });
    told(common, &all, &[lines.as_slice(), &of_time].concat(), &findings.iter().collect::<Vec<_>>())
}

fn told(common: &Common, all: &serde_json::Value, facts: &[String], findings: &[&Finding]) -> Answer {
    if common.format == Format::Json {
        json(all)?;
    } else {
        facts.iter().for_each(line);
        findings.iter().for_each(|finding| line(format!("{}\n    {}", finding.message, finding.fix)));
    }
    match findings.len() {
        0 => Ok(()),
        1 => Err(Failure::Findings("1 finding".to_owned())),
        many => Err(Failure::Findings(format!("{many} findings"))),
    }
}

/// A schema that is older than this program: whatever opens it brings it up, but a look does not.
async fn schema(database: &Database) -> Result<Option<Finding>, Failure> {
    if !database.exists() {
        return Err(Failure::usage("there is no database yet; onebell run, or onebell migrate, makes it"));
    }
    let pending = database.pending().await?;
    Ok((!pending.is_empty()).then(|| Finding {
        code: "schema-older",
        message: format!("the database's schema lacks {}", pending.join(", ")),
        fix: "onebell migrate, or start a replica of this version".to_owned(),
    }))
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
