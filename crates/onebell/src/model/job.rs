//! What a person declares: jobs, their steps and policies. Stored as JSON beside the job, and a run
//! keeps the definition it was opened with.

mod limits;
pub(crate) mod micros;
mod when;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use limits::Limits;
pub use when::{ScheduleDefinition, When};

use super::alarm::{Notify, Ping};
use super::retry::RetryPolicy;
use super::transition::words;

/// A named piece of work: steps and policies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JobDefinition {
    /// The name people use; any characters.
    pub name: String,
    /// An earlier name whose id, cursor and keys this job keeps.
    #[serde(default)]
    pub formerly: Option<String>,
    /// One line for people.
    #[serde(default)]
    pub description: String,
    /// When it is due; none: only on request. Several are planned as their union.
    #[serde(default)]
    pub schedules: Vec<ScheduleDefinition>,
    /// What happens to a slot that comes due while a run is active.
    #[serde(default)]
    pub overlap: Overlap,
    /// What happens to slots that nobody was there for.
    #[serde(default)]
    pub missed: Missed,
    /// How far back missed slots are looked at.
    #[serde(with = "micros", default = "day")]
    pub missed_window: Duration,
    /// Between which instants, and on which days not, its schedules count.
    #[serde(default, skip_serializing_if = "Limits::are_none")]
    pub limits: Limits,
    /// Where the grid of its intervals begins: set when the job is first registered, and kept over restarts and edits. None: 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchor: Option<super::Moment>,
    /// Registered for the first time, it begins paused. After that a pause is what people say, and this changes nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub begins_paused: bool,
    /// A slot's run that could start only later than this after its slot does not start; the slot is recorded as skipped.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "micros::option")]
    pub start_within: Option<Duration>,
    /// A run that is not over so long after it was due is told of, once, if [`Self::notify`] asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "micros::option")]
    pub finish_within: Option<Duration>,
    /// A run that succeeds after less work is told of, if [`Self::notify`] asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "micros::option")]
    pub runs_at_least: Option<Duration>,
    /// A job that has not succeeded for longer is told of, once, if [`Self::notify`] asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "micros::option")]
    pub expect_within: Option<Duration>,
    /// Where a sign of life goes when a run of it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ping: Option<Ping>,
    /// What of it is told to whom when it goes wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<Notify>,
    /// In the order written.
    pub steps: Vec<StepDefinition>,
}

/// A part of a job; the unit of claim.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepDefinition {
    /// Unique within the job.
    pub name: String,
    /// Which handler runs it: `command`, `sql`, `message`, or one that the embedding program registered.
    pub handler: String,
    /// What the handler needs, as JSON text; opaque to the engine.
    #[serde(default = "null")]
    pub spec: String,
    /// Names of the steps that must have succeeded.
    #[serde(default)]
    pub after: Vec<String>,
    /// `complete_by` = claim + this, set again by each progress report.
    #[serde(with = "micros")]
    pub timeout: Duration,
    /// Progress extends the claim to at most claim + this.
    #[serde(with = "micros")]
    pub hard_limit: Duration,
    /// Budget of tries and time.
    #[serde(default)]
    pub retry: RetryPolicy,
    /// What happens when its replica died after it started.
    #[serde(default)]
    pub on_lost: OnLost,
    /// Only replicas that serve this queue claim it.
    #[serde(default = "default_queue")]
    pub queue: String,
    /// Higher goes first.
    #[serde(default)]
    pub priority: i32,
    /// What undoes it when the run fails later or is cancelled.
    #[serde(default)]
    pub undo: Option<UndoDefinition>,
    /// Whether a message that failed for good fails the step that put it.
    #[serde(default)]
    pub on_message_failed: OnMessageFailed,
}

/// The step that takes a step's work back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UndoDefinition {
    /// As in [`StepDefinition`].
    pub handler: String,
    /// As in [`StepDefinition`].
    #[serde(default = "null")]
    pub spec: String,
    /// As in [`StepDefinition`].
    #[serde(with = "micros")]
    pub timeout: Duration,
    /// As in [`StepDefinition`].
    #[serde(with = "micros")]
    pub hard_limit: Duration,
    /// As in [`StepDefinition`].
    #[serde(default)]
    pub retry: RetryPolicy,
}

words! {
    /// What happens to a slot that comes due while a run is active or a slot's run waits.
    #[derive(Default)]
    Overlap {
        /// The new slot is skipped and recorded.
        #[default]
        Skip = "skip",
        /// One waits; a further one is skipped.
        Queue = "queue",
        /// Runs side by side.
        Allow = "allow",
        /// The active run is cancelled, then the new one starts.
        Replace = "replace",
    }
}

/// What happens to slots inside the missed window that nobody was there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missed {
    /// The newest one runs, the others are recorded as skipped.
    #[default]
    Latest,
    /// All are recorded as skipped.
    Skip,
    /// The newest N run, oldest first.
    All(u32),
}

words! {
    /// Local times that do not exist, or happen twice.
    #[derive(Default)]
    Dst {
        /// A fixed time in a gap fires at the first instant after it, in a fold on the first pass.
        #[default]
        Vixie = "vixie",
        /// A time in a gap is recorded as skipped.
        Skip = "skip",
        /// The wall clock rules: a time in a fold fires on both passes.
        Wall = "wall",
    }
}

words! {
    /// What happens to a started step whose replica died.
    #[derive(Default)]
    OnLost {
        /// It may be run again, within its budget.
        #[default]
        Retry = "retry",
        /// It waits for a person: at most once.
        Hold = "hold",
        /// It fails.
        Fail = "fail",
    }
}

words! {
    /// What a failed message means for the step that put it.
    #[derive(Default)]
    OnMessageFailed {
        /// It is counted and notified; the step succeeds.
        #[default]
        Continue = "continue",
        /// The step fails.
        Fail = "fail",
    }
}

fn day() -> Duration {
    Duration::from_secs(24 * 3600)
}

fn null() -> String {
    "null".to_owned()
}

fn default_queue() -> String {
    "default".to_owned()
}

/// What is wrong with a definition, with its remedy.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("job {job:?}: {problem}")]
pub struct DefinitionError {
    /// The job's name.
    pub job: String,
    /// What is wrong and what to write instead.
    pub problem: String,
}

impl JobDefinition {
    /// A job without schedule or steps, for programs that build definitions.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            formerly: None,
            description: String::new(),
            schedules: Vec::new(),
            overlap: Overlap::default(),
            missed: Missed::default(),
            missed_window: day(),
            limits: Limits::default(),
            anchor: None,
            begins_paused: false,
            start_within: None,
            finish_within: None,
            runs_at_least: None,
            expect_within: None,
            ping: None,
            notify: None,
            steps: Vec::new(),
        }
    }

    /// The step of that name.
    pub fn step(&self, name: &str) -> Option<&StepDefinition> {
        self.steps.iter().find(|step| step.name == name)
    }

    /// Checks what the engine relies on: names, order, budgets. Schedules are checked where they are parsed.
    pub fn validate(&self) -> Result<(), DefinitionError> {
        self.problem().map_or(Ok(()), |problem| Err(DefinitionError { job: self.name.clone(), problem }))
    }

    fn problem(&self) -> Option<String> {
        if self.name.trim().is_empty() {
            return Some("the name is empty; give the job a name".to_owned());
        }
        if self.steps.is_empty() {
            return Some("it has no step; add one under [[jobs.NAME.steps]]".to_owned());
        }
        if let Some(problem) = self.own_problem() {
            return Some(problem);
        }
        let mut ids = std::collections::BTreeMap::new();
        for step in &self.steps {
            let id = super::StepId::of(&super::RunId::from_text(""), &step.name);
            if let Some(other) = ids.insert(id, &step.name) {
                return Some(format!("two steps are named {other:?} and {:?}; rename one", step.name));
            }
            if let Some(problem) = step.problem(self) {
                return Some(format!("step {:?}: {problem}", step.name));
            }
        }
        (self.ranks().len() < self.steps.len()).then(|| "its steps wait for each other in a circle; check `after`".to_owned())
    }

    fn own_problem(&self) -> Option<String> {
        let (notify, ping) = (|| self.notify.as_ref()?.problem(), || self.ping.as_ref()?.problem());
        self.lateness_problem().or_else(|| self.vigil_problem()).or_else(notify).or_else(ping)
    }

    /// Topological rank of each step: 0 waits for nothing. Steps of a circle are left out.
    pub fn ranks(&self) -> std::collections::BTreeMap<&str, u32> {
        let mut ranks = std::collections::BTreeMap::new();
        loop {
            let before = ranks.len();
            for step in &self.steps {
                let known: Option<Vec<u32>> = step.after.iter().map(|name| ranks.get(name.as_str()).copied()).collect();
                if let Some(known) = known {
                    ranks.entry(step.name.as_str()).or_insert_with(|| known.iter().max().map_or(0, |rank| rank + 1));
                }
            }
            if ranks.len() == before {
                return ranks;
            }
        }
    }
}

impl StepDefinition {
    /// A step with default policies and a timeout of five minutes, for programs that build definitions.
    pub fn new(name: impl Into<String>, handler: impl Into<String>) -> Self {
        let timeout = Duration::from_secs(300);
        Self {
            name: name.into(),
            handler: handler.into(),
            spec: null(),
            after: Vec::new(),
            timeout,
            hard_limit: timeout * 10,
            retry: RetryPolicy::default(),
            on_lost: OnLost::default(),
            queue: default_queue(),
            priority: 0,
            undo: None,
            on_message_failed: OnMessageFailed::default(),
        }
    }

    fn problem(&self, job: &JobDefinition) -> Option<String> {
        if self.name.trim().is_empty() {
            return Some("the name is empty".to_owned());
        }
        if self.name.contains(UNDO_MARK) {
            return Some(format!("a name cannot contain {UNDO_MARK:?}; rename it"));
        }
        if let Some(unknown) = self.after.iter().find(|name| job.step(name).is_none()) {
            return Some(format!("`after` names {unknown:?}, which is no step of this job"));
        }
        if self.timeout.is_zero() {
            return Some("`timeout` must be longer than zero".to_owned());
        }
        if self.hard_limit < self.timeout {
            return Some("`hard_limit` is shorter than `timeout`; raise it or leave it out (10 × timeout)".to_owned());
        }
        (self.retry.attempts == 0).then(|| "`retry.attempts` counts the first attempt; write 1 or more".to_owned())
    }
}

/// Separates a step's name from the name of the step that undoes it.
pub const UNDO_MARK: &str = "~undo";

#[cfg(test)]
mod tests {
    use super::*;

    fn job(edges: &[(&str, &[&str])]) -> JobDefinition {
        let mut job = JobDefinition::new("j");
        for (name, after) in edges {
            let mut step = StepDefinition::new(*name, "h");
            step.after = after.iter().map(|s| (*s).to_owned()).collect();
            job.steps.push(step);
        }
        job
    }

    #[test]
    fn a_circle_a_stranger_and_a_double_name_are_refused_with_their_remedy() {
        assert!(job(&[("a", &[]), ("b", &["a"])]).validate().is_ok());
        let refusal = |edges: &[(&str, &[&str])]| job(edges).validate().unwrap_err().to_string();
        assert!(refusal(&[("a", &["b"]), ("b", &["a"])]).contains("circle"));
        assert!(refusal(&[("a", &["x"])]).contains("\"x\""));
        assert!(refusal(&[("a", &[]), ("a", &[])]).contains("rename"));
        assert!(refusal(&[]).contains("no step"));
    }
}
