//! Keeps the job file's secrets out of what handlers answer, whatever kind they are: it is stored, shown and sent in alarms.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use onebell::handler::{Context, Done, Handler, Outcome};
use onebell::store::StepOutput;

use crate::jobfile::JobFile;
use crate::keeper::{holds, mask_text};
use crate::secret::SecretRef;

/// Rows are data for the next step: a hole in them would be worse than none.
const IN_ROWS: &str = "its rows hold the value of a secret of the job file, and rows are stored as they are; leave it out of them: \
                       a later step can name the same secret itself, and what is no secret needs no { env = … }: commands have the \
                       replica's own variables";

/// A handler whose answers are looked through.
pub(super) struct Discreet {
    inner: Arc<dyn Handler>,
    folder: PathBuf,
    secrets: Vec<SecretRef>,
    /// A value that was replaced since may still be in use.
    at_start: Vec<String>,
}

impl Discreet {
    pub(super) fn new(inner: Arc<dyn Handler>, file: &JobFile) -> Self {
        Self { inner, folder: file.folder.clone(), secrets: file.secrets.clone(), at_start: file.secret_values() }
    }

    fn values(&self) -> Vec<String> {
        let mut values = self.at_start.clone();
        for value in self.secrets.iter().filter_map(|secret| secret.bare().resolve(&self.folder).ok()) {
            if !value.is_empty() && !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }
}

#[async_trait]
impl Handler for Discreet {
    async fn run(&self, context: Context) -> Outcome {
        let outcome = self.inner.run(context).await;
        let secrets = self.values();
        if secrets.is_empty() {
            return outcome;
        }
        let words = |text: String| mask_text(&text, &secrets);
        let output = |output: StepOutput| StepOutput { summary: words(output.summary), ..output };
        match outcome {
            Outcome::Done(done) if done.output.rows.as_ref().is_some_and(|rows| holds(rows, &secrets)) => {
                Outcome::Failed { error: IN_ROWS.to_owned(), output: StepOutput { rows: None, ..output(done.output) } }
            }
            Outcome::Done(done) => Outcome::Done(Done { output: output(done.output), ..done }),
            Outcome::Retry { error, after, output: kept } => Outcome::Retry { error: words(error), after, output: output(kept) },
            Outcome::Failed { error, output: kept } => Outcome::Failed { error: words(error), output: output(kept) },
            Outcome::Stopped { output: kept } => Outcome::Stopped { output: output(kept) },
            Outcome::Unvouched { output: kept } => Outcome::Unvouched { output: output(kept) },
        }
    }
}
