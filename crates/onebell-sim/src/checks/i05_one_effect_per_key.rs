//! I5: one effect per key. The same again is Already, another payload is a conflict and changes nothing.

use super::{Check, Commit, must};

#[derive(Default)]
pub(super) struct I05;

impl Check for I05 {
    fn name(&self) -> &'static str {
        "i05"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        for change in commit.changes.effects.iter().filter(|change| change.before.is_some()) {
            must(false, || format!("effect {} was {:?} and is {:?}", change.key, change.before, change.after))?;
        }
        for change in &commit.changes.messages {
            let (Some(before), Some(after)) = (&change.before, &change.after) else { continue };
            must(before.fingerprint == after.fingerprint, || format!("the payload of message {} changed", change.key))?;
        }
        for change in &commit.changes.keys {
            let (Some(before), Some(after)) = (&change.before, &change.after) else { continue };
            must(before == after, || format!("request key {} changed", change.key))?;
        }
        Ok(())
    }
}
