//! I3: a superseded attempt changes no state. Whether a claim still holds is read from the tables before the call, not
//! from what the store answers.

use std::collections::{BTreeMap, BTreeSet};

use onebell::store::{MessageSettled, Settled};

use super::{Check, Commit, must};
use crate::call::Detail;

/// Who owned what before this commit.
#[derive(Default)]
pub(super) struct I03 {
    steps: BTreeMap<String, (i64, String)>,
    messages: BTreeMap<String, (i64, String, String)>,
}

impl Check for I03 {
    fn name(&self) -> &'static str {
        "i03"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        let judged = self.judge(commit);
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
            _ => Ok(()),
        }
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
        for change in &commit.changes.messages {
            self.messages.remove(&change.key);
            if let Some(row) = &change.after {
                let owner = row.locked_by.clone().unwrap_or_default();
                self.messages.insert(change.key.clone(), (row.attempt, owner, row.status.clone()));
            }
        }
    }
}
