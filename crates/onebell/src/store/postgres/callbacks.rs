//! What comes back later than its request.

use async_trait::async_trait;

use super::columns::{int, values};
use super::error::{Failure, Outcome};
use super::transaction::{Tx, Verb};
use super::{PostgresStore, statements as sql};
use crate::model::{Claim, RunId, StepId};
use crate::store::{CallbackStore, CalledStep, NewCallback, Received, Result};

#[async_trait]
impl CallbackStore for PostgresStore {
    async fn called_step(&self, step: &StepId) -> Result<Option<CalledStep>> {
        self.read("called_step", |tx| async move { called(&tx, step).await }).await
    }

    async fn receive_callback(&self, callback: &NewCallback) -> Result<Received> {
        self.write(Verb::named("receive_callback"), |tx| async move { receive(&tx, callback).await }).await
    }
}

async fn called(tx: &Tx, step: &StepId) -> Outcome<Option<CalledStep>> {
    let step = step.as_str();
    let Some(row) = tx.first(&sql::READ_CALLED_STEP, values![step]).await? else { return Ok(None) };
    let definition = serde_json::from_str(row.get("definition")?)
        .map_err(|error| Failure::broken(format!("the job definition of step {step} cannot be read: {error}")))?;
    Ok(Some(CalledStep { run: RunId::from_text(row.get::<&str>("run_id")?), name: row.get("name")?, definition }))
}

/// Under the step's lock: two that meet are one behind the other.
async fn receive(tx: &Tx, callback: &NewCallback) -> Outcome<Received> {
    let (clock, step, id) = (tx.clock(), callback.step.as_str(), callback.id.as_str());
    let (print, body) = (callback.fingerprint.to_string(), callback.body.as_str());
    let open = tx.any(&sql::LOCK_CALLED_STEP, values![step]).await?;
    if open && tx.any(&sql::INSERT_CALLBACK, values![clock, step, id, print, body]).await? {
        return Ok(Received::Kept);
    }
    let Some(row) = tx.first(&sql::READ_CALLBACKS, values![step, id]).await? else { return Ok(Received::Over) };
    let kept = row.word("fingerprint", |text| text.parse().ok())?;
    Ok(Received::beside(kept, callback.fingerprint))
}

/// Looks before it writes: whoever waits asks often.
pub(super) async fn take(store: &PostgresStore, claim: &Claim) -> Result<Option<String>> {
    let step = claim.step().as_str();
    let found = store.read("find_callbacks", |tx| async move { tx.any(&sql::FIND_CALLBACKS, values![step]).await });
    if !found.await? {
        return Ok(None);
    }
    store.write(Verb::named("take_callback"), |tx| async move { taken(&tx, claim).await }).await
}

async fn taken(tx: &Tx, claim: &Claim) -> Outcome<Option<String>> {
    let (step, attempt, replica) = (claim.step().as_str(), int(claim.attempt()), claim.replica().as_str());
    // Under the step's lock, so that the fence is compared with what it is now.
    if !tx.any(&sql::LOCK_CALLED_STEP, values![step]).await? {
        return Ok(None);
    }
    let row = tx.first(&sql::TAKE_CALLBACK, values![step, attempt, replica]).await?;
    row.map(|row| row.get("body")).transpose()
}
