//! What was asked about after a restore goes on by a person's word alone; a message also by a late proof.

use std::collections::BTreeSet;

use super::{Check, Commit, must};
use crate::call::Port;

/// The verb that asks.
const ASKS: &str = "question";

#[derive(Default)]
pub(super) struct Asked {
    steps: BTreeSet<String>,
    messages: BTreeSet<String>,
}

impl Check for Asked {
    fn name(&self) -> &'static str {
        "asked"
    }

    fn commit(&mut self, commit: &Commit<'_>) -> Result<(), String> {
        let (port, verb) = (commit.call.port, commit.call.verb);
        for change in &commit.changes.steps {
            let status = change.after.as_ref().map(|row| row.status.as_str());
            if verb == ASKS && status == Some("held") {
                self.steps.insert(change.key.clone());
            } else if self.steps.remove(&change.key) {
                let let_go = port == Port::Operator || port == Port::Janitor;
                must(let_go, || format!("{verb} moved {}, which nobody has decided: {change:?}", change.key))?;
            }
        }
        for change in &commit.changes.messages {
            let status = change.after.as_ref().map(|row| row.status.as_str());
            if verb == ASKS && status == Some("in_doubt") {
                self.messages.insert(change.key.clone());
            } else if status != Some("in_doubt") && self.messages.remove(&change.key) {
                let proven = port == Port::Relay && status == Some("sent");
                let let_go = port == Port::Operator || port == Port::Janitor || proven;
                must(let_go, || format!("{verb} moved message {}, which nobody has decided: {change:?}", change.key))?;
            }
        }
        Ok(())
    }
}
