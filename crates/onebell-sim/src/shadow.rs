//! What happened outside the database, or before its rows were pruned: kept by the world, to compare the tables with.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use onebell::model::JobDefinition;

use crate::feed::Feed;

/// What a recipient and people know of a message.
#[derive(Debug, Default, Clone)]
pub struct Received {
    /// How often its content arrived.
    pub times: u32,
    /// How often a person decided to send it again.
    pub decided: u32,
    /// A person said that it arrived.
    pub called_sent: bool,
}

/// The world's own memory.
#[derive(Debug, Default)]
pub struct Shadow {
    /// Attempts of messages whose sending mark was committed.
    pub marked: BTreeSet<(String, i64)>,
    /// By message key.
    pub received: BTreeMap<String, Received>,
    /// How often a handler was begun for an attempt of a step.
    pub begun: BTreeMap<(String, i64), u32>,
    /// Every definition ever carried, by hash.
    pub definitions: BTreeMap<String, JobDefinition>,
    /// The sources that loaders read, by name.
    pub feeds: BTreeMap<String, Arc<Feed>>,
    /// What went wrong outside of any commit.
    pub complaints: Vec<(&'static str, String)>,
}

impl Shadow {
    /// The content of a message arrived.
    pub fn arrived(&mut self, key: &str, attempt: u64, policy_holds: bool) {
        let marked = self.marked.contains(&(key.to_owned(), i64::try_from(attempt).unwrap_or(i64::MAX)));
        let received = self.received.entry(key.to_owned()).or_default();
        received.times += 1;
        if !marked {
            self.complaints.push(("i09", format!("message {key} went out under attempt {attempt} without a sending mark")));
        }
        if policy_holds && received.times > 1 + received.decided {
            let (times, decided) = (received.times, received.decided);
            self.complaints
                .push(("i09", format!("message {key} (hold) arrived {times} times, {decided} of them decided by a person")));
        }
    }

    /// A handler begins to work for an attempt.
    pub fn begins(&mut self, step: &str, attempt: u64) {
        let key = (step.to_owned(), i64::try_from(attempt).unwrap_or(i64::MAX));
        let times = self.begun.entry(key).or_default();
        *times += 1;
        if *times > 1 {
            self.complaints.push(("i02", format!("attempt {attempt} of {step} was begun {times} times")));
        }
    }

    /// Its row was pruned: the same key begins anew.
    pub fn forget_message(&mut self, key: &str) {
        self.received.remove(key);
        self.marked.retain(|(marked, _)| marked != key);
    }

    /// Its rows were pruned: a request with the same key begins anew.
    pub fn forget_run(&mut self, run: &str) {
        self.begun.retain(|(step, _), _| !is_of(step, run));
    }
}

/// Whether a step belongs to a run, by its id.
pub(crate) fn is_of(step: &str, run: &str) -> bool {
    step.strip_prefix(run).is_some_and(|rest| rest.starts_with('.'))
}
