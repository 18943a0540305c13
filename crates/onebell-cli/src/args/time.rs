use std::time::Duration;

use clap::Args;
use onebell::model::Moment;

use super::Acting;

/// `onebell explain`
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("what").required(true).args(["job", "cron", "rrule"]))]
pub struct Explain {
    /// A job of the job file
    pub job: Option<String>,
    /// An expression instead
    #[arg(long, value_name = "EXPR", conflicts_with = "job")]
    pub cron: Option<String>,
    /// A recurrence rule instead
    #[arg(long, value_name = "RULE", conflicts_with = "job", requires = "start")]
    pub rrule: Option<String>,
    /// Where the rule begins, as a local time
    #[arg(long, value_name = "TIME", requires = "rrule", conflicts_with_all = ["job", "cron"])]
    pub start: Option<String>,
    /// Its zone
    #[arg(long, value_name = "ZONE", conflicts_with = "job")]
    pub time_zone: Option<String>,
    /// The expression has a leading field of seconds
    #[arg(long, requires = "cron", conflicts_with = "job")]
    pub seconds: bool,
    /// What happens to local times that do not exist or come twice: vixie, skip or wall
    #[arg(long, value_name = "POLICY", conflicts_with = "job", value_parser = dst)]
    pub dst: Option<onebell::model::job::Dst>,
    /// From then on: an instant, a local time in the zone, or a date (default: now)
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// So many slots
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub count: u32,
}

fn dst(word: &str) -> Result<onebell::model::job::Dst, String> {
    onebell::model::job::Dst::from_word(word).ok_or_else(|| "write vixie, skip or wall".to_owned())
}

/// A time ago would be another one with each call.
fn instant(text: &str) -> Result<Moment, String> {
    text.parse().map_err(|_| "write the instant that was restored, such as 2026-12-01T02:00:00Z".to_owned())
}

/// `onebell backfill`
#[derive(Debug, Args)]
pub struct Backfill {
    /// The job
    pub job: String,
    /// The first slot: an instant, a local time in the job's zone, or a date
    #[arg(long, value_name = "TIME")]
    pub from: String,
    /// The last slot; a date is meant to its end
    #[arg(long, value_name = "TIME")]
    pub to: String,
    /// Only name the slots
    #[arg(long)]
    pub dry_run: bool,
    /// Who acts, for the audit log
    #[command(flatten)]
    pub acting: Acting,
}

/// `onebell doctor`
#[derive(Debug, Args)]
pub struct Doctor {
    /// This host's clock was set back and is right: plan again (SQLite)
    #[arg(long)]
    pub accept_clock: bool,
    /// The database was restored to this instant, or a standby took over that may lack what came after it: hold what may have
    /// gone on since (2026-12-01T02:00:00Z; the same each time). All replicas must be stopped
    #[arg(long, value_name = "TIME", conflicts_with = "accept_clock", value_parser = instant)]
    pub after_restore: Option<Moment>,
    /// Who acts, for the audit log
    #[command(flatten)]
    pub acting: Acting,
}

/// A point in the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// An instant.
    At(Moment),
    /// So long ago.
    Ago(Duration),
}

pub(super) fn since(text: &str) -> Result<Since, String> {
    let ago = |_| crate::jobfile::duration(text).map(Since::Ago);
    text.parse()
        .map(Since::At)
        .or_else(ago)
        .map_err(|_| "write an instant (2026-12-01T02:00:00Z) or a time ago (2h, 3d)".to_owned())
}
