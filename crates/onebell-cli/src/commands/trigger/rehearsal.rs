//! `onebell trigger --dry-run`: what the request would find, and what the job's messages would be. Nothing is written or sent.

use std::sync::Arc;
use std::time::Duration;

use onebell::handler::{AttemptOf, Context, Handler, Outcome, Stopper, Vouch};
use onebell::model::message::NewMessage;
use onebell::model::{JobDefinition, JobId, RunId, StepDefinition};
use onebell::store::{self as port, Store, Triggered};
use serde::Serialize;
use tokio::sync::watch;

use crate::answer::{Answer, Failure, Table, json, line};
use crate::args::{Common, Format};
use crate::channels;
use crate::jobfile::JobFile;
use crate::steps::MessageHandler;
use crate::steps::spec::{MessageStep, Rows};

#[derive(Serialize)]
struct Rehearsed {
    run: RunId,
    request: State,
    steps: Vec<Step>,
}

#[derive(Serialize)]
struct Step {
    step: String,
    handler: String,
    messages: Vec<Message>,
    /// Why nothing more can be said.
    note: Option<String>,
}

#[derive(Serialize)]
struct Message {
    key: String,
    channel: String,
    state: State,
    payload: serde_json::Value,
}

/// What something with an identity would be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum State {
    New,
    Already,
    Conflict,
}

impl State {
    const fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Already => "already",
            Self::Conflict => "conflict",
        }
    }
}

/// By the job file as it is here; rows that a step brings are those of the run that has this key, if there is one.
pub(super) async fn rehearse(common: &Common, store: Arc<dyn Store>, request: &port::Trigger) -> Answer {
    let file = JobFile::load(&common.file).map_err(Failure::usage)?;
    let job = file.jobs.iter().find(|job| job.name == request.job);
    let job = job.ok_or_else(|| Failure::usage(format!("no job {:?} in {}", request.job, common.file.display())))?;
    let (run, asked) = match store.asked_before(request).await? {
        Some(Triggered::Already(run)) => (run, State::Already),
        Some(Triggered::Conflict(_)) => (run_of(store.as_ref(), request).await?, State::Conflict),
        // A job that no replica has registered yet has no run either.
        None | Some(Triggered::NoSuchJob | Triggered::Opened(_)) => (run_of(store.as_ref(), request).await?, State::New),
    };
    let handler = MessageHandler::new(channels::facts(&file), file.folder.clone());
    let mut steps = Vec::new();
    for step in &job.steps {
        steps.push(rehearse_step(&store, &handler, job, step, request, &run, asked).await?);
    }
    let rehearsed = Rehearsed { run, request: asked, steps };
    if common.format == Format::Json {
        json(&rehearsed)?
    } else {
        tell(&rehearsed)?
    }
    let conflicts =
        rehearsed.steps.iter().flat_map(|step| &step.messages).filter(|message| message.state == State::Conflict).count();
    match (asked, conflicts) {
        (State::Conflict, _) => Err(Failure::Findings(format!(
            "the key {:?} was used for another job or input; ask with another key",
            request.key.as_str()
        ))),
        (_, 0) => Ok(()),
        (_, count) => Err(Failure::Findings(format!(
            "{count} messages have the key of a message with another content; make the key name what differs"
        ))),
    }
}

async fn run_of(store: &dyn Store, request: &port::Trigger) -> Result<RunId, Failure> {
    // A job that was renamed keeps its id.
    let known = store.jobs().await?.into_iter().find(|job| job.name == request.job);
    let id = known.map_or_else(|| JobId::of_name(&request.job), |job| JobId::from_text(&job.id));
    Ok(RunId::of_request(&id, request.key.as_str()))
}

async fn rehearse_step(
    store: &Arc<dyn Store>,
    handler: &MessageHandler,
    job: &JobDefinition,
    step: &StepDefinition,
    request: &port::Trigger,
    run: &RunId,
    asked: State,
) -> Result<Step, Failure> {
    let mut told = Step { step: step.name.clone(), handler: step.handler.clone(), messages: Vec::new(), note: None };
    if step.handler != "message" {
        told.note = Some("not run".to_owned());
        return Ok(told);
    }
    let spec: MessageStep =
        serde_json::from_str(&step.spec).map_err(|error| Failure::usage(format!("step {:?}: {error}", step.name)))?;
    if let (Some(Rows::OutputOf(source)), false) = (&spec.rows, asked == State::Already) {
        told.note = Some(format!("a message for each row of step {source:?}, which was not run"));
        return Ok(told);
    }
    let of = AttemptOf {
        job: job.name.clone(),
        run: run.clone(),
        scheduled_for: None,
        input: request.input.clone(),
        attempt: 1,
        claimed_at: store.scheduler_now().await?,
    };
    let vouch = Vouch { renewed_at: Duration::ZERO, term_after: Duration::MAX, kill_after: Duration::MAX };
    let (_stopper, stop) = Stopper::new();
    let agent = Arc::clone(store) as Arc<dyn port::AgentStore>;
    let context = Context::for_store(agent, step, &of, stop, watch::channel(vouch).1);
    match handler.run(context).await {
        Outcome::Done(done) => {
            for message in done.messages {
                told.messages.push(compared(store.as_ref(), message).await?);
            }
            Ok(told)
        }
        Outcome::Failed { error, .. } | Outcome::Retry { error, .. } => {
            Err(Failure::Work(format!("step {:?}: {error}", step.name)))
        }
        other => Err(Failure::Work(format!("step {:?}: {other:?}", step.name))),
    }
}

async fn compared(store: &dyn Store, message: NewMessage) -> Result<Message, Failure> {
    let state = match store.message(message.key.as_str()).await? {
        None => State::New,
        Some(kept) => match NewMessage::new(message.key.clone(), &kept.channel, kept.payload) {
            Ok(kept) if kept.fingerprint == message.fingerprint => State::Already,
            _ => State::Conflict,
        },
    };
    let payload = serde_json::from_str(&message.payload).unwrap_or(serde_json::Value::Null);
    Ok(Message { key: message.key.as_str().to_owned(), channel: message.channel, state, payload })
}

fn tell(rehearsed: &Rehearsed) -> Answer {
    line(format!("run {}: {}; nothing was opened or sent", rehearsed.run, rehearsed.request.word()));
    let mut table = Table::new(["STEP", "STATE", "CHANNEL", "KEY", "TO", "SUBJECT"]);
    for step in &rehearsed.steps {
        if let Some(note) = &step.note {
            table.row([step.step.clone(), "-".to_owned(), "-".to_owned(), note.clone(), String::new(), String::new()]);
        }
        for message in &step.messages {
            let field = |name: &str| message.payload[name].as_str().unwrap_or_default().to_owned();
            let state = message.state.word().to_owned();
            table.row([step.step.clone(), state, message.channel.clone(), message.key.clone(), field("to"), field("subject")]);
        }
    }
    table.print();
    Ok(())
}
