//! `onebell trigger JOB`: asks for a run now.

mod rehearsal;

use std::time::Duration;

use onebell::model::{Key, RunId};
use onebell::store::{self as port, Store, Triggered};
use onebell::time::{SystemTimer, Timer};

use super::{actor, store};
use crate::answer::{Answer, Failure, json, line};
use crate::args::{Common, Format, Trigger};

/// Opens the run, or finds the one that the same request opened before; with `--wait`, stays until its end.
pub async fn trigger(common: &Common, args: &Trigger) -> Answer {
    let key = match &args.key {
        Some(key) => Key::new(key),
        // Two people in the same instant ask for two runs. A name may hold what no key may.
        None => {
            let job = args.job.replace(char::is_control, " ");
            Key::new(&format!("trigger/{job}/{}-{}", onebell::time::host_now().micros(), std::process::id()))
        }
    };
    let key = key.map_err(|error| Failure::usage(format!("--key: {error}")))?;
    if let Some(input) = &args.input {
        onebell::model::Fingerprint::of_json(input).map_err(|error| Failure::usage(format!("--input is no JSON: {error}")))?;
    }
    let store = store(common).await?;
    let request = port::Trigger { job: args.job.clone(), key, input: args.input.clone(), actor: actor(&args.acting) };
    if args.dry_run {
        return rehearsal::rehearse(common, store, &request).await;
    }
    let (run, already) = match store.trigger(&request).await? {
        Triggered::Opened(run) => (run, false),
        Triggered::Already(run) => (run, true),
        Triggered::Conflict(conflict) => return Err(Failure::Findings(conflict.to_string())),
        Triggered::NoSuchJob => return Err(no_such_job(store.as_ref(), &args.job).await),
    };
    let status = if args.wait { Some(wait(store.as_ref(), &run).await?) } else { None };
    if common.format == Format::Json {
        json(&serde_json::json!({ "run": run, "already": already, "status": status }))?;
    } else {
        let before = if already { " (opened before by the same key)" } else { "" };
        line(format!("{run}{before}{}", status.as_ref().map(|status| format!("  {status}")).unwrap_or_default()));
    }
    match status.as_deref() {
        None | Some("succeeded") => Ok(()),
        Some("parked") => Err(Failure::Work(format!("the run is parked; see: onebell show {run}"))),
        Some("cancelled") => Err(Failure::Work(format!("the run was cancelled; see: onebell show {run}"))),
        Some(other) => Err(Failure::Work(format!("the run {other}; see: onebell show {run}"))),
    }
}

/// Until the run is over or parked: its status.
async fn wait(store: &dyn Store, run: &RunId) -> Result<String, Failure> {
    loop {
        match store.run(run).await {
            Ok(Some(detail)) if detail.run.finished_at.is_some() || detail.run.status == "parked" => {
                return Ok(detail.run.status);
            }
            Ok(Some(_)) => {}
            Ok(None) => return Err(Failure::usage(format!("run {run} is gone: it was pruned"))),
            Err(error) if error.is_passing() => tracing::debug!(%error, "waiting for the database"),
            Err(error) => return Err(error.into()),
        }
        SystemTimer.sleep(Duration::from_millis(200)).await;
    }
}

/// An error with the nearest name that there is.
pub(super) async fn no_such_job(store: &dyn Store, name: &str) -> Failure {
    let known = store.jobs().await.unwrap_or_default();
    let nearest = known.iter().max_by(|a, b| strsim::jaro(&a.name, name).total_cmp(&strsim::jaro(&b.name, name)));
    match nearest {
        Some(job) if strsim::jaro(&job.name, name) > 0.7 => {
            Failure::usage(format!("no job {name:?}; did you mean {:?}?", job.name))
        }
        Some(_) => Failure::usage(format!("no job {name:?}; see: onebell jobs")),
        None => Failure::usage(format!(
            "no job {name:?}: none is registered yet; a replica registers those of its job file: onebell run"
        )),
    }
}
