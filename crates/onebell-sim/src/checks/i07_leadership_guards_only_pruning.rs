//! I7: safety depends on neither clocks nor leadership. All other checks hold under clocks that jump and under leaders
//! that do not know of each other; this one watches what a term does guard: pruning.

use std::collections::BTreeMap;

use super::{Check, Commit, must};
use crate::call::Detail;
use onebell::store::Guarded;

#[derive(Default)]
pub(super) struct I07 {
    terms: BTreeMap<String, (String, i64)>,
}

impl Check for I07 {
    fn name(&self) -> &'static str {
        "i07"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        if let Detail::Pruned { term, answer, .. } = &commit.call.detail {
            let epoch = i64::try_from(term.epoch()).unwrap_or(i64::MAX);
            let ours = self.terms.get(term.duty()) == Some(&(term.holder().to_string(), epoch));
            let touched = commit.changes.touched();
            must(ours || touched.is_empty(), || format!("{} pruned {touched:?} without a term", term.holder()))?;
            must(ours == matches!(answer, Guarded::Done(_)), || format!("the term held: {ours}, but the answer is {answer:?}"))?;
        }
        if let Detail::Reported { term, answer } = &commit.call.detail {
            let epoch = i64::try_from(term.epoch()).unwrap_or(i64::MAX);
            let ours = self.terms.get(term.duty()) == Some(&(term.holder().to_string(), epoch));
            must(ours || commit.changes.terms.is_empty(), || format!("{} extended a term of somebody else", term.holder()))?;
            must(ours == *answer, || format!("the term held: {ours}, but the answer is {answer}"))?;
        }
        for change in &commit.changes.terms {
            let Some(after) = &change.after else { return Err(format!("the term of {} is gone", change.key)) };
            if let Some(before) = &change.before {
                let same = before.holder == after.holder && before.epoch == after.epoch;
                let expired = before.expires_at <= commit.at.micros();
                must(same || (after.epoch == before.epoch + 1 && expired), || {
                    format!("the term went from {before:?} to {after:?} before it expired")
                })?;
            }
            self.terms.insert(change.key.clone(), (after.holder.clone(), after.epoch));
        }
        Ok(())
    }
}
