//! `command`: a program under a keeper, from its start to what it left.

mod attend;
pub(super) mod feed;
mod prepare;
mod progress;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use onebell::handler::{Context, Done, Handler, Outcome};
use onebell::store::StepOutput;
use onebell::time::Timer;

use super::rows;
use super::spec::{Codes, CommandStep};
use crate::keeper::{CommandEnd, End, ExitCodes, Kept, Reason, StartError, Verdict, classify, mask};
use prepare::Prepared;

/// What all commands of a replica have in common.
#[derive(Clone)]
pub struct CommandSettings {
    /// The job file's folder: where commands run and relative paths begin.
    pub folder: PathBuf,
    /// Waits, and reads the clock that the replica's vouching goes by.
    pub timer: Arc<dyn Timer>,
    /// Values that are masked in everything a command prints, besides those of its own `env`.
    pub secrets: Vec<String>,
    /// The program that serves as keeper; none: this one.
    pub keeper: Option<OsString>,
    /// Between TERM and KILL when a command has to end.
    pub grace: Duration,
    /// As if nobody stood between: output is passed on as it comes, our own variables are left, and the claim lasts as long as the
    /// command.
    pub transparent: bool,
}

impl CommandSettings {
    /// With ten seconds of grace and this program as keeper.
    pub fn new(folder: PathBuf, timer: Arc<dyn Timer>, secrets: Vec<String>) -> Self {
        Self { folder, timer, secrets, keeper: None, grace: Duration::from_secs(10), transparent: false }
    }
}

/// Runs programs. What they do by themselves happens at least once: they get a stable key and a fence to make it harmless.
#[derive(Clone)]
pub struct CommandHandler {
    settings: CommandSettings,
    /// Run instead of what the definition says.
    own: Option<CommandStep>,
}

impl CommandHandler {
    /// A handler for the commands of one job file.
    pub fn new(settings: CommandSettings) -> Self {
        Self { settings, own: None }
    }

    /// A handler for this one command, whatever the definition says.
    pub fn of(settings: CommandSettings, step: CommandStep) -> Self {
        Self { settings, own: Some(step) }
    }

    async fn attempt(&self, context: &Context) -> Result<Outcome, Box<Outcome>> {
        let step = match &self.own {
            Some(step) => step.clone(),
            None => super::spec(context)?,
        };
        let prepared = prepare::prepare(&step, &self.settings, context).await?;
        let kept = self.start(&prepared, context).await.map_err(|error| refused(&error))?;
        let end = attend::to_the_end(kept, &self.settings, context, &prepared.scratch.progress()).await;
        Ok(conclude(end, &step, &prepared, context))
    }

    async fn start(&self, prepared: &Prepared, context: &Context) -> Result<Kept, StartError> {
        let allowance = attend::allowance(*context.vouch().borrow(), &*self.settings.timer);
        match &self.settings.keeper {
            Some(program) => Kept::start_with(program, prepared.spec.clone(), allowance).await,
            None => Kept::start(prepared.spec.clone(), allowance).await,
        }
    }
}

#[async_trait]
impl Handler for CommandHandler {
    async fn run(&self, context: Context) -> Outcome {
        self.attempt(&context).await.unwrap_or_else(|outcome| *outcome)
    }
}

fn refused(error: &StartError) -> Box<Outcome> {
    Box::new(match error.verdict() {
        // In a shell's words, for whoever reads exit codes.
        Verdict::Permanent => {
            let summary = format!("exit code {}", error.exit_code());
            Outcome::Failed { error: error.to_string(), output: StepOutput { summary, ..StepOutput::default() } }
        }
        Verdict::Retry | Verdict::Done => Outcome::retry(error.to_string()),
    })
}

/// What the end means, with what the command printed.
fn conclude(mut end: CommandEnd, step: &CommandStep, prepared: &Prepared, context: &Context) -> Outcome {
    mask(&mut end.stdout, &prepared.secrets);
    mask(&mut end.stderr, &prepared.secrets);
    if end.survivors > 0 {
        tracing::error!(step = %context.step().claim.step(), survivors = end.survivors, "processes of a command could not be ended");
    }
    let (summary, error) = (end.summary(), end.told());
    let output = StepOutput { rows: None, stdout: end.stdout.to_bytes(), stderr: end.stderr.to_bytes(), summary };
    // Ended from outside, and nothing of it is left: what that means is the agent's to say.
    match end.end {
        End::EndedByKeeper(Reason::Stopped) => return Outcome::Stopped { output },
        // The keeper's clock may be the first to see that nobody vouches.
        End::EndedByKeeper(_) => return Outcome::Unvouched { output },
        _ => {}
    }
    match classify(&end.end, &exit_codes(&step.exit_codes)) {
        Verdict::Done => match rows::written(&prepared.scratch.output()) {
            Ok(rows) => Outcome::Done(Done { output: StepOutput { rows, ..output }, ..Done::default() }),
            Err(wrong) => Outcome::Failed { error: format!("ONEBELL_OUTPUT: {wrong}"), output },
        },
        Verdict::Permanent => Outcome::Failed { error, output },
        Verdict::Retry => Outcome::Retry { error, after: None, output },
    }
}

fn exit_codes(codes: &Codes) -> ExitCodes {
    ExitCodes { permanent: codes.permanent.clone(), retry: codes.retry.clone() }
}
