//! Registers definitions, pauses and resumes, comparing what was seen.

use super::columns::{int, to_json};
use super::slots::record_skip;
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use super::vigils;
use crate::model::JobId;
use crate::store::{Actor, Defined, Definition, PauseChange, StoreError};

/// Registers a definition under the next version.
pub(super) fn define_job(tx: &Tx<'_>, new: &Definition) -> Outcome<Defined> {
    let name = &new.definition.name;
    let namesake = tx.first(S::ReadJobOfName, &[("name", name)], |row| Ok(row.get::<_, JobId>("job_id")?))?;
    let taken = namesake.is_some_and(|job| job != new.id);
    if taken && new.seen.is_some() {
        let message = format!("job {} cannot be named {name:?}: another job has that name; choose another name", new.id);
        return Err(StoreError::broken(message).into());
    }
    let version = new.seen.map_or(1, |(seen, _)| seen + 1);
    if taken || !write_job(tx, new, version)? {
        return Ok(Defined::Stale);
    }
    vigils::define(tx, new)?;
    let definition = to_json(&new.definition)?;
    tx.execute(
        S::InsertDefinition,
        &[("job", &new.id), ("version", &int(version)), ("hash", &new.hash), ("definition", &definition)],
    )?;
    Ok(Defined::Registered(version))
}

fn write_job(tx: &Tx<'_>, new: &Definition, version: u64) -> Outcome<bool> {
    let definition = to_json(&new.definition)?;
    let (version, name) = (int(version), &new.definition.name);
    let mut values: Vec<(&str, &dyn rusqlite::ToSql)> =
        vec![("job", &new.id), ("name", name), ("definition", &definition), ("version", &version), ("hash", &new.hash)];
    values.extend([
        ("by", &new.by as &dyn rusqlite::ToSql),
        ("cursor", &new.cursor),
        ("next_slot", &new.next_slot),
        ("paused", &new.definition.begins_paused),
        ("now", &tx.now),
    ]);
    let written = match new.seen {
        None => tx.execute(S::InsertJob, &values)?,
        Some((version_seen, cursor_seen)) => {
            let version_seen = int(version_seen);
            values.extend([("version_seen", &version_seen as &dyn rusqlite::ToSql), ("cursor_seen", &cursor_seen)]);
            tx.execute(S::UpdateJob, &values)?
        }
    };
    Ok(written > 0)
}

/// Pauses or resumes. False: the cursor had moved, or there is no such job.
pub(super) fn set_pause(tx: &Tx<'_>, change: &PauseChange) -> Outcome<bool> {
    let changed = tx.execute(
        S::PauseJob,
        &[
            ("job", &change.job),
            ("version_seen", &int(change.version_seen)),
            ("cursor_seen", &change.cursor_seen),
            ("paused_at", &change.paused_at),
            ("cursor", &change.cursor),
            ("next_slot", &change.next_slot),
        ],
    )?;
    if changed == 0 {
        return Ok(false);
    }
    if change.paused_at.is_none() {
        vigils::resume(tx, &change.job)?;
    }
    if let Some(skip) = &change.skip {
        record_skip(tx, &change.job, skip)?;
    }
    let action = if change.paused_at.is_some() { "pause" } else { "resume" };
    audit(tx, &change.actor, action, change.job.as_str(), None)?;
    Ok(true)
}

/// Writes down what a person or a program did.
pub(super) fn audit(tx: &Tx<'_>, actor: &Actor, action: &str, target: &str, detail: Option<&str>) -> Outcome<()> {
    tx.execute(
        S::InsertAudit,
        &[
            ("now", &tx.now),
            ("actor", &actor.name),
            ("action", &action),
            ("target", &target),
            ("reason", &actor.reason),
            ("detail", &detail),
        ],
    )?;
    Ok(())
}
