//! A job as its row says.

use rusqlite::Row;

use super::columns::{count, from_json};
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use crate::model::JobId;
use crate::store::JobState;

/// The job as it stands, if there is one.
pub(super) fn lock_job(tx: &Tx<'_>, job: &JobId) -> Outcome<Option<JobState>> {
    tx.first(S::LockJob, &[("job", job)], job_state)
}

/// Reads the columns that `lock_job`, `read_jobs` and `read_due_jobs` give.
pub(super) fn job_state(row: &Row<'_>) -> Outcome<JobState> {
    let text = |column: &str| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
    Ok(JobState {
        id: row.get("job_id")?,
        definition: from_json(text("definition")?, "job definition")?,
        version: count(row, "version")?,
        hash: row.get("hash")?,
        cursor: row.get("cursor")?,
        pruned_before: row.get("pruned_before")?,
        paused_at: row.get("paused_at")?,
        next_slot: row.get("next_slot")?,
        known_hashes: from_json(text("known_hashes")?, "list of hashes")?,
        carried: row.get("carried")?,
    })
}
