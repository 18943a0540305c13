//! Between which instants, and on which days not, schedules count.

use serde::{Deserialize, Serialize};

/// Limits of a job's schedules, as text: they are read where the schedules are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Limits {
    /// Nothing is due before: a date, a local time in the schedule's zone, or an instant.
    #[serde(default)]
    pub from: Option<String>,
    /// Nothing is due after; a date is meant to its end.
    #[serde(default)]
    pub until: Option<String>,
    /// Days on which slots are skipped and recorded: `2026-12-25`, or `2026-12-24..2027-01-02`.
    #[serde(default)]
    pub except: Vec<String>,
}

impl Limits {
    /// Whether nothing is limited.
    pub fn are_none(&self) -> bool {
        *self == Self::default()
    }
}
