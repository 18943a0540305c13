//! I13: totals are computed from effects, and the effects are those of the steps that completed: none twice, none missing.

use std::collections::BTreeMap;

use onebell::model::step::Verdict;
use onebell::store::Settled;

use super::{Check, Commit, End, must};
use crate::call::Detail;

#[derive(Default)]
pub(super) struct I13 {
    /// By scope and key: the amount.
    expected: BTreeMap<String, Option<i64>>,
}

impl Check for I13 {
    fn name(&self) -> &'static str {
        "i13"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
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
        for (key, row) in end.now.effects.iter() {
            there.insert(key.to_owned(), row.amount);
        }
        let differs = self.expected.iter().find(|(key, amount)| there.get(*key) != Some(amount));
        must(differs.is_none(), || format!("{differs:?} was completed and is not in the ledger"))?;
        let more = there.keys().find(|key| !self.expected.contains_key(*key));
        must(more.is_none(), || format!("{more:?} is in the ledger, and nothing that completed wrote it"))
    }
}
