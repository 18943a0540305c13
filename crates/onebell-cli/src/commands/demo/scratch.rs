//! The demo's folder: job files that differ only in the EHLO name, and everything the demo may remove again.

use std::path::{Path, PathBuf};
use std::time::Duration;

use onebell::model::{JobId, Moment};
use onebell::store::RunFilter;

use super::slot_text;
use crate::answer::Failure;
use crate::commands::init::write;
use crate::database::Database;
use crate::starter::FILES;

/// Customers in the example's data.
pub(super) const CUSTOMERS: u64 = 120;
/// The example's job, table and key prefix: each is replaced by one of the demo's own.
const JOB: &str = "debt-reminders";
const TABLE: &str = "debts";
const PREFIX: &str = "reminder/";
/// Short, so that the takeover can be watched.
const OWN_LEASE: Duration = Duration::from_secs(2);
/// In a shared database the common one: the copies judge others by it, too.
const SHARED_LEASE: Duration = Duration::from_secs(10);
/// Whose domain the Message-ID carries.
const FROM_DOMAIN: &str = "example.com";

/// A folder of its own, and names of its own in a shared database.
pub(super) struct Scratch {
    folder: PathBuf,
    keep: bool,
    name: String,
    shared: bool,
}

impl Scratch {
    pub(super) fn new(seed: u64, keep: bool, shared: bool) -> Result<Self, Failure> {
        let unreadable = |error: std::io::Error| Failure::usage(format!("no scratch folder can be made: {error}"));
        let folder = tempfile::Builder::new().prefix("onebell-demo-").tempdir().map_err(unreadable)?.keep();
        let stamp = onebell::time::host_now().micros();
        Ok(Self { folder, keep, name: format!("onebell-demo-{stamp:x}-{seed:x}"), shared })
    }

    /// How long a copy may be silent.
    pub(super) fn lease(&self) -> Duration {
        if self.shared { SHARED_LEASE } else { OWN_LEASE }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The example once per copy; `port`: the mail server's; `at`: the slot.
    pub(super) fn job_files(&self, half: &str, copies: usize, port: u16, at: Moment) -> Result<Vec<PathBuf>, Failure> {
        (1..=copies).map(|copy| self.job_file(half, copy, port, at)).collect()
    }

    fn job_file(&self, half: &str, copy: usize, port: u16, at: Moment) -> Result<PathBuf, Failure> {
        let folder = self.folder.join(format!("{half}-{copy}"));
        // Of a try whose slot this host missed.
        if folder.exists() {
            std::fs::remove_dir_all(&folder)
                .map_err(|error| Failure::usage(format!("cannot write the demo's files: {error}")))?;
        }
        for (name, text) in FILES {
            let text = match name {
                "onebell.toml" => self.adapted(text, copy, port, at)?,
                "pull.sql" => text.replace(TABLE, &self.table()),
                _ => text.to_owned(),
            };
            write(&folder.join(name), &text)
                .map_err(|error| Failure::usage(format!("cannot write the demo's files: {error}")))?;
        }
        Ok(folder.join("onebell.toml"))
    }

    /// The example's file with names, slot, lease and mail server of the demo.
    fn adapted(&self, text: &str, copy: usize, port: u16, at: Moment) -> Result<String, Failure> {
        let broken = |what: &str| Failure::usage(format!("the example's job file has no {what}"));
        let mut file: toml::Table = text.parse().map_err(Failure::usage)?;
        let mut replica = toml::Table::new();
        replica.insert("lease".to_owned(), format!("{}s", self.lease().as_secs()).into());
        file.insert("replica".to_owned(), replica.into());
        let mail = file.get_mut("channels").and_then(|channels| channels.get_mut("mail")).and_then(toml::Value::as_table_mut);
        let mail = mail.ok_or_else(|| broken("[channels.mail]"))?;
        mail.insert("host".to_owned(), "127.0.0.1".into());
        mail.insert("port".to_owned(), i64::from(port).into());
        mail.insert("hello".to_owned(), copy_name(copy).into());
        mail.insert("tls".to_owned(), "none".into());
        mail.insert("from".to_owned(), format!("Onebell demo <demo@{FROM_DOMAIN}>").into());
        let jobs = file.get_mut("jobs").and_then(toml::Value::as_table_mut).ok_or_else(|| broken("[jobs]"))?;
        let mut job = jobs.remove(JOB).ok_or_else(|| broken("job debt-reminders"))?;
        let job_table = job.as_table_mut().ok_or_else(|| broken("job debt-reminders"))?;
        job_table.remove("schedule");
        job_table.insert("at".to_owned(), slot_text(at).into());
        jobs.insert(self.name.clone(), job);
        let text = toml::to_string(&file).map_err(Failure::usage)?;
        Ok(text.replace(PREFIX, &format!("{}/{PREFIX}", self.name)))
    }

    /// The Message-ID that the channel derives from a key.
    pub(super) fn message_id(&self, key: &str) -> String {
        crate::smtp::message_id(key, FROM_DOMAIN)
    }

    /// The demo's runs.
    pub(super) fn runs(&self) -> RunFilter {
        RunFilter { job: Some(self.name.clone()), limit: 10, ..RunFilter::default() }
    }

    fn table(&self) -> String {
        // Tables whose names begin with `onebell_` are the engine's own: a step may not touch them.
        format!("{}_{TABLE}", self.name.replace('-', "_").trim_start_matches("onebell_"))
    }

    /// Removes the demo's own rows from a database that is not its own.
    pub(super) async fn erase(&self, database: &Database) -> Result<(), Failure> {
        if self.keep || matches!(database, Database::Sqlite(path) if path.starts_with(&self.folder)) {
            return Ok(());
        }
        database.open().await?.erase_job(&JobId::of_name(&self.name)).await?;
        database.execute(&format!("DROP TABLE IF EXISTS {}", self.table())).await?;
        Ok(())
    }

    /// The last lines of what the copies logged, for an error.
    pub(super) fn logs(&self) -> String {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return String::new() };
        let mut text = String::new();
        for path in
            entries.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "log"))
        {
            let log = std::fs::read_to_string(&path).unwrap_or_default();
            let tail: Vec<&str> = log.lines().rev().take(8).collect();
            text.push_str(&format!("-- {}\n{}\n", path.display(), tail.into_iter().rev().collect::<Vec<_>>().join("\n")));
        }
        text
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if !self.keep {
            // A folder that cannot be removed is left to the system's own cleaning of temporary files.
            drop(std::fs::remove_dir_all(&self.folder));
        }
    }
}

/// A copy's EHLO name: how the mail server tells them apart.
pub(super) fn copy_name(copy: usize) -> String {
    format!("copy-{copy}.onebell.test")
}
