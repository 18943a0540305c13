//! `onebell run`: one replica over the job file.

mod reload;

use std::sync::Arc;

use onebell::replica::{Replica, ReplicaBuilder, Roles, Settings, Shutdown};
use onebell::store::Store;
use onebell::time::{SystemTimer, Timer};

use crate::answer::{Answer, Failure};
use crate::args::{Common, Role, Run};
use crate::database::Database;
use crate::jobfile::JobFile;
use crate::listen::{Watched, listen};
use reload::Reload;

/// Loads the file, waits for the database, and plays the roles until it is told to stop. A wrong job does not stop the others.
pub async fn run(common: &Common, args: Run) -> Answer {
    let file = usable(JobFile::load_partly(&common.file).map_err(Failure::usage)?)?;
    let database = Database::choose(common, file.database.as_deref())?;
    let watched = Watched::default();
    if let Some(address) = args.listen {
        let wrong =
            |error| Failure::usage(format!("--listen {address}: {error}; choose an address of this host and a free port"));
        listen(address, watched.clone()).await.map_err(wrong)?;
    }
    if args.listen.is_none() && file.replica.callback_url.is_some() {
        tracing::warn!("this replica does not listen: what comes to callback_url has to reach another one; see run --listen");
    }
    let reload = Reload::new(common, &file, database.passwords())?;
    carry(&file, &database, settings(&file, &args), &watched, Some(reload)).await?;
    match file.bad_jobs.len() {
        // A replica that was told to stop did what it was asked; who waited for the work has to know what was left out.
        0 => Ok(()),
        _ if !args.until_idle => Ok(()),
        _ => {
            Err(Failure::Findings(format!("not every job of {0} was carried; see: onebell check -f {0}", common.file.display())))
        }
    }
}

/// Plays the roles for the jobs of `file` until it is told to stop.
pub(super) async fn carry(
    file: &JobFile,
    database: &Database,
    settings: Settings,
    watched: &Watched,
    reload: Option<Reload>,
) -> Answer {
    let file = &file.clone().hiding(&database.passwords());
    let shutdown = Shutdown::new();
    follow_signals(shutdown.clone())?;
    let store = tokio::select! {
        store = database.open_waiting(file.replica.lease) => store?,
        () = shutdown.asked_once() => return Ok(()),
    };
    let replica =
        builder(file, Arc::clone(&store)).map_err(Failure::usage)?.settings(settings).build().map_err(Failure::usage)?;
    watched.begin(replica.health(), Arc::clone(&store), file.folder.clone());
    if let Some(reload) = reload {
        tokio::spawn(reload.follow(replica.carrier(), store));
    }
    replica.run(shutdown).await.map_err(Failure::usage)
}

/// The file if any of its jobs can be used; each of the others is told.
fn usable(file: JobFile) -> Result<JobFile, Failure> {
    if file.jobs.is_empty() {
        return file.whole().map_err(Failure::usage);
    }
    for problem in &file.bad_jobs {
        tracing::error!("{problem}\nthis job is not carried; the others go on");
    }
    Ok(file)
}

/// The jobs of `file` with all that runs their steps and carries their messages.
fn builder(file: &JobFile, store: Arc<dyn Store>) -> Result<ReplicaBuilder, String> {
    let timer: Arc<dyn Timer> = Arc::new(SystemTimer);
    let batches: Arc<dyn onebell::store::BatchStore> = Arc::<dyn Store>::clone(&store);
    let mut builder = Replica::builder(store);
    for (name, channel) in crate::channels::build(file)? {
        builder = builder.channel_arc(name, channel);
    }
    for (name, handler) in crate::steps::handlers(file, crate::channels::facts(file), &timer, batches) {
        builder = builder.handler_arc(name, handler);
    }
    for job in &file.jobs {
        builder = builder.job(job.clone());
    }
    Ok(builder)
}

/// What the file and the flags say of this replica.
pub(super) fn settings(file: &JobFile, args: &Run) -> Settings {
    let mut settings = Settings::default();
    if let Some(lease) = file.replica.lease {
        settings = settings.with_lease(lease);
    }
    settings.label = label();
    settings.drain = args.drain.or(file.replica.drain).unwrap_or(settings.drain);
    settings.concurrency = file.replica.concurrency.unwrap_or(settings.concurrency);
    settings.prefetch = file.replica.prefetch.unwrap_or(settings.prefetch);
    settings.deliveries = settings.concurrency;
    settings.keep_runs = file.replica.keep_runs.unwrap_or(settings.keep_runs);
    settings.keep_keys = file.replica.keep_keys.unwrap_or(settings.keep_keys);
    settings.until_idle = args.until_idle;
    if let Some(queues) = &file.replica.queues {
        settings.queues.clone_from(queues);
    }
    if !args.queues.is_empty() {
        settings.queues.clone_from(&args.queues);
    }
    if !args.roles.is_empty() {
        let has = |role| args.roles.contains(&role);
        settings.roles = Roles {
            scheduler: has(Role::Scheduler),
            agent: has(Role::Agent),
            supervisor: has(Role::Supervisor),
            relay: has(Role::Relay),
        };
    }
    settings
}

/// For people only: identity is random per start.
pub(super) fn label() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname");
    let host = host.map_or_else(|_| "host".to_owned(), |name| name.trim().to_owned());
    format!("{host}/{}", std::process::id())
}

/// The first SIGTERM or Ctrl-C drains, the second one stops at once.
fn follow_signals(shutdown: Shutdown) -> Result<(), Failure> {
    use tokio::signal::unix::{SignalKind, signal};
    let listen = |kind| signal(kind).map_err(|error| Failure::usage(format!("signals cannot be followed: {error}")));
    let (mut term, mut int) = (listen(SignalKind::terminate())?, listen(SignalKind::interrupt())?);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = term.recv() => {}
                _ = int.recv() => {}
            }
            shutdown.ask();
        }
    });
    Ok(())
}
