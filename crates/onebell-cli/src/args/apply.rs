use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::{Acting, Since, duration, since};

/// `onebell apply`
#[derive(Debug, Args)]
#[command(after_help = "Applied again, a file adds nothing:\n  \
    onebell apply payments.csv --scope payments --id event_id --amount amount --scale 2\n\
    Into a table of your own, in the same transaction as the identities:\n  \
    onebell apply orders.ndjson.gz --scope orders --id order_id --sql orders.sql\n\
    What a command prints, or an address answers:\n  \
    onebell apply --scope orders --id order_id --input ndjson -- ./fetch-orders --since yesterday\n  \
    onebell apply https://shop.example.com/orders.ndjson --scope orders --id order_id")]
pub struct Apply {
    /// Files of CSV or NDJSON, also .gz or .zst, a quoted pattern such as 'in/*.csv', or an https:// address; - is standard input
    #[arg(required_unless_present_any = ["query", "command"], value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// In place of files: a read-only query on the same database, of which each row is a record
    #[arg(long, conflicts_with_all = ["files", "command"], value_name = "SQL")]
    pub query: Option<String>,
    /// In place of files: a program and its arguments, which prints the records
    #[arg(last = true, conflicts_with = "files", value_name = "COMMAND")]
    pub command: Vec<String>,
    /// What the identities are unique in
    #[arg(long, value_name = "NAME")]
    pub scope: String,
    /// The fields that identify a record
    #[arg(long, required = true, value_delimiter = ',', value_name = "FIELD")]
    pub id: Vec<String>,
    /// The field with the amount: -?digits(.digits)
    #[arg(long, value_name = "FIELD")]
    pub amount: Option<String>,
    /// Decimal places of the amount: 0 for minor units or VND, 2 for EUR
    #[arg(long, default_value_t = 0, value_name = "PLACES")]
    pub scale: u8,
    /// Statements over the relation `chunk` (key, amount, payload, line, byte), in the same transaction
    #[arg(long, value_name = "FILE")]
    pub sql: Option<PathBuf>,
    /// Records for which it holds are kept as failed, such as 'amount_cents < 0'
    #[arg(long, value_name = "RULE")]
    pub fail_if: Option<String>,
    /// Records committed together
    #[arg(long, default_value_t = 1_000, value_name = "RECORDS")]
    pub chunk: usize,
    /// All records of a source or none: nothing is applied when one is rejected or conflicts
    #[arg(long)]
    pub atomic: bool,
    /// End when more records than this are rejected
    #[arg(long, value_name = "N")]
    pub max_rejected: Option<u64>,
    /// Write rejected records there, to be corrected and applied
    #[arg(long, value_name = "FILE")]
    pub rejects: Option<PathBuf>,
    /// Name of the source instead of the file's path
    #[arg(long, value_name = "NAME")]
    pub source: Option<String>,
    /// Give an unfinished reading of the source up and begin anew: harmless, by identity
    #[arg(long)]
    pub restart: bool,
    /// csv or ndjson, for a name that does not say
    #[arg(long, value_name = "FORMAT")]
    pub input: Option<String>,
    /// Between the fields of a CSV row, such as ';'
    #[arg(long, value_name = "CHAR")]
    pub delimiter: Option<char>,
    /// Take a last line without a line end
    #[arg(long)]
    pub accept_last_line: bool,
    /// Without a chunk for so long, somebody else may take the file over
    #[arg(long, value_parser = duration, default_value = "15s", value_name = "TIME")]
    pub timeout: Duration,
    /// Leave with 1 while another process reads the source, instead of waiting
    #[arg(long)]
    pub no_wait: bool,
}

/// `onebell batches`
#[derive(Debug, Args)]
pub struct Batches {
    /// What to do; without a word: list them
    #[command(subcommand)]
    pub act: Option<OnBatch>,
    /// Only this scope
    #[arg(long)]
    pub scope: Option<String>,
    /// At most so many
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub limit: u32,
}

/// What can be done with a batch.
#[derive(Debug, Subcommand)]
pub enum OnBatch {
    /// One batch, with the records that were not applied
    Show {
        /// The batch's id
        batch: String,
        /// At most so many records
        #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
        limit: u32,
    },
    /// End it; what was applied stays
    Cancel {
        /// The batch's id
        batch: String,
        /// Who acts, for the audit log
        #[command(flatten)]
        acting: Acting,
    },
    /// Go on with it from its checkpoint
    Resume {
        /// The batch's id
        batch: String,
        /// Who acts, for the audit log
        #[command(flatten)]
        acting: Acting,
    },
}

/// `onebell effects`
#[derive(Debug, Args)]
pub struct Effects {
    /// Which scope
    #[arg(long)]
    pub scope: String,
    /// Written since then: an instant, or a time ago
    #[arg(long, value_parser = since, value_name = "TIME")]
    pub since: Option<Since>,
    /// Written before then
    #[arg(long, value_parser = since, value_name = "TIME")]
    pub until: Option<Since>,
}
