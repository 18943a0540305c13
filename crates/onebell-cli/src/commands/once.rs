//! `onebell once --key K -- COMMAND…`: one execution at a time per key over all hosts that share the database, and none after it
//! succeeded. The invocation is the scheduler, agent and supervisor of its one run.

mod code;
mod handler;
mod job;
mod slot;

use std::sync::Arc;
use std::time::Duration;

use onebell::model::{Key, RunId};
use onebell::replica::{Replica, ReplicaError, Roles, Settings, Shutdown, ZoneData};
use onebell::store::{Acted, Actor, RunDetail, Store, Trigger, Triggered};
use onebell::time::{SystemTimer, Timer};
use tokio::task::JoinError;

pub(crate) use job::NAME as JOB;

use super::actor;
use crate::answer::{Answer, Failure};
use crate::args::{Acting, Common, IfUnavailable, OnLost, Once};
use crate::database::Database;
use crate::jobfile::JobFile;
use crate::signals::Asked;

/// Between two looks at a run that somebody else works on.
const LOOK: Duration = Duration::from_millis(500);

/// Ends with the command's exit code; what goes wrong with us is 125, as `env` and `timeout` have it.
pub async fn once(common: &Common, args: Once) -> Answer {
    match carry_out(common, &args).await {
        Ok(0) => Ok(()),
        Ok(code) => Err(Failure::Exit(code)),
        Err(failure) => Err(failure.of_our_own()),
    }
}

async fn carry_out(common: &Common, args: &Once) -> Result<u8, Failure> {
    let database = named(common)?;
    let store = match database.open().await {
        Ok(store) => store,
        Err(error) if error.is_passing() && args.if_unavailable == IfUnavailable::Run => {
            tracing::warn!(%error, "the command is run without Onebell");
            return Err(code::run_bare(&args.command));
        }
        Err(error) if error.is_passing() => {
            return Err(Failure::usage(format!(
                "{error}; the command was not run. To run it all the same while the database is away: --if-unavailable run"
            )));
        }
        Err(error) => return Err(error.into()),
    };
    let who = actor(&Acting { actor: None, reason: None });
    let run = asked_for(store.as_ref(), args, &who).await?;
    let detail = look(store.as_ref(), &run).await?;
    match detail.run.status.as_str() {
        "succeeded" => {
            tracing::info!(%run, "done before");
            return Ok(0);
        }
        "failed" if handler::waits_for_a_person(&detail) => return Err(held(&run)),
        // Never again after it succeeded; after it failed, again.
        "failed" => {
            if let Acted::NotNow(why) = store.retry_run(&run, &who).await? {
                tracing::debug!(why, "somebody else takes it up");
            }
        }
        "cancelled" => return Err(Failure::usage(format!("{run} was cancelled; another key is another run"))),
        _ if is_exhausted(&detail) => return Err(parked(&run)),
        _ if args.no_wait && detail.steps.iter().any(|step| step.locked_by.is_some()) => {
            tracing::info!(%run, "it runs elsewhere");
            return Ok(0);
        }
        _ => {}
    }
    attend(store, args, run, database.passwords()).await
}

/// The database that was named: one made by mistake, on each host its own, would let everybody run.
fn named(common: &Common) -> Result<Database, Failure> {
    let in_file = if common.database.is_none() && common.file.exists() {
        JobFile::load_partly(&common.file).map_err(Failure::usage)?.database
    } else {
        None
    };
    if common.database.is_none() && in_file.is_none() {
        return Err(Failure::usage(
            "once needs the database that all hosts share: --database URL, ONEBELL_DATABASE, or `database` in the file of -f",
        ));
    }
    Database::choose(common, in_file.as_deref())
}

/// The run of this key, new or not.
async fn asked_for(store: &dyn Store, args: &Once, who: &Actor) -> Result<RunId, Failure> {
    let key = match &args.slot {
        Some(expression) => slot::key(args, expression, store.scheduler_now().await?)?,
        None => args.key.clone(),
    };
    let key = Key::new(&key).map_err(|error| Failure::usage(format!("--key: {error}")))?;
    let input = serde_json::json!({ "command": args.command }).to_string();
    let request = Trigger { job: job::NAME.to_owned(), key, input: Some(input), actor: who.clone() };
    loop {
        match store.trigger(&request).await? {
            Triggered::Opened(run) | Triggered::Already(run) => return Ok(run),
            Triggered::Conflict(conflict) => {
                return Err(Failure::usage(format!("{conflict}; one key stands for one command: choose another key")));
            }
            Triggered::NoSuchJob => job::register(store).await?,
        }
    }
}

async fn look(store: &dyn Store, run: &RunId) -> Result<RunDetail, Failure> {
    store.run(run).await?.ok_or_else(|| Failure::usage(format!("run {run} is gone: it was pruned")))
}

/// Its step was lost so often that nobody runs it again by himself.
fn is_exhausted(detail: &RunDetail) -> bool {
    detail.run.status == "parked" && detail.steps.iter().any(|step| step.status == "exhausted")
}

fn held(run: &RunId) -> Failure {
    Failure::usage(format!(
        "whoever ran it died or was stopped, and it may run at most once (--on-lost hold): see how far it came with onebell logs \
         {run}; to let it run again: onebell retry {run}, then the same once"
    ))
}

fn parked(run: &RunId) -> Failure {
    Failure::usage(format!("{run} is parked: whoever ran it died every time; see: onebell show {run}, then: onebell retry {run}"))
}

/// Runs it, or waits for who does and takes over: the exit code of whoever came to its end.
async fn attend(store: Arc<dyn Store>, args: &Once, run: RunId, secrets: Vec<String>) -> Result<u8, Failure> {
    let shutdown = Shutdown::new();
    let asked = Asked::listen().map_err(|error| Failure::usage(format!("signals cannot be followed: {error}")))?;
    let mut playing = tokio::spawn(replica(Arc::clone(&store), args, run.clone(), secrets)?.run(shutdown.clone()));
    let stop_now = || {
        shutdown.ask();
        shutdown.ask();
    };
    tokio::select! {
        detail = until_over(store.as_ref(), &run) => {
            stop_now();
            ended(playing.await)?;
            let detail = detail?;
            match detail {
                detail if is_exhausted(&detail) => Err(parked(&run)),
                detail if handler::waits_for_a_person(&detail) => Err(held(&run)),
                detail => Ok(code::of(&detail)),
            }
        }
        signal = asked.next() => {
            // The command is ended, and whoever waits with this key takes over.
            stop_now();
            ended(playing.await)?;
            let done = look(store.as_ref(), &run).await?;
            Ok(if done.run.status == "succeeded" { 0 } else { code::of_signal(signal) })
        }
        finished = &mut playing => {
            ended(finished)?;
            Err(Failure::usage("the run was left before its end"))
        }
    }
}

fn ended(playing: Result<Result<(), ReplicaError>, JoinError>) -> Result<(), Failure> {
    playing.map_err(Failure::usage)?.map_err(Failure::usage)
}

/// Until nobody works on it any longer. While the database is away, it is waited for: the command is ended in time all the same.
async fn until_over(store: &dyn Store, run: &RunId) -> Result<RunDetail, Failure> {
    loop {
        match store.run(run).await {
            Ok(Some(detail)) if detail.run.finished_at.is_some() || is_exhausted(&detail) => return Ok(detail),
            Ok(Some(_)) => {}
            Ok(None) => return Err(Failure::usage(format!("run {run} is gone: it was pruned"))),
            Err(error) if error.is_passing() => tracing::debug!(%error, "waiting for the database"),
            Err(error) => return Err(error.into()),
        }
        SystemTimer.sleep(LOOK).await;
    }
}

fn replica(store: Arc<dyn Store>, args: &Once, run: RunId, secrets: Vec<String>) -> Result<Replica, Failure> {
    let mut settings = Settings::default().with_lease(args.lease);
    settings.label = super::run::label();
    settings.roles = Roles { relay: false, ..Roles::default() };
    settings.concurrency = 1;
    settings.only_run = Some(run);
    let timer: Arc<dyn Timer> = Arc::new(SystemTimer);
    let at_most_once = (args.on_lost == OnLost::Hold).then(|| Arc::clone(&store));
    let command = handler::of(args.command.clone(), secrets, at_most_once, timer);
    let builder = Replica::builder(store).settings(settings).zones(ZoneData::newest().clone());
    builder.job(job::definition()).handler(job::HANDLER, command).build().map_err(Failure::usage)
}
