//! I3: a superseded attempt changes no state. Whether a claim still holds is read from the tables before the call, not
//! from what the store answers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use onebell::store::{MessageSettled, Settled};

use super::{Check, Commit, must};
use crate::call::Detail;
use crate::snapshot::{BatchRow, Change, FindingRow};

/// Who owned what before this commit.
#[derive(Default)]
pub(super) struct I03 {
    steps: BTreeMap<String, (i64, String)>,
    messages: BTreeMap<String, (i64, String, String)>,
    batches: BTreeMap<String, Arc<BatchRow>>,
}

impl Check for I03 {
    fn name(&self) -> &'static str {
        "i03"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        let judged = self.judge(commit).and_then(|()| only_with_a_chunk(commit));
        self.remember(commit);
        judged
    }
}

impl I03 {
    fn judge(&self, commit: &Commit<'_>) -> Result<(), String> {
        let touched: BTreeSet<&str> = commit.changes.touched().into_iter().collect();
        match &commit.call.detail {
            Detail::Settled { settlements, answer } => {
                let held: Vec<bool> = settlements.iter().map(|settlement| self.holds(&settlement.claim)).collect();
                if held.iter().all(|held| !held) {
                    let only_late = touched.iter().all(|table| *table == "late");
                    must(only_late, || format!("a settlement without a claim wrote {touched:?}: {:?}", settlements[0].claim))?;
                }
                for ((settlement, held), answer) in settlements.iter().zip(&held).zip(answer) {
                    let applied = matches!(answer, Settled::Applied { .. });
                    must(applied == *held, || format!("{:?} held: {held}, but the answer is {answer:?}", settlement.claim))?;
                }
                Ok(())
            }
            Detail::Started { claims, .. } if !claims.iter().any(|claim| self.holds(claim)) => {
                must(touched.is_empty(), || "a lost claim was started".to_owned())
            }
            Detail::Extended { claim, .. } if !self.holds(claim) => {
                must(touched.is_empty(), || format!("{claim:?} was extended"))
            }
            Detail::Marked { claim, .. } if !self.carries(claim.key(), claim.attempt(), claim.replica().as_str()) => {
                must(touched.is_empty(), || format!("{claim:?} was marked as sending, but it was lost"))
            }
            Detail::MessagesSettled { deliveries, answer } => {
                let (claim, delivery) = &deliveries[0];
                let holds = self.carries(claim.key(), claim.attempt(), claim.replica().as_str());
                let doubted = self.messages.get(claim.key()).is_some_and(|(_, _, status)| status == "in_doubt");
                let applied = matches!(answer[0], MessageSettled::Applied(_));
                must(holds || doubted || !applied, || format!("{claim:?} was lost, but {delivery:?} was applied"))?;
                must(holds || doubted || touched.is_empty(), || {
                    format!("{claim:?} was lost, but {delivery:?} changed {touched:?}")
                })
            }
            Detail::Chunk { claim, .. } if !self.reads(claim) => {
                must(touched.is_empty(), || format!("{claim:?} was lost, and its chunk changed {touched:?}"))
            }
            Detail::BatchWithheld { claim, .. } if !self.reads(claim) => {
                must(touched.is_empty(), || format!("{claim:?} was lost, and withheld all the same"))
            }
            Detail::BatchReleased { claim, .. } if !self.reads(claim) => {
                must(touched.is_empty(), || format!("{claim:?} was lost, and given back all the same"))
            }
            _ => Ok(()),
        }
    }

    fn reads(&self, claim: &onebell::model::BatchClaim) -> bool {
        let attempt = i64::try_from(claim.attempt()).unwrap_or(i64::MAX);
        self.batches.get(claim.batch()).is_some_and(|row| row.attempt == attempt && row.status == "running")
    }

    fn holds(&self, claim: &onebell::model::Claim) -> bool {
        let attempt = i64::try_from(claim.attempt()).unwrap_or(i64::MAX);
        self.steps.get(claim.step().as_str()).is_some_and(|(at, owner)| *at == attempt && owner == claim.replica().as_str())
    }

    fn carries(&self, key: &str, attempt: u64, replica: &str) -> bool {
        let attempt = i64::try_from(attempt).unwrap_or(i64::MAX);
        self.messages.get(key).is_some_and(|(at, owner, _)| *at == attempt && owner == replica)
    }

    fn remember(&mut self, commit: &Commit<'_>) {
        for change in &commit.changes.steps {
            self.steps.remove(&change.key);
            if let Some((row, owner)) = change.after.as_ref().and_then(|row| Some((row, row.locked_by.clone()?))) {
                self.steps.insert(change.key.clone(), (row.attempt, owner));
            }
        }
        for change in &commit.changes.batches {
            self.batches.remove(&change.key);
            self.batches.extend(change.after.as_ref().map(|row| (change.key.clone(), Arc::clone(row))));
        }
        for change in &commit.changes.messages {
            self.messages.remove(&change.key);
            if let Some(row) = &change.after {
                let owner = row.locked_by.clone().unwrap_or_default();
                self.messages.insert(change.key.clone(), (row.attempt, owner, row.status.clone()));
            }
        }
    }
}

/// What a batch has read, counted, found and written changes only by a chunk of its own.
fn only_with_a_chunk(commit: &Commit<'_>) -> Result<(), String> {
    let changes = commit.changes;
    let reading = match &commit.call.detail {
        Detail::Chunk { claim, .. } | Detail::BatchWithheld { claim } => Some(claim.batch()),
        _ => None,
    };
    let pruned = commit.call.verb == "prune";
    for change in changes.batches.iter().filter(|change| !pruned && reading != Some(change.key.as_str())) {
        let read = |row: &Option<Arc<BatchRow>>| row.as_ref().map_or((None, [0; 5]), |row| (row.byte, row.counts()));
        must(read(&change.before) == read(&change.after), || {
            format!("{} led batch {} from {:?} to {:?}", commit.call.verb, change.key, change.before, change.after)
        })?;
    }
    let effects = changes.effects.iter().filter_map(|change| change.after.as_ref()?.batch.as_deref());
    let found = changes.findings.iter().filter_map(|change| Some(change.after.as_ref()?.batch.as_str()));
    let foreign = effects.chain(found).find(|batch| reading != Some(batch));
    must(foreign.is_none(), || format!("{} wrote for batch {foreign:?}", commit.call.verb))?;
    let kept = |change: &Change<FindingRow>| change.before.is_none() || (pruned && change.after.is_none());
    let gone = changes.findings.iter().find(|change| !kept(change));
    must(gone.is_none(), || format!("a finding changed: {gone:?}"))
}
