//! What becomes of the records of a chunk. The store says what it met for each identity; identities that come twice are
//! decided here, so that it makes no difference whether they stand in one chunk or in two.

use std::collections::{BTreeMap, BTreeSet};

use super::{Counts, RecordOutcome};
use crate::model::Fingerprint;
use crate::model::fingerprint::{Kind, Member, canonical, json_string, members};
use crate::model::record::{Item, Position, Record, Rejection};

/// What the store met for an identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Met {
    /// Nothing: it is written now.
    New,
    /// It was there.
    Kept {
        /// With this fingerprint.
        fingerprint: Fingerprint,
        /// Why the business had said no.
        failed: Option<String>,
        /// What is there, when the fingerprint is another.
        payload: Option<String>,
    },
    /// The user's statements refused it: nothing of it is kept.
    Refused(String),
}

/// A record that somebody should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Where it begins.
    pub place: Position,
    /// Rejected, conflict or failed.
    pub outcome: RecordOutcome,
    /// Its identity, if that much is known.
    pub key: Option<String>,
    /// Why, for people.
    pub reason: String,
    /// Its bytes, or its payload.
    pub record: Vec<u8>,
}

impl From<&Rejection> for Finding {
    fn from(rejection: &Rejection) -> Self {
        Self {
            place: rejection.place,
            outcome: RecordOutcome::Rejected,
            key: rejection.key.clone(),
            reason: rejection.reason.clone(),
            record: rejection.raw.clone(),
        }
    }
}

/// What became of a chunk.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sorted {
    /// How many ended how.
    pub counts: Counts,
    /// In the order of the source.
    pub findings: Vec<Finding>,
}

/// The records of a chunk on their way: [`Sorting::round`] gives some of different identities, [`Sorting::met`] takes what the
/// store met; until none is left.
#[derive(Debug)]
pub struct Sorting<'c> {
    /// By identity, each in the order of the source.
    open: BTreeMap<&'c str, Vec<&'c Record>>,
    sorted: Sorted,
}

impl<'c> Sorting<'c> {
    /// Of a chunk's items.
    pub fn of(items: &'c [Item]) -> Self {
        let mut sorting = Self { open: BTreeMap::new(), sorted: Sorted::default() };
        for item in items {
            match item {
                Item::Record(record) => sorting.open.entry(record.key.as_str()).or_default().push(record),
                Item::Rejected(rejection) => {
                    sorting.sorted.counts.add(RecordOutcome::Rejected);
                    sorting.sorted.findings.push(rejection.into());
                }
            }
        }
        sorting
    }

    /// One record of each identity that is not decided yet, by key; none: all is decided.
    pub fn round(&self) -> Vec<&'c Record> {
        self.open.values().filter_map(|records| records.first().copied()).collect()
    }

    /// What the store met for each record of a round.
    pub fn met(&mut self, round: Vec<(&'c Record, Met)>) {
        for (record, met) in round {
            let rest: Vec<&Record> = self.open.remove(record.key.as_str()).unwrap_or_default().into_iter().skip(1).collect();
            match met {
                Met::New => {
                    match &record.failed {
                        None => self.sorted.counts.add(RecordOutcome::Applied),
                        Some(reason) => self.finding(record, RecordOutcome::Failed, reason.clone()),
                    }
                    self.rest_meets(rest, record.fingerprint, record.failed.as_deref(), Some(&record.payload));
                }
                Met::Kept { fingerprint, failed, payload } => {
                    let all = std::iter::once(record).chain(rest).collect();
                    let same = (fingerprint == record.fingerprint).then_some(record.payload.as_str());
                    self.rest_meets(all, fingerprint, failed.as_deref(), payload.as_deref().or(same));
                }
                Met::Refused(reason) => {
                    let (same, others): (Vec<&Record>, Vec<&Record>) =
                        rest.into_iter().partition(|other| other.fingerprint == record.fingerprint);
                    for refused in std::iter::once(record).chain(same) {
                        self.finding(refused, RecordOutcome::Rejected, reason.clone());
                    }
                    if !others.is_empty() {
                        self.open.insert(others[0].key.as_str(), others);
                    }
                }
            }
        }
    }

    /// Records whose identity is there: Already, or Conflict.
    fn rest_meets(&mut self, rest: Vec<&'c Record>, kept: Fingerprint, failed: Option<&str>, payload: Option<&str>) {
        for record in rest {
            match failed {
                _ if record.fingerprint != kept => {
                    let (key, refused) = (record.key.as_str(), record.fingerprint);
                    let conflict = Conflict { key, kept, kept_payload: payload, refused, refused_payload: &record.payload };
                    self.finding(record, RecordOutcome::Conflict, conflict.reason());
                }
                Some(reason) => self.finding(record, RecordOutcome::Failed, reason.to_owned()),
                None => self.sorted.counts.add(RecordOutcome::Already),
            }
        }
    }

    fn finding(&mut self, record: &Record, outcome: RecordOutcome, reason: String) {
        self.sorted.counts.add(outcome);
        self.sorted.findings.push(Finding {
            place: record.place,
            outcome,
            key: Some(record.key.as_str().to_owned()),
            reason,
            record: record.payload.clone().into_bytes(),
        });
    }

    /// What became of all.
    pub fn end(mut self) -> Sorted {
        self.sorted.findings.sort_by_key(|finding| finding.place);
        self.sorted
    }
}

/// More are not listed.
const FIELDS_MAX: usize = 5;
/// A value is shown up to so many characters.
const SHOWN_MAX: usize = 40;

/// The same identity with two payloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Conflict<'c> {
    /// The identity.
    pub key: &'c str,
    /// What is there.
    pub kept: Fingerprint,
    /// Its payload, if it is at hand.
    pub kept_payload: Option<&'c str>,
    /// What came.
    pub refused: Fingerprint,
    /// Its payload.
    pub refused_payload: &'c str,
}

impl Conflict<'_> {
    /// For people: both fingerprints, and what is different where that can be told.
    pub fn reason(&self) -> String {
        let Self { key, kept, kept_payload, refused, refused_payload } = self;
        let different = kept_payload.and_then(|payload| different(payload, refused_payload)).unwrap_or_default();
        let what = if different.is_empty() { "its amount is another".to_owned() } else { different.join(", ") };
        format!(
            "{key} exists with another payload: {what} (kept {kept}, refused {refused}); a correction needs an identity of its own"
        )
    }
}

/// The fields that two objects do not have in common, kept value first.
fn different(kept: &str, refused: &str) -> Option<Vec<String>> {
    let (mut kept_form, mut refused_form) = (String::new(), String::new());
    let (kept, refused) = (members(kept, 0, &mut kept_form).ok()?, members(refused, 0, &mut refused_form).ok()?);
    let names: BTreeSet<&str> = kept.iter().chain(&refused).map(|member| member.name.as_ref()).collect();
    let of = |side: &[Member<'_>], name: &str| side.iter().find(|member| member.name == name).map(told);
    let pairs =
        names.into_iter().map(|name| (name, of(&kept, name), of(&refused, name))).filter(|(_, kept, refused)| kept != refused);
    Some(pairs.take(FIELDS_MAX).map(|(name, kept, refused)| format!("{name} {} → {}", shown(kept), shown(refused))).collect())
}

fn told(member: &Member<'_>) -> String {
    match member.kind {
        Kind::Text => json_string(&member.value),
        Kind::Number | Kind::Other => canonical(&member.value).unwrap_or_else(|_| member.value.clone().into_owned()),
    }
}

fn shown(value: Option<String>) -> String {
    let Some(value) = value else { return "missing".to_owned() };
    if value.chars().count() <= SHOWN_MAX { value } else { value.chars().take(SHOWN_MAX).chain("…".chars()).collect() }
}
