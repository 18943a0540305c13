//! Commands that change something a person decides about. Each act is in the audit log.

use onebell::model::RunId;
use onebell::roles::scheduler;
use onebell::store::{Acted, Resolution, Store};

use super::trigger::no_such_job;
use super::{actor, store};
use crate::answer::{Answer, Failure, line};
use crate::args::{ActOnJob, ActOnRun, Common, StepVerdict};

/// `onebell pause JOB`
pub async fn pause(common: &Common, args: &ActOnJob) -> Answer {
    let store = store(common).await?;
    let acted =
        scheduler::pause(store.as_ref(), onebell::replica::ZoneData::newest().zones(), &args.job, &actor(&args.acting)).await?;
    told_of_job(store.as_ref(), acted, &args.job, "paused: no slot is opened until onebell resume").await
}

/// `onebell resume JOB`
pub async fn resume(common: &Common, args: &ActOnJob) -> Answer {
    let store = store(common).await?;
    let acted =
        scheduler::resume(store.as_ref(), onebell::replica::ZoneData::newest().zones(), &args.job, &actor(&args.acting)).await?;
    told_of_job(store.as_ref(), acted, &args.job, "resumed: what came due meanwhile is recorded as skipped").await
}

async fn told_of_job(store: &dyn Store, acted: Acted, job: &str, done: &str) -> Answer {
    match acted {
        Acted::NotFound => Err(no_such_job(store, job).await),
        acted => told(acted, &format!("job {job}"), done),
    }
}

/// `onebell cancel RUN`
pub async fn cancel(common: &Common, args: &ActOnRun) -> Answer {
    let acted = store(common).await?.cancel_run(&RunId::from_text(&args.run), &actor(&args.acting)).await?;
    told(acted, &format!("run {}", args.run), "is being cancelled")
}

/// `onebell retry RUN`
pub async fn retry(common: &Common, args: &ActOnRun) -> Answer {
    let acted = store(common).await?.retry_run(&RunId::from_text(&args.run), &actor(&args.acting)).await?;
    told(acted, &format!("run {}", args.run), "got a new budget")
}

/// `onebell resolve RUN STEP --as VERDICT`
pub async fn resolve(common: &Common, args: &ActOnRun, step: &str, verdict: StepVerdict) -> Answer {
    let resolution = match verdict {
        StepVerdict::Succeeded => Resolution::Succeeded,
        StepVerdict::Failed => Resolution::Failed,
        StepVerdict::Retry => Resolution::Retry,
    };
    let store = store(common).await?;
    let acted = resolve_step(store.as_ref(), args, step, resolution).await?;
    told(acted, &format!("step {step} of run {}", args.run), &format!("resolved as {resolution}"))
}

async fn resolve_step(store: &dyn Store, args: &ActOnRun, step: &str, resolution: Resolution) -> Result<Acted, Failure> {
    Ok(store.resolve_step(&RunId::from_text(&args.run), step, resolution, &actor(&args.acting)).await?)
}

/// Says what became of an act.
pub(super) fn told(acted: Acted, what: &str, done: &str) -> Answer {
    match acted {
        Acted::Done => {
            line(format!("{what} {done}"));
            Ok(())
        }
        Acted::NotFound => Err(Failure::usage(format!("no {what}; nothing was changed"))),
        Acted::NotNow(why) => Err(Failure::usage(format!("{what}: {why}; nothing was changed"))),
    }
}
