//! One file per command, or per family of commands that look alike.

pub mod act;
pub mod apply;
pub mod audit;
pub mod backfill;
pub mod batches;
pub mod bench;
pub mod chaos;
pub mod check;
pub mod demo;
pub mod doctor;
mod durations;
pub mod explain;
pub mod import;
pub mod init;
pub mod logs;
pub mod migrate;
pub mod once;
pub mod outbox;
pub mod progress;
pub mod read;
pub mod run;
pub mod schema;
pub mod show;
mod times;
pub mod trigger;
pub mod words;

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
        Command::Check => check::check(common).await,
        Command::Schema => schema::schema(),
        Command::Run(args) => run::run(common, args).await,
        Command::Once(args) => once::once(common, args).await,
        Command::Trigger(args) => trigger::trigger(common, &args).await,
        Command::Status => read::status(common).await,
        Command::Jobs => read::jobs(common).await,
        Command::Runs(args) => read::runs(common, &args).await,
        Command::Show { run } => show::show(common, &run).await,
        Command::Logs { run, step, follow } => logs::logs(common, &run, step.as_deref(), follow).await,
        Command::Replicas => read::replicas(common).await,
        Command::Recoveries { limit } => read::recoveries(common, limit).await,
        Command::Skips { job, limit } => read::skips(common, job.as_deref(), limit).await,
        Command::Outbox(args) => outbox::outbox(common, args).await,
        Command::Explain(args) => explain::explain(common, &args),
        Command::Backfill(args) => backfill::backfill(common, &args).await,
        Command::Apply(args) => apply::apply(common, &args).await,
        Command::Batches(args) => batches::batches(common, args).await,
        Command::Effects(args) => batches::effects(common, &args).await,
        Command::Pause(args) => act::pause(common, &args).await,
        Command::Resume(args) => act::resume(common, &args).await,
        Command::Cancel(args) => act::cancel(common, &args).await,
        Command::Retry(args) => act::retry(common, &args).await,
        Command::Resolve { on, step, verdict } => act::resolve(common, &on, &step, verdict).await,
        Command::Progress { percent } => progress::progress(percent),
        Command::Audit(args) => audit::audit(common, &args),
        Command::Import(args) => import::import(common, &args),
        Command::Chaos(args) => chaos::chaos(common, &args).await,
        Command::Probe { key } => chaos::probe(&key),
        Command::ChaosReplica { orders } => chaos::replica(&orders).await,
        Command::ChaosStep(args) => chaos::step(&args),
        Command::Bench(args) => bench::bench(common, &args).await,
        Command::Doctor(args) => doctor::doctor(common, &args).await,
        Command::Completions(args) => words::completions(&args),
        Command::Man(args) => words::man(&args),
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

/// The same for a command that needs no job file: without one, `onebell.db` in this folder, new if need be.
fn database_or_new(common: &Common) -> Result<Database, Failure> {
    let has_file = common.file.exists() || common.file != std::path::Path::new("onebell.toml");
    if common.database.is_none() && has_file { database(common) } else { Database::choose(common, None) }
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
