//! What people type. Only the shape of the command line: no file is read and nothing is decided here.

mod apply;
mod audit;
mod bench;
mod chaos;
mod once;
mod time;
mod words;

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use apply::{Apply, Batches, Effects, OnBatch};
pub use audit::{Audit, Import, Sources};
pub use bench::Bench;
pub use chaos::{Chaos, ChaosStep, Seeds};
pub use once::{IfUnavailable, OnLost, Once};
use time::since;
pub use time::{Backfill, Doctor, Explain, Since};
pub use words::{Completions, Man};

/// Jobs that any number of replicas may run, and whose effects still happen once.
#[derive(Debug, Parser)]
#[command(name = "onebell", version, max_term_width = 110, after_help = "Start with: onebell demo, then onebell init")]
pub struct Cli {
    /// What every command takes.
    #[command(flatten)]
    pub common: Common,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// What every command takes.
#[derive(Debug, Clone, Args)]
pub struct Common {
    /// The job file
    #[arg(short, long, global = true, default_value = "onebell.toml", value_name = "FILE")]
    pub file: PathBuf,
    /// The database: sqlite:PATH or postgres://… (else the file's, else sqlite:onebell.db beside it)
    #[arg(long, global = true, env = "ONEBELL_DATABASE", value_name = "URL", hide_env_values = true)]
    pub database: Option<String>,
    /// How reading commands answer; JSON goes to stdout alone
    #[arg(long, global = true, value_enum, default_value_t, value_name = "FORM")]
    pub format: Format,
    /// More log lines on stderr (twice: everything)
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Only errors on stderr
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// For programs.
    Json,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// See what cron on three replicas does, then what Onebell does with one of them killed
    Demo(Demo),
    /// Write a starter job file with sample data
    Init {
        /// Where
        #[arg(default_value = ".", value_name = "DIR")]
        dir: PathBuf,
    },
    /// Validate the job file and print what each step promises
    Check,
    /// Print the job file's JSON Schema, for editors
    Schema,
    /// Run one replica: scheduler, agent, supervisor, relay
    Run(Run),
    /// Run a command once per key over all hosts: a prefix for a crontab line
    Once(Once),
    /// Ask for a run of a job now
    Trigger(Trigger),
    /// Counts over everything
    Status,
    /// The jobs and when they are due
    Jobs,
    /// The newest runs
    Runs(Runs),
    /// One run with its steps and attempts
    Show {
        /// The run's id
        run: String,
    },
    /// What the steps of a run printed
    Logs {
        /// The run's id
        run: String,
        /// Only this step
        #[arg(long)]
        step: Option<String>,
        /// Go on until the run is over
        #[arg(long)]
        follow: bool,
    },
    /// The replicas, live ones first
    Replicas,
    /// What the supervisors asked for
    Recoveries {
        /// At most so many
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
    },
    /// Slots that did not run, and why
    Skips {
        /// Only this job
        #[arg(long)]
        job: Option<String>,
        /// At most so many
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
    },
    /// Messages: list them, look at one, decide one
    #[command(subcommand)]
    Outbox(Outbox),
    /// When a job, or an expression, is due next
    Explain(Explain),
    /// Open slots of the past that did not run
    Backfill(Backfill),
    /// Apply files of events, once each however often
    Apply(Apply),
    /// Files that were applied: list them, look at one, cancel or resume one
    Batches(Batches),
    /// Count and sum the effects of a scope
    Effects(Effects),
    /// Stop opening slots of a job
    Pause(ActOnJob),
    /// Open slots of a job again; what came due meanwhile is skipped
    Resume(ActOnJob),
    /// Cancel a run; finished steps that declare an undo are undone
    Cancel(ActOnRun),
    /// Give a parked or failed run a new budget
    Retry(ActOnRun),
    /// Decide a step that waits for a person
    Resolve {
        /// The run and who acts
        #[command(flatten)]
        on: ActOnRun,
        /// The step's name
        step: String,
        /// What became of it
        #[arg(long = "as", value_name = "VERDICT")]
        verdict: StepVerdict,
    },
    /// Inside a command step: say that the work goes on
    Progress {
        /// How far, 0 to 100
        #[arg(value_parser = clap::value_parser!(u8).range(0..=100))]
        percent: Option<u8>,
    },
    /// Look at crontabs, CronJobs and systemd timers: what if a job runs twice, how long may it run, does it scale
    Audit(Audit),
    /// Write a job file of crontabs, CronJobs and systemd timers
    Import(Import),
    /// Kill and pause replicas of this job file over a scratch database, and see whether the promises hold
    Chaos(Chaos),
    /// Inside a command step: say that an effect happened which must happen once (heard by chaos only)
    Probe {
        /// Identity of the effect, such as charge/4711/2026-11
        key: String,
    },
    /// One replica of chaos
    #[command(hide = true)]
    ChaosReplica {
        /// What it is told
        orders: PathBuf,
    },
    /// One execution of a command step under chaos
    #[command(hide = true)]
    ChaosStep(ChaosStep),
    /// Measure steps, records and starts here, beside what the database itself can do
    Bench(Bench),
    /// Look at the database, the clock and the limits of jobs; hold what may have gone on after a restore
    Doctor(Doctor),
    /// Print completions for a shell
    Completions(Completions),
    /// Print the manual page, of the program or of one command
    Man(Man),
    /// Bring the database's schema up
    Migrate {
        /// Only say what would be done
        #[arg(long)]
        dry_run: bool,
    },
}

/// `onebell demo`
#[derive(Debug, Args)]
pub struct Demo {
    /// Draws the moment of the kill
    #[arg(long)]
    pub seed: Option<u64>,
    /// Keep the scratch folder and the demo's rows
    #[arg(long)]
    pub keep: bool,
}

/// `onebell run`
#[derive(Debug, Default, Args)]
pub struct Run {
    /// Only these roles
    #[arg(long, value_delimiter = ',', value_name = "ROLE")]
    pub roles: Vec<Role>,
    /// Only these queues
    #[arg(long, value_delimiter = ',', value_name = "QUEUE", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub queues: Vec<String>,
    /// End when nothing is left to do
    #[arg(long)]
    pub until_idle: bool,
    /// Answer /healthz, /readyz and /metrics there, such as 127.0.0.1:9464
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<std::net::SocketAddr>,
    /// How long work in hand may go on after SIGTERM or Ctrl-C
    #[arg(long, value_parser = duration, value_name = "TIME")]
    pub drain: Option<Duration>,
}

/// A role's name on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "the names are the roles'")]
pub enum Role {
    Scheduler,
    Agent,
    Supervisor,
    Relay,
}

/// `onebell trigger`
#[derive(Debug, Args)]
pub struct Trigger {
    /// The job
    pub job: String,
    /// Identity of the request: the same key asks for the same run
    #[arg(long)]
    pub key: Option<String>,
    /// The run's input
    #[arg(long, value_name = "JSON")]
    pub input: Option<String>,
    /// Wait for its end
    #[arg(long)]
    pub wait: bool,
    /// Open nothing: say what the key would find, render the messages of the job file, and say of each whether it is new
    #[arg(long, conflicts_with = "wait")]
    pub dry_run: bool,
    /// Who acts, for the audit log
    #[command(flatten)]
    pub acting: Acting,
}

/// `onebell runs`
#[derive(Debug, Args)]
pub struct Runs {
    /// Only this job
    #[arg(long)]
    pub job: Option<String>,
    /// Only this status
    #[arg(long, value_parser = run_status)]
    pub status: Option<onebell::model::run::RunStatus>,
    /// Only runs created since then: an instant (2026-12-01T02:00:00Z) or a time ago (2h, 3d)
    #[arg(long, value_parser = since)]
    pub since: Option<Since>,
    /// At most so many
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
}

/// `onebell outbox`
#[derive(Debug, Subcommand)]
pub enum Outbox {
    /// Messages, the in-doubt ones first
    List {
        /// Only this status
        #[arg(long, value_parser = message_status)]
        status: Option<onebell::model::message::MessageStatus>,
        /// Only of this run
        #[arg(long)]
        run: Option<String>,
        /// At most so many
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
    },
    /// One message
    Show {
        /// Its key
        key: String,
    },
    /// Decide a message
    Resolve {
        /// Its key
        key: String,
        /// What becomes of it
        #[arg(long = "as", value_name = "VERDICT")]
        verdict: MessageVerdict,
        /// Who acts, for the audit log
        #[command(flatten)]
        acting: Acting,
    },
}

/// A person's word on a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum MessageVerdict {
    /// It arrived
    Sent,
    /// Send it again: from now on at least once
    Resend,
    /// Do not send it
    Drop,
}

/// A person's word on a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StepVerdict {
    /// It did its work
    Succeeded,
    /// It did not and will not
    Failed,
    /// It gets a new budget
    Retry,
}

/// An act on a job.
#[derive(Debug, Args)]
pub struct ActOnJob {
    /// The job
    pub job: String,
    /// Who acts, for the audit log
    #[command(flatten)]
    pub acting: Acting,
}

/// An act on a run.
#[derive(Debug, Args)]
pub struct ActOnRun {
    /// The run's id
    pub run: String,
    /// Who acts, for the audit log
    #[command(flatten)]
    pub acting: Acting,
}

/// Who acts, for the audit log.
#[derive(Debug, Clone, Args)]
pub struct Acting {
    /// Who acts, in the audit log (default: the user's name)
    #[arg(long, env = "ONEBELL_ACTOR")]
    pub actor: Option<String>,
    /// Why, in the audit log
    #[arg(long)]
    pub reason: Option<String>,
}

fn run_status(word: &str) -> Result<onebell::model::run::RunStatus, String> {
    let all = onebell::model::run::RunStatus::ALL;
    onebell::model::run::RunStatus::from_word(word).ok_or_else(|| one_of(all.iter().map(|status| status.as_str())))
}

fn message_status(word: &str) -> Result<onebell::model::message::MessageStatus, String> {
    let all = onebell::model::message::MessageStatus::ALL;
    onebell::model::message::MessageStatus::from_word(word).ok_or_else(|| one_of(all.iter().map(|status| status.as_str())))
}

fn one_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    format!("write one of: {}", words.collect::<Vec<_>>().join(", "))
}

fn duration(text: &str) -> Result<Duration, String> {
    crate::jobfile::duration(text)
}
