//! What a batch has to do with each record, said once more and one after the other: chunks, retries and crashes make no difference.

use std::collections::BTreeMap;

use onebell::model::record::{Item, Record};

use crate::feed::REFUSED;

/// What was written for an identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) fingerprint: String,
    pub(super) amount: Option<i64>,
    pub(super) failed: Option<String>,
}

/// The identities of all scopes, by scope and key.
#[derive(Debug, Default, Clone)]
pub(super) struct Ledger(BTreeMap<String, Entry>);

/// What some records come to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Came {
    /// Applied, already, conflicts, rejected, failed.
    pub(super) counts: [i64; 5],
    /// By scope and key.
    pub(super) written: BTreeMap<String, Entry>,
    /// By place.
    pub(super) found: BTreeMap<i64, &'static str>,
}

impl Ledger {
    /// The records are read now, in this order.
    pub(super) fn read(&mut self, scope: &str, items: &[Item], with_statements: bool) -> Came {
        let mut came = Came::default();
        for item in items {
            let (place, outcome) = match item {
                Item::Rejected(rejection) => (rejection.place, 3),
                Item::Record(record) => (record.place, self.one(scope, record, with_statements, &mut came)),
            };
            came.counts[outcome] += 1;
            let word = match outcome {
                2 => "conflict",
                3 => "rejected",
                4 => "failed",
                _ => continue,
            };
            came.found.insert(i64::try_from(place.byte).unwrap_or(i64::MAX), word);
        }
        came
    }

    /// The place of its outcome among the counts.
    fn one(&mut self, scope: &str, record: &Record, with_statements: bool, came: &mut Came) -> usize {
        let key = format!("{scope}/{}", record.key);
        let fingerprint = record.fingerprint.to_string();
        match self.0.get(&key) {
            Some(kept) if kept.fingerprint != fingerprint => 2,
            Some(kept) if kept.failed.is_some() => 4,
            Some(_) => 1,
            None if record.failed.is_none() && with_statements && record.amount == Some(REFUSED) => 3,
            None => {
                let entry = Entry { fingerprint, amount: record.amount, failed: record.failed.clone() };
                came.written.insert(key.clone(), entry.clone());
                self.0.insert(key, entry);
                if record.failed.is_some() { 4 } else { 0 }
            }
        }
    }

    /// All of it.
    pub(super) fn entries(&self) -> &BTreeMap<String, Entry> {
        &self.0
    }
}
