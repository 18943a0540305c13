//! What templates see besides rows.

use onebell::handler::Context;

use crate::template::{RunFacts, Scope};

pub(super) struct Around {
    job: String,
    step: String,
    run: RunFacts,
}

impl Around {
    pub(super) fn of(context: &Context) -> Self {
        let step = context.step();
        let run = RunFacts {
            id: step.claim.run().to_string(),
            scheduled_for: step.scheduled_for.map(|at| at.to_string()),
            input: step.input.clone(),
        };
        Self { job: step.job.clone(), step: step.name.clone(), run }
    }

    /// For one row, the text of a JSON object.
    pub(super) fn row(&self, row: &str) -> Scope {
        Scope::new(&self.job, &self.step, &self.run, row)
    }

    /// For all rows at once, the text of a JSON array.
    pub(super) fn rows(&self, rows: Option<String>) -> Scope {
        Scope::of_rows(&self.job, &self.step, &self.run, rows)
    }
}
