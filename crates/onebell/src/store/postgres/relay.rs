//! The relay's verbs. They never touch steps or runs.

use std::collections::BTreeMap;
use std::time::Duration;

use async_trait::async_trait;

use super::columns::{Record, int, micros, stamp, values};
use super::error::{Failure, Outcome};
use super::messages::{self, LockedMessage, MessageEndings};
use super::transaction::{End, Tx, Verb};
use super::{PostgresStore, statements as sql};
use crate::model::message::{Delivery, InDoubtPolicy, MessageEnding, MessageEvent, MessageStatus};
use crate::model::{MessageClaim, Moment, ReplicaId};
use crate::store::{ClaimMessages, ClaimedMessage, Marked, MessageSettled, RelayStore, Result};

const CLAIM: Verb = Verb::with_points("claim_messages", "claim_messages.before_commit", "claim_messages.after_commit");
const MARK: Verb = Verb::with_points("mark_sending", "sending.before_commit", "sending.after_commit");
const SETTLE: Verb = Verb::with_points("settle_messages", "settle_messages.before_commit", "settle_messages.after_commit");

#[async_trait]
impl RelayStore for PostgresStore {
    async fn claim_messages(&self, request: &ClaimMessages) -> Result<Vec<ClaimedMessage>> {
        let claim = |tx: Tx| async move {
            let claimed = claim(&tx, request).await?;
            Ok(if claimed.is_empty() { End::Rollback(claimed) } else { End::Commit(claimed) })
        };
        self.transact(CLAIM, claim).await.map_err(Failure::judged)
    }

    async fn held_messages(&self, replica: &ReplicaId) -> Result<Vec<ClaimedMessage>> {
        let replica = replica.as_str();
        let held = |tx: Tx| async move { ordered(&tx.rows(&sql::READ_HELD_MESSAGES, values![replica]).await?) };
        self.read("held_messages", held).await
    }

    async fn mark_sending(&self, claim: &MessageClaim, window: Duration) -> Result<Marked> {
        self.write(MARK, |tx| async move { mark(&tx, claim, window).await }).await
    }

    async fn settle_messages(&self, deliveries: &[(MessageClaim, Delivery)]) -> Result<Vec<MessageSettled>> {
        self.write(SETTLE, |tx| async move { settle(&tx, deliveries).await }).await
    }
}

async fn claim(tx: &Tx, request: &ClaimMessages) -> Outcome<Vec<ClaimedMessage>> {
    let replica = request.replica.as_str();
    if !tx.any(&sql::LOCK_LIVE_REPLICA, values![replica]).await? {
        return Ok(Vec::new());
    }
    let (clock, limit, timeout) = (tx.clock(), int(request.limit), micros(request.timeout));
    let channels: Vec<&str> = request.channels.iter().map(String::as_str).collect();
    ordered(&tx.rows(&sql::CLAIM_MESSAGES, values![clock, replica, channels, limit, timeout]).await?)
}

/// By `ready_at`, then key.
fn ordered(rows: &[Record]) -> Outcome<Vec<ClaimedMessage>> {
    let mut messages = Vec::with_capacity(rows.len());
    for row in rows {
        let key: String = row.get("key")?;
        let replica = ReplicaId::from_text(row.get::<&str>("locked_by")?);
        let message = ClaimedMessage {
            claim: MessageClaim::issued(key.clone(), row.number("attempt")?, replica),
            channel: row.get("channel")?,
            payload: row.get("payload")?,
            on_in_doubt: row.word("on_in_doubt", InDoubtPolicy::from_word)?,
            tries: row.number("tries")?,
            resent: row.get("resent")?,
            complete_by: row.moment("complete_by")?,
            claimed_at: row.moment("claimed_at")?,
        };
        messages.push(((row.moment("ready_at")?, key), message));
    }
    messages.sort_by(|(a, _), (b, _)| a.cmp(b));
    Ok(messages.into_iter().map(|(_, message)| message).collect())
}

/// `sending` is committed only for a claim that holds, has not lapsed, and whose replica is held live.
async fn mark(tx: &Tx, claim: &MessageClaim, window: Duration) -> Outcome<Marked> {
    let replica = claim.replica().as_str();
    if !tx.any(&sql::LOCK_LIVE_REPLICA, values![replica]).await? {
        return Ok(Marked::Superseded);
    }
    let locked = messages::lock(tx, &[claim.key()]).await?;
    let Some(message) = locked.into_iter().find(|message| message.is_held(claim.attempt(), claim.replica())) else {
        return Ok(Marked::Superseded);
    };
    let now = tx.now().await?;
    if message.complete_by.is_none_or(|until| until <= now) {
        return Ok(Marked::Superseded);
    }
    let flying = &message.flying;
    if flying.status == MessageStatus::Sending {
        return Ok(Marked::Go);
    }
    if flying.run_gone
        && let Some(to) = flying.status.on(MessageEvent::DropWithRun)
    {
        let note = Some("its run ended before it was sent".to_owned());
        let ending = MessageEnding { event: MessageEvent::DropWithRun, to, ready_at: now, tries: flying.tries, note };
        let mut endings = MessageEndings::default();
        endings.add(flying, &ending, Some(claim.replica()));
        endings.write(tx, now).await?;
        return Ok(Marked::Dropped);
    }
    let (now, key, attempt, window) = (stamp(now), claim.key(), int(claim.attempt()), micros(window));
    tx.execute_all(&sql::MARK_SENDING, values![now, key, attempt, replica, window], 1).await?;
    Ok(Marked::Go)
}

/// In the order given; of several words on one message each finds what the one before left.
async fn settle(tx: &Tx, deliveries: &[(MessageClaim, Delivery)]) -> Outcome<Vec<MessageSettled>> {
    let keys: Vec<&str> = deliveries.iter().map(|(claim, _)| claim.key()).collect();
    let mut locked: BTreeMap<String, LockedMessage> =
        messages::lock(tx, &keys).await?.into_iter().map(|message| (message.flying.key.clone(), message)).collect();
    let now = tx.now().await?;
    let mut endings = MessageEndings::default();
    let mut answers = Vec::with_capacity(deliveries.len());
    for (claim, delivery) in deliveries {
        answers.push(settle_one(&mut endings, &mut locked, claim, delivery, now));
    }
    endings.write(tx, now).await?;
    Ok(answers)
}

fn settle_one(
    endings: &mut MessageEndings,
    locked: &mut BTreeMap<String, LockedMessage>,
    claim: &MessageClaim,
    delivery: &Delivery,
    now: Moment,
) -> MessageSettled {
    let Some(message) = locked.get_mut(claim.key()).filter(|message| message.flying.attempt == claim.attempt()) else {
        return MessageSettled::Superseded;
    };
    // One in doubt has no owner any longer: there the unchanged attempt is the fence, and only proof moves it.
    let may = message.is_held(claim.attempt(), claim.replica()) || message.flying.status == MessageStatus::InDoubt;
    if may && let Some(ending) = message.flying.settle(delivery, now) {
        endings.add(&message.flying, &ending, Some(claim.replica()));
        message.flying.status = ending.to;
        message.locked_by = None;
        message.settled_by = Some(claim.replica().clone());
        return MessageSettled::Applied(ending.to);
    }
    if message.settled_by.as_ref() == Some(claim.replica()) {
        return MessageSettled::Already;
    }
    MessageSettled::Superseded
}
