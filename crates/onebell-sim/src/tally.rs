//! What a history was made of: so that a run of seeds can say how often each state and each fault was really there.

use std::collections::BTreeMap;

use onebell::store::ChunkAnswer;

use crate::call::{Call, Detail};
use crate::snapshot::Changes;

/// Counts by name.
#[derive(Debug, Default, Clone)]
pub struct Tally(BTreeMap<String, u64>);

impl Tally {
    /// One more.
    pub fn count(&mut self, kind: &str, word: &str) {
        *self.0.entry(format!("{kind} {word}")).or_default() += 1;
    }

    /// All of another one.
    pub fn add(&mut self, other: &Self) {
        for (name, count) in &other.0 {
            *self.0.entry(name.clone()).or_default() += count;
        }
    }

    /// How often.
    pub fn of(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or_default()
    }

    /// Everything, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(name, count)| (name.as_str(), *count))
    }

    /// A call that changed nothing.
    pub(crate) fn take_unwritten(&mut self, call: &Call) {
        match &call.detail {
            Detail::Chunk { answer: ChunkAnswer::Applied(_), .. } => self.count("chunk", "repeated"),
            Detail::Chunk { answer: ChunkAnswer::Superseded, .. } => self.count("chunk", "superseded"),
            Detail::BatchReleased { answer: false, .. } => self.count("batch", "given back too late"),
            _ => {}
        }
    }

    fn take_messages(&mut self, changes: &Changes) {
        for change in &changes.messages {
            let Some(after) = &change.after else { continue };
            if change.before.as_ref().is_none_or(|before| before.status != after.status) {
                self.count("message", &after.status);
            }
            let kind = change.key.strip_prefix("alarm/").and_then(|rest| rest.split('/').next());
            if let (None, Some(kind)) = (&change.before, kind) {
                self.count("alarm", kind);
            }
        }
    }

    pub(crate) fn take(&mut self, changes: &Changes) {
        for row in changes.attempts.iter().filter(|change| change.before.is_none()).filter_map(|change| change.after.as_ref()) {
            self.count("attempt", &row.outcome);
        }
        for change in &changes.runs {
            let Some(after) = &change.after else { continue };
            if change.before.is_none() && after.origin == "backfill" {
                self.count("run", "of a backfill");
            }
            if change.before.as_ref().is_none_or(|before| before.status != after.status) {
                self.count("run", &after.status);
            }
        }
        self.take_messages(changes);
        for change in &changes.batches {
            let Some(after) = &change.after else { continue };
            let before = change.before.as_ref();
            if before.is_none_or(|before| before.status != after.status) {
                self.count("batch", &after.status);
            }
            if before.is_some_and(|before| before.status == "running" && before.attempt < after.attempt) {
                self.count("batch", "taken over");
            }
            let counted = before.map_or([0; 5], |before| before.counts());
            let words = ["applied", "already", "conflict", "rejected", "failed"];
            for ((word, now), before) in words.into_iter().zip(after.counts()).zip(counted) {
                (before..now).for_each(|_| self.count("record", word));
            }
        }
        for row in changes.skips.iter().filter_map(|change| change.after.as_ref()) {
            self.count("skip", &row.reason);
        }
        for row in changes.requests.iter().filter_map(|change| change.after.as_ref()) {
            self.count(&row.status, &row.kind);
        }
        changes.late.iter().for_each(|_| self.count("late", "settlement"));
        changes
            .terms
            .iter()
            .filter(|change| {
                change.before.as_ref().is_some_and(|before| Some(before.epoch) != change.after.as_ref().map(|row| row.epoch))
            })
            .for_each(|_| self.count("term", "taken"));
        changes.runs.iter().filter(|change| change.after.is_none()).for_each(|_| self.count("run", "pruned"));
        changes.messages.iter().filter(|change| change.after.is_none()).for_each(|_| self.count("message", "pruned"));
        changes
            .jobs
            .iter()
            .filter(|change| {
                change.before.as_ref().is_some_and(|before| Some(before.version) != change.after.as_ref().map(|row| row.version))
            })
            .for_each(|_| self.count("job", "edited"));
        let held = changes.steps.iter().filter(|change| change.after.as_ref().is_some_and(|row| row.uncarried));
        held.for_each(|_| self.count("step", "held uncarried"));
        let left =
            |row: &Option<std::sync::Arc<crate::snapshot::ReplicaRow>>| row.as_ref().is_some_and(|row| row.left_at.is_some());
        let leaves = changes.replicas.iter().filter(|change| left(&change.after) && !left(&change.before));
        leaves.for_each(|_| self.count("replica", "left"));
        changes
            .replicas
            .iter()
            .filter(|change| change.after.as_ref().is_some_and(|row| row.lost_at.is_some()))
            .for_each(|_| self.count("replica", "lost"));
    }
}
