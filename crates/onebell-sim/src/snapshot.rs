//! The tables as they stand after a commit, and what the commit changed. Read past the store's verbs; only tables that
//! were written are read, and only what changed is looked at more closely.

mod rows;
mod sql;
mod table;

use std::sync::Arc;

use onebell::store::AgentStore;
use onebell::store::sqlite::SqliteStore;
use serde_json::Value;

pub use rows::{
    AttemptRow, BatchRow, EffectRow, FindingRow, JobRow, KeyRow, LateRow, LoadRow, MessageRow, ReplicaRow, RequestRow, RunRow,
    SkipRow, StepRow, TermRow, VigilRow, WorkRow,
};
pub use table::{Change, Table};

use crate::executor::at_once;

macro_rules! tables {
    ($($(#[$doc:meta])* $name:ident: $row:ty),+ $(,)?) => {
        /// Every table.
        #[derive(Debug, Default)]
        pub struct Snapshot { $($(#[$doc])* pub $name: Table<$row>),+ }

        /// What one commit changed.
        #[derive(Debug, Default)]
        pub struct Changes { $($(#[$doc])* pub $name: Vec<Change<$row>>),+ }

        impl Snapshot {
            fn take(&mut self, read: impl Fn(&'static str) -> Option<String>) -> Changes {
                Changes { $($name: read(stringify!($name)).map_or_else(Vec::new, |text| self.$name.take(text))),+ }
            }
        }

        impl Changes {
            /// The names of the tables that changed, in the order above.
            pub fn touched(&self) -> Vec<&'static str> {
                let mut touched = Vec::new();
                $(if !self.$name.is_empty() { touched.push(stringify!($name)); })+
                touched
            }
        }
    };
}

tables! {
    /// Runs.
    runs: RunRow,
    /// Steps that are not done.
    steps: StepRow,
    /// The history.
    attempts: AttemptRow,
    /// The outbox.
    messages: MessageRow,
    /// The ledger.
    effects: EffectRow,
    /// Rows that the steps' own statements wrote.
    work: WorkRow,
    /// Readings of sources.
    batches: BatchRow,
    /// What they found.
    findings: FindingRow,
    /// Rows that the statements over chunks wrote.
    loads: LoadRow,
    /// Recovery requests.
    requests: RequestRow,
    /// Jobs.
    jobs: JobRow,
    /// Skips.
    skips: SkipRow,
    /// What is kept of watched jobs.
    vigils: VigilRow,
    /// Request keys.
    keys: KeyRow,
    /// Late results.
    late: LateRow,
    /// Replicas.
    replicas: ReplicaRow,
    /// Terms.
    terms: TermRow,
}

impl Snapshot {
    /// Reads anew what was written: what changed since the last time.
    pub fn refresh(&mut self, store: &Arc<SqliteStore>, written: &[&'static str]) -> Changes {
        self.take(|name| {
            let source = sql::SOURCES.iter().find(|source| source.name == name && written.contains(&name))?;
            Some(text_of(store, source.query))
        })
    }
}

/// What tells which tables were written since one asked last.
#[derive(Debug, Default)]
pub struct Written(String);

impl Written {
    /// What a database needs so that it can be asked. It is gone with the connection.
    pub fn watching() -> String {
        sql::watching()
    }

    /// The tables that were written since the last time, by their names in the snapshot.
    pub fn since(&mut self, store: &Arc<SqliteStore>) -> Vec<&'static str> {
        let counts = text_of(store, sql::TOUCHED);
        if counts == self.0 {
            return Vec::new();
        }
        let mut before = self.0.split(' ');
        let touched = sql::SOURCES.iter().zip(counts.split(' ')).filter(|(_, count)| before.next() != Some(count));
        let touched = touched.map(|(source, _)| source.name).collect();
        self.0 = counts;
        touched
    }

    /// All rows that were ever written, by table.
    pub fn counts(&self) -> &str {
        &self.0
    }
}

/// The one text that a query gives.
fn text_of(store: &Arc<SqliteStore>, query: &str) -> String {
    let rows = at_once(store.query_rows(query)).unwrap_or_else(|error| panic!("the tables cannot be read: {error}"));
    let rows: Value = serde_json::from_str(&rows).unwrap_or_default();
    rows.pointer("/0/rows").and_then(Value::as_str).unwrap_or_default().to_owned()
}

impl Changes {
    /// What moved, a line each, for a trace.
    pub fn told(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut line = |kind: &str, key: &str, before: Option<&str>, after: Option<&str>| {
            if before != after {
                lines.push(format!("    {kind} {key}: {} -> {}", before.unwrap_or("-"), after.unwrap_or("-")));
            }
        };
        for change in &self.runs {
            let status = |row: &Option<Arc<RunRow>>| row.as_ref().map(|row| row.status.clone());
            line("run", &change.key, status(&change.before).as_deref(), status(&change.after).as_deref());
        }
        for change in &self.steps {
            let status = |row: &Option<Arc<StepRow>>| row.as_ref().map(|row| row.status.clone());
            line("step", &change.key, status(&change.before).as_deref(), status(&change.after).as_deref());
        }
        for change in &self.attempts {
            let status = |row: &Option<Arc<AttemptRow>>| row.as_ref().map(|row| row.outcome.clone());
            line("attempt", &change.key, status(&change.before).as_deref(), status(&change.after).as_deref());
        }
        for change in &self.messages {
            let status = |row: &Option<Arc<MessageRow>>| row.as_ref().map(|row| row.status.clone());
            line("message", &change.key, status(&change.before).as_deref(), status(&change.after).as_deref());
        }
        for change in &self.batches {
            let stands = |row: &Option<Arc<BatchRow>>| row.as_ref().map(|row| row.stands());
            line("batch", &change.key, stands(&change.before).as_deref(), stands(&change.after).as_deref());
        }
        for change in &self.effects {
            line("effect", &change.key, None, change.after.as_ref().map(|row| row.fingerprint.as_str()));
        }
        for change in &self.vigils {
            let stands = |row: &Option<Arc<VigilRow>>| row.as_ref().map(|row| format!("{row:?}"));
            line("vigil", &change.key, stands(&change.before).as_deref(), stands(&change.after).as_deref());
        }
        for change in &self.skips {
            line("skip", &change.key, None, change.after.as_ref().map(|row| row.reason.as_str()));
        }
        lines
    }
}
