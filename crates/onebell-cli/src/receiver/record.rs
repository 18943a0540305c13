use std::collections::{BTreeMap, VecDeque};

/// A request whose work was done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Number of its `Done` event.
    pub number: u64,
    /// As the request line says.
    pub method: String,
    /// Path and query, or the whole URL when a proxy was asked.
    pub target: String,
    /// Its `Idempotency-Key`; empty when it has none.
    pub key: String,
    /// Its `Onebell-Attempt`; 0 when it has none.
    pub attempt: u64,
    /// All headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, if it is to be kept.
    pub body: Option<Vec<u8>>,
}

impl Record {
    /// The first header of this name (in lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// What was done.
#[derive(Debug, Default)]
pub(super) struct Records {
    by_key: BTreeMap<String, u64>,
    all: VecDeque<Record>,
}

impl Records {
    pub(super) fn add(&mut self, record: Record, most: usize) {
        *self.by_key.entry(record.key.clone()).or_default() += 1;
        self.all.push_back(record);
        while self.all.len() > most {
            self.all.pop_front();
        }
    }

    pub(super) fn by_key(&self) -> &BTreeMap<String, u64> {
        &self.by_key
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Record> {
        self.all.iter()
    }
}
