//! `apply`: reads records into the ledger, or into tables of the user's own, under the step's claim.

mod told;
mod until;

use std::sync::Arc;

use async_trait::async_trait;
use onebell::handler::{Context, Handler, Outcome};
use onebell::replica::batch::outcome;
use onebell::roles::loader::{Ended, LoadError};
use onebell::store::{BatchStore, Reader, StepOutput};
use onebell::time::Timer;

use super::command::{CommandSettings, feed};
use super::spec::ApplyStep;
use crate::apply::{Named, Plan, Records, Stream, load};
use crate::regular::instead;
use told::Told;
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

#[async_trait]
impl Handler for ApplyHandler {
    async fn run(&self, context: Context) -> Outcome {
        self.attempt(&context).await.unwrap_or_else(|outcome| *outcome)
    }
}

/// One source, or how its part of the step ended before it was read.
type Each = (Plan, Result<Records, Box<Outcome>>);

impl ApplyHandler {
    /// What cannot be read of one source does not stop the next.
    async fn attempt(&self, context: &Context) -> Result<Outcome, Box<Outcome>> {
        let step: ApplyStep = super::spec(context)?;
        let mut told = Told::default();
        for (plan, records) in self.sources(&step, context).await? {
            let name = plan.source_name().unwrap_or_default();
            let ended = match records {
                Ok(records) => self.read(&plan, records, context).await,
                Err(outcome) => Err(outcome),
            };
            match ended {
                Ok(Ended::Done { batch, counts }) => told.done(&name, &batch, counts),
                Ok(Ended::Stopped { .. }) => return Ok(told.stopped()),
                Ok(Ended::Failed { .. }) if context.stop().reason().is_some() => return Ok(told.stopped()),
                Ok(Ended::Failed { error, .. }) => {
                    let is_its_own = others_go_on(&error);
                    told.ended(&name, outcome(&error, StepOutput::default()));
                    if !is_its_own {
                        break;
                    }
                }
                Err(outcome) => told.ended(&name, *outcome),
            }
        }
        Ok(told.outcome())
    }

    async fn read(&self, plan: &Plan, mut records: Records, context: &Context) -> Result<Ended, Box<Outcome>> {
        let reader = Reader::Step(context.step().claim.clone());
        let (store, timer) = (Arc::clone(&self.store), Arc::clone(&self.timer));
        let goes_on = |_| context.stop().reason().is_none();
        let mut source = Until { records: &mut records, stop: context.stop() };
        let ended = load(plan, false, reader, store, timer, &mut source, goes_on).await;
        // What gave the records must be over before the next attempt may begin.
        records.end().await;
        ended.map_err(|wrong| failed(wrong.to_string()))
    }

    async fn sources(&self, step: &ApplyStep, context: &Context) -> Result<Vec<Each>, Box<Outcome>> {
        let wrong = |wrong: crate::apply::Wrong| failed(wrong.to_string());
        if let Some(named) = &step.output_of {
            let rows = super::input::rows(Some(named), context).await?.unwrap_or_else(|| "[]".to_owned());
            // Rows of a run are a source of their own.
            let name = format!("{}.{named}", context.step().claim.run());
            let plan = Plan { source: Some(name.clone()), ..step.readable() };
            let records = Records::of_rows(&plan, &name, &rows).map_err(wrong);
            return Ok(vec![(plan, records)]);
        }
        if let Some(stream) = &step.plan.stream {
            return Ok(vec![(step.plan.clone(), self.stream(&step.plan, stream, context).await)]);
        }
        let pattern = step.plan.file.as_deref().ok_or_else(|| failed("the step names no source".to_owned()))?;
        let pattern = self.commands.folder.join(pattern);
        // No file yet may be one that is late.
        let files = if step.allow_no_file { Plan::files_or_none(&pattern) } else { Plan::files(&pattern) };
        let files = files.map_err(|wrong| Box::new(Outcome::retry(wrong.message)))?;
        Ok(files.into_iter().map(|named| file(&step.plan, named)).collect())
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

fn file(plan: &Plan, Named { file, wrong }: Named) -> Each {
    let plan = Plan { file: Some(file.clone()), ..plan.clone() };
    let other = || file.metadata().ok().and_then(|facts| instead(&facts));
    let records = match (wrong, other()) {
        (Some(wrong), _) => Err(Box::new(Outcome::retry(wrong.message))),
        (None, Some(other)) => Err(failed(format!(
            "{} is {other}, which cannot be read again; name a file, or let `command` print it",
            file.display()
        ))),
        (None, None) => Records::of_file(&plan, &file).map_err(|wrong| failed(wrong.to_string())),
    };
    (plan, records)
}

/// Whether what went wrong is the source's own; what is wrong with the statements, the store or the step is so for all.
fn others_go_on(error: &LoadError) -> bool {
    match error {
        LoadError::Busy { .. }
        | LoadError::Differs { .. }
        | LoadError::TooManyRejected { .. }
        | LoadError::Withheld { .. }
        | LoadError::Source(_) => true,
        LoadError::Superseded | LoadError::Statements(_) | LoadError::Store(_) => false,
    }
}
