//! Messages that tell of a job, put in the transaction that makes what they tell of. What is told, `model::alarm` decides.

use super::columns::{int, to_json};
use super::job_row::lock_job;
use super::run_graph::RunRow;
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use super::vigils;
use crate::model::alarm::{Alarm, Notify, RunMoved, SlotEnd, skips_in_a_row};
use crate::model::lateness::BOUND_TO_SLOT;
use crate::model::message::NewMessage;
use crate::model::overlap::SkipReason;
use crate::model::run::RunEvent;
use crate::model::vigil::Look;
use crate::model::{JobDefinition, JobId, Moment, RunId};
use crate::store::JobState;

/// Puts what the job wants to be told of. A key that is there was told before.
pub(super) fn tell(tx: &Tx<'_>, job: &JobId, definition: &JobDefinition, alarms: &[Alarm]) -> Outcome<()> {
    alarms
        .iter()
        .filter_map(|alarm| definition.told(job, alarm, tx.now))
        .try_for_each(|told| put(tx, job, &told.message).map(drop))
}

/// False: the key is there.
fn put(tx: &Tx<'_>, job: &JobId, message: &NewMessage) -> Outcome<bool> {
    let retry = to_json(&message.retry)?;
    let put = tx.execute(
        S::InsertAlarms,
        &[
            ("key", &message.key),
            ("fingerprint", &message.fingerprint),
            ("channel", &message.channel),
            ("payload", &message.payload),
            ("on_in_doubt", &message.on_in_doubt),
            ("retry", &retry),
            ("job", job),
            ("now", &tx.now),
        ],
    )?;
    Ok(put > 0)
}

/// Of a run, by the definition that it was opened with.
pub(super) fn tell_of_run(tx: &Tx<'_>, run: &RunRow, alarms: &[Alarm]) -> Outcome<()> {
    if alarms.is_empty() {
        return Ok(());
    }
    definition_of(tx, run)?.map_or(Ok(()), |definition| tell(tx, &run.job, &definition, alarms))
}

/// Of a move of a run, by the definition that it was opened with. A success ends what the vigil over its job has noted.
pub(super) fn tell_of_move(tx: &Tx<'_>, run: &RunRow, mut moved: RunMoved) -> Outcome<()> {
    if !moved.may_tell(run.vigil, tx.now) {
        return Ok(());
    }
    let definition = definition_of(tx, run)?;
    if run.vigil && moved.event == RunEvent::Succeed {
        moved.success = Some(vigils::succeeded(tx, run, definition.as_ref())?);
    }
    let Some(definition) = definition else { return Ok(()) };
    for told in definition.told_of(&run.job, &moved, tx.now) {
        if put(tx, &run.job, &told.message)? && told.is_failure && run.vigil {
            vigils::failed(tx, &run.job)?;
        }
    }
    Ok(())
}

fn definition_of(tx: &Tx<'_>, run: &RunRow) -> Outcome<Option<JobDefinition>> {
    let values: [(&str, &dyn rusqlite::ToSql); 2] = [("job", &run.job), ("version", &int(run.version))];
    let text = tx.first(S::ReadDefinition, &values, |row| Ok(row.get::<_, String>("definition")?))?;
    Ok(readable(text.as_deref()))
}

/// One that cannot be read, a newer program's, tells nothing: an alarm must not stop what it tells of.
fn readable(definition: Option<&str>) -> Option<JobDefinition> {
    serde_json::from_str(definition?).ok()
}

/// A message is in doubt. An alarm that is in doubt itself is shown, not told of.
pub(super) fn tell_of_doubt(tx: &Tx<'_>, key: &str, attempt: u64) -> Outcome<()> {
    let of = tx.first(S::ReadMessageDefinitions, &[("key", &key)], |row| {
        Ok((row.get::<_, RunId>("run_id")?, row.get::<_, JobId>("job_id")?, row.get::<_, String>("definition")?))
    })?;
    let Some((run, job, definition)) = of else { return Ok(()) };
    let Some(definition) = readable(Some(&definition)) else { return Ok(()) };
    tell(tx, &job, &definition, &[Alarm::InDoubt { message: key.to_owned(), attempt, run }])
}

/// Runs that should be over by now: how many were found.
pub(super) fn tell_late_finishes(tx: &Tx<'_>, limit: u32) -> Outcome<u32> {
    let late = tx.rows(S::ReadLateFinishes, &[("limit", &limit), ("now", &tx.now)], |row| Ok(row.get::<_, RunId>("run_id")?))?;
    let mut told = 0;
    for id in late {
        let Some(run) = RunRow::locked(tx, &id)? else { continue };
        let alarm = run.finish_by.map(|due| Alarm::LateFinish { run: id.clone(), due });
        tell_of_run(tx, &run, alarm.as_slice())?;
        tx.execute(S::TellLateFinishes, &[("run", &id), ("now", &tx.now)])?;
        told += 1;
    }
    Ok(told)
}

/// Jobs whose silence is due: how many were looked at.
pub(super) fn tell_silences(tx: &Tx<'_>, limit: u32) -> Outcome<u32> {
    let due = tx.rows(S::ReadSilences, &[("limit", &limit), ("now", &tx.now)], |row| Ok(row.get::<_, JobId>("job_id")?))?;
    let mut looked = 0;
    for id in due {
        let (Some(job), Some(vigil)) = (lock_job(tx, &id)?, vigils::due(tx, &id)?) else { continue };
        let next = match vigil.look(job.paused_at.is_some(), tx.now) {
            Look::Quiet(until) => Some(until),
            Look::Silent(alarm) => {
                tell(tx, &id, &job.definition, &[alarm])?;
                None
            }
        };
        vigils::looked(tx, &id, next, vigil.succeeded_at)?;
        looked += 1;
    }
    Ok(looked)
}

/// What a job had skipped since its last run, before a plan is carried out.
pub(super) struct Standing<'j> {
    job: &'j JobState,
    notify: &'j Notify,
    after: Option<Moment>,
    ends: Vec<SlotEnd>,
}

impl<'j> Standing<'j> {
    /// Nothing when nobody wants to know.
    pub(super) fn of(tx: &Tx<'_>, job: &'j JobState) -> Outcome<Option<Self>> {
        let Some(notify) = job.definition.notify.as_ref().filter(|notify| notify.counts_skips()) else { return Ok(None) };
        let origins = to_json(&BOUND_TO_SLOT)?;
        let last = tx.first(S::ReadLastRunSlot, &[("job", &job.id), ("origins", &origins)], |row| {
            Ok(row.get::<_, Moment>("scheduled_for")?)
        })?;
        let after = last.max(job.pruned_before);
        let reasons: Vec<&str> =
            SkipReason::ALL.iter().filter(|reason| reason.is_trouble()).map(|reason| reason.as_str()).collect();
        let since = after.unwrap_or(Moment::from_micros(i64::MIN));
        let ends = tx.rows(
            S::ReadSkipsAfter,
            &[("job", &job.id), ("after", &since), ("reasons", &to_json(&reasons)?), ("limit", &notify.after_skips)],
            |row| {
                let count = row.get::<_, Option<i64>>("count")?.and_then(|count| u64::try_from(count).ok());
                Ok(SlotEnd::Skipped { from: row.get("from_slot")?, to: row.get("to_slot")?, count })
            },
        )?;
        Ok(Some(Self { job, notify, after, ends }))
    }

    /// Tells of the rows that are long enough with the plan's own slots. What was told before has its key.
    pub(super) fn tell(mut self, tx: &Tx<'_>, ends: Vec<SlotEnd>) -> Outcome<()> {
        self.ends.extend(ends);
        let rows = skips_in_a_row(self.after, self.ends, self.notify.after_skips);
        tell(tx, &self.job.id, &self.job.definition, &rows)
    }
}
