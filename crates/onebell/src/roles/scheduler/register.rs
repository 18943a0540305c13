//! Registering the definitions that a replica carries. Editing accounts for the old definition's slots
//! first, and a new one never fires at once.

use super::plan::{account, schedules};
use super::rules::{Rules, carried_by_newer};
use crate::model::job::{DefinitionError, JobDefinition};
use crate::model::schedule::{ScheduleError, next_slot};
use crate::model::{JobId, Moment, ReplicaId};
use crate::store::{Defined, Definition, JobState, SchedulerStore, StoreError};

/// A definition with its hash (of its JSON), as a replica carries it.
#[derive(Debug, Clone, PartialEq)]
pub struct Carried {
    /// The definition.
    pub definition: JobDefinition,
    /// SHA-256 in hex.
    pub hash: String,
}

/// Why a definition was not registered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RegisterError {
    /// The definition is wrong.
    #[error(transparent)]
    Definition(#[from] DefinitionError),
    /// Its schedule is wrong.
    #[error("job {job:?}: {error}")]
    Schedule {
        /// The job's name.
        job: String,
        /// What is wrong.
        error: ScheduleError,
    },
    /// The store gave no answer.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Registers one definition and says under which id it is known. The last registered definition wins while a live
/// replica carries it: an old replica that restarts does not overwrite it, a deliberate rollback does.
pub async fn register(
    store: &dyn SchedulerStore,
    rules: &Rules<'_>,
    by: &ReplicaId,
    carried: &Carried,
) -> Result<JobId, RegisterError> {
    let definition = &carried.definition;
    definition.validate()?;
    let wrong = |error| RegisterError::Schedule { job: definition.name.clone(), error };
    schedules(definition, rules.zones).map_err(wrong)?;
    for turn in 0..100_u32 {
        let known = known(store, definition).await?;
        let mut definition = definition.clone();
        definition.anchor = known.as_ref().and_then(|job| job.definition.anchor);
        let (id, seen, cursor) = match known {
            None if turn == 0 => (JobId::of_name(&definition.name), None, store.scheduler_now().await?),
            // The plain id may belong to a job that has been renamed since.
            None => (JobId::of_reused_name(&definition.name, turn), None, store.scheduler_now().await?),
            Some(job) if job.hash == carried.hash || keeps(&job, &carried.hash) => {
                if reckoned_again(store, rules, &job).await? {
                    return Ok(job.id);
                }
                continue;
            }
            Some(job) => {
                let Some(cursor) = account(store, rules.zones, &job).await? else { continue };
                (job.id, Some((job.version, cursor)), cursor)
            }
        };
        if seen.is_none() {
            // Of the definition that is carried it is no part: replicas that start at different times carry the same one.
            definition.anchor = Some(whole_second(cursor));
        }
        let parsed = schedules(&definition, rules.zones).map_err(wrong)?;
        let wanted = Definition {
            id: id.clone(),
            definition: definition.clone(),
            hash: carried.hash.clone(),
            seen,
            cursor,
            next_slot: next_slot(&parsed, cursor).map(|slot| slot.at),
            by: by.clone(),
        };
        if let Defined::Registered(version) = store.define_job(&wanted).await? {
            tracing::info!(job = definition.name, version, "definition registered");
            return Ok(id);
        }
    }
    Err(StoreError::contended(format!("job {:?} changes all the time", definition.name)).into())
}

/// Time-zone rules may have changed since the next slot was found: who has the newest ones finds it again. False: somebody
/// was faster.
async fn reckoned_again(store: &dyn SchedulerStore, rules: &Rules<'_>, job: &JobState) -> Result<bool, StoreError> {
    let Ok(parsed) = schedules(&job.definition, rules.zones) else { return Ok(true) };
    let next = next_slot(&parsed, job.cursor).map(|slot| slot.at);
    if job.paused_at.is_some() || next == job.next_slot {
        return Ok(true);
    }
    let (newest, carried) = carried_by_newer(store, rules, &store.planners().await?, std::slice::from_ref(&job.id)).await?;
    if !carried.is_empty() {
        tracing::info!(
            job = job.definition.name,
            newest,
            own = rules.version,
            "another replica has newer time-zone data and plans it"
        );
        return Ok(true);
    }
    tracing::info!(job = job.definition.name, tzdata = rules.version, "the next slot was found again by other time-zone data");
    // By way of the cursor: a plan that was made with the older rules meanwhile is stale then.
    Ok(account(store, rules.zones, job).await?.is_some())
}

fn whole_second(at: Moment) -> Moment {
    Moment::from_micros(at.micros().div_euclid(1_000_000) * 1_000_000)
}

/// An older definition does not replace the present one while a live replica carries the present one.
fn keeps(job: &JobState, hash: &str) -> bool {
    job.carried && job.known_hashes.iter().any(|known| known == hash)
}

async fn known(store: &dyn SchedulerStore, definition: &JobDefinition) -> Result<Option<JobState>, StoreError> {
    let names: Vec<String> = std::iter::once(definition.name.clone()).chain(definition.formerly.clone()).collect();
    let mut jobs = store.jobs_named(Some(&names)).await?;
    let position = jobs.iter().position(|job| job.definition.name == definition.name).unwrap_or(0);
    Ok(if jobs.is_empty() { None } else { Some(jobs.swap_remove(position)) })
}
