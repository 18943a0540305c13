//! Messages that tell of a job, put in the transaction that makes what they tell of. What is told, `model::alarm` decides.

use std::collections::{BTreeMap, BTreeSet};

use super::columns::{Record, int, json, stamp, values};
use super::error::Outcome;
use super::jobs::LockedJob;
use super::transaction::Tx;
use super::{run_graph, statements as sql, vigils};
use crate::model::alarm::{Alarm, RunMoved, SlotEnd, Told, skips_in_a_row};
use crate::model::lateness::BOUND_TO_SLOT;
use crate::model::overlap::{Origin, SkipReason};
use crate::model::run::RunEvent;
use crate::model::{JobDefinition, JobId, Moment, RunId};

/// Messages on their way into the outbox, with the job that each tells of.
#[derive(Debug, Default)]
pub(super) struct Alarms(Vec<(JobId, Told)>);

impl Alarms {
    /// Those of a job that it wants to be told of.
    pub(super) fn add(&mut self, now: Moment, job: &JobId, definition: &JobDefinition, alarms: &[Alarm]) {
        self.extend(job, alarms.iter().filter_map(|alarm| definition.told(job, alarm, now)));
    }

    fn extend(&mut self, job: &JobId, told: impl IntoIterator<Item = Told>) {
        self.0.extend(told.into_iter().map(|told| (job.clone(), told)));
    }

    /// Puts them. A key that is there was told before. How many failures of each job are told now.
    pub(super) async fn put(&self, tx: &Tx, now: Moment) -> Outcome<BTreeMap<&JobId, i64>> {
        let mut failures = BTreeMap::new();
        if self.0.is_empty() {
            return Ok(failures);
        }
        let now = stamp(now);
        let messages = || self.0.iter().map(|(_, told)| &told.message);
        let key: Vec<&str> = messages().map(|message| message.key.as_str()).collect();
        let fingerprint: Vec<String> = messages().map(|message| message.fingerprint.to_string()).collect();
        let channel: Vec<&str> = messages().map(|message| message.channel.as_str()).collect();
        let payload: Vec<&str> = messages().map(|message| message.payload.as_str()).collect();
        let policy: Vec<&str> = messages().map(|message| message.on_in_doubt.as_str()).collect();
        let retry: Vec<String> = messages().map(|message| json(&message.retry)).collect::<Outcome<_>>()?;
        let job: Vec<&str> = self.0.iter().map(|(job, _)| job.as_str()).collect();
        let put = tx.rows(&sql::INSERT_ALARMS, values![now, key, fingerprint, channel, payload, policy, retry, job]).await?;
        let put: BTreeSet<&str> = put.iter().map(|row| row.get("key")).collect::<Outcome<_>>()?;
        for (job, told) in &self.0 {
            if told.is_failure && put.contains(told.message.key.as_str()) {
                *failures.entry(job).or_default() += 1;
            }
        }
        Ok(failures)
    }
}

/// Of a job under its lock.
pub(super) async fn tell(tx: &Tx, now: Moment, job: &LockedJob, alarms: &[Alarm]) -> Outcome<()> {
    let mut told = Alarms::default();
    told.add(now, &job.id, &job.definition, alarms);
    told.put(tx, now).await.map(drop)
}

/// A run under its lock that moved.
#[derive(Debug)]
pub(super) struct Moved {
    pub(super) job: JobId,
    /// Whether a vigil is kept over its job.
    pub(super) vigil: bool,
    pub(super) moved: RunMoved,
}

impl Moved {
    fn succeeded(&self) -> bool {
        self.vigil && self.moved.event == RunEvent::Succeed
    }
}

/// Of runs that moved, each by the definition that it was opened with. A success ends what the vigil over its job has noted.
pub(super) async fn tell_of_moves(tx: &Tx, now: Moment, moves: &mut [Moved]) -> Outcome<()> {
    if moves.is_empty() {
        return Ok(());
    }
    let mut definitions = BTreeMap::new();
    let runs: Vec<&str> = moves.iter().map(|moved| moved.moved.run.as_str()).collect();
    for row in tx.rows(&sql::READ_DEFINITION, values![runs]).await? {
        let run = RunId::from_text(row.get::<&str>("run_id")?);
        definitions.extend(readable(&row).map(|definition| (run, definition)));
    }
    let mut ends = vigils::lock(tx, moves.iter().filter(|moved| moved.vigil).map(|moved| &moved.job).collect()).await?;
    let asks = |run: &RunId| definitions.get(run).is_some_and(|definition| definition.runs_at_least.is_some());
    let short = moves.iter().filter(|moved| moved.succeeded()).map(|moved| &moved.moved.run);
    let worked = vigils::worked(tx, &short.filter(|run| asks(run)).collect::<Vec<_>>()).await?;
    for moved in moves.iter_mut().filter(|moved| moved.succeeded()) {
        // Of several runs of one job that succeed together the first is the recovery.
        let ended = ends.get_mut(&moved.job).map(std::mem::take).unwrap_or_default();
        let worked = worked.get(&moved.moved.run).copied().unwrap_or_default();
        moved.moved.success = Some(crate::model::alarm::Success { worked, ..ended });
    }
    vigils::succeeded(tx, now, moves.iter().filter(|moved| moved.succeeded()).map(|moved| &moved.job).collect()).await?;
    let mut told = Alarms::default();
    for Moved { job, moved, .. } in &*moves {
        let definition = definitions.get(&moved.run);
        told.extend(job, definition.into_iter().flat_map(|definition| definition.told_of(job, moved, now)));
    }
    let mut failures = told.put(tx, now).await?;
    failures.retain(|job, _| ends.contains_key(*job));
    vigils::failed(tx, &failures).await
}

/// Of locked runs, each by the definition that it was opened with.
pub(super) async fn tell_of_runs(tx: &Tx, now: Moment, alarms: &[(RunId, JobId, Vec<Alarm>)]) -> Outcome<()> {
    if alarms.is_empty() {
        return Ok(());
    }
    let runs: Vec<&str> = alarms.iter().map(|(run, ..)| run.as_str()).collect();
    let mut told = Alarms::default();
    for row in tx.rows(&sql::READ_DEFINITION, values![runs]).await? {
        let (run, definition) = (row.get::<&str>("run_id")?, readable(&row));
        for (_, job, alarms) in alarms.iter().filter(|(id, ..)| id.as_str() == run) {
            definition.iter().for_each(|definition| told.add(now, job, definition, alarms));
        }
    }
    told.put(tx, now).await.map(drop)
}

/// One that cannot be read, a newer program's, tells nothing: an alarm must not stop what it tells of.
fn readable(row: &Record) -> Option<JobDefinition> {
    row.json("definition").ok()
}

/// Messages are in doubt. An alarm that is in doubt itself is shown, not told of.
pub(super) async fn tell_of_doubts(tx: &Tx, now: Moment, keys: &[&str]) -> Outcome<()> {
    if keys.is_empty() {
        return Ok(());
    }
    let keys = keys.to_vec();
    let mut told = Alarms::default();
    for row in tx.rows(&sql::READ_MESSAGE_DEFINITIONS, values![keys]).await? {
        let run = RunId::from_text(row.get::<&str>("run_id")?);
        let alarm = Alarm::InDoubt { message: row.get("key")?, attempt: row.number("attempt")?, run };
        if let Some(definition) = readable(&row) {
            told.add(now, &JobId::from_text(row.get::<&str>("job_id")?), &definition, &[alarm]);
        }
    }
    told.put(tx, now).await.map(drop)
}

/// Runs that look as if they should be over.
pub(super) async fn late_finishes(tx: &Tx, limit: u32) -> Outcome<Vec<RunId>> {
    let (clock, limit) = (tx.clock(), int(limit));
    let rows = tx.rows(&sql::READ_LATE_FINISHES, values![clock, limit]).await?;
    rows.iter().map(|row| row.get::<&str>("run_id").map(RunId::from_text)).collect()
}

/// Tells of those that are still open and were not told of: how many.
pub(super) async fn tell_late_finishes(tx: &Tx, runs: &[RunId]) -> Outcome<u32> {
    let locked = run_graph::lock(tx, runs).await?;
    let now = tx.now().await?;
    let late: Vec<_> = locked
        .into_values()
        .filter_map(|run| run.finish_by.filter(|due| *due < now).map(|due| (run, due)))
        .map(|(run, due)| (run.id.clone(), run.job, vec![Alarm::LateFinish { run: run.id, due }]))
        .collect();
    tell_of_runs(tx, now, &late).await?;
    let (at, ids) = (stamp(now), late.iter().map(|(run, ..)| run.as_str()).collect::<Vec<_>>());
    if !ids.is_empty() {
        tx.execute_all(&sql::TELL_LATE_FINISHES, values![at, ids], late.len()).await?;
    }
    Ok(u32::try_from(late.len()).unwrap_or(u32::MAX))
}

/// The words of origins whose runs are bound to their slot.
pub(super) fn bound_to_slot() -> Vec<&'static str> {
    BOUND_TO_SLOT.iter().copied().map(Origin::as_str).collect()
}

/// What a job had skipped since its last run, before a plan is carried out.
pub(super) struct Standing {
    after: Option<Moment>,
    ends: Vec<SlotEnd>,
    limit: u32,
}

impl Standing {
    /// Nothing when nobody wants to know.
    pub(super) async fn of(tx: &Tx, job: &LockedJob) -> Outcome<Option<Self>> {
        let Some(notify) = job.definition.notify.as_ref().filter(|notify| notify.counts_skips()) else { return Ok(None) };
        let (id, origins) = (job.id.as_str(), bound_to_slot());
        let last = tx.first(&sql::READ_LAST_RUN_SLOT, values![id, origins]).await?;
        let last = last.map(|row| row.moment("scheduled_for")).transpose()?;
        let after = last.max(job.pruned_before);
        let (since, limit) = (after.map(stamp), int(notify.after_skips));
        let reasons: Vec<&str> =
            SkipReason::ALL.iter().filter(|reason| reason.is_trouble()).map(|reason| reason.as_str()).collect();
        let mut ends = Vec::new();
        for row in tx.rows(&sql::READ_SKIPS_AFTER, values![id, since, reasons, limit]).await? {
            let count = row.get::<Option<i64>>("count")?.and_then(|count| u64::try_from(count).ok());
            ends.push(SlotEnd::Skipped { from: row.moment("from_slot")?, to: row.moment("to_slot")?, count });
        }
        Ok(Some(Self { after, ends, limit: notify.after_skips }))
    }

    /// Tells of the rows that are long enough with the plan's own slots. What was told before has its key.
    pub(super) async fn tell(mut self, tx: &Tx, now: Moment, job: &LockedJob, ends: Vec<SlotEnd>) -> Outcome<()> {
        self.ends.extend(ends);
        tell(tx, now, job, &skips_in_a_row(self.after, self.ends, self.limit)).await
    }
}
