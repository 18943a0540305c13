//! `http`: one request, and what its answer means.
//!
//! It is made at least once: after a failure again, under the same `Idempotency-Key`. Whoever answers must tell a second one from the
//! first by it. It follows no redirect. With `callback`, `202` means that what came of it is said later: the attempt waits for that
//! under its claim, and one that finds it said already makes no request.

mod callback;
mod conclude;
mod prepare;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use onebell::handler::{Context, Handler, Outcome};
use onebell::store::StepOutput;
use onebell::time::Timer;

pub use conclude::conclude;

use super::rows::ROWS_MAX_BYTES;
use super::spec::HttpStep;
use crate::http::{Seen, within};
use prepare::Prepared;

/// For the connection; the answer may take as long as the claim lasts.
const CONNECT: Duration = Duration::from_secs(15);
/// Bytes kept of an answer that does not become rows.
const ANSWER_MAX: usize = 64 * 1024;

/// What all requests of a replica have in common.
#[derive(Clone)]
pub struct HttpSettings {
    /// The job file's folder: relative paths begin here.
    pub folder: PathBuf,
    /// Waits.
    pub timer: Arc<dyn Timer>,
    /// Values that are masked in every answer, besides those of the request itself.
    pub secrets: Vec<String>,
    /// Where services outside reach replicas that listen.
    pub callback_url: Option<String>,
}

/// Makes requests.
#[derive(Clone)]
pub struct HttpHandler {
    settings: HttpSettings,
}

impl HttpHandler {
    /// A handler for the requests of one job file.
    pub fn new(settings: HttpSettings) -> Self {
        Self { settings }
    }

    async fn attempt(&self, context: &Context) -> Result<Outcome, Box<Outcome>> {
        let step: HttpStep = super::spec(context)?;
        let until = self.settings.timer.elapsed() + context.step().timeout;
        let prepared = prepare::prepare(&step, &self.settings, context).await?;
        if step.callback
            && let Some(said) = callback::said(&step, context).await?
        {
            return Ok(callback::conclude(said, &prepared.secrets));
        }
        let work = async {
            let seen = self.talk(&step, &prepared, until).await;
            if step.callback && callback::is_awaited(&seen, &step) {
                return callback::wait(&step, context, &*self.settings.timer, until, &prepared.secrets).await;
            }
            conclude(&seen, &step, &prepared.secrets)
        };
        tokio::select! {
            biased;
            outcome = work => Ok(outcome),
            reason = context.stop().requested() => {
                let summary = format!("ended before its answer: {reason:?}").to_lowercase();
                Ok(Outcome::Stopped { output: StepOutput { summary, ..StepOutput::default() } })
            }
        }
    }

    async fn talk(&self, step: &HttpStep, prepared: &Prepared, until: Duration) -> Seen {
        let timer = &*self.settings.timer;
        let most = if step.output { usize::try_from(ROWS_MAX_BYTES).unwrap_or(usize::MAX) } else { ANSWER_MAX };
        let open = prepared.route.open(prepared.call.target());
        match within(timer, CONNECT.min(until.saturating_sub(timer.elapsed())), open).await {
            Ok(connection) => connection.exchange(&prepared.call, most, timer, until).await,
            Err(error) => Seen::Nothing(error),
        }
    }
}

#[async_trait]
impl Handler for HttpHandler {
    async fn run(&self, context: Context) -> Outcome {
        self.attempt(&context).await.unwrap_or_else(|outcome| *outcome)
    }
}
