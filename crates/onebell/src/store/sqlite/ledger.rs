//! Effects: one per (scope, key), for ever.

use super::error::Failure;
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use crate::model::{Conflict, Effect, Fingerprint, StepId};
use crate::store::StoreError;

/// Puts effects in key order: how many were there with the same payload. A conflict refuses them all.
pub(super) fn put_effects(tx: &Tx<'_>, effects: &[Effect], step: &StepId) -> Outcome<u32> {
    let mut sorted: Vec<&Effect> = effects.iter().collect();
    sorted.sort_by(|a, b| (&a.scope, &a.key).cmp(&(&b.scope, &b.key)));
    let mut there = Vec::new();
    for effect in sorted {
        let inserted = tx.execute(
            S::InsertEffects,
            &[
                ("scope", &effect.scope),
                ("key", &effect.key),
                ("fingerprint", &effect.fingerprint),
                ("amount", &effect.amount),
                ("payload", &effect.payload),
                ("step", step),
                ("now", &tx.now),
            ],
        )?;
        if inserted == 0 {
            there.push(effect);
        }
    }
    for effect in &there {
        let kept = tx.first(S::ReadEffects, &[("scope", &effect.scope), ("key", &effect.key)], |row| {
            Ok(row.get::<_, Fingerprint>("fingerprint")?)
        })?;
        compare("effect", effect.key.as_str(), kept, effect.fingerprint)?;
    }
    Ok(u32::try_from(there.len()).unwrap_or(u32::MAX))
}

/// What was not inserted must be there with the same payload.
pub(super) fn compare(what: &str, key: &str, kept: Option<Fingerprint>, refused: Fingerprint) -> Outcome<()> {
    same_or_conflict(what, key, kept, refused)?.map_or(Ok(()), |conflict| Err(Failure::Refused(conflict.to_string())))
}

/// The conflict, unless what is kept is what was put.
pub(super) fn same_or_conflict(
    what: &str,
    key: &str,
    kept: Option<Fingerprint>,
    refused: Fingerprint,
) -> Outcome<Option<Conflict>> {
    let neither = || StoreError::broken(format!("{what} {key:?} was neither written nor found; a defect of Onebell"));
    let kept = kept.ok_or_else(neither)?;
    Ok((kept != refused).then(|| Conflict { what: what.to_owned(), key: key.to_owned(), kept, refused }))
}
