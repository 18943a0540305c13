use std::path::PathBuf;

use clap::Args;

use crate::audit::Form;

/// Where jobs of others are read from.
#[derive(Debug, Args)]
pub struct Sources {
    /// Crontabs, manifests, timers, or folders of them; - is standard input
    #[arg(required = true, value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// What all of them are (default: each by its name and content)
    #[arg(long = "as", value_enum, value_name = "FORM")]
    pub form: Option<Form>,
    /// Zone of the hosts whose crontabs and timers name none (default: UTC, and a note that says so)
    #[arg(long, value_name = "ZONE")]
    pub time_zone: Option<String>,
}

/// `onebell audit`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  onebell audit /etc/crontab /etc/cron.d\n  crontab -l | onebell audit --as crontab -\n  \
    kubectl get cronjobs -A -o yaml | onebell audit --html jobs.html -\n  onebell audit /etc/systemd/system\n\
    Exit codes: 0 nothing above a note, 3 findings, 2 something that was named cannot be read")]
pub struct Audit {
    /// What is looked at
    #[command(flatten)]
    pub sources: Sources,
    /// Write a page there too; it needs nothing but itself
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Next slots from then on: an instant, a local time, or a date (default: now)
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// So many of them for each job
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub count: u32,
}

/// `onebell import`
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  onebell import /etc/cron.d -o onebell.toml && onebell check\n  \
    kubectl get cronjobs -o yaml | onebell import - > jobs/cluster.toml")]
pub struct Import {
    /// What is imported
    #[command(flatten)]
    pub sources: Sources,
    /// Write the job file there (default: standard output)
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the file
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Import % in crontab commands as a character like others, and not as what cron makes of it
    #[arg(long)]
    pub intended_percent: bool,
}
