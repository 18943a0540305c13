//! `message`: rows become messages, all of them or none, committed with the step's completion.

mod render;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use onebell::handler::{Context, Handler, Outcome};
use onebell::model::message::InDoubtPolicy;

use super::rows::RowSet;
use super::spec::{MessageStep, Rows};

/// What a message step needs to know of a channel.
#[derive(Debug, Clone, Copy)]
pub struct ChannelFacts {
    /// What an unknown outcome means unless the step says otherwise.
    pub default_in_doubt: InDoubtPolicy,
    /// Whether the channel can deliver this payload (JSON text); if not, which field is wrong and why.
    pub check: fn(&str) -> Result<(), String>,
}

/// Renders messages. Nothing is written before all rows are rendered and checked: one wrong row stops all.
#[derive(Debug, Clone)]
pub struct MessageHandler {
    channels: Arc<BTreeMap<String, ChannelFacts>>,
    folder: PathBuf,
}

impl MessageHandler {
    /// For the channels of this replica. Paths of files begin at `folder`.
    pub fn new(channels: BTreeMap<String, ChannelFacts>, folder: PathBuf) -> Self {
        Self { channels: Arc::new(channels), folder }
    }

    async fn messages(&self, context: &Context) -> Result<Outcome, Box<Outcome>> {
        let step: MessageStep = super::spec(context)?;
        let facts = self.channels.get(&step.channel).copied();
        let facts = facts.ok_or_else(|| Box::new(Outcome::retry(format!("this replica has no channel {:?}", step.channel))))?;
        let rows = self.rows(context, step.rows.as_ref()).await?;
        let scope = super::around::Around::of(context);
        // Ten thousand rows take their time: renewals of other work must not wait for it.
        let rendered = tokio::task::spawn_blocking(move || render::all(&step, &rows, facts, &scope)).await;
        match rendered {
            Ok(Ok(done)) => Ok(Outcome::Done(done)),
            Ok(Err(wrong)) => Err(Box::new(Outcome::failed(format!("{wrong}; nothing was sent")))),
            Err(panic) => Err(Box::new(Outcome::retry(format!("rendering did not end: {panic}")))),
        }
    }

    async fn rows(&self, context: &Context, source: Option<&Rows>) -> Result<RowSet, Box<Outcome>> {
        let failed = |wrong: String| Box::new(Outcome::failed(wrong));
        match source {
            None => Ok(RowSet::single()),
            Some(Rows::OutputOf(step)) => {
                let source = format!("step {step:?}");
                let rows = context.rows_of(step).await.map_err(|error| super::of_store(&source, &error))?;
                // A step that found nobody to write to has written no rows: nothing to send is a result.
                rows.map_or_else(|| Ok(RowSet::none(source.clone())), |text| RowSet::from_array(&text, source.clone()))
                    .map_err(failed)
            }
            Some(Rows::Sql(sql)) => {
                let text = context.query_rows(sql).await.map_err(|error| super::of_store("for_each.sql", &error))?;
                RowSet::from_array(&text, "the query".to_owned()).map_err(failed)
            }
            Some(Rows::Csv(path)) => self.file(path.clone(), RowSet::from_csv).await,
            Some(Rows::Ndjson(path)) => self.file(path.clone(), RowSet::from_ndjson).await,
        }
    }

    async fn file(&self, path: PathBuf, read: fn(&std::path::Path) -> Result<RowSet, String>) -> Result<RowSet, Box<Outcome>> {
        let path = self.folder.join(path);
        match tokio::task::spawn_blocking(move || read(&path)).await {
            Ok(rows) => rows.map_err(|wrong| Box::new(Outcome::failed(wrong))),
            Err(panic) => Err(Box::new(Outcome::retry(format!("reading did not end: {panic}")))),
        }
    }
}

#[async_trait]
impl Handler for MessageHandler {
    async fn run(&self, context: Context) -> Outcome {
        self.messages(&context).await.unwrap_or_else(|outcome| *outcome)
    }
}
