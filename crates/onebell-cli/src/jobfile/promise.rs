//! What each step of a job promises, in words that can be told to a customer.

use onebell::model::job::OnLost;
use onebell::model::message::InDoubtPolicy;
use onebell::model::{JobDefinition, StepDefinition};

use serde::{Serialize, Serializer};

use super::doubts;
use crate::steps::spec::{APPLY, HTTP, MESSAGE, MessageStep, SQL};

/// How often a step's effect may happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// Committed together with the step's completion, or not at all.
    ExactlyOnce,
    /// Repeated after a failure, always under the same key.
    AtLeastOnce,
    /// Never repeated by itself; an unknown outcome waits for a decision.
    AtMostOnce,
}

impl std::fmt::Display for Promise {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ExactlyOnce => "exactly once",
            Self::AtLeastOnce => "at least once",
            Self::AtMostOnce => "at most once",
        })
    }
}

/// The word that people read.
impl Serialize for Promise {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The promise of one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepPromise {
    /// The step.
    pub step: String,
    /// How often.
    pub promise: Promise,
    /// What that means for this step.
    pub meaning: &'static str,
    /// What is allowed but rarely meant.
    pub warnings: Vec<String>,
}

/// The promise of every step, in the order written.
pub fn promises(job: &JobDefinition) -> Vec<StepPromise> {
    let one = |step: &StepDefinition| {
        let mut told = promise(step);
        told.warnings = doubts::of_step(job, step);
        told
    };
    job.steps.iter().map(one).collect()
}

fn promise(step: &StepDefinition) -> StepPromise {
    let told = |promise, meaning| StepPromise { step: step.name.clone(), promise, meaning, warnings: Vec::new() };
    if step.handler == SQL {
        return told(Promise::ExactlyOnce, "its rows commit together with the step's completion, or not at all");
    }
    if step.handler == APPLY {
        let meaning = "each record's effect commits together with its identity and the position read; read again, it is Already";
        return told(Promise::ExactlyOnce, meaning);
    }
    if step.handler == MESSAGE {
        let Ok(spec) = serde_json::from_str::<MessageStep>(&step.spec) else {
            return told(Promise::AtLeastOnce, "its definition cannot be read");
        };
        return match spec.on_in_doubt.unwrap_or(InDoubtPolicy::Hold) {
            InDoubtPolicy::Hold => told(
                Promise::AtMostOnce,
                "one message per key; a send whose outcome is unknown is held in doubt until a person decides",
            ),
            InDoubtPolicy::Resend => told(
                Promise::AtLeastOnce,
                "one message per key; a send whose outcome is unknown is sent again, with the same key",
            ),
        };
    }
    if step.on_lost != OnLost::Retry && step.retry.attempts == 1 {
        return told(Promise::AtMostOnce, "tried once; if its replica dies, nobody repeats it without a decision");
    }
    if step.handler == HTTP {
        return told(
            Promise::AtLeastOnce,
            "repeated after a failure, always with the same Idempotency-Key and a growing Onebell-Attempt",
        );
    }
    told(
        Promise::AtLeastOnce,
        "repeated after a failure, always with the same ONEBELL_IDEMPOTENCY_KEY and a growing ONEBELL_ATTEMPT",
    )
}
