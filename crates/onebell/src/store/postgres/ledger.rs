//! Effects and messages of a settlement: what is new is written, what exists is compared with its fingerprint (I5).
//!
//! Two statements always: a key that a concurrent transaction has just committed is otherwise neither inserted nor seen.

use std::collections::{BTreeMap, BTreeSet};

use super::columns::{json, stamp, values};
use super::error::{Failure, Outcome};
use super::settle::Item;
use super::statements as sql;
use super::transaction::Tx;
use crate::model::message::{DroppedBy, MessageStatus, NewMessage};
use crate::model::{Conflict, Effect, Fingerprint, Moment};

/// What became of what one settlement put.
#[derive(Debug, Clone, Default)]
pub(super) struct Put {
    pub(super) effects_already: u32,
    pub(super) messages_already: u32,
    /// At least one message is new, was revived, or is its own and undecided.
    pub(super) delivers: bool,
    pub(super) conflict: Option<Conflict>,
}

/// Puts what the items carry, effects first, each in the order of their keys. With a conflict among the answers the
/// transaction must be rolled back.
pub(super) async fn put(tx: &Tx, now: Moment, items: &[&Item<'_>]) -> Outcome<Vec<Put>> {
    let mut puts = vec![Put::default(); items.len()];
    put_effects(tx, now, items, &mut puts).await?;
    if puts.iter().all(|put| put.conflict.is_none()) {
        put_messages(tx, now, items, &mut puts).await?;
    }
    Ok(puts)
}

/// What is put, with the item that puts it.
type Of<'i, T> = Vec<(usize, &'i str, &'i T)>;

async fn put_effects(tx: &Tx, now: Moment, items: &[&Item<'_>], puts: &mut [Put]) -> Outcome<()> {
    let effects: Of<'_, Effect> = items
        .iter()
        .enumerate()
        .flat_map(|(index, item)| item.effects().iter().map(move |effect| (index, item.step().as_str(), effect)))
        .collect();
    if effects.is_empty() {
        return Ok(());
    }
    let mut new = insert_effects(tx, now, &effects).await?;
    let mut kept = read_effects(tx, &effects, &new).await?;
    for (index, _, effect) in effects {
        let key = (effect.scope.as_str(), effect.key.as_str());
        if new.remove(&(key.0.to_owned(), key.1.to_owned())) {
            kept.insert((key.0.to_owned(), key.1.to_owned()), effect.fingerprint);
            continue;
        }
        let found = kept.get(&(key.0.to_owned(), key.1.to_owned()));
        match found {
            Some(found) if *found == effect.fingerprint => puts[index].effects_already += 1,
            Some(found) => conflict(&mut puts[index], "effect", key.1, *found, effect.fingerprint),
            None => return Err(neither("effect", key.1)),
        }
    }
    Ok(())
}

type Keys = BTreeSet<(String, String)>;

async fn insert_effects(tx: &Tx, now: Moment, effects: &Of<'_, Effect>) -> Outcome<Keys> {
    let now = stamp(now);
    let scope: Vec<&str> = effects.iter().map(|(_, _, effect)| effect.scope.as_str()).collect();
    let key: Vec<&str> = effects.iter().map(|(_, _, effect)| effect.key.as_str()).collect();
    let fingerprint: Vec<String> = effects.iter().map(|(_, _, effect)| effect.fingerprint.to_string()).collect();
    let amount: Vec<Option<i64>> = effects.iter().map(|(_, _, effect)| effect.amount).collect();
    let payload: Vec<&str> = effects.iter().map(|(_, _, effect)| effect.payload.as_str()).collect();
    let step: Vec<&str> = effects.iter().map(|(_, step, _)| *step).collect();
    let rows = tx.rows(&sql::INSERT_EFFECTS, values![now, scope, key, fingerprint, amount, payload, step]).await?;
    rows.iter().map(|row| Ok((row.get("scope")?, row.get("key")?))).collect()
}

async fn read_effects(tx: &Tx, effects: &Of<'_, Effect>, new: &Keys) -> Outcome<BTreeMap<(String, String), Fingerprint>> {
    let keys = effects.iter().map(|(_, _, effect)| (effect.scope.as_str(), effect.key.as_str()));
    let old: BTreeSet<(&str, &str)> = keys.filter(|key| !new.contains(&(key.0.to_owned(), key.1.to_owned()))).collect();
    if old.is_empty() {
        return Ok(BTreeMap::new());
    }
    let (scope, key): (Vec<&str>, Vec<&str>) = old.into_iter().unzip();
    let rows = tx.rows(&sql::READ_EFFECTS, values![scope, key]).await?;
    rows.iter()
        .map(|row| Ok(((row.get("scope")?, row.get("key")?), row.word("fingerprint", |text| text.parse().ok())?)))
        .collect()
}

async fn put_messages(tx: &Tx, now: Moment, items: &[&Item<'_>], puts: &mut [Put]) -> Outcome<()> {
    let messages: Of<'_, NewMessage> = items
        .iter()
        .enumerate()
        .flat_map(|(index, item)| item.messages().iter().map(move |message| (index, item.step().as_str(), message)))
        .collect();
    if messages.is_empty() {
        return Ok(());
    }
    let mut new = insert_messages(tx, now, &messages).await?;
    let mut kept = lock_messages(tx, &messages, &new).await?;
    let mut revived: Of<'_, NewMessage> = Vec::new();
    for (index, step, message) in messages {
        let key = message.key.as_str();
        if new.remove(key) {
            kept.insert(key.to_owned(), Kept { fingerprint: message.fingerprint, revivable: false, awaited_by: None });
            puts[index].delivers = true;
            continue;
        }
        let found = kept.get_mut(key).ok_or_else(|| neither("message", key))?;
        if found.fingerprint != message.fingerprint {
            conflict(&mut puts[index], "message", key, found.fingerprint, message.fingerprint);
        } else if std::mem::take(&mut found.revivable) {
            puts[index].delivers = true;
            revived.push((index, step, message));
        } else {
            puts[index].messages_already += 1;
            // Its own message, put by an attempt before: the step goes on waiting for what became of it.
            puts[index].delivers |= found.awaited_by.as_deref() == Some(step);
        }
    }
    if revived.is_empty() || puts.iter().any(|put| put.conflict.is_some()) {
        return Ok(());
    }
    revive(tx, now, &revived).await
}

async fn insert_messages(tx: &Tx, now: Moment, messages: &Of<'_, NewMessage>) -> Outcome<BTreeSet<String>> {
    let now = stamp(now);
    let key: Vec<&str> = messages.iter().map(|(_, _, message)| message.key.as_str()).collect();
    let fingerprint: Vec<String> = messages.iter().map(|(_, _, message)| message.fingerprint.to_string()).collect();
    let channel: Vec<&str> = messages.iter().map(|(_, _, message)| message.channel.as_str()).collect();
    let payload: Vec<&str> = messages.iter().map(|(_, _, message)| message.payload.as_str()).collect();
    let policy: Vec<&str> = messages.iter().map(|(_, _, message)| message.on_in_doubt.as_str()).collect();
    let retry: Vec<String> = messages.iter().map(|(_, _, message)| json(&message.retry)).collect::<Outcome<_>>()?;
    let step: Vec<&str> = messages.iter().map(|(_, step, _)| *step).collect();
    let values = values![now, key, fingerprint, channel, payload, policy, retry, step];
    tx.rows(&sql::INSERT_MESSAGES, values).await?.iter().map(|row| row.get("key")).collect()
}

/// A message that was put before.
struct Kept {
    fingerprint: Fingerprint,
    /// Its run failed or was cancelled before it ever was in `sending`.
    revivable: bool,
    /// The step that put it and waits for what becomes of it.
    awaited_by: Option<String>,
}

async fn lock_messages(tx: &Tx, messages: &Of<'_, NewMessage>, new: &BTreeSet<String>) -> Outcome<BTreeMap<String, Kept>> {
    let keys = messages.iter().map(|(_, _, message)| message.key.as_str());
    let old: BTreeSet<&str> = keys.filter(|key| !new.contains(*key)).collect();
    if old.is_empty() {
        return Ok(BTreeMap::new());
    }
    let old: Vec<&str> = old.into_iter().collect();
    let mut kept = BTreeMap::new();
    for row in tx.rows(&sql::LOCK_MESSAGES, values![old]).await? {
        let status = row.word("status", MessageStatus::from_word)?;
        let dropped_by = row.word_opt("dropped_by", DroppedBy::from_word)?;
        let gone: bool = row.get("run_gone")?;
        let revivable = match status {
            MessageStatus::Dropped => dropped_by == Some(DroppedBy::Run),
            // On its way, and to be dropped when it comes back: the new putter wants it.
            MessageStatus::Claimed => gone,
            _ => false,
        };
        let fingerprint = row.word("fingerprint", |text| text.parse().ok())?;
        let awaited_by = if status.is_undecided() { row.get("step_id")? } else { None };
        kept.insert(row.get("key")?, Kept { fingerprint, revivable, awaited_by });
    }
    Ok(kept)
}

async fn revive(tx: &Tx, now: Moment, revived: &Of<'_, NewMessage>) -> Outcome<()> {
    let now = stamp(now);
    let key: Vec<&str> = revived.iter().map(|(_, _, message)| message.key.as_str()).collect();
    let policy: Vec<&str> = revived.iter().map(|(_, _, message)| message.on_in_doubt.as_str()).collect();
    let retry: Vec<String> = revived.iter().map(|(_, _, message)| json(&message.retry)).collect::<Outcome<_>>()?;
    let step: Vec<&str> = revived.iter().map(|(_, step, _)| *step).collect();
    tx.execute_all(&sql::REVIVE_MESSAGES, values![now, key, policy, retry, step], key.len()).await
}

fn conflict(put: &mut Put, what: &str, key: &str, kept: Fingerprint, refused: Fingerprint) {
    put.conflict.get_or_insert_with(|| Conflict { what: what.to_owned(), key: key.to_owned(), kept, refused });
}

fn neither(what: &str, key: &str) -> Failure {
    Failure::again(format!("{what} {key:?} was neither inserted nor found"))
}
