//! One file per command, or per family of commands that look alike.

pub mod act;
pub mod check;
pub mod demo;
pub mod init;
pub mod logs;
pub mod migrate;
pub mod outbox;
pub mod progress;
pub mod read;
pub mod run;
pub mod trigger;

use std::sync::Arc;

use onebell::store::{Actor, Store};

use crate::answer::{Answer, Failure};
use crate::args::{Acting, Cli, Command, Common};
use crate::database::Database;

/// Carries out what was typed.
pub async fn carry_out(cli: Cli) -> Answer {
    let common = &cli.common;
    match cli.command {
        Command::Demo(args) => demo::demo(common, &args).await,
        Command::Init { dir } => init::init(&dir),
        Command::Check => check::check(common),
        Command::Run(args) => run::run(common, args).await,
        Command::Trigger(args) => trigger::trigger(common, &args).await,
        Command::Status => read::status(common).await,
        Command::Jobs => read::jobs(common).await,
        Command::Runs(args) => read::runs(common, &args).await,
        Command::Show { run } => read::show(common, &run).await,
        Command::Logs { run, step, follow } => logs::logs(common, &run, step.as_deref(), follow).await,
        Command::Replicas => read::replicas(common).await,
        Command::Recoveries { limit } => read::recoveries(common, limit).await,
        Command::Skips { job, limit } => read::skips(common, job.as_deref(), limit).await,
        Command::Outbox(args) => outbox::outbox(common, args).await,
        Command::Pause(args) => act::pause(common, &args).await,
        Command::Resume(args) => act::resume(common, &args).await,
        Command::Cancel(args) => act::cancel(common, &args).await,
        Command::Retry(args) => act::retry(common, &args).await,
        Command::Resolve { on, step, verdict } => act::resolve(common, &on, &step, verdict).await,
        Command::Progress { percent } => progress::progress(percent),
        Command::Migrate { dry_run } => migrate::migrate(common, dry_run).await,
    }
}

/// The database that the flags or the job file name. Without both, one that is there already: a look makes no new one by mistake.
fn database(common: &Common) -> Result<Database, Failure> {
    let usual = Database::choose(common, None)?;
    if common.database.is_some() || (!common.file.exists() && usual.exists()) {
        return Ok(usual);
    }
    // A wrong job is no reason not to look at the others.
    let file = crate::jobfile::JobFile::load_partly(&common.file).map_err(Failure::usage)?;
    Database::choose(common, file.database.as_deref())
}

/// Opens the database for a command that does not wait.
async fn store(common: &Common) -> Result<Arc<dyn Store>, Failure> {
    Ok(database(common)?.open().await?)
}

/// Who acts: as said, else the user who runs the command.
fn actor(acting: &Acting) -> Actor {
    let user = || std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_else(|_| "unknown".to_owned());
    Actor { name: acting.actor.clone().unwrap_or_else(user), reason: acting.reason.clone() }
}
