//! I0: what was acknowledged as committed stays.

use std::collections::{BTreeMap, BTreeSet};

use onebell::model::message::MessageStatus;
use onebell::model::record::Item;
use onebell::model::{BatchClaim, Effect};
use onebell::store::{Chunk, ChunkAnswer, MessageSettled, Settled, Triggered};

use super::{Check, Commit, must};
use crate::call::{Call, Detail, Port};
use crate::feed::REFUSED;
use crate::shadow::is_of;
use crate::snapshot::Snapshot;

#[derive(Default)]
pub(super) struct I00 {
    settled: BTreeSet<(String, i64)>,
    effects: BTreeMap<String, String>,
    sent: BTreeSet<String>,
    requests: BTreeMap<String, String>,
    /// Batches that retention took.
    pruned: BTreeSet<String>,
    complaint: Option<String>,
}

impl Check for I00 {
    fn name(&self) -> &'static str {
        "i00"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        if let Some(complaint) = self.complaint.take() {
            return Err(complaint);
        }
        let changes = commit.changes;
        for change in &changes.attempts {
            let Some(before) = change.before.as_ref().filter(|row| self.settled.contains(&(row.step.clone(), row.attempt)))
            else {
                continue;
            };
            let same =
                change.after.as_ref().is_some_and(|after| (&after.outcome, &after.replica) == (&before.outcome, &before.replica));
            let pruned = commit.now.runs.get(&before.run).is_none() && commit.call.port == Port::Janitor;
            must(same || pruned, || format!("the acknowledged attempt {} is gone or another", change.key))?;
        }
        for change in &changes.messages {
            let lost = change.after.as_ref().is_some_and(|row| row.status != MessageStatus::Sent.as_str());
            must(!(lost && self.sent.contains(&change.key)), || format!("message {} was acknowledged as sent", change.key))?;
            if change.after.is_none() {
                self.sent.remove(&change.key);
            }
        }
        let gone = changes.batches.iter().filter(|change| change.after.is_none() && commit.call.port == Port::Janitor);
        self.pruned.extend(gone.map(|change| change.key.clone()));
        for change in changes.keys.iter().filter(|change| change.before.is_some()) {
            let Some(run) = self.requests.get(&change.key) else { continue };
            let kept = change.after.as_ref().is_some_and(|row| row.run == *run);
            must(kept || commit.call.port == Port::Janitor, || format!("the acknowledged request {} is gone", change.key))?;
            if !kept {
                self.requests.remove(&change.key);
            }
        }
        for change in changes.runs.iter().filter(|change| change.after.is_none()) {
            self.settled.retain(|(step, _)| !is_of(step, &change.key));
        }
        Ok(())
    }

    fn acknowledged(&mut self, call: &Call, now: &Snapshot) {
        match &call.detail {
            Detail::Settled { settlements, answer } => {
                for (settlement, settled) in settlements.iter().zip(answer) {
                    let Settled::Applied { refused: None, .. } = settled else { continue };
                    let attempt = i64::try_from(settlement.claim.attempt()).unwrap_or(i64::MAX);
                    self.settled.insert((settlement.claim.step().to_string(), attempt));
                    settlement.effects.iter().for_each(|effect| self.expect_effect(effect, now));
                }
            }
            Detail::MessagesSettled { deliveries, answer } => {
                let sent = MessageSettled::Applied(MessageStatus::Sent);
                let keys = deliveries
                    .iter()
                    .zip(answer)
                    .filter(|(_, answer)| **answer == sent)
                    .map(|((claim, _), _)| claim.key().to_owned());
                self.sent.extend(keys.filter(|key| now.messages.get(key).is_some()));
            }
            Detail::Triggered { trigger, answer: Triggered::Opened(run) | Triggered::Already(run) }
                if now.keys.get(trigger.key.as_str()).is_some_and(|row| row.run == run.as_str()) =>
            {
                self.requests.insert(trigger.key.to_string(), run.to_string());
            }
            Detail::Chunk { claim, chunk, answer: ChunkAnswer::Applied(_) } => self.expect_chunk(claim, chunk, now),
            _ => {}
        }
    }
}

impl I00 {
    /// A checkpoint does not go back, and what lies before it is there.
    fn expect_chunk(&mut self, claim: &BatchClaim, chunk: &Chunk, now: &Snapshot) {
        let row = now.batches.get(claim.batch());
        // Its answer took so long that the batch was over and old meanwhile.
        if row.is_none() && self.pruned.contains(claim.batch()) {
            return;
        }
        let after = i64::try_from(chunk.after.position.byte).unwrap_or(i64::MAX);
        if row.is_none_or(|row| row.byte.is_none_or(|byte| byte < after)) {
            self.complaint = Some(format!("a chunk of {} up to {after} was acknowledged, and it is {row:?}", claim.batch()));
        }
        // Of a whole, only its end says that anything is there.
        if row.is_some_and(|row| row.atomic == 1) && !chunk.last {
            return;
        }
        let scope = row.map(|row| row.scope.as_str()).unwrap_or_default();
        for item in &chunk.items {
            let Item::Record(record) = item else { continue };
            let refused = chunk.sql.is_some() && record.amount == Some(REFUSED);
            if !refused && now.effects.get(&format!("{scope}/{}", record.key)).is_none() {
                self.complaint = Some(format!("record {} of {} was acknowledged and is not there", record.key, claim.batch()));
            }
        }
    }

    fn expect_effect(&mut self, effect: &Effect, now: &Snapshot) {
        let key = format!("{}/{}", effect.scope, effect.key);
        let fingerprint = effect.fingerprint.to_string();
        if now.effects.get(&key).is_none_or(|row| row.fingerprint != fingerprint) {
            self.complaint = Some(format!("effect {key} was acknowledged and is not there"));
        }
        self.effects.insert(key, fingerprint);
    }
}
