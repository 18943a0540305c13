//! The tables as they stand after a commit, and what the commit changed. Read past the store's verbs, in one query;
//! only what changed is looked at more closely.

mod rows;
mod sql;
mod table;

use std::sync::Arc;

use onebell::store::AgentStore;
use onebell::store::sqlite::SqliteStore;
use serde_json::Value;

pub use rows::{
    AttemptRow, BatchRow, EffectRow, FindingRow, JobRow, KeyRow, LateRow, LoadRow, MessageRow, ReplicaRow, RequestRow, RunRow,
    SkipRow, StepRow, TermRow, WorkRow,
};
pub use table::{Change, Table};

use crate::call::Port;
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
            fn take(&mut self, tables: &serde_json::Map<String, Value>) -> Changes {
                Changes {
                    $($name: match tables.get(stringify!($name)) {
                        Some(text) => self.$name.take(text.as_str().unwrap_or_default()),
                        None => Vec::new(),
                    }),+
                }
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
    /// Request keys.
    keys: KeyRow,
    /// Late results.
    late: LateRow,
    /// Replicas.
    replicas: ReplicaRow,
    /// Terms.
    terms: TermRow,
}

/// Which tables are read: reading takes most of the time of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// All of them.
    Whole,
    /// Those of renewals and terms.
    Signs,
    /// Steps.
    Steps,
    /// Messages.
    Messages,
    /// Requests.
    Requests,
    /// Batches, what they found and wrote.
    Batches,
}

impl Part {
    /// What a verb may write, if that is one table or two.
    pub fn of(port: Port, verb: &str) -> Self {
        match (port, verb) {
            (Port::Replica | Port::Leader, _) => Self::Signs,
            (Port::Agent, "claim_steps" | "start_steps" | "extend_step") => Self::Steps,
            (Port::Relay, _) => Self::Messages,
            (Port::Supervisor, _) => Self::Requests,
            (Port::Batch, _) => Self::Batches,
            _ => Self::Whole,
        }
    }

    fn query(self) -> &'static str {
        match self {
            Self::Whole => sql::ALL,
            Self::Signs => sql::SIGNS,
            Self::Steps => sql::STEPS,
            Self::Messages => sql::MESSAGES,
            Self::Requests => sql::REQUESTS,
            Self::Batches => sql::BATCHES,
        }
    }
}

impl Snapshot {
    /// Reads tables anew: what changed since the last time.
    pub fn refresh(&mut self, store: &Arc<SqliteStore>, part: Part) -> Changes {
        let text = at_once(store.query_rows(part.query())).unwrap_or_else(|error| panic!("the tables cannot be read: {error}"));
        let rows: Value = serde_json::from_str(&text).unwrap_or_default();
        rows.get(0).and_then(Value::as_object).map(|tables| self.take(tables)).unwrap_or_default()
    }
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
        for change in &self.skips {
            line("skip", &change.key, None, change.after.as_ref().map(|row| row.reason.as_str()));
        }
        lines
    }
}

/// A number that grows with every row that is written.
pub fn writes(store: &Arc<SqliteStore>) -> String {
    at_once(store.query_rows("SELECT total_changes() AS n")).unwrap_or_default()
}
