use std::time::Duration;

use crate::model::Effect;
use crate::model::message::NewMessage;
use crate::store::{StepOutput, Work};

/// What commits together with the step's completion.
#[derive(Debug, Clone, Default)]
pub struct Done {
    /// Results with identity.
    pub effects: Vec<Effect>,
    /// Messages for the outbox.
    pub messages: Vec<NewMessage>,
    /// Statements of the user's own.
    pub work: Option<Work>,
    /// Rows and captured output.
    pub output: StepOutput,
}

/// How a handler ended.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The work is done.
    Done(Done),
    /// A passing error: tried again within the budget.
    Retry {
        /// What went wrong.
        error: String,
        /// Not before this.
        after: Option<Duration>,
        /// Captured output.
        output: StepOutput,
    },
    /// A permanent error.
    Failed {
        /// What went wrong and what to do.
        error: String,
        /// Captured output.
        output: StepOutput,
    },
    /// The work was ended because [`crate::handler::Stop`] asked for it.
    Stopped {
        /// Captured output.
        output: StepOutput,
    },
    /// The work was ended from outside because nobody vouched for it any longer, whether or not [`crate::handler::Stop`] had asked
    /// yet: it costs no try.
    Unvouched {
        /// Captured output.
        output: StepOutput,
    },
}

impl Outcome {
    /// Done, with nothing to commit beside the completion.
    pub fn done() -> Self {
        Self::Done(Done::default())
    }

    /// A passing error.
    pub fn retry(error: impl Into<String>) -> Self {
        Self::Retry { error: error.into(), after: None, output: StepOutput::default() }
    }

    /// A permanent error.
    pub fn failed(error: impl Into<String>) -> Self {
        Self::Failed { error: error.into(), output: StepOutput::default() }
    }
}
