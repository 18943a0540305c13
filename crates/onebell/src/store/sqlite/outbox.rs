//! Messages as a step puts them: one per key, a dropped one revived by who puts it again.

use rusqlite::Row;

use super::columns::{count, from_json, small, to_json};
use super::ledger::compare;
use super::statements::Statement as S;
use super::step_row::StepRow;
use super::transaction::{Outcome, Tx};
use crate::model::message::{DroppedBy, InDoubtPolicy, InFlight, MessageStatus, NewMessage};
use crate::model::retry::RetryPolicy;
use crate::model::{Fingerprint, Moment, ReplicaId, StepId};

/// A row of `outbox`.
#[derive(Debug, Clone)]
pub(super) struct MessageRow {
    pub(super) key: String,
    pub(super) fingerprint: Fingerprint,
    pub(super) status: MessageStatus,
    pub(super) attempt: u64,
    pub(super) tries: u32,
    pub(super) retry: RetryPolicy,
    pub(super) first_claimed_at: Option<Moment>,
    pub(super) on_in_doubt: InDoubtPolicy,
    pub(super) run_gone: bool,
    pub(super) locked_by: Option<ReplicaId>,
    pub(super) complete_by: Option<Moment>,
    pub(super) settled_by: Option<ReplicaId>,
    pub(super) dropped_by: Option<DroppedBy>,
    pub(super) step: Option<StepId>,
}

impl MessageRow {
    pub(super) fn read(row: &Row<'_>) -> Outcome<Self> {
        Ok(Self {
            key: row.get("key")?,
            fingerprint: row.get("fingerprint")?,
            status: row.get("status")?,
            attempt: count(row, "attempt")?,
            tries: small(row, "tries")?,
            retry: from_json(row.get_ref("retry")?.as_str().map_err(rusqlite::Error::from)?, "retry policy")?,
            first_claimed_at: row.get("first_claimed_at")?,
            on_in_doubt: row.get("on_in_doubt")?,
            run_gone: row.get("run_gone")?,
            locked_by: row.get("locked_by")?,
            complete_by: row.get("complete_by")?,
            settled_by: row.get("settled_by")?,
            dropped_by: row.get("dropped_by")?,
            step: row.get("step_id")?,
        })
    }

    /// The message as it stands.
    pub(super) fn locked(tx: &Tx<'_>, key: &str) -> Outcome<Option<Self>> {
        tx.first(S::LockMessages, &[("key", &key)], Self::read)
    }

    /// What the model needs to decide how its attempt ends.
    pub(super) fn in_flight(&self, now: Moment) -> InFlight {
        InFlight {
            key: self.key.clone(),
            status: self.status,
            attempt: self.attempt,
            tries: self.tries,
            retry: self.retry,
            first_claimed_at: self.first_claimed_at.unwrap_or(now),
            on_in_doubt: self.on_in_doubt,
            run_gone: self.run_gone,
        }
    }
}

/// What became of a step's messages.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PutMessages {
    /// There with the same payload.
    pub(super) already: u32,
    /// New, revived, or its own and undecided: the step waits for them.
    pub(super) open: u32,
}

/// Puts messages in key order. A conflict refuses them all.
pub(super) fn put_messages(tx: &Tx<'_>, messages: &[NewMessage], step: &StepRow) -> Outcome<PutMessages> {
    let mut sorted: Vec<&NewMessage> = messages.iter().collect();
    sorted.sort_by(|a, b| a.key.cmp(&b.key));
    let mut put = PutMessages::default();
    let mut there = Vec::new();
    for message in sorted {
        if insert(tx, message, step)? { put.open += 1 } else { there.push(message) }
    }
    for message in there {
        let row = MessageRow::locked(tx, message.key.as_str())?;
        compare("message", message.key.as_str(), row.as_ref().map(|row| row.fingerprint), message.fingerprint)?;
        let Some(row) = row else { continue };
        if put_again(tx, &row, message, step)? {
            put.open += 1;
            continue;
        }
        put.already += 1;
        // Its own message, put by an attempt before: the step goes on waiting for what became of it.
        put.open += u32::from(row.step.as_ref() == Some(&step.id) && row.status.is_undecided());
    }
    Ok(put)
}

fn insert(tx: &Tx<'_>, message: &NewMessage, step: &StepRow) -> Outcome<bool> {
    let retry = to_json(&message.retry)?;
    let inserted = tx.execute(
        S::InsertMessages,
        &[
            ("key", &message.key),
            ("fingerprint", &message.fingerprint),
            ("channel", &message.channel),
            ("payload", &message.payload),
            ("on_in_doubt", &message.on_in_doubt),
            ("retry", &retry),
            ("job", &step.job),
            ("run", &step.run),
            ("step", &step.id),
            ("now", &tx.now),
        ],
    )?;
    Ok(inserted > 0)
}

/// A message whose run took it away belongs to who puts it again; else nobody would ever send it.
fn put_again(tx: &Tx<'_>, row: &MessageRow, message: &NewMessage, step: &StepRow) -> Outcome<bool> {
    let retry = to_json(&message.retry)?;
    let statement = match (row.status, row.dropped_by) {
        (MessageStatus::Dropped, Some(DroppedBy::Run)) => S::ReviveMessages,
        (MessageStatus::Claimed, _) if row.run_gone => S::AdoptMessages,
        _ => return Ok(false),
    };
    let changed = tx.execute(
        statement,
        &[
            ("key", &message.key),
            ("on_in_doubt", &message.on_in_doubt),
            ("retry", &retry),
            ("job", &step.job),
            ("run", &step.run),
            ("step", &step.id),
            ("now", &tx.now),
        ],
    )?;
    Ok(changed > 0)
}
