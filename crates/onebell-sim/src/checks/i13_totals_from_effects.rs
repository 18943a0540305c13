//! I13: totals are computed from effects, and the effects are those of the steps that completed and of the records that
//! were read: none twice, none missing.

use std::collections::{BTreeMap, BTreeSet};

use onebell::model::record::Item;
use onebell::model::step::Verdict;
use onebell::store::{ChunkAnswer, Settled};

use super::ledger::{Came, Entry, Ledger};
use super::{Check, Commit, End, must};
use crate::call::Detail;
use crate::feed::{Feed, REFUSED};
use crate::snapshot::{BatchRow, Change, EffectRow};

#[derive(Default)]
pub(super) struct I13 {
    /// Of steps, by scope and key: the amount.
    expected: BTreeMap<String, Option<i64>>,
    /// Of batches.
    ledger: Ledger,
}

impl Check for I13 {
    fn name(&self) -> &'static str {
        "i13"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        for change in &commit.changes.batches {
            self.reads(commit, change)?;
        }
        if let Detail::Chunk { claim, answer: ChunkAnswer::Applied(told), .. } = &commit.call.detail
            && let Some(row) = commit.now.batches.get(claim.batch())
        {
            let told = [told.applied, told.already, told.conflicts, told.rejected, told.failed];
            let same = told.map(|count| i64::try_from(count).unwrap_or(i64::MAX)) == row.counts();
            must(same, || format!("{told:?} was told of {}, and it is {}", claim.batch(), row.stands()))?;
        }
        let Detail::Settled { settlements, answer } = &commit.call.detail else { return Ok(()) };
        for (settlement, answer) in settlements.iter().zip(answer) {
            if matches!(answer, Settled::Applied { refused: None, .. }) && settlement.verdict == Verdict::Succeeded {
                let effects = settlement.effects.iter().map(|effect| (format!("{}/{}", effect.scope, effect.key), effect.amount));
                self.expected.extend(effects);
            }
        }
        Ok(())
    }

    fn end(&mut self, end: &End<'_>) -> Result<(), String> {
        let mut there = BTreeMap::new();
        for (key, row) in end.now.effects.iter().filter(|(_, row)| row.batch.is_none()) {
            there.insert(key.to_owned(), row.amount);
        }
        let differs = self.expected.iter().find(|(key, amount)| there.get(*key) != Some(amount));
        must(differs.is_none(), || format!("{differs:?} was completed and is not in the ledger"))?;
        let more = there.keys().find(|key| !self.expected.contains_key(*key));
        must(more.is_none(), || format!("{more:?} is in the ledger, and nothing that completed wrote it"))?;
        let rows = end.now.effects.iter().filter(|(_, row)| row.batch.is_some());
        let there: BTreeMap<String, Entry> = rows.map(|(key, row)| (key.to_owned(), entry(row))).collect();
        let read = self.ledger.entries();
        must(there == *read, || format!("the records that were read make {read:?}, and the ledger has {there:?}"))?;
        end.shadow.feeds.values().try_for_each(|feed| read_whole(end, feed, &there))
    }
}

impl I13 {
    /// What lies between the checkpoint before and the one now was applied, counted and written down: all of it and nothing else.
    fn reads(&mut self, commit: &Commit<'_>, change: &Change<BatchRow>) -> Result<(), String> {
        let (Some(after), key) = (&change.after, &change.key) else { return Ok(()) };
        let (from, counted) = match &change.before {
            Some(before) => (before.byte.unwrap_or(0), before.counts()),
            None => (0, [0; 5]),
        };
        let feed = commit.shadow.feeds.get(&after.source);
        let items = feed.and_then(|feed| feed.between(from, after.byte.unwrap_or(0)));
        let Some((feed, items)) = feed.zip(items) else {
            return Err(format!("batch {key} went from {from} to {:?} in {}", after.byte, after.source));
        };
        if feed.atomic {
            let before = change.before.as_ref().map_or("pending", |row| row.status.as_str());
            return self.moves(commit, (key, before, after), feed, items, counted);
        }
        let came = self.ledger.read(&after.scope, items, feed.sql.is_some());
        let counts: Vec<i64> = after.counts().iter().zip(counted).map(|(now, before)| now - before).collect();
        must(counts == came.counts, || {
            format!("batch {key} counts {counts:?} from {from} on, and its records are {:?}", came.counts)
        })?;
        brought(commit, key, &came)
    }

    /// Of a whole: its last chunk brings all of it, its withholding the conflicts, and everything else only what could not be read.
    fn moves(
        &mut self,
        commit: &Commit<'_>,
        (key, before, after): (&String, &str, &BatchRow),
        feed: &Feed,
        items: &[Item],
        counted: [i64; 5],
    ) -> Result<(), String> {
        let torn: Vec<Item> = items.iter().filter(|item| matches!(item, Item::Rejected(_))).cloned().collect();
        let mut came = self.ledger.clone().read(&after.scope, &torn, false);
        let delta: Vec<i64> = after.counts().iter().zip(counted).map(|(now, before)| now - before).collect();
        match after.status.as_str() {
            "done" if before != "done" => {
                let here = came.found;
                came = self.ledger.read(&after.scope, &feed.items, feed.sql.is_some());
                must(after.counts() == came.counts && came.counts[2] == 0, || {
                    format!("batch {key} counts {:?} at its end, and its records are {:?}", after.counts(), came.counts)
                })?;
                // What was torn before this chunk was told then.
                came.found.retain(|byte, outcome| *outcome != "rejected" || here.contains_key(byte));
            }
            "cancelled" if delta[2] > 0 => {
                let all = self.ledger.clone().read(&after.scope, &feed.items, feed.sql.is_some());
                must(delta == [0, 0, all.counts[2], 0, 0], || {
                    format!("batch {key} was withheld for {delta:?}: {:?}", all.counts)
                })?;
                came.found = all.found.into_iter().filter(|(_, outcome)| *outcome == "conflict").collect();
            }
            _ => must(delta == came.counts, || format!("batch {key} counts {delta:?}, and of its records {:?}", came.counts))?,
        }
        brought(commit, key, &came)
    }
}

/// Exactly this was written and found by the commit.
fn brought(commit: &Commit<'_>, key: &String, came: &Came) -> Result<(), String> {
    let changes = commit.changes.effects.iter().filter_map(|change| Some((change.key.clone(), change.after.as_ref()?)));
    let written = changes.filter(|(_, row)| row.batch.as_ref() == Some(key)).map(|(key, row)| (key, entry(row)));
    let written: BTreeMap<String, Entry> = written.collect();
    must(written == came.written, || format!("batch {key} wrote {written:?} instead of {:?}", came.written))?;
    let changes = commit.changes.findings.iter().filter_map(|change| change.after.as_ref());
    let found = changes.filter(|row| row.batch == *key).map(|row| (row.byte, row.outcome.as_str()));
    let found: BTreeMap<i64, &str> = found.collect();
    must(found == came.found, || format!("batch {key} found {found:?} instead of {:?}", came.found))
}

fn entry(row: &EffectRow) -> Entry {
    Entry { fingerprint: row.fingerprint.clone(), amount: row.amount, failed: row.failed.clone() }
}

/// The source was read to its end, and each of its identities that can be kept is there; with the only amount that it has anywhere, if
/// there is only one.
fn read_whole(end: &End<'_>, feed: &Feed, there: &BTreeMap<String, Entry>) -> Result<(), String> {
    // One whose records conflict is withheld as often as it is read.
    if feed.atomic && end.now.batches.iter().any(|(_, row)| row.source == feed.source && row.status == "cancelled") {
        return Ok(());
    }
    let whole = |row: &BatchRow| row.source == feed.source && row.status == "done" && row.byte == i64::try_from(feed.end()).ok();
    must(end.now.batches.iter().any(|(_, row)| whole(row)), || format!("{} was never read to its end", feed.source))?;
    let mut amounts: BTreeMap<&str, BTreeSet<Option<i64>>> = BTreeMap::new();
    for feed in end.shadow.feeds.values().filter(|other| other.scope == feed.scope) {
        for item in &feed.items {
            let Item::Record(record) = item else { continue };
            if feed.sql.is_none() || record.amount != Some(REFUSED) {
                amounts.entry(record.key.as_str()).or_default().insert(record.amount);
            }
        }
    }
    for (key, amounts) in amounts {
        let kept = there.get(&format!("{}/{key}", feed.scope));
        let right = kept.is_some_and(|kept| amounts.contains(&kept.amount));
        must(right, || format!("{key} may be {amounts:?} in {}, and is {kept:?}", feed.scope))?;
    }
    Ok(())
}
