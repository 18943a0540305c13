//! Removes a scratch job with everything recorded for it.

use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use crate::model::JobId;

/// What belongs to a job, before the rows that say so.
const IN_ORDER: [S; 12] = [
    S::EraseRequests,
    S::EraseEffects,
    S::EraseSuperseded,
    S::EraseCallbacks,
    S::EraseMessages,
    S::EraseAttempts,
    S::EraseSteps,
    S::EraseKeys,
    S::EraseRuns,
    S::EraseSkips,
    S::EraseVigils,
    S::EraseDefinitions,
];

/// False: no such job.
pub(super) fn erase_job(tx: &Tx<'_>, job: &JobId) -> Outcome<bool> {
    for statement in IN_ORDER {
        tx.execute(statement, &[("job", job)])?;
    }
    Ok(tx.execute(S::EraseJob, &[("job", job)])? > 0)
}
