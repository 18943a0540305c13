//! I4: effects, messages, the user's own rows and the completion commit together, or not at all.

use std::collections::BTreeSet;

use onebell::model::alarm::KEY_PREFIX;
use onebell::model::record::Item;
use onebell::model::step::Verdict;
use onebell::store::{ChunkAnswer, Settled};

use super::{Check, Commit, must};
use crate::call::Detail;

#[derive(Default)]
pub(super) struct I04;

impl Check for I04 {
    fn name(&self) -> &'static str {
        "i04"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        let changes = commit.changes;
        let completed: BTreeSet<&str> = changes
            .attempts
            .iter()
            .filter_map(|change| change.after.as_deref().filter(|_| change.before.is_none()))
            .filter(|row| matches!(row.outcome.as_str(), "succeeded" | "delivering"))
            .map(|row| row.step.as_str())
            .collect();
        let new_effects =
            changes.effects.iter().filter(|change| change.before.is_none()).filter_map(|change| change.after.as_ref());
        for effect in new_effects.filter(|effect| effect.batch.is_none()) {
            let step = effect.step.as_deref().unwrap_or_default();
            must(completed.contains(step), || format!("effect {} was written, but {step} did not complete", effect.key))?;
        }
        // An alarm is no step's: `alarms` looks at those.
        let new_messages =
            changes.messages.iter().filter(|change| change.before.is_none() && !change.key.starts_with(KEY_PREFIX));
        for change in new_messages {
            let step = change.after.as_ref().and_then(|row| row.step.as_deref()).unwrap_or_default();
            must(completed.contains(step), || format!("message {} was put, but {step} did not complete", change.key))?;
        }
        for change in &changes.work {
            let Some(row) = &change.after else { continue };
            // One more than before: after its run and its key were pruned, a request may come again under the same ids.
            let before = change.before.as_ref().map_or(0, |before| before.times);
            must(row.times == before + 1, || format!("the statements of {} were applied {} times", change.key, row.times))?;
            must(completed.contains(row.step.as_str()), || {
                format!("the statements of {} stand without its completion", change.key)
            })?;
        }
        chunk(commit)?;
        closed(commit)?;
        complete(commit)
    }
}

/// A chunk moves its batch, and brings its identities, findings and the user's own rows with it.
fn chunk(commit: &Commit<'_>) -> Result<(), String> {
    let changes = commit.changes;
    for change in &changes.loads {
        let Some((before, row)) = Some(change.before.is_none()).zip(change.after.as_ref()) else { continue };
        let kept = commit.now.effects.get(&change.key);
        let right = kept.is_some_and(|kept| kept.amount == Some(row.amount) && kept.failed.is_none());
        must(before && row.times == 1 && right, || format!("{row:?} stands beside {kept:?}"))?;
    }
    let Detail::Chunk { claim, chunk, answer } = &commit.call.detail else { return Ok(()) };
    let ChunkAnswer::Applied(_) = answer else {
        return must(changes.touched().is_empty(), || format!("{answer:?}, but {:?} changed", changes.touched()));
    };
    let key = claim.batch();
    let Some(row) = commit.now.batches.get(key) else { return Err(format!("a chunk of {key} was applied, and it is not there")) };
    let place = chunk.after.position;
    let (byte, line) = (i64::try_from(place.byte).ok(), i64::try_from(place.line).ok());
    let prefix = chunk.after.prefix.map(|prefix| prefix.to_string());
    let right = (row.byte, row.line, &row.prefix) == (byte, line, &prefix) && (row.status == "done") == chunk.last;
    must(right, || format!("a chunk up to {:?}, last: {}, led batch {key} to {row:?}", chunk.after, chunk.last))?;
    let read = commit.shadow.feeds.get(&row.source).and_then(|feed| feed.between(0, row.byte.unwrap_or(0))).unwrap_or_default();
    for change in changes.effects.iter().filter(|change| change.before.is_none()) {
        let Some(effect) = change.after.as_ref() else { continue };
        let here = |item: &Item| matches!(item, Item::Record(record) if record.key.as_str() == effect.key && record.fingerprint.to_string() == effect.fingerprint);
        must(read.iter().any(here), || format!("effect {} lies behind the checkpoint of {key}: {row:?}", change.key))?;
        let loaded = chunk.sql.is_none() || effect.failed.is_some() || commit.now.loads.get(&change.key).is_some();
        must(loaded, || format!("effect {} stands without what the statements write for it", change.key))?;
    }
    Ok(())
}

/// A step whose messages are on their way is not done before they are decided.
fn closed(commit: &Commit<'_>) -> Result<(), String> {
    for change in
        commit.changes.steps.iter().filter(|change| change.before.as_ref().is_some_and(|step| step.status == "delivering"))
    {
        if commit.call.verb != "close_deliveries" || change.after.as_ref().is_some_and(|step| step.status == "delivering") {
            continue;
        }
        let open = commit.now.messages.iter().find(|(_, row)| {
            row.step.as_deref() == Some(change.key.as_str()) && matches!(row.status.as_str(), "ready" | "claimed" | "sending")
        });
        must(open.is_none(), || format!("{} was closed before {open:?}", change.key))?;
    }
    Ok(())
}

/// What a settlement that was applied as a success declared is there.
fn complete(commit: &Commit<'_>) -> Result<(), String> {
    let Detail::Settled { settlements, answer } = &commit.call.detail else { return Ok(()) };
    for (settlement, answer) in settlements.iter().zip(answer) {
        if !matches!(answer, Settled::Applied { refused: None, .. }) || settlement.verdict != Verdict::Succeeded {
            continue;
        }
        let step = settlement.claim.step();
        for effect in &settlement.effects {
            let there = commit.now.effects.get(&format!("{}/{}", effect.scope, effect.key));
            let same = there.is_some_and(|row| row.fingerprint == effect.fingerprint.to_string());
            must(same, || format!("{step} completed without its effect {}", effect.key))?;
        }
        for message in &settlement.messages {
            let there = commit.now.messages.get(message.key.as_str());
            let same = there.is_some_and(|row| row.fingerprint == message.fingerprint.to_string());
            must(same, || format!("{step} completed without its message {}", message.key))?;
        }
        if settlement.work.is_some() {
            let key = format!("{step}#{:06}", settlement.claim.attempt());
            must(commit.now.work.get(&key).is_some(), || format!("{step} completed without its own statements"))?;
        }
    }
    Ok(())
}
