//! I5: one effect per key. The same again is Already, another payload is a conflict and changes nothing.

use onebell::store::Triggered;

use super::{Check, Commit, must};
use crate::call::Detail;

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
        if let Detail::Triggered { trigger, answer: Triggered::Opened(run) } = &commit.call.detail {
            let kept = commit.now.keys.get(trigger.key.as_str()).is_some_and(|row| row.run == run.as_str());
            must(kept, || format!("{run} was opened, and its request key {} is not kept", trigger.key))?;
        }
        for change in &commit.changes.keys {
            let (Some(before), Some(after)) = (&change.before, &change.after) else { continue };
            must(before == after, || format!("request key {} changed", change.key))?;
        }
        Ok(())
    }
}
