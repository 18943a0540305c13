//! How attempts end, gathered for two statements: what is done leaves `job_steps`, the rest stays there without an owner.
//!
//! It decides nothing: an [`Ending`] comes from `model::step`. Each statement compares the fence again.

use super::columns::{Record, int, stamp, text, values};
use super::error::Outcome;
use super::statements as sql;
use super::transaction::Tx;
use crate::model::job::OnLost;
use crate::model::step::{Ending, Running};
use crate::model::{Moment, ReplicaId, RunId, StepId};
use crate::store::StepOutput;

/// A running step under its lock.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) run: RunId,
    pub(super) replica: ReplicaId,
    running: Running,
}

impl Held {
    /// From a row that the fence or a recovery locked.
    pub(super) fn read(row: &Record) -> Outcome<Self> {
        let running = Running {
            step: StepId::from_text(row.get::<&str>("step_id")?),
            attempt: row.number("attempt")?,
            tries: row.number("tries")?,
            retry: row.json("retry")?,
            first_claimed_at: row.moment("first_claimed_at")?,
            started: row.get("started")?,
            on_lost: row.word("on_lost", OnLost::from_word)?,
            cancelling: false,
        };
        Ok(Self {
            run: RunId::from_text(row.get::<&str>("run_id")?),
            replica: ReplicaId::from_text(row.get::<&str>("locked_by")?),
            running,
        })
    }

    /// The step.
    pub(super) fn step(&self) -> &StepId {
        &self.running.step
    }

    /// The fence.
    pub(super) fn attempt(&self) -> u64 {
        self.running.attempt
    }

    /// What the model asks for.
    pub(super) fn running(&self, cancelling: bool) -> Running {
        Running { cancelling, ..self.running.clone() }
    }
}

/// Ends of attempts, column by column.
#[derive(Debug, Default)]
struct Columns<'o> {
    step: Vec<String>,
    attempt: Vec<i64>,
    replica: Vec<String>,
    to: Vec<&'static str>,
    outcome: Vec<&'static str>,
    tries: Vec<i64>,
    error: Vec<Option<String>>,
    summary: Vec<String>,
    rows: Vec<Option<String>>,
    stdout: Vec<&'o [u8]>,
    stderr: Vec<&'o [u8]>,
    ready_at: Vec<std::time::SystemTime>,
    alone: Vec<bool>,
}

/// Ends of attempts.
#[derive(Debug, Default)]
pub(super) struct Endings<'o> {
    finish: Columns<'o>,
    release: Columns<'o>,
}

impl<'o> Endings<'o> {
    /// One more. `output`: what the attempt left, if it ended by its own word.
    pub(super) fn add(&mut self, held: &Held, ending: &Ending, output: Option<(&'o StepOutput, Option<&str>)>) {
        let columns = if ending.to.is_done() { &mut self.finish } else { &mut self.release };
        columns.step.push(held.step().to_string());
        columns.attempt.push(int(held.attempt()));
        columns.replica.push(held.replica.to_string());
        columns.to.push(ending.to.as_str());
        columns.outcome.push(ending.outcome.as_str());
        columns.tries.push(int(ending.tries));
        columns.error.push(ending.error.as_deref().map(text));
        columns.summary.push(output.map(|(output, _)| text(&output.summary)).unwrap_or_default());
        columns.rows.push(output.and_then(|(_, rows)| rows).map(text));
        columns.stdout.push(output.map_or(&[], |(output, _)| &output.stdout));
        columns.stderr.push(output.map_or(&[], |(output, _)| &output.stderr));
        columns.ready_at.push(stamp(ending.ready_at));
        columns.alone.push(ending.alone);
    }

    /// Writes all of them.
    pub(super) async fn write(&self, tx: &Tx, now: Moment) -> Outcome<()> {
        let now = stamp(now);
        let c = &self.finish;
        if !c.step.is_empty() {
            let values = values![
                now, c.step, c.attempt, c.replica, c.to, c.outcome, c.tries, c.error, c.summary, c.rows, c.stdout, c.stderr
            ];
            tx.execute_all(&sql::FINISH_STEPS, values, c.step.len()).await?;
        }
        let c = &self.release;
        if !c.step.is_empty() {
            let values = values![
                now, c.step, c.attempt, c.replica, c.to, c.outcome, c.tries, c.error, c.summary, c.rows, c.stdout, c.stderr,
                c.ready_at, c.alone
            ];
            tx.execute_all(&sql::RELEASE_STEPS, values, c.step.len()).await?;
        }
        Ok(())
    }
}
