//! Runs the command of this invocation, as transparently as a process that stands between can be.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use onebell::handler::{Context, Handler, Outcome};
use onebell::store::{AttemptView, RunDetail, StepOutput, Store};
use onebell::time::Timer;

use crate::answer::complain;
use crate::steps::spec::{Codes, CommandStep, OUTPUT_CAP};
use crate::steps::{CommandHandler, CommandSettings};

/// Of an attempt that was not made, because nobody knows how far the one before it came.
const NOT_AGAIN: &str = "not run again";

struct Once {
    command: CommandHandler,
    /// Asked how the attempts before ended, if it may run at most once.
    at_most_once: Option<Arc<dyn Store>>,
}

/// `secrets`: what is kept of its output is kept without them.
pub(super) fn of(
    argv: Vec<String>,
    secrets: Vec<String>,
    at_most_once: Option<Arc<dyn Store>>,
    timer: Arc<dyn Timer>,
) -> impl Handler {
    let step = CommandStep {
        argv,
        cwd: None,
        env: std::collections::BTreeMap::new(),
        // Every code is the caller's to judge; only deaths of ours are answered by another execution.
        exit_codes: Codes { permanent: (1..=255).collect(), retry: Vec::new() },
        input: None,
        output_cap: OUTPUT_CAP,
    };
    let settings = CommandSettings { transparent: true, ..CommandSettings::new(PathBuf::new(), timer, secrets) };
    Once { command: CommandHandler::of(settings, step), at_most_once }
}

#[async_trait]
impl Handler for Once {
    async fn run(&self, context: Context) -> Outcome {
        if let Some(store) = &self.at_most_once {
            match store.run(context.step().claim.run()).await {
                Ok(detail) if detail.as_ref().is_some_and(broke_off) => return not_again(),
                Ok(_) => {}
                Err(error) => return Outcome::retry(format!("how the attempts before ended is not known: {error}")),
            }
        }
        match self.command.run(context).await {
            // The command died of a signal by itself: its end, and not one of ours.
            Outcome::Retry { error, output, .. } if output.summary.starts_with("signal ") => Outcome::Failed { error, output },
            // It was not even begun, so that it said nothing itself.
            Outcome::Failed { error, output } if !["exit code", "signal"].iter().any(|end| error.starts_with(end)) => {
                complain(&error);
                Outcome::Failed { error, output }
            }
            other => other,
        }
    }
}

fn not_again() -> Outcome {
    Outcome::Failed {
        error: "whoever ran it died or was stopped, and it may run at most once (--on-lost hold)".to_owned(),
        output: StepOutput { summary: NOT_AGAIN.to_owned(), ..StepOutput::default() },
    }
}

/// Whether the last attempt that began ended without its own word.
fn broke_off(detail: &RunDetail) -> bool {
    let began = |attempt: &&AttemptView| attempt.started_at.is_some() && attempt.outcome != "given_back";
    let last = detail.steps.iter().flat_map(|step| step.attempts.iter().filter(began)).next_back();
    last.is_some_and(|attempt| matches!(attempt.outcome.as_str(), "lost" | "overdue" | "stopped"))
}

/// Whether a person has to say that it may run again: it was refused after such an attempt.
pub(super) fn waits_for_a_person(detail: &RunDetail) -> bool {
    detail.steps.iter().filter_map(|step| step.attempts.last()).any(|attempt| attempt.summary == NOT_AGAIN)
}
