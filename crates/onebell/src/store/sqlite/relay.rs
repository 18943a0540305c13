//! Delivers the outbox. Never touches steps or runs.

use std::time::Duration;

use async_trait::async_trait;
use rusqlite::Row;

use super::SqliteStore;
use super::agent::is_live;
use super::alarms::tell_of_doubt;
use super::columns::{count, int, small, to_json};
use super::engine::Verb;
use super::outbox::MessageRow;
use super::statements::Statement as S;
use super::transaction::{Outcome, Tx};
use crate::model::message::{Delivery, DroppedBy, MessageEnding, MessageEvent, MessageStatus};
use crate::model::{MessageClaim, ReplicaId};
use crate::store::{ClaimMessages, ClaimedMessage, Marked, MessageSettled, RelayStore, Result, StoreError};

const CLAIM: Verb = Verb::with_points("claim_messages.before_commit", "claim_messages.after_commit");
const SENDING: Verb = Verb::with_points("sending.before_commit", "sending.after_commit");
const SETTLE: Verb = Verb::with_points("settle_messages.before_commit", "settle_messages.after_commit");

#[async_trait]
impl RelayStore for SqliteStore {
    async fn claim_messages(&self, request: &ClaimMessages) -> Result<Vec<ClaimedMessage>> {
        let request = request.clone();
        self.engine.write(CLAIM, move |tx| claim(tx, &request)).await
    }

    async fn held_messages(&self, replica: &ReplicaId) -> Result<Vec<ClaimedMessage>> {
        let replica = replica.clone();
        // Through the writer: a claim whose answer was lost may still wait in its queue.
        self.engine.write(Verb::PLAIN, move |tx| tx.rows(S::ReadHeldMessages, &[("replica", &replica)], claimed)).await
    }

    async fn mark_sending(&self, claim: &MessageClaim, window: Duration) -> Result<Marked> {
        let claim = claim.clone();
        self.engine.write(SENDING, move |tx| mark(tx, &claim, window)).await
    }

    async fn settle_messages(&self, deliveries: &[(MessageClaim, Delivery)]) -> Result<Vec<MessageSettled>> {
        let deliveries = deliveries.to_vec();
        let settle = move |tx: &Tx<'_>| deliveries.iter().map(|(claim, delivery)| settle(tx, claim, delivery)).collect();
        self.engine.write(SETTLE, settle).await
    }
}

fn claim(tx: &Tx<'_>, request: &ClaimMessages) -> Outcome<Vec<ClaimedMessage>> {
    if request.limit == 0 || !is_live(tx, &request.replica)? {
        return Ok(Vec::new());
    }
    let channels = to_json(&request.channels)?;
    let complete_by = tx.now + request.timeout;
    let values: [(&str, &dyn rusqlite::ToSql); 5] = [
        ("replica", &request.replica),
        ("channels", &channels),
        ("limit", &request.limit),
        ("complete_by", &complete_by),
        ("now", &tx.now),
    ];
    let picked = tx.rows(S::ClaimMessages, &values, |row| Ok(row.get::<_, String>("key")?))?;
    tx.rows(S::ReadClaimedMessages, &[("keys", &to_json(&picked)?), ("replica", &request.replica)], claimed)
}

fn claimed(row: &Row<'_>) -> Outcome<ClaimedMessage> {
    Ok(ClaimedMessage {
        claim: MessageClaim::issued(row.get("key")?, count(row, "attempt")?, row.get("locked_by")?),
        channel: row.get("channel")?,
        payload: row.get("payload")?,
        on_in_doubt: row.get("on_in_doubt")?,
        tries: small(row, "tries")?,
        resent: row.get("resent")?,
        complete_by: row.get("complete_by")?,
        claimed_at: row.get("claimed_at")?,
    })
}

fn mark(tx: &Tx<'_>, claim: &MessageClaim, window: Duration) -> Outcome<Marked> {
    let row = MessageRow::locked(tx, claim.key())?.filter(|row| row.attempt == claim.attempt());
    let Some(row) = row else { return Ok(Marked::Superseded) };
    let dropped_here = row.dropped_by == Some(DroppedBy::Run) && row.settled_by.as_ref() == Some(claim.replica());
    if row.status == MessageStatus::Dropped && dropped_here {
        return Ok(Marked::Dropped);
    }
    let holds = row.locked_by.as_ref() == Some(claim.replica()) && row.complete_by.is_some_and(|at| at > tx.now);
    if !holds || !is_live(tx, claim.replica())? {
        return Ok(Marked::Superseded);
    }
    if row.status == MessageStatus::Sending {
        return Ok(Marked::Go);
    }
    if row.run_gone {
        let ending = MessageEnding {
            event: MessageEvent::DropWithRun,
            to: MessageStatus::Dropped,
            ready_at: tx.now,
            tries: row.tries,
            note: None,
        };
        end_message(tx, &row, &ending, Some(claim.replica()))?;
        return Ok(Marked::Dropped);
    }
    let marked = tx.execute(
        S::MarkSending,
        &[
            ("key", &claim.key()),
            ("attempt", &int(claim.attempt())),
            ("replica", claim.replica()),
            ("complete_by", &(tx.now + window)),
            ("now", &tx.now),
        ],
    )?;
    Ok(if marked > 0 { Marked::Go } else { Marked::Superseded })
}

fn settle(tx: &Tx<'_>, claim: &MessageClaim, delivery: &Delivery) -> Outcome<MessageSettled> {
    let row = MessageRow::locked(tx, claim.key())?.filter(|row| row.attempt == claim.attempt());
    let Some(row) = row else { return Ok(MessageSettled::Superseded) };
    let before = row.settled_by.as_ref() == Some(claim.replica());
    let held = row.locked_by.as_ref() == Some(claim.replica());
    // A word of somebody else, or about a message that is decided, says nothing.
    let heard = held || row.status == MessageStatus::InDoubt;
    let Some(ending) = heard.then(|| row.in_flight(tx.now).settle(delivery, tx.now)).flatten() else {
        return Ok(if before { MessageSettled::Already } else { MessageSettled::Superseded });
    };
    if !end_message(tx, &row, &ending, Some(claim.replica()))? {
        return Err(StoreError::broken(format!("message {:?} moved while the store was locked", claim.key())).into());
    }
    Ok(MessageSettled::Applied(ending.to))
}

/// Writes the end of a message's attempt under its fence. `by`: its own relay; none when it was recovered.
pub(super) fn end_message(tx: &Tx<'_>, row: &MessageRow, ending: &MessageEnding, by: Option<&ReplicaId>) -> Outcome<bool> {
    let statement = if ending.event == MessageEvent::Proof { S::ProveMessages } else { S::SettleMessages };
    let changed = tx.execute(
        statement,
        &[
            ("key", &row.key),
            ("attempt", &int(row.attempt)),
            ("replica", &row.locked_by),
            ("from", &row.status),
            ("to", &ending.to),
            ("ready_at", &ending.ready_at),
            ("tries", &ending.tries),
            ("note", &ending.note),
            ("settled_by", &by),
            ("now", &tx.now),
        ],
    )?;
    if changed > 0 && ending.to == MessageStatus::InDoubt {
        tell_of_doubt(tx, &row.key, row.attempt)?;
    }
    Ok(changed > 0)
}
