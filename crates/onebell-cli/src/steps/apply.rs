//! `apply`: reads records into the ledger, or into tables of the user's own, under the step's claim.

mod until;

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use onebell::handler::{Context, Done, Handler, Outcome};
use onebell::model::batch::Counts;
use onebell::replica::batch::outcome;
use onebell::roles::loader::{Ended, LoadError};
use onebell::store::{BatchStore, Reader, StepOutput};
use onebell::time::Timer;

use super::command::{CommandSettings, feed};
use super::spec::ApplyStep;
use crate::apply::{Plan, Records, Stream, load};
use crate::regular::instead;
use until::Until;

/// Where files are, and how batches are reached.
#[derive(Clone)]
pub struct ApplyHandler {
    /// The store.
    pub store: Arc<dyn BatchStore>,
    /// Waiting and monotonic time.
    pub timer: Arc<dyn Timer>,
    /// Where files and programs are, and how commands run.
    pub commands: CommandSettings,
}

/// What became of one source, as a row for the steps after it.
#[derive(serde::Serialize)]
struct Row<'r> {
    source: &'r str,
    batch: &'r str,
    #[serde(flatten)]
    counts: Counts,
}

#[async_trait]
impl Handler for ApplyHandler {
    async fn run(&self, context: Context) -> Outcome {
        self.attempt(&context).await.unwrap_or_else(|outcome| *outcome)
    }
}

impl ApplyHandler {
    async fn attempt(&self, context: &Context) -> Result<Outcome, Box<Outcome>> {
        let step: ApplyStep = super::spec(context)?;
        let (mut all, mut rows) = (Counts::default(), Vec::new());
        for (plan, mut records) in self.sources(&step, context).await? {
            let reader = Reader::Step(context.step().claim.clone());
            let (store, timer) = (Arc::clone(&self.store), Arc::clone(&self.timer));
            let goes_on = |_| context.stop().reason().is_none();
            let mut source = Until { records: &mut records, stop: context.stop() };
            let ended = load(&plan, false, reader, store, timer, &mut source, goes_on).await;
            // What gave the records must be over before the next attempt may begin.
            records.end().await;
            let (batch, counts) = match ended.map_err(|wrong| failed(wrong.to_string()))? {
                Ended::Done { batch, counts } => (batch, counts),
                Ended::Stopped { .. } => return Ok(Outcome::Stopped { output: output(all, &rows) }),
                Ended::Failed { error: LoadError::Source(_), .. } if context.stop().reason().is_some() => {
                    return Ok(Outcome::Stopped { output: output(all, &rows) });
                }
                Ended::Failed { error, .. } => return Ok(outcome(&error, output(all, &rows))),
            };
            all = all.plus(counts);
            let name = plan.source_name().unwrap_or_default();
            let row = Row { source: &name, batch: &batch, counts };
            rows.push(serde_json::to_string(&row).map_err(|error| failed(error.to_string()))?);
        }
        let rows_text = format!("[{}]", rows.join(","));
        Ok(Outcome::Done(Done { output: StepOutput { rows: Some(rows_text), ..output(all, &rows) }, ..Done::default() }))
    }

    async fn sources(&self, step: &ApplyStep, context: &Context) -> Result<Vec<(Plan, Records)>, Box<Outcome>> {
        let wrong = |wrong: crate::apply::Wrong| failed(wrong.to_string());
        if let Some(named) = &step.output_of {
            let rows = super::input::rows(Some(named), context).await?.unwrap_or_else(|| "[]".to_owned());
            // Rows of a run are a source of their own.
            let name = format!("{}.{named}", context.step().claim.run());
            let plan = Plan { source: Some(name.clone()), ..step.readable() };
            let records = Records::of_rows(&plan, &name, &rows).map_err(wrong)?;
            return Ok(vec![(plan, records)]);
        }
        if let Some(stream) = &step.plan.stream {
            return Ok(vec![(step.plan.clone(), self.stream(&step.plan, stream, context).await?)]);
        }
        let pattern = step.plan.file.as_deref().ok_or_else(|| failed("the step names no source".to_owned()))?;
        let pattern = self.commands.folder.join(pattern);
        // No file yet may be one that is late.
        let files = if step.allow_no_file { Plan::files_or_none(&pattern) } else { Plan::files(&pattern) };
        let files = files.map_err(|wrong| Box::new(Outcome::retry(wrong.message)))?;
        if let Some((file, other)) = files.iter().find_map(|file| Some((file, instead(&file.metadata().ok()?)?))) {
            return Err(failed(format!(
                "{} is {other}, which cannot be read again; name a file, or let `command` print it",
                file.display()
            )));
        }
        let of = |file: PathBuf| {
            let plan = Plan { file: Some(file.clone()), ..step.plan.clone() };
            let records = Records::of_file(&plan, &file).map_err(wrong)?;
            Ok((plan, records))
        };
        files.into_iter().map(of).collect()
    }

    async fn stream(&self, plan: &Plan, stream: &Stream, context: &Context) -> Result<Records, Box<Outcome>> {
        let wrong = |wrong: crate::apply::Wrong| failed(wrong.to_string());
        let name = plan.source_name().map_err(wrong)?;
        match stream {
            Stream::Url(url) => Records::of_address(plan, &name, url).map_err(wrong),
            Stream::Command(argv) => feed::records(plan, argv, &self.commands, context).await,
            Stream::Query(sql) => {
                let rows = context.query_rows(sql).await.map_err(|error| super::of_store("query", &error))?;
                Records::of_rows(plan, &name, &rows).map_err(wrong)
            }
        }
    }
}

fn failed(error: String) -> Box<Outcome> {
    Box::new(Outcome::failed(error))
}

fn output(all: Counts, rows: &[String]) -> StepOutput {
    StepOutput { stdout: rows.join("\n").into_bytes(), summary: all.to_string(), ..StepOutput::default() }
}
