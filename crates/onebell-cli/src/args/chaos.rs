use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;

/// `onebell chaos`
#[derive(Debug, Args)]
pub struct Chaos {
    /// Copies of the service
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=32))]
    pub replicas: u32,
    /// How many replicas are killed; every phase of the protocol is hit as soon as there are enough
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub kills: u32,
    /// How many are stopped for longer than their lease
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub pauses: u32,
    /// Draws the plan of faults; 1..5 is five storms, one after the other
    #[arg(long, value_parser = seeds, value_name = "SEED")]
    pub seed: Option<Seeds>,
    /// At least so many runs of every job
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub runs: u32,
    /// Run the commands as they are, instead of a stand-in for each
    #[arg(long)]
    pub real_steps: bool,
    /// SQL to run in the scratch database first: your tables and sample rows
    #[arg(long, value_name = "FILE")]
    pub setup: Option<PathBuf>,
    /// Rows that the stand-in of a command writes, one JSON object per line (default: made up from the templates)
    #[arg(long, value_name = "STEP=FILE")]
    pub rows: Vec<String>,
    /// Keep the scratch folder with the replicas' logs, and the database
    #[arg(long)]
    pub keep: bool,
}

/// One execution of a command step under chaos; hidden.
#[derive(Debug, Args)]
pub struct ChaosStep {
    /// Where the witness listens.
    #[arg(long)]
    pub witness: PathBuf,
    /// Job and step.
    #[arg(long)]
    pub step: String,
    /// How a stand-in comes to its rows.
    #[arg(long)]
    pub rows: Option<PathBuf>,
    /// The command itself; without one, a stand-in.
    #[arg(last = true)]
    pub command: Vec<OsString>,
}

/// One seed, or several in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seeds(pub std::ops::RangeInclusive<u64>);

fn seeds(text: &str) -> Result<Seeds, String> {
    let (first, last) = text.split_once("..").unwrap_or((text, text));
    let number = |text: &str| text.parse::<u64>().map_err(|_| "write a number, or 1..5".to_owned());
    let range = number(first)?..=number(last.trim_start_matches('='))?;
    if range.is_empty() { Err("the first seed is larger than the last one; write 1..5".to_owned()) } else { Ok(Seeds(range)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_number_or_several_in_a_row() {
        assert_eq!(seeds("7"), Ok(Seeds(7..=7)));
        assert_eq!(seeds("1..5"), Ok(Seeds(1..=5)));
        assert!(seeds("5..1").is_err() && seeds("x").is_err() && seeds("1..").is_err());
    }
}
