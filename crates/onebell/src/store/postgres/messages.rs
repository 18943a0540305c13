//! Messages in flight: read under their locks, ended as `model::message` says, written in one statement.

use super::columns::{Record, int, stamp, text, values};
use super::error::Outcome;
use super::transaction::Tx;
use super::{alarms, statements as sql};
use crate::model::message::{InDoubtPolicy, InFlight, MessageEnding, MessageStatus};
use crate::model::{Moment, ReplicaId};

/// A message under its lock.
#[derive(Debug, Clone)]
pub(super) struct LockedMessage {
    /// What the model asks for.
    pub(super) flying: InFlight,
    pub(super) locked_by: Option<ReplicaId>,
    /// Who ended the present attempt by its own word.
    pub(super) settled_by: Option<ReplicaId>,
    pub(super) complete_by: Option<Moment>,
}

impl LockedMessage {
    pub(super) fn read(row: &Record) -> Outcome<Self> {
        let replica = |column| row.get::<Option<String>>(column).map(|id| id.map(ReplicaId::from_text));
        let flying = InFlight {
            key: row.get("key")?,
            status: row.word("status", MessageStatus::from_word)?,
            attempt: row.number("attempt")?,
            tries: row.number("tries")?,
            retry: row.json("retry")?,
            first_claimed_at: row.moment_opt("first_claimed_at")?.unwrap_or_default(),
            on_in_doubt: row.word("on_in_doubt", InDoubtPolicy::from_word)?,
            run_gone: row.get("run_gone")?,
        };
        Ok(Self {
            flying,
            locked_by: replica("locked_by")?,
            settled_by: replica("settled_by")?,
            complete_by: row.moment_opt("complete_by")?,
        })
    }

    /// Claimed or sending under this fence.
    pub(super) fn is_held(&self, attempt: u64, replica: &ReplicaId) -> bool {
        self.flying.attempt == attempt && self.locked_by.as_ref() == Some(replica)
    }
}

/// Locks messages in the order of their keys.
pub(super) async fn lock(tx: &Tx, keys: &[&str]) -> Outcome<Vec<LockedMessage>> {
    let keys = keys.to_vec();
    tx.rows(&sql::LOCK_FLYING_MESSAGES, values![keys]).await?.iter().map(LockedMessage::read).collect()
}

/// Ends of attempts, column by column.
#[derive(Debug, Default)]
pub(super) struct MessageEndings {
    key: Vec<String>,
    attempt: Vec<i64>,
    was: Vec<&'static str>,
    status: Vec<&'static str>,
    ready_at: Vec<std::time::SystemTime>,
    tries: Vec<i64>,
    note: Vec<Option<String>>,
    settled_by: Vec<Option<String>>,
}

impl MessageEndings {
    /// One more. `settled_by`: the relay, if it ends by its own word.
    pub(super) fn add(&mut self, flying: &InFlight, ending: &MessageEnding, settled_by: Option<&ReplicaId>) {
        self.key.push(flying.key.clone());
        self.attempt.push(int(flying.attempt));
        self.was.push(flying.status.as_str());
        self.status.push(ending.to.as_str());
        self.ready_at.push(stamp(ending.ready_at));
        self.tries.push(int(ending.tries));
        self.note.push(ending.note.as_deref().map(text));
        self.settled_by.push(settled_by.map(ToString::to_string));
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.key.len()
    }

    /// Writes all of them, each under its fence.
    pub(super) async fn write(&self, tx: &Tx, at: Moment) -> Outcome<()> {
        if self.key.is_empty() {
            return Ok(());
        }
        let now = stamp(at);
        let values =
            values![now, self.key, self.attempt, self.was, self.status, self.ready_at, self.tries, self.note, self.settled_by];
        tx.execute_all(&sql::SETTLE_MESSAGES, values, self.len()).await?;
        let doubts = self.key.iter().zip(&self.status).filter(|(_, status)| **status == MessageStatus::InDoubt.as_str());
        alarms::tell_of_doubts(tx, at, &doubts.map(|(key, _)| key.as_str()).collect::<Vec<_>>()).await
    }
}
