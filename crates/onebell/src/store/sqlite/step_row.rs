//! An open step as its row says, and how its attempt is written to an end. What the end is, the model decides.

use rusqlite::Row;

use super::columns::{count, from_json, int, small};
use super::error::Failure;
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use crate::model::job::{OnLost, OnMessageFailed};
use crate::model::retry::RetryPolicy;
use crate::model::step::{AttemptOutcome, Ending, Running, StepEvent, StepStatus};
use crate::model::{Claim, JobId, Moment, ReplicaId, RunId, StepId};
use crate::store::{StepOutput, StoreError};

/// A row of `job_steps`.
#[derive(Debug, Clone)]
pub(super) struct StepRow {
    pub(super) id: StepId,
    pub(super) run: RunId,
    pub(super) job: JobId,
    pub(super) name: String,
    pub(super) rank: i64,
    pub(super) undoable: bool,
    /// JSON text, as it stands.
    pub(super) after: String,
    pub(super) status: StepStatus,
    pub(super) attempt: u64,
    pub(super) tries: u32,
    pub(super) retry: RetryPolicy,
    pub(super) on_lost: OnLost,
    pub(super) on_message_failed: OnMessageFailed,
    pub(super) first_claimed_at: Option<Moment>,
    pub(super) locked_by: Option<ReplicaId>,
    pub(super) claimed_at: Option<Moment>,
    pub(super) started_at: Option<Moment>,
    pub(super) complete_by: Option<Moment>,
}

/// How an ended attempt stands in the history.
pub(super) struct Record<'r> {
    pub(super) attempt: u64,
    pub(super) outcome: AttemptOutcome,
    /// Set when the step is done with it.
    pub(super) last: Option<StepStatus>,
    pub(super) tries: u32,
    /// Whose attempt it was; none when the step ended without an owner.
    pub(super) owner: Option<&'r ReplicaId>,
    pub(super) error: Option<&'r str>,
    pub(super) output: &'r StepOutput,
}

impl StepRow {
    pub(super) fn read(row: &Row<'_>) -> Outcome<Self> {
        Ok(Self {
            id: row.get("step_id")?,
            run: row.get("run_id")?,
            job: row.get("job_id")?,
            name: row.get("name")?,
            rank: row.get("rank")?,
            undoable: row.get("undoable")?,
            after: row.get("after")?,
            status: row.get("status")?,
            attempt: count(row, "attempt")?,
            tries: small(row, "tries")?,
            retry: from_json(row.get_ref("retry")?.as_str().map_err(rusqlite::Error::from)?, "retry policy")?,
            on_lost: row.get("on_lost")?,
            on_message_failed: row.get("on_message_failed")?,
            first_claimed_at: row.get("first_claimed_at")?,
            locked_by: row.get("locked_by")?,
            claimed_at: row.get("claimed_at")?,
            started_at: row.get("started_at")?,
            complete_by: row.get("complete_by")?,
        })
    }

    /// The step, if the claim still holds it.
    pub(super) fn fenced(tx: &Tx<'_>, claim: &Claim) -> Outcome<Option<Self>> {
        let fence = (claim.step(), int(claim.attempt()), claim.replica());
        tx.first(S::FenceSteps, &[("step", fence.0), ("attempt", &fence.1), ("replica", fence.2)], Self::read)
    }

    /// What the model needs to decide how the attempt ends.
    pub(super) fn running(&self, cancelling: bool, now: Moment) -> Running {
        Running {
            step: self.id.clone(),
            attempt: self.attempt,
            tries: self.tries,
            retry: self.retry,
            first_claimed_at: self.first_claimed_at.unwrap_or(now),
            started: self.started_at.is_some(),
            on_lost: self.on_lost,
            cancelling,
        }
    }

    /// Writes the end of a running attempt under its fence, and its history. False: it was not ours any longer.
    pub(super) fn end(&self, tx: &Tx<'_>, ending: &Ending, output: &StepOutput) -> Outcome<bool> {
        let (attempt, now) = (int(self.attempt), tx.now);
        let (to, ready_at, tries, alone) = (ending.to, ending.ready_at, ending.tries, ending.alone);
        let mut values: Vec<(&str, &dyn rusqlite::ToSql)> =
            vec![("step", &self.id), ("attempt", &attempt), ("replica", &self.locked_by)];
        let changed = if to.is_done() {
            tx.execute(S::FinishSteps, &values)?
        } else {
            values.extend([("to", &to as &dyn rusqlite::ToSql), ("ready_at", &ready_at), ("tries", &tries), ("alone", &alone)]);
            values.extend([("error", &ending.error as &dyn rusqlite::ToSql), ("now", &now)]);
            tx.execute(S::ReleaseSteps, &values)?
        };
        if changed == 0 {
            return Ok(false);
        }
        self.record(
            tx,
            &Record {
                attempt: self.attempt,
                outcome: ending.outcome,
                last: to.is_done().then_some(to),
                tries,
                owner: self.locked_by.as_ref(),
                error: ending.error.as_deref(),
                output,
            },
        )?;
        Ok(true)
    }

    /// Ends a step that has no owner: it takes the next attempt number. False: the table does not allow it.
    pub(super) fn close(&self, tx: &Tx<'_>, event: StepEvent, outcome: AttemptOutcome, error: Option<&str>) -> Outcome<bool> {
        let Some(to) = self.status.on(event) else { return Ok(false) };
        let statement = if to.is_done() { S::CloseSteps } else { S::FailSteps };
        let changed = tx.execute(
            statement,
            &[("step", &self.id), ("attempt", &int(self.attempt)), ("from", &self.status), ("error", &error), ("now", &tx.now)],
        )?;
        if changed == 0 {
            return Err(self.moved_on());
        }
        let record = Record {
            attempt: self.attempt + 1,
            outcome,
            last: to.is_done().then_some(to),
            tries: self.tries,
            owner: None,
            error,
            output: &StepOutput::default(),
        };
        self.record(tx, &record)?;
        Ok(true)
    }

    /// A delivering step waits for a person. False: it is not delivering.
    pub(super) fn hold(&self, tx: &Tx<'_>, error: &str) -> Outcome<bool> {
        let values: [(&str, &dyn rusqlite::ToSql); 4] =
            [("step", &self.id), ("attempt", &int(self.attempt)), ("error", &error), ("now", &tx.now)];
        Ok(tx.execute(S::HoldSteps, &values)? > 0)
    }

    /// Appends to the history.
    pub(super) fn record(&self, tx: &Tx<'_>, record: &Record<'_>) -> Outcome<()> {
        let attempt = int(record.attempt);
        let (claimed_at, started_at) = if record.owner.is_some() { (self.claimed_at, self.started_at) } else { (None, None) };
        let output = record.output;
        tx.execute(
            S::InsertAttempts,
            &[
                ("step", &self.id),
                ("attempt", &attempt),
                ("run", &self.run),
                ("job", &self.job),
                ("name", &self.name),
                ("final", &record.last),
                ("rank", &self.rank),
                ("undoable", &self.undoable),
                ("after", &self.after),
                ("tries", &record.tries),
                ("replica", &record.owner),
                ("claimed_at", &claimed_at),
                ("started_at", &started_at),
                ("now", &tx.now),
                ("outcome", &record.outcome),
                ("error", &record.error),
                ("summary", &output.summary),
                ("rows", &output.rows),
                ("stdout", &output.stdout),
                ("stderr", &output.stderr),
            ],
        )?;
        Ok(())
    }

    /// Fails when a step has moved on although nobody else can write now: a defect, never a race.
    pub(super) fn moved_on(&self) -> Failure {
        StoreError::broken(format!("step {} moved while the store was locked; this is a defect of Onebell", self.id)).into()
    }
}
