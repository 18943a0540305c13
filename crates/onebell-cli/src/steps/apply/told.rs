//! What a step says of its sources, and how it ends by what became of each.

use std::time::Duration;

use onebell::handler::{Done, Outcome};
use onebell::model::batch::Counts;
use onebell::store::StepOutput;

/// Errors that are told in full; of more only the number.
const ERRORS_TOLD: usize = 3;

/// What became of one source, as a row for the steps after it.
#[derive(serde::Serialize)]
struct Row<'r> {
    source: &'r str,
    batch: &'r str,
    #[serde(flatten)]
    counts: Counts,
}

/// So far.
#[derive(Default)]
pub(super) struct Told {
    all: Counts,
    rows: Vec<String>,
    errors: Vec<String>,
    /// Another try may mend one of them, and after what time.
    again: Option<Option<Duration>>,
}

impl Told {
    /// A source was read to its end.
    pub(super) fn done(&mut self, source: &str, batch: &str, counts: Counts) {
        self.all = self.all.plus(counts);
        match serde_json::to_string(&Row { source, batch, counts }) {
            Ok(row) => self.rows.push(row),
            Err(error) => self.errors.push(format!("{source}: {error}")),
        }
    }

    /// A source was not.
    pub(super) fn ended(&mut self, source: &str, outcome: Outcome) {
        let error = match outcome {
            Outcome::Retry { error, after, .. } => {
                self.again = self.again.max(Some(after));
                error
            }
            Outcome::Failed { error, .. } => error,
            Outcome::Done(_) | Outcome::Stopped { .. } | Outcome::Unvouched { .. } => return,
        };
        // Many an error of a file names it as it was typed.
        let name = source.rsplit('/').next().unwrap_or(source);
        self.errors.push(if error.contains(name) { error } else { format!("{source}: {error}") });
    }

    /// The step was to end before all were read.
    pub(super) fn stopped(self) -> Outcome {
        Outcome::Stopped { output: self.output() }
    }

    /// After the last one.
    pub(super) fn outcome(self) -> Outcome {
        let (more, again) = (self.errors.len().saturating_sub(ERRORS_TOLD), self.again);
        let mut error = self.errors.iter().take(ERRORS_TOLD).cloned().collect::<Vec<_>>().join("; ");
        if more > 0 {
            error.push_str(&format!("; and {more} more"));
        }
        let rows = format!("[{}]", self.rows.join(","));
        let output = self.output();
        match again {
            _ if error.is_empty() => Outcome::Done(Done { output: StepOutput { rows: Some(rows), ..output }, ..Done::default() }),
            Some(after) => Outcome::Retry { error, after, output },
            None => Outcome::Failed { error, output },
        }
    }

    fn output(&self) -> StepOutput {
        StepOutput { stdout: self.rows.join("\n").into_bytes(), summary: self.all.to_string(), ..StepOutput::default() }
    }
}
