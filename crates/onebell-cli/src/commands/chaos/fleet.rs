//! The replicas as processes. They die with chaos, however it ends.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use onebell::time::{SystemTimer, Timer};
use rustix::process::set_parent_process_death_signal;
use tokio::process::{Child, Command};

use super::cast::Orders;
use super::stage::TEMPORARY;
use super::step::REPLICA;
use crate::answer::{Answer, Failure};
use crate::args::Run;
use crate::commands::run;
use crate::database::Database;
use crate::jobfile::JobFile;
use crate::listen::Watched;
use crate::signals::{self, Signal};

/// Starts a replica that plays by these orders; `fault` is armed in its environment.
pub(super) fn start(orders: &Orders, folder: &Path, fault: Option<&str>) -> Result<Child, Failure> {
    let wrong = |what: &str, error: std::io::Error| Failure::usage(format!("{what}: {error}"));
    let path = folder.join(format!("{}.json", orders.name));
    let text = serde_json::to_string(orders).map_err(Failure::usage)?;
    std::fs::write(&path, text).map_err(|error| wrong("cannot write a replica's orders", error))?;
    let log = std::fs::File::create(log_of(folder, &orders.name)).map_err(|error| wrong("cannot write a log", error))?;
    let mut command = Command::new(&orders.program);
    command.arg("chaos-replica").arg(&path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).kill_on_drop(true);
    command.env_remove("ONEBELL_DATABASE").env_remove("ONEBELL_FAULT").env(REPLICA, &orders.name);
    // A replica that is killed cannot clear away what its commands were given.
    command.env("TMPDIR", folder.join(TEMPORARY));
    if let Some(fault) = fault {
        command.env("ONEBELL_FAULT", fault);
    }
    command.spawn().map_err(|error| wrong("a replica cannot be started", error))
}

/// The last lines that a replica logged.
pub(super) fn last_words(folder: &Path, name: &str) -> String {
    let log = std::fs::read_to_string(log_of(folder, name)).unwrap_or_default();
    let tail: Vec<&str> = log.lines().rev().take(6).collect();
    tail.into_iter().rev().collect::<Vec<_>>().join("\n")
}

fn log_of(folder: &Path, name: &str) -> std::path::PathBuf {
    folder.join(format!("{name}.log"))
}

/// Asks a replica to end, and ends it. Whether it ended by itself.
pub(super) async fn end(child: &mut Child, grace: Duration) -> bool {
    if let Some(pid) = child.id() {
        // A stopped process hears nothing else.
        signals::send(pid, Signal::CONT);
        signals::send(pid, Signal::TERM);
    }
    tokio::select! {
        _ = child.wait() => true,
        () = SystemTimer.sleep(grace) => {
            drop(child.kill().await);
            false
        }
    }
}

/// `onebell chaos-replica`, hidden: one replica of chaos.
pub async fn replica(path: &Path) -> Answer {
    // Also when it is stopped, and when chaos was killed itself.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| Failure::usage(error.to_string()))?;
    let text = std::fs::read_to_string(path).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    let orders: Orders = serde_json::from_str(&text).map_err(Failure::usage)?;
    // It may have died before the line above.
    if rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs()) != Some(orders.chaos) {
        return Err(Failure::Work("chaos is gone".to_owned()));
    }
    let mut file = JobFile::load(&orders.job_file).map_err(Failure::usage)?;
    orders.adapt(&mut file);
    let mut settings = run::settings(&file, &Run::default());
    settings.label = format!("{}/{}", orders.name, std::process::id());
    let database = Database::parse(&orders.database, Path::new("."))?;
    run::carry(&file, &database, settings, &Watched::default(), None).await
}
