//! Small builders: jobs, runs, claims, settlements, messages. They say what a test does not care about.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use onebell::model::job::{OnLost, Overlap, ScheduleDefinition, UndoDefinition, When};
use onebell::model::message::{InDoubtPolicy, NewMessage};
use onebell::model::retry::RetryPolicy;
use onebell::model::step::{StepStatus, Verdict};
use onebell::model::{Claim, Effect, Fingerprint, JobDefinition, JobId, Key, Moment, ReplicaId, RunId, StepDefinition};
use onebell::roles::scheduler::Rules;
use onebell::store::{Actor, ClaimSteps, ClaimedStep, Settled, Settlement, StepDetail, StepOutput, Store, Trigger, Triggered};
use tokio::sync::Barrier;

use super::world::{START, World};

/// A step's `timeout` unless a test says otherwise; its `hard_limit` is ten times that.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);
/// The spacing of slots.
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

pub(crate) fn seconds(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub(crate) fn handlers() -> Vec<String> {
    vec!["work".to_owned(), "undo".to_owned()]
}

pub(crate) fn channels() -> Vec<String> {
    vec!["mail".to_owned()]
}

pub(crate) fn hash(job: &JobDefinition) -> String {
    Fingerprint::of_json(&serde_json::to_string(job).unwrap()).unwrap().to_string()
}

/// `value`, changed.
pub(crate) fn with<T>(mut value: T, change: impl FnOnce(&mut T)) -> T {
    change(&mut value);
    value
}

pub(crate) fn step(name: &str) -> StepDefinition {
    with(StepDefinition::new(name, "work"), |step| {
        step.timeout = TIMEOUT;
        step.hard_limit = TIMEOUT * 10;
    })
}

pub(crate) fn step_after(name: &str, after: &[&str]) -> StepDefinition {
    with(step(name), |step| step.after = after.iter().map(|name| (*name).to_owned()).collect())
}

pub(crate) fn step_once(name: &str) -> StepDefinition {
    with(step(name), |step| step.retry = RetryPolicy::once())
}

pub(crate) fn step_on_lost(name: &str, on_lost: OnLost) -> StepDefinition {
    with(step(name), |step| step.on_lost = on_lost)
}

/// A step that declares an undo.
pub(crate) fn undoable(mut step: StepDefinition) -> StepDefinition {
    step.undo = Some(UndoDefinition {
        handler: "undo".to_owned(),
        spec: "null".to_owned(),
        timeout: TIMEOUT,
        hard_limit: TIMEOUT * 10,
        retry: RetryPolicy::once(),
    });
    step
}

/// A job on request, whose runs go side by side.
pub(crate) fn job(name: &str, steps: Vec<StepDefinition>) -> JobDefinition {
    with(JobDefinition::new(name), |job| {
        job.steps = steps;
        job.overlap = Overlap::Allow;
    })
}

/// A job of one step, due every minute.
pub(crate) fn minutely(name: &str, overlap: Overlap) -> JobDefinition {
    with(job(name, vec![step("a")]), |job| {
        job.overlap = overlap;
        job.schedules = vec![ScheduleDefinition {
            when: When::Every(MINUTE),
            time_zone: "UTC".to_owned(),
            dst: onebell::model::job::Dst::Vixie,
        }];
    })
}

/// Time-zone rules, said to be of a version.
pub(crate) fn rules<'a>(zones: &'a jiff::tz::TimeZoneDatabase, version: &'a str) -> Rules<'a> {
    Rules { zones, version, patience: seconds(10), replica: None }
}

/// The slot that is due `n` minutes after every test's beginning.
pub(crate) fn slot(n: u32) -> Moment {
    START + MINUTE * n
}

pub(crate) fn actor() -> Actor {
    Actor { name: "nobody in particular".to_owned(), reason: Some("a test".to_owned()) }
}

pub(crate) fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

pub(crate) fn request(job: &str, request_key: &str, input: Option<&str>) -> Trigger {
    Trigger { job: job.to_owned(), key: key(request_key), input: input.map(str::to_owned), actor: actor() }
}

/// Money in the ledger: `scope`/`name` of so many minor units.
pub(crate) fn effect(name: &str, amount: i64) -> Effect {
    Effect::new(key("ledger"), key(name), Some(amount), format!("{{\"invoice\":\"{name}\"}}")).unwrap()
}

/// A message that is held when in doubt.
pub(crate) fn mail(name: &str) -> NewMessage {
    mail_saying(name, "hello")
}

pub(crate) fn mail_saying(name: &str, text: &str) -> NewMessage {
    let payload = format!("{{\"text\":\"{text}\"}}");
    NewMessage {
        key: key(name),
        channel: "mail".to_owned(),
        fingerprint: Fingerprint::of_json(&format!("{{\"channel\":\"mail\",\"payload\":{payload}}}")).unwrap(),
        payload,
        on_in_doubt: InDoubtPolicy::Hold,
        retry: RetryPolicy::default(),
    }
}

pub(crate) fn ends(claim: &Claim, verdict: Verdict) -> Settlement {
    let (effects, messages) = (Vec::new(), Vec::new());
    Settlement { claim: claim.clone(), verdict, effects, messages, work: None, output: StepOutput::default() }
}

pub(crate) fn succeeds(claim: &Claim) -> Settlement {
    ends(claim, Verdict::Succeeded)
}

pub(crate) fn records(claim: &Claim, effects: Vec<Effect>) -> Settlement {
    Settlement { effects, ..succeeds(claim) }
}

pub(crate) fn puts(claim: &Claim, messages: Vec<NewMessage>) -> Settlement {
    Settlement { messages, ..succeeds(claim) }
}

pub(crate) fn fails(claim: &Claim) -> Settlement {
    ends(claim, Verdict::Failed { error: "no such account".to_owned() })
}

pub(crate) fn retries(claim: &Claim) -> Settlement {
    ends(claim, Verdict::Retry { error: "busy".to_owned(), after: None })
}

pub(crate) fn gives_back(claim: &Claim) -> Settlement {
    ends(claim, Verdict::GivenBack)
}

pub(crate) fn stops(claim: &Claim) -> Settlement {
    ends(claim, Verdict::Stopped { error: "the store was away".to_owned() })
}

/// Written now, with nothing beside it.
pub(crate) fn applied(status: StepStatus) -> Settled {
    Settled::Applied { status, effects_already: 0, messages_already: 0, refused: None }
}

/// The status in an answer that says it was written.
pub(crate) fn status_of(settled: &Settled) -> StepStatus {
    let Settled::Applied { status, .. } = settled else { panic!("not applied: {settled:?}") };
    *status
}

/// Runs the calls at once, each in a task of its own behind one barrier; answers in the order given.
pub(crate) async fn at_once<T: Send + 'static>(calls: Vec<impl Future<Output = T> + Send + 'static>) -> Vec<T> {
    let barrier = Arc::new(Barrier::new(calls.len()));
    let tasks: Vec<_> = calls
        .into_iter()
        .map(|call| {
            let barrier = Arc::clone(&barrier);
            tokio::spawn(async move {
                barrier.wait().await;
                call.await
            })
        })
        .collect();
    let mut answers = Vec::new();
    for task in tasks {
        answers.push(task.await.unwrap());
    }
    answers
}

impl World {
    /// Registers `job` and opens one run of it, admitted.
    pub(crate) async fn open_run(&self, job: &JobDefinition) -> RunId {
        self.register(job).await;
        self.trigger(&job.name, &format!("first of {}", job.name)).await
    }

    /// Opens a run of a registered job by a request.
    pub(crate) async fn trigger(&self, job: &str, request_key: &str) -> RunId {
        match self.store.trigger(&request(job, request_key, None)).await.unwrap() {
            Triggered::Opened(run) => run,
            other => panic!("{other:?}"),
        }
    }

    /// Asks for steps of every job that the test registered, so many to start.
    pub(crate) fn asks(&self, replica: &ReplicaId, start: u32) -> ClaimSteps {
        ClaimSteps {
            replica: replica.clone(),
            jobs: self.carried(),
            handlers: handlers(),
            queues: vec!["default".to_owned()],
            start,
            prefetch: 0,
            idle: true,
            run: None,
        }
    }

    /// Claims up to `start` steps.
    pub(crate) async fn claim(&self, replica: &ReplicaId, start: u32) -> Vec<ClaimedStep> {
        self.store.claim_steps(&self.asks(replica, start)).await.unwrap().claimed
    }

    /// Claims the one step that there must be.
    pub(crate) async fn claim_one(&self, replica: &ReplicaId) -> ClaimedStep {
        let mut claimed = self.claim(replica, 1).await;
        assert_eq!(claimed.len(), 1, "a step to claim");
        claimed.remove(0)
    }

    /// Settles one attempt.
    pub(crate) async fn settle(&self, settlement: Settlement) -> Settled {
        settle_on(&self.store, settlement).await
    }

    /// Claims the one step that there must be and ends it well.
    pub(crate) async fn finish_one(&self, replica: &ReplicaId) -> ClaimedStep {
        let step = self.claim_one(replica).await;
        assert_eq!(self.settle(succeeds(&step.claim)).await, applied(StepStatus::Succeeded));
        step
    }

    /// The run's status word.
    pub(crate) async fn run_status(&self, run: &RunId) -> String {
        self.store.run(run).await.unwrap().expect("the run").run.status
    }

    /// A step as people see it.
    pub(crate) async fn step(&self, run: &RunId, name: &str) -> StepDetail {
        let detail = self.store.run(run).await.unwrap().expect("the run");
        detail.steps.into_iter().find(|step| step.name == name).unwrap_or_else(|| panic!("no step {name}"))
    }

    /// The step's status word.
    pub(crate) async fn step_status(&self, run: &RunId, name: &str) -> String {
        self.step(run, name).await.status
    }

    /// Admits what may start.
    pub(crate) async fn admit(&self) -> u32 {
        let seen = self.scheduler_has_work().await;
        let admitted = self.store.admit_runs(&self.carried(), 100).await.unwrap();
        assert!(seen || admitted == 0, "a pass would have rested");
        admitted
    }

    /// Whether a scheduler that looks finds anything to do but slots.
    pub(crate) async fn scheduler_has_work(&self) -> bool {
        self.store.rest(&self.carried()).await.unwrap().has_work
    }

    /// Id of a registered job.
    pub(crate) fn job_id(&self, name: &str) -> JobId {
        JobId::of_name(name)
    }
}

pub(crate) async fn settle_on(store: &Arc<dyn Store>, settlement: Settlement) -> Settled {
    let mut answers = store.settle_steps(vec![settlement]).await.unwrap();
    assert_eq!(answers.len(), 1);
    answers.remove(0)
}
