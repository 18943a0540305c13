//! The built-in job: one step, whose command each invocation brings itself. Nobody else carries it.

use std::time::Duration;

use onebell::model::ReplicaId;
use onebell::model::job::{JobDefinition, Overlap, StepDefinition};
use onebell::model::retry::RetryPolicy;
use onebell::replica::{ZoneData, carried};
use onebell::roles::scheduler::{Rules, register as register_definition};
use onebell::store::Store;

use crate::answer::Failure;

/// Its name; no job file may use it.
pub(crate) const NAME: &str = "once";
/// Who runs its step.
pub(super) const HANDLER: &str = "once";

/// So often a death is answered by another execution.
const DEATHS: u32 = 10;
/// A claim lapses after this, whoever lives; while the command runs it is extended long before.
const TIMEOUT: Duration = Duration::from_secs(120);
/// No command takes longer.
const HARD_LIMIT: Duration = Duration::from_secs(400 * 24 * 3600);

pub(super) fn definition() -> JobDefinition {
    let mut step = StepDefinition::new("command", HANDLER);
    step.timeout = TIMEOUT;
    step.hard_limit = HARD_LIMIT;
    let quick = Duration::from_millis(1);
    step.retry = RetryPolicy { attempts: DEATHS, backoff_min: quick, backoff_max: quick, within_us: None };
    let mut job = JobDefinition::new(NAME);
    job.description = "commands of `onebell once`".to_owned();
    job.overlap = Overlap::Allow;
    job.steps.push(step);
    job
}

/// Makes it known, on a database that never saw it.
pub(super) async fn register(store: &dyn Store) -> Result<(), Failure> {
    let carried = carried(definition()).map_err(Failure::usage)?;
    let by = ReplicaId::from_text(NAME);
    // It has no schedule: whose rules they are makes no difference.
    let data = ZoneData::newest();
    let rules = Rules { zones: data.zones(), version: data.version(), patience: Duration::ZERO, replica: None };
    register_definition(store, &rules, &by, &carried).await.map(drop).map_err(Failure::usage)
}
