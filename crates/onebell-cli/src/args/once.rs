use std::time::Duration;

use clap::{Args, ValueEnum};

use super::duration;

/// `onebell once`
#[derive(Debug, Args)]
#[command(after_help = "In front of a crontab line, on every host:\n  \
    */5 * * * *  onebell once --key report --slot '*/5 * * * *' -- /usr/local/bin/report --mail\n\
    In a Kubernetes CronJob, with the Job's name as the key:\n  \
    onebell once --key \"$JOB_NAME\" -- /app/report")]
pub struct Once {
    /// What is done once: one execution at a time, and none after it succeeded
    #[arg(long, value_name = "KEY")]
    pub key: String,
    /// Of a cron expression: the key is KEY@SLOT, the slot nearest to the database's now within a minute, else the last
    #[arg(long, value_name = "EXPR")]
    pub slot: Option<String>,
    /// The expression's zone (default: UTC)
    #[arg(long, value_name = "ZONE", requires = "slot")]
    pub time_zone: Option<String>,
    /// Leave with 0 while it runs elsewhere, instead of waiting to take over
    #[arg(long)]
    pub no_wait: bool,
    /// What follows when whoever ran it died
    #[arg(long, value_enum, default_value_t, value_name = "POLICY")]
    pub on_lost: OnLost,
    /// What to do while the database cannot be reached
    #[arg(long, value_enum, default_value_t, value_name = "POLICY")]
    pub if_unavailable: IfUnavailable,
    /// How soon a death is noticed: the same on all hosts
    #[arg(long, value_parser = lease, default_value = "10s", value_name = "TIME")]
    pub lease: Duration,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// What a replica takes: found out before a run is asked for that nobody could work on.
fn lease(text: &str) -> Result<Duration, String> {
    let lease = duration(text)?;
    let shortest = onebell::replica::Settings::SHORTEST_LEASE;
    if lease < shortest {
        Err(format!("{text:?} is shorter than 500ms; a renewal must fit into it several times"))
    } else {
        Ok(lease)
    }
}

/// What a death means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum OnLost {
    /// Who waits, or comes later with the same key, runs it again: at least once
    #[default]
    Retry,
    /// It is not run again without a person: at most once
    Hold,
}

/// What an absence of the database means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum IfUnavailable {
    /// Exit 125 without running it
    #[default]
    Refuse,
    /// Run it, as if Onebell were not there
    Run,
}
