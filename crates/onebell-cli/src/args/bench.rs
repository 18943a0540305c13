use clap::Args;
use clap::builder::RangedU64ValueParser;

/// `onebell bench`
#[derive(Debug, Args)]
#[command(after_help = "Here, in about a minute and a half; nothing of it stays:\n  onebell bench\n\
    On a server, in a database of its own, with as many steps at once as a replica of yours has:\n  \
    onebell bench --database postgres://db/postgres --concurrency 100\n\
    For a program:\n  onebell bench --starts 20 --format json")]
pub struct Bench {
    /// Steps of each round
    #[arg(long, default_value_t = 2_000, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=100_000))]
    pub steps: usize,
    /// Records of each round
    #[arg(long, default_value_t = 50_000, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1_000_000))]
    pub items: usize,
    /// Requests on an idle replica, one after the other: half a second each
    #[arg(long, default_value_t = 100, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    pub starts: usize,
    /// Replicas, all in this process
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=32))]
    pub replicas: u32,
    /// Steps at once of each replica; the default is that of run
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub concurrency: u32,
}
