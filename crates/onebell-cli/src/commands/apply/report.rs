//! What became of the records, for people and programs.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use onebell::handler::SourceError;
use onebell::model::batch::{Counts, RecordOutcome};
use onebell::model::record::{Position, Rejection};
use onebell::roles::loader::{Ended, LoadError};
use onebell::store::Store;
use serde::Serialize;

use super::{source_name, sum};
use crate::answer::{Answer, Failure, Table, json, line};
use crate::apply::Plan;
use crate::args::{Common, Format};
use crate::source::{Format as Written, Rejects};

/// Findings read at a time.
const PAGE: u32 = 500;

/// One source.
pub(super) struct Part {
    name: String,
    batch: Option<String>,
    counts: Counts,
    /// Why it is not at its end.
    error: Option<Failure>,
    /// Of a source that has one.
    header: Option<Vec<u8>>,
    /// How its records are written.
    written: Option<Written>,
}

/// All of them.
pub(super) struct Report {
    pub(super) scope: String,
    pub(super) parts: Vec<Part>,
}

#[derive(Serialize)]
struct Told {
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    batch: Option<String>,
    #[serde(flatten)]
    counts: Counts,
    position: Option<Position>,
}

#[derive(Serialize)]
struct All {
    #[serde(flatten)]
    counts: Counts,
    batches: Vec<Told>,
}

impl Part {
    pub(super) fn new(plan: &Plan, ended: Ended, header: Option<Vec<u8>>) -> Self {
        let name = source_name(plan);
        let (batch, counts, error) = match ended {
            Ended::Done { batch, counts } => (Some(batch), counts, None),
            Ended::Stopped { batch, counts } => {
                let message = format!("{name}: stopped after a whole chunk; the same command goes on from there");
                (Some(batch), counts, Some(Failure::Work(message)))
            }
            Ended::Failed { batch, error } => {
                let message = if matches!(error, LoadError::Source(_)) { error.to_string() } else { format!("{name}: {error}") };
                // Nothing was begun: what was typed, or what is there, is wrong.
                let wrong = match &error {
                    // An address that is away is no mistake of whoever typed it.
                    LoadError::Source(SourceError::Unreadable(_)) => plan.file.is_some(),
                    error => matches!(error, LoadError::Source(_) | LoadError::Differs { .. }),
                };
                let failure = match error {
                    LoadError::Withheld { .. } => Failure::Findings(message),
                    LoadError::Statements(_) => Failure::Usage(message),
                    _ if batch.is_none() && wrong => Failure::Usage(message),
                    _ => Failure::Work(message),
                };
                (batch, Counts::default(), Some(failure))
            }
        };
        Self { name, batch, counts, error, header, written: plan.written().ok() }
    }

    /// One that nothing was read of.
    pub(super) fn refused(plan: &Plan, failure: Failure) -> Self {
        let (counts, error) = (Counts::default(), Some(failure));
        Self { name: source_name(plan), batch: None, counts, error, header: None, written: None }
    }
}

impl Report {
    /// The answer, and the exit code of the worst part.
    pub(super) async fn tell(self, common: &Common, store: &dyn Store) -> Answer {
        let mut told = Vec::new();
        for part in &self.parts {
            let view = match &part.batch {
                Some(batch) => store.batches(Some(batch), None, 1).await?.pop(),
                None => None,
            };
            let counts = view.as_ref().map_or(part.counts, |view| view.counts);
            let position = view.and_then(|view| view.checkpoint).map(|checkpoint| checkpoint.position);
            told.push(Told { source: None, batch: part.batch.clone(), counts, position });
        }
        let all = sum(told.iter().map(|told| told.counts));
        if common.format == Format::Json {
            self.json(told, all)?;
        } else {
            self.table(&told, all, store).await?;
        }
        self.code(all)
    }

    fn json(&self, mut told: Vec<Told>, counts: Counts) -> Answer {
        if told.len() == 1
            && let Some(only) = told.pop()
        {
            return if only.batch.is_some() { json(&only) } else { Ok(()) };
        }
        for (told, part) in told.iter_mut().zip(&self.parts) {
            told.source = Some(part.name.clone());
        }
        json(&All { counts, batches: told })
    }

    async fn table(&self, told: &[Told], all: Counts, store: &dyn Store) -> Answer {
        if told.iter().all(|told| told.batch.is_none()) {
            return Ok(());
        }
        let mut table = Table::new(["source", "batch", "applied", "already", "conflicts", "rejected", "failed", "next line"]);
        let row = |name: &str, batch: &str, counts: Counts, next: String| {
            let [applied, already] = [counts.applied, counts.already].map(|count| count.to_string());
            let [conflicts, rejected, failed] = [counts.conflicts, counts.rejected, counts.failed].map(|count| count.to_string());
            [name.to_owned(), batch.to_owned(), applied, already, conflicts, rejected, failed, next]
        };
        for (told, part) in told.iter().zip(&self.parts) {
            let next = told.position.map_or_else(|| "–".to_owned(), |position| position.line.to_string());
            table.row(row(&part.name, told.batch.as_deref().unwrap_or("–"), told.counts, next));
        }
        if told.len() > 1 {
            table.row(row("all", "", all, String::new()));
        }
        table.print();
        let effects = store.effects(&self.scope, None, None).await?;
        line(format!("{}: {} effects in all, total {}", self.scope, effects.count, effects.total));
        if all.findings() > 0
            && let Some(batch) = told.iter().filter(|told| told.counts.findings() > 0).find_map(|told| told.batch.as_deref())
        {
            line(format!("what was not applied: onebell batches show {batch}"));
        }
        Ok(())
    }

    fn code(self, all: Counts) -> Answer {
        let mut errors: Vec<Failure> = self.parts.into_iter().filter_map(|part| part.error).collect();
        // What must be typed otherwise is said last: it will not mend itself.
        errors.sort_by_key(|error| matches!(error, Failure::Usage(_)));
        let worst = errors.pop();
        for error in errors {
            error.report();
        }
        match worst {
            Some(error) => Err(error),
            None if all.findings() > 0 => {
                let Counts { conflicts, rejected, failed, .. } = all;
                Err(Failure::Findings(format!("{conflicts} conflicts, {rejected} rejected, {failed} failed")))
            }
            None => Ok(()),
        }
    }

    /// Rejected records as they stood in their sources.
    pub(super) async fn write_rejects(&self, store: &dyn Store, path: &Path) -> Answer {
        let wrong = |error: std::io::Error| Failure::usage(format!("--rejects: cannot write {}: {error}", path.display()));
        let Some((first, written)) = self.parts.iter().find_map(|part| part.written.map(|written| (part, written))) else {
            return Ok(());
        };
        let out = BufWriter::new(File::create(path).map_err(wrong)?);
        let mut rejects = Rejects::new(out, first.header.clone());
        for batch in self.parts.iter().filter_map(|part| part.batch.as_deref()) {
            let mut after = None;
            loop {
                let page = store.findings(batch, after, PAGE).await?;
                for finding in page.iter().filter(|finding| finding.outcome == RecordOutcome::Rejected) {
                    let raw = match (written, first.header.as_deref()) {
                        (Written::Csv { delimiter }, Some(header)) => {
                            as_row(&finding.record, header, delimiter).unwrap_or_else(|| finding.record.clone())
                        }
                        _ => finding.record.clone(),
                    };
                    let place = Position { byte: finding.byte, line: finding.line };
                    let rejection = Rejection { place, key: finding.key.clone(), reason: finding.reason.clone(), raw };
                    rejects.add(&rejection).map_err(wrong)?;
                }
                match page.last() {
                    Some(last) if page.len() == PAGE as usize => after = Some(last.byte),
                    _ => break,
                }
            }
        }
        rejects.finish().map(drop).map_err(wrong)
    }
}

/// A record that could be read, but was refused by the user's statements, is kept as its payload: as a row again.
fn as_row(record: &[u8], header: &[u8], delimiter: u8) -> Option<Vec<u8>> {
    let payload: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(record).ok()?;
    let mut reader = csv::ReaderBuilder::new().has_headers(false).delimiter(delimiter).from_reader(header);
    let names = reader.records().next()?.ok()?;
    let values: Vec<&str> = names.iter().map(|name| payload.get(name)?.as_str()).collect::<Option<_>>()?;
    let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
    writer.write_record(values).ok()?;
    let mut row = writer.into_inner().ok()?;
    row.pop();
    Some(row)
}
