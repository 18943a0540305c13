//! Rows as people see them.

use std::time::Duration;

use super::columns::Record;
use super::error::Outcome;
use crate::model::job::UNDO_MARK;
use crate::model::message::MessageStatus;
use crate::model::step::StepStatus;
use crate::model::times::SeenTimes;
use crate::store::{AttemptView, JobView, MessageView, ReplicaView, RunView, SkipView, StepDetail};

pub(super) fn job(row: &Record) -> Outcome<JobView> {
    Ok(JobView {
        id: row.get("job_id")?,
        name: row.get("name")?,
        description: row.get("description")?,
        version: row.number("version")?,
        paused_at: row.moment_opt("paused_at")?,
        next_slot: row.moment_opt("next_slot")?,
        last_run: row.get("last_run")?,
        last_status: row.get("last_status")?,
    })
}

pub(super) fn run(row: &Record) -> Outcome<RunView> {
    Ok(RunView {
        id: row.get("run_id")?,
        job: row.get("job")?,
        status: row.get("status")?,
        origin: row.get("origin")?,
        scheduled_for: row.moment_opt("scheduled_for")?,
        created_at: row.moment("created_at")?,
        started_at: row.moment_opt("started_at")?,
        finished_at: row.moment_opt("finished_at")?,
        reason: row.get("reason")?,
    })
}

/// With its place: topological order, undo steps last.
pub(super) fn step(row: &Record) -> Outcome<((bool, i32, String), StepDetail)> {
    let status = row.word("status", StepStatus::from_word)?;
    let name: String = row.get("name")?;
    let detail = StepDetail {
        id: row.get("step_id")?,
        name: name.clone(),
        status: status.as_str().to_owned(),
        attempt: row.number("attempt")?,
        tries: row.number("tries")?,
        locked_by: row.get("locked_by")?,
        complete_by: row.moment_opt("complete_by")?,
        // Elsewhere the column says when it was ready last, which tells nobody anything.
        ready_at: row.moment_opt("ready_at")?.filter(|_| status == StepStatus::Pending),
        error: row.get("error")?,
        attempts: Vec::new(),
    };
    Ok(((name.ends_with(UNDO_MARK), row.get("rank")?, name), detail))
}

pub(super) fn attempt(row: &Record) -> Outcome<AttemptView> {
    Ok(AttemptView {
        attempt: row.number("attempt")?,
        replica: row.get("replica")?,
        claimed_at: row.moment_opt("claimed_at")?,
        started_at: row.moment_opt("started_at")?,
        ended_at: row.moment("ended_at")?,
        outcome: row.get("outcome")?,
        error: row.get("error")?,
        summary: row.get("summary")?,
        stdout: row.get("stdout")?,
        stderr: row.get("stderr")?,
    })
}

pub(super) fn replica(row: &Record) -> Outcome<ReplicaView> {
    Ok(ReplicaView {
        id: row.get("replica_id")?,
        label: row.get("label")?,
        version: row.get("version")?,
        tzdata: row.get("tzdata")?,
        beat: row.number("beat")?,
        beat_at: row.moment("beat_at")?,
        lost_at: row.moment_opt("lost_at")?,
        left_at: row.moment_opt("left_at")?,
        clock_behind_s: None,
        running: row.number("running")?,
    })
}

pub(super) fn message(row: &Record) -> Outcome<MessageView> {
    let status = row.word("status", MessageStatus::from_word)?;
    Ok(MessageView {
        key: row.get("key")?,
        channel: row.get("channel")?,
        status: status.as_str().to_owned(),
        on_in_doubt: row.get("on_in_doubt")?,
        attempt: row.number("attempt")?,
        tries: row.number("tries")?,
        run: row.get("run_id")?,
        step: row.get("step_id")?,
        created_at: row.moment("created_at")?,
        ready_at: row.moment_opt("ready_at")?.filter(|_| status == MessageStatus::Ready),
        sending_at: row.moment_opt("sending_at")?,
        finished_at: row.moment_opt("finished_at")?,
        locked_by: row.get("locked_by")?,
        note: row.get("note")?,
        dropped_by: row.get("dropped_by")?,
        resent: row.get("resent")?,
        payload: row.get("payload")?,
    })
}

pub(super) fn seen_times(row: &Record) -> Outcome<SeenTimes> {
    let span = |column: &str| row.number(column).map(Duration::from_micros);
    Ok(SeenTimes {
        job: row.get("job")?,
        step: row.get("step")?,
        count: row.number("number")?,
        p50: span("p50_us")?,
        p99: span("p99_us")?,
        longest: span("longest_us")?,
    })
}

pub(super) fn skip(row: &Record) -> Outcome<SkipView> {
    Ok(SkipView {
        job: row.get("job")?,
        from: row.moment("from_slot")?,
        to: row.moment("to_slot")?,
        count: row.get::<Option<i64>>("count")?.and_then(|count| u64::try_from(count).ok()),
        reason: row.get("reason")?,
        recorded_at: row.moment("recorded_at")?,
    })
}
