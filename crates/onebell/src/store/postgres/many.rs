//! What many jobs have to be planned, for a replica that carries more of them than it is wise to name in a statement: pages are
//! read along the index of next slots, and what it does not carry is left out here.

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use super::columns::{int, stamp, values};
use super::error::Outcome;
use super::jobs::states;
use super::statements as sql;
use super::transaction::Tx;
use crate::model::{JobId, Moment};
use crate::store::JobState;

/// So many are named; more are looked up here.
pub(super) const NAMED_MAX: usize = 1_000;
/// Rows of a page.
const PAGE: u32 = 500;

/// Carried jobs, to find one in. They are in order as a rule; whether they are is looked at when one is not found.
struct Among<'a> {
    carried: &'a [JobId],
    in_order: OnceLock<bool>,
}

impl<'a> Among<'a> {
    fn new(carried: &'a [JobId]) -> Self {
        Self { carried, in_order: OnceLock::new() }
    }

    fn has(&self, job: &JobId) -> bool {
        let found = self.carried.binary_search(job).is_ok();
        found || (!self.in_order.get_or_init(|| self.carried.is_sorted()) && self.carried.contains(job))
    }
}

/// Up to `limit` carried jobs that are due.
pub(super) async fn due(tx: &Tx, carried: &[JobId], limit: u32) -> Outcome<Vec<JobState>> {
    let among = Among::new(carried);
    let (mut found, mut after) = (Vec::new(), (UNIX_EPOCH, String::new()));
    // They are ours nearly always: more than is wanted need not be read.
    let mut rows = limit.clamp(1, PAGE);
    loop {
        let (clock, (slot, job), page) = (tx.clock(), after, int(rows));
        let read = states(&tx.rows(&sql::READ_DUE_OF_MANY, values![clock, slot, job, page]).await?)?;
        let last = read.last().and_then(|job| Some((stamp(job.next_slot?), job.id.to_string())));
        let is_whole = read.len() == rows as usize;
        rows = PAGE;
        let room = (limit as usize).saturating_sub(found.len());
        found.extend(read.into_iter().filter(|job| among.has(&job.id)).take(room));
        match last {
            Some(last) if is_whole && found.len() < limit as usize => after = last,
            _ => return Ok(found),
        }
    }
}

/// The earliest slot of a carried job.
pub(super) async fn next_slot(tx: &Tx, carried: &[JobId]) -> Outcome<Option<Moment>> {
    let among = Among::new(carried);
    let Some(first) = tx.first(&sql::READ_FIRST_OF_MANY, &[]).await? else { return Ok(None) };
    // It is ours nearly always.
    if among.has(&JobId::from_text(first.get::<&str>("job_id")?)) {
        return first.moment_opt("next_slot");
    }
    let mut after: (SystemTime, String) = (UNIX_EPOCH, String::new());
    loop {
        let ((slot, job), rows) = (after, int(PAGE));
        let read = tx.rows(&sql::READ_NEXT_OF_MANY, values![slot, job, rows]).await?;
        for row in &read {
            if among.has(&JobId::from_text(row.get::<&str>("job_id")?)) {
                return row.moment_opt("next_slot");
            }
        }
        match read.last() {
            Some(last) if read.len() == PAGE as usize => after = (stamp(last.moment("next_slot")?), last.get("job_id")?),
            _ => return Ok(None),
        }
    }
}

/// Carried jobs that may have something to admit.
pub(super) async fn queued(tx: &Tx, carried: &[JobId]) -> Outcome<Vec<JobId>> {
    let among = Among::new(carried);
    let rows = tx.rows(&sql::READ_QUEUED_OF_MANY, &[]).await?;
    let ids = rows.iter().map(|row| row.get::<&str>("job_id").map(JobId::from_text)).collect::<Outcome<Vec<_>>>()?;
    Ok(ids.into_iter().filter(|job| among.has(job)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_carried_job_is_found_in_order_or_not() {
        let mut jobs: Vec<JobId> = (0..50).map(|n| JobId::of_name(&format!("job {n}"))).collect();
        let other = JobId::of_name("another");
        for _ in ["as they came", "in order"] {
            let among = Among::new(&jobs);
            assert!(jobs.iter().all(|job| among.has(job)) && !among.has(&other));
            jobs.sort_unstable();
        }
    }
}
