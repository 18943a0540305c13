//! `sql`: statements of the user's own, run inside the transaction that settles the step.

use async_trait::async_trait;
use onebell::handler::{Context, Done, Handler, Outcome};
use onebell::store::Work;

use super::spec::SqlStep;

/// Hands the statements to the settlement; runs nothing itself, so that rows and completion commit together.
#[derive(Debug, Clone, Copy, Default)]
pub struct SqlHandler;

#[async_trait]
impl Handler for SqlHandler {
    async fn run(&self, context: Context) -> Outcome {
        match super::spec::<SqlStep>(&context) {
            Ok(step) => Outcome::Done(Done { work: Some(Work::Sql(step.sql)), ..Done::default() }),
            Err(outcome) => *outcome,
        }
    }
}
