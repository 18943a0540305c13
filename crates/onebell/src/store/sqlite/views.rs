//! Rows as people see them.

use std::collections::BTreeMap;

use rusqlite::Row;

use super::columns::{count, from_json, small, span};
use super::read::counts;
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use crate::model::behind::behind;
use crate::model::message::MessageStatus;
use crate::model::step::StepStatus;
use crate::model::{JobDefinition, Moment, RunId};
use crate::store::{AttemptView, JobView, MessageView, ReplicaView, RunDetail, RunView, SkipView, StepDetail};

pub(super) fn job_view(row: &Row<'_>) -> Outcome<JobView> {
    let text = row.get_ref("definition")?.as_str().map_err(rusqlite::Error::from)?;
    let definition: JobDefinition = from_json(text, "job definition")?;
    Ok(JobView {
        id: row.get("job_id")?,
        name: row.get("name")?,
        description: definition.description,
        version: count(row, "version")?,
        paused_at: row.get("paused_at")?,
        next_slot: row.get("next_slot")?,
        last_run: row.get("last_run")?,
        last_status: row.get("last_status")?,
    })
}

pub(super) fn run_view(row: &Row<'_>) -> Outcome<RunView> {
    Ok(RunView {
        id: row.get("run_id")?,
        job: row.get("job")?,
        status: row.get("status")?,
        origin: row.get("origin")?,
        scheduled_for: row.get("scheduled_for")?,
        created_at: row.get("created_at")?,
        started_at: row.get("started_at")?,
        finished_at: row.get("finished_at")?,
        reason: row.get("reason")?,
    })
}

/// A run with its steps and their attempts.
pub(super) fn run_detail(tx: &Tx<'_>, run: &RunId) -> Outcome<Option<RunDetail>> {
    let shown = tx.first(S::ShowRun, &[("run", run)], |row| Ok((run_view(row)?, row.get::<_, Option<String>>("input")?)))?;
    let Some((view, input)) = shown else { return Ok(None) };
    let mut attempts: BTreeMap<String, Vec<AttemptView>> = BTreeMap::new();
    for (step, attempt) in tx.rows(S::ShowAttempts, &[("run", run)], |row| Ok((row.get("step_id")?, attempt_view(row)?)))? {
        attempts.entry(step).or_default().push(attempt);
    }
    let mut steps = tx.rows(S::ShowSteps, &[("run", run)], step_detail)?;
    for step in &mut steps {
        step.attempts = attempts.remove(&step.id).unwrap_or_default();
    }
    let messages = counts(tx, S::CountRunMessages, &[("run", run)], std::iter::empty())?;
    Ok(Some(RunDetail { run: view, input, steps, messages }))
}

fn step_detail(row: &Row<'_>) -> Outcome<StepDetail> {
    let status: StepStatus = row.get("status")?;
    // Elsewhere the column says when it was ready last, which tells nobody anything.
    let ready_at: Option<Moment> = row.get("ready_at")?;
    Ok(StepDetail {
        id: row.get("step_id")?,
        name: row.get("name")?,
        attempt: count(row, "attempt")?,
        tries: small(row, "tries")?,
        locked_by: row.get("locked_by")?,
        complete_by: row.get("complete_by")?,
        ready_at: ready_at.filter(|_| status == StepStatus::Pending),
        error: row.get("error")?,
        attempts: Vec::new(),
        status: status.as_str().to_owned(),
    })
}

fn attempt_view(row: &Row<'_>) -> Outcome<AttemptView> {
    Ok(AttemptView {
        attempt: count(row, "attempt")?,
        replica: row.get("replica")?,
        claimed_at: row.get("claimed_at")?,
        started_at: row.get("started_at")?,
        ended_at: row.get("ended_at")?,
        outcome: row.get("outcome")?,
        error: row.get("error")?,
        summary: row.get("summary")?,
        stdout: row.get::<_, Option<Vec<u8>>>("stdout")?.unwrap_or_default(),
        stderr: row.get::<_, Option<Vec<u8>>>("stderr")?.unwrap_or_default(),
    })
}

pub(super) fn replica_view(row: &Row<'_>) -> Outcome<ReplicaView> {
    let (beat_at, lost_at, left_at): (Moment, Option<Moment>, Option<Moment>) =
        (row.get("beat_at")?, row.get("lost_at")?, row.get("left_at")?);
    let live = lost_at.is_none() && left_at.is_none();
    let behind = behind(beat_at, row.get("newest")?, span(row, "lease_us")?).filter(|_| live);
    Ok(ReplicaView {
        id: row.get("replica_id")?,
        label: row.get("label")?,
        version: row.get("version")?,
        tzdata: row.get("tzdata")?,
        beat: count(row, "beat")?,
        beat_at,
        lost_at,
        left_at,
        clock_behind_s: behind.map(|span| span.as_secs()),
        running: count(row, "running")?,
    })
}

pub(super) fn message_view(row: &Row<'_>) -> Outcome<MessageView> {
    let status: MessageStatus = row.get("status")?;
    let ready_at: Option<Moment> = row.get("ready_at")?;
    Ok(MessageView {
        key: row.get("key")?,
        channel: row.get("channel")?,
        on_in_doubt: row.get("on_in_doubt")?,
        attempt: count(row, "attempt")?,
        tries: small(row, "tries")?,
        run: row.get("run_id")?,
        step: row.get("step_id")?,
        created_at: row.get("created_at")?,
        ready_at: ready_at.filter(|_| status == MessageStatus::Ready),
        sending_at: row.get("sending_at")?,
        finished_at: row.get("finished_at")?,
        locked_by: row.get("locked_by")?,
        note: row.get("note")?,
        dropped_by: row.get("dropped_by")?,
        resent: row.get("resent")?,
        payload: row.get("payload")?,
        status: status.as_str().to_owned(),
    })
}

pub(super) fn skip_view(row: &Row<'_>) -> Outcome<SkipView> {
    Ok(SkipView {
        job: row.get("job")?,
        from: row.get("from_slot")?,
        to: row.get("to_slot")?,
        count: row.get::<_, Option<i64>>("count")?.and_then(|count| u64::try_from(count).ok()),
        reason: row.get("reason")?,
        recorded_at: row.get("recorded_at")?,
    })
}
