//! When a job is due, as a person wrote it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Dst, micros};

/// One schedule of a job, as text: it is parsed where it is used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ScheduleDefinition {
    /// Cron, interval or instant.
    pub when: When,
    /// IANA zone name.
    pub time_zone: String,
    /// What happens to local times that do not exist or happen twice.
    #[serde(default)]
    pub dst: Dst,
}

/// The forms of a schedule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// A cron expression: five fields, six when `seconds`.
    Cron {
        /// The expression.
        expression: String,
        /// A leading field of seconds.
        #[serde(default)]
        seconds: bool,
    },
    /// A fixed interval, on a grid that the database keeps ([`super::JobDefinition::anchor`]), so that every replica sees the same one.
    Every(#[serde(with = "micros")] Duration),
    /// Once: an RFC 3339 instant, or a local time in the schedule's zone.
    At(String),
    /// A recurrence rule of RFC 5545 (iCalendar). It is read with the feature `rrule`, and by no other program.
    Rrule {
        /// The rule: `FREQ=MONTHLY;BYDAY=-1FR`.
        rule: String,
        /// Where it begins, as a local time: intervals and counts begin there, and what the rule leaves open is as then.
        start: String,
    },
}
