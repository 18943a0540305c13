//! What a template sees, and a memory of what it looked at: the engine's errors do not say which field was missing.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use minijinja::Value;
use minijinja::value::{Enumerator, Object};

use super::exact;

/// What is known of the run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFacts {
    /// `run.id`.
    pub id: String,
    /// `run.scheduled_for`, RFC 3339; null for a run without a slot.
    pub scheduled_for: Option<String>,
    /// `run.input`, JSON text.
    pub input: Option<String>,
}

/// What one rendering sees.
#[derive(Debug, Clone)]
pub struct Scope {
    job: String,
    step: String,
    run: RunFacts,
    row: Option<String>,
    rows: Option<String>,
    callback: Option<String>,
}

impl RunFacts {
    /// What `run` has.
    pub(super) const FIELDS: [&str; 3] = ["id", "input", "scheduled_for"];
}

impl Scope {
    /// `row` is the text of a JSON object.
    pub fn new(job: &str, step: &str, run: &RunFacts, row: &str) -> Self {
        Self {
            job: job.to_owned(),
            step: step.to_owned(),
            run: run.clone(),
            row: Some(row.to_owned()),
            rows: None,
            callback: None,
        }
    }

    /// For a template that sees all rows at once: the text of a JSON array, if there is any.
    pub fn of_rows(job: &str, step: &str, run: &RunFacts, rows: Option<String>) -> Self {
        Self { job: job.to_owned(), step: step.to_owned(), run: run.clone(), row: None, rows, callback: None }
    }

    /// With where the step is called back.
    pub fn called_back(self, callback: Option<String>) -> Self {
        Self { callback, ..self }
    }

    pub(super) fn value(&self, trace: &Arc<Trace>) -> Value {
        let null = || Value::from(());
        let run = BTreeMap::from([
            ("id".to_owned(), Value::from(self.run.id.as_str())),
            ("scheduled_for".to_owned(), self.run.scheduled_for.as_deref().map_or_else(null, Value::from)),
            (
                "input".to_owned(),
                self.run.input.as_deref().and_then(|text| exact::value(text, "run.input", trace)).unwrap_or_else(null),
            ),
        ]);
        let mut root = BTreeMap::from([
            ("job".to_owned(), Value::from(self.job.as_str())),
            ("step".to_owned(), Value::from(self.step.as_str())),
            ("run".to_owned(), Value::from_object(Node::new("run", run, trace))),
        ]);
        if let Some(callback) = &self.callback {
            root.insert("callback".to_owned(), Value::from(callback.as_str()));
        }
        for (name, text) in [("row", &self.row), ("rows", &self.rows)] {
            if let Some(text) = text {
                root.insert(name.to_owned(), exact::value(text, name, trace).unwrap_or_else(null));
            }
        }
        Value::from_object(Node::new("", root, trace))
    }
}

/// Where the template looked last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Last {
    pub(super) path: String,
    /// Nothing was there; else what was there was null.
    pub(super) missing: bool,
    pub(super) present: Vec<String>,
}

/// What a rendering looked at.
#[derive(Debug, Default)]
pub(super) struct Trace {
    last: Mutex<Option<Last>>,
    spelled: Mutex<BTreeMap<u64, String>>,
}

impl Trace {
    pub(super) fn clear(&self) {
        *locked(&self.last) = None;
        locked(&self.spelled).clear();
    }

    pub(super) fn last(&self) -> Option<Last> {
        locked(&self.last).clone()
    }

    /// Keeps how a float was written: `1.50` is printed as `1.50`, not as `1.5`.
    pub(super) fn remember(&self, float: f64, text: &str) {
        locked(&self.spelled).entry(float.to_bits()).or_insert_with(|| text.to_owned());
    }

    /// How this number was written in the row.
    pub(super) fn number(&self, value: &Value) -> Option<String> {
        if value.kind() != minijinja::value::ValueKind::Number || value.is_integer() {
            return None;
        }
        let float = f64::try_from(value.clone()).ok()?;
        locked(&self.spelled).get(&float.to_bits()).cloned()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A JSON object that notes which missing or null field was asked for.
#[derive(Debug)]
pub(super) struct Node {
    path: String,
    fields: BTreeMap<String, Value>,
    trace: Arc<Trace>,
}

impl Node {
    pub(super) fn new(path: &str, fields: BTreeMap<String, Value>, trace: &Arc<Trace>) -> Self {
        Self { path: path.to_owned(), fields, trace: Arc::clone(trace) }
    }
}

impl Object for Node {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let found = key.as_str().and_then(|key| self.fields.get(key));
        if found.is_none_or(Value::is_none) {
            let path = if self.path.is_empty() { key.to_string() } else { format!("{}.{key}", self.path) };
            let present = if found.is_none() { self.fields.keys().cloned().collect() } else { Vec::new() };
            *locked(&self.trace.last) = Some(Last { path, missing: found.is_none(), present });
        }
        found.cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.fields.keys().map(|key| Value::from(key.as_str())).collect())
    }
}
