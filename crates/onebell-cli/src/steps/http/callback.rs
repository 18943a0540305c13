//! What is said later of a request that was only taken.

use std::time::Duration;

use onebell::handler::{Context, Done, Outcome};
use onebell::store::StepOutput;
use onebell::time::Timer;

use super::super::of_store;
use super::super::spec::HttpStep;
use crate::callback::Said;
use crate::http::{Seen, shown_head};

/// Between two looks into the store: a tenth of the time that it has taken so far, within these.
const SHORTEST: Duration = Duration::from_millis(500);
const LONGEST: Duration = Duration::from_secs(5);

/// What was said of the step and no attempt has ended by. Without the store nobody knows, and nothing may be asked again.
pub(super) async fn said(step: &HttpStep, context: &Context) -> Result<Option<Said>, Box<Outcome>> {
    let body = context.callback().await.map_err(|error| of_store("whether it was called back", &error))?;
    // It was looked through when it came; another version may have taken it.
    let read = |body: String| {
        Said::read(&body, step.output).map_err(|wrong| Box::new(Outcome::failed(format!("its callback: {wrong}"))))
    };
    body.map(read).transpose()
}

/// Whether the answer says that the work was only taken.
pub(super) fn is_awaited(seen: &Seen, step: &HttpStep) -> bool {
    matches!(seen, Seen::Answer(answer) if answer.status == 202)
        && !step.retry_on.contains(&202)
        && !step.permanent_on.contains(&202)
}

/// Waits until a little before the claim lapses: whoever holds it next looks first for what was said.
pub(super) async fn wait(step: &HttpStep, context: &Context, timer: &dyn Timer, until: Duration, secrets: &[String]) -> Outcome {
    let begun = timer.elapsed();
    let until = until.saturating_sub((context.step().timeout / 20).min(Duration::from_secs(2)));
    loop {
        match said(step, context).await {
            Ok(Some(said)) => return conclude(said, secrets),
            Ok(None) => {}
            // A store that is away for a moment costs no attempt.
            Err(outcome) if matches!(*outcome, Outcome::Retry { .. }) => {}
            Err(outcome) => return *outcome,
        }
        let now = timer.elapsed();
        if now >= until {
            let timeout = context.step().timeout;
            return Outcome::retry(format!("202 Accepted, and nobody called back within its timeout of {timeout:?}"));
        }
        timer.sleep((now.saturating_sub(begun) / 10).clamp(SHORTEST, LONGEST).min(until - now)).await;
    }
}

/// The outcome that was said.
pub(super) fn conclude(said: Said, secrets: &[String]) -> Outcome {
    let told = |error: &str| format!("called back: {}", shown_head(error.as_bytes(), false, secrets));
    let output = |summary: &str| StepOutput { summary: format!("called back: {summary}"), ..StepOutput::default() };
    match said {
        Said::Succeeded { rows } => Outcome::Done(Done { output: StepOutput { rows, ..output("succeeded") }, ..Done::default() }),
        Said::Failed { error } => Outcome::Failed { error: told(&error), output: output("failed") },
        Said::Retry { error, after } => Outcome::Retry { error: told(&error), after, output: output("retry") },
    }
}
