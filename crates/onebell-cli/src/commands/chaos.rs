//! `onebell chaos`: a user's job file on real replicas over a scratch database, with receivers of chaos's own in place of every
//! channel. Replicas are killed, paused and asked to end at drawn moments; then everything is read and held against what is promised.
//!
//! What it never does: touch the job file's own database, channels or addresses, or run its commands unless it is told to.

mod cast;
mod evidence;
mod fleet;
mod judge;
mod own;
mod phase;
mod plan;
mod receivers;
mod report;
mod rows;
mod scene;
mod stage;
mod step;
mod storm;
mod timeline;
mod witness;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use onebell::time::{SystemTimer, Timer};
use tokio::signal::unix::{SignalKind, signal};

use crate::answer::{Answer, Failure, json, line};
use crate::args::{Chaos, Common, Format, Seeds};
use crate::jobfile::JobFile;
use cast::{Cast, Orders};
use evidence::Evidence;
use judge::Expected;
use phase::Phase;
use plan::{Fault, Measure};
use receivers::Receivers;
use report::{Frame, Report};
use scene::Scene;
use stage::Stage;
use storm::Storm;
use witness::Witness;

pub use fleet::replica;
pub use step::{probe, step};

/// Short, so that takeovers happen many times a minute.
const LEASE: Duration = Duration::from_secs(2);

/// A storm for each seed, and what held. Whatever happens, Ctrl-C too, nothing of it is left behind.
pub async fn chaos(common: &Common, args: &Chaos) -> Answer {
    let file = JobFile::load(&common.file).map_err(Failure::usage)?;
    if file.jobs.is_empty() {
        return Err(Failure::usage(format!("{} has no job; write one, or try: onebell init", common.file.display())));
    }
    let any = onebell::time::host_now().micros().unsigned_abs() % 1_000_000;
    let Seeds(seeds) = args.seed.clone().unwrap_or(Seeds(any..=any));
    let mut reports = Vec::new();
    // Before anything is there that would have to be cleared away.
    let mut interrupted = std::pin::pin!(interruption()?);
    for seed in seeds {
        let report = storm(common, args, &file, seed, interrupted.as_mut()).await?;
        if common.format == Format::Table {
            report.lines().iter().for_each(line);
        }
        reports.push(report);
    }
    if common.format == Format::Json {
        match reports.as_slice() {
            [one] => json(one)?,
            several => json(&several)?,
        }
    }
    report::verdict(&reports)
}

/// Sets the stage, lets the storm go over it, and clears it away.
async fn storm(
    common: &Common,
    args: &Chaos,
    file: &JobFile,
    seed: u64,
    interrupted: impl Future<Output = Failure>,
) -> Result<Report, Failure> {
    let begun = SystemTimer.elapsed();
    let stage = Stage::set(common, args, seed).await?;
    let played = async {
        stage.fill(args).await?;
        play(common, args, &stage, file, seed).await
    };
    let played = tokio::select! {
        played = played => played,
        interrupted = interrupted => Err(interrupted),
    };
    let cleared = stage.clear().await;
    if args.keep {
        tracing::info!(folder = %stage.folder().display(), database = %kept(&stage), "kept");
    }
    drop(stage);
    let report = played?;
    cleared?;
    let elapsed = SystemTimer.elapsed().saturating_sub(begun);
    Ok(Report { elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX), ..report })
}

/// From this call on no signal ends the program unheard.
fn interruption() -> Result<impl Future<Output = Failure>, Failure> {
    let ask = |kind| signal(kind).map_err(|error| Failure::usage(format!("signals cannot be followed: {error}")));
    let (mut term, mut int) = (ask(SignalKind::terminate())?, ask(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
        Failure::Work("interrupted".to_owned())
    })
}

/// Its name alone: the URL may hold a password.
fn kept(stage: &Stage) -> String {
    stage.database.url().rsplit('/').next().and_then(|name| name.split('?').next()).unwrap_or_default().to_owned()
}

async fn play(common: &Common, args: &Chaos, stage: &Stage, file: &JobFile, seed: u64) -> Result<Report, Failure> {
    let cast = Cast::of(file, args.real_steps);
    let phases = Phase::of(cast);
    let measure = Measure { kills: args.kills, pauses: args.pauses, cuts: stage.has_server() };
    let plan = plan::draw(seed, cast, measure, LEASE);
    announce(common, args, &plan, seed);
    let scene = Arc::new(Scene::default());
    let store = stage.database.open().await?;
    let receivers = Receivers::start(&scene).await?;
    let socket = stage.path("witness");
    let _witness = Witness::listen(&socket, &scene, seed).map_err(|error| {
        Failure::usage(format!("chaos cannot listen at {}: {error}; set TMPDIR to a shorter path", socket.display()))
    })?;
    let orders = Orders {
        job_file: std::path::absolute(&common.file).map_err(Failure::usage)?,
        database: stage.database.url(),
        name: String::new(),
        chaos: std::process::id(),
        lease: LEASE,
        ports: receivers.ports(),
        witness: socket,
        program: std::env::current_exe().map_err(|error| Failure::usage(format!("where is this program? {error}")))?,
        real_steps: args.real_steps,
        rows: rows::plans(file, &given_rows(args)?, stage.folder())?,
    };
    let jobs = file.jobs.iter().map(|job| job.name.clone()).collect();
    let play = (jobs, u64::from(args.runs), args.replicas);
    let mut storm = Storm::new(stage, Arc::clone(&store), Arc::clone(&scene), orders, play, (seed, &plan, &phases));
    storm.rage().await?;
    storm.calm().await?;
    let done = storm.done;
    let evidence = Evidence::gather(store.as_ref(), &scene).await?;
    let expected = Expected::of(file, store.as_ref(), &evidence).await?;
    let verdict = judge::judge(file, &evidence, &expected, &done, (&phases, args.kills));
    let runs = evidence.runs.len() as u64;
    let parked = evidence.runs.iter().filter(|run| run.run.status == "parked").count() as u64;
    let frame = Frame { replicas: args.replicas, seed, runs, parked, real_steps: args.real_steps, elapsed_ms: 0 };
    Ok(Report::new(frame, &plan, &done, verdict, evidence.prevented))
}

/// The plan before anything happens, so that it is known also when chaos is interrupted. To stderr under JSON.
fn announce(common: &Common, args: &Chaos, plan: &[Fault], seed: u64) {
    let head = format!("{} replicas of {} over a scratch database, seed {seed}. The plan:", args.replicas, common.file.display());
    if common.format == Format::Json {
        tracing::info!("{head}");
        plan.iter().for_each(|fault| tracing::info!("{fault}"));
        return;
    }
    line(head);
    plan.iter().for_each(|fault| line(format!("  {fault}")));
    line("");
}

/// `--rows STEP=FILE`, each file looked at before anything starts.
fn given_rows(args: &Chaos) -> Result<BTreeMap<String, PathBuf>, Failure> {
    let mut given = BTreeMap::new();
    for word in &args.rows {
        let (step, path) = word
            .split_once('=')
            .ok_or_else(|| Failure::usage(format!("--rows {word}: write STEP=FILE, the file with one JSON object per line")))?;
        let path = std::path::absolute(Path::new(path)).map_err(Failure::usage)?;
        let text = std::fs::read_to_string(&path).map_err(|error| Failure::usage(format!("--rows {word}: {error}")))?;
        rows::objects(&text).map_err(|why| Failure::usage(format!("--rows {word}: {why}")))?;
        given.insert(step.to_owned(), path);
    }
    Ok(given)
}
