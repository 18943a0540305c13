//! What comes back later than its request.

use async_trait::async_trait;
use rusqlite::ToSql;

use super::SqliteStore;
use super::columns::{from_json, int};
use super::engine::{Engine, Verb};
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use crate::model::{Claim, Fingerprint, StepId};
use crate::store::{CallbackStore, CalledStep, NewCallback, Received, Result};

#[async_trait]
impl CallbackStore for SqliteStore {
    async fn called_step(&self, step: &StepId) -> Result<Option<CalledStep>> {
        let step = step.clone();
        self.engine.read(move |tx| called(tx, &step)).await
    }

    async fn receive_callback(&self, callback: &NewCallback) -> Result<Received> {
        let callback = callback.clone();
        self.engine.write(Verb::PLAIN, move |tx| receive(tx, &callback)).await
    }
}

fn called(tx: &Tx<'_>, step: &StepId) -> Outcome<Option<CalledStep>> {
    tx.first(S::ReadCalledStep, &[("step", step)], |row| {
        let definition = row.get_ref("definition")?.as_str().map_err(rusqlite::Error::from)?;
        Ok(CalledStep { run: row.get("run_id")?, name: row.get("name")?, definition: from_json(definition, "job definition")? })
    })
}

fn receive(tx: &Tx<'_>, callback: &NewCallback) -> Outcome<Received> {
    let of: [(&str, &dyn ToSql); 2] = [("step", &callback.step), ("id", &callback.id)];
    let mut values = of.to_vec();
    values.extend([("fingerprint", &callback.fingerprint as &dyn ToSql), ("body", &callback.body), ("now", &tx.now)]);
    if tx.execute(S::InsertCallback, &values)? > 0 {
        return Ok(Received::Kept);
    }
    let kept = tx.first(S::ReadCallbacks, &of, |row| Ok(row.get::<_, Fingerprint>("fingerprint")?))?;
    Ok(kept.map_or(Received::Over, |kept| Received::beside(kept, callback.fingerprint)))
}

/// Looks before it writes: whoever waits asks often.
pub(super) async fn take(engine: &Engine, claim: Claim) -> Result<Option<String>> {
    let step = claim.step().clone();
    if !engine.read(move |tx| tx.any(S::FindCallbacks, &[("step", &step)])).await? {
        return Ok(None);
    }
    engine.write(Verb::PLAIN, move |tx| taken(tx, &claim)).await
}

fn taken(tx: &Tx<'_>, claim: &Claim) -> Outcome<Option<String>> {
    let attempt = int(claim.attempt());
    let fence: [(&str, &dyn ToSql); 3] = [("step", claim.step()), ("attempt", &attempt), ("replica", claim.replica())];
    tx.first(S::TakeCallback, &fence, |row| Ok(row.get("body")?))
}
