//! When a job is due.
use super::Moment;
use super::job::{Missed, ScheduleDefinition};
use super::overlap::SkipReason;
use std::time::Duration;

/// A parsed schedule.
#[derive(Debug, Clone)]
pub struct Schedule {}

/// One instant named by a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// The instant.
    pub at: Moment,
    /// What the zone's clock did to it.
    pub note: Option<Note>,
}

/// What a change of the zone's clock did to a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// Its local time did not exist; it is due at the first instant after the gap.
    GapShifted,
    /// Its local time did not exist; it is recorded as skipped (`dst-gap`), not opened.
    GapSkipped,
    /// Its local time came twice; this is the first.
    FoldFirst,
    /// Its local time came twice; this is the second.
    FoldSecond,
}

/// Why a schedule cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {problem}; {remedy}")]
pub struct ScheduleError {
    /// Which part of the schedule.
    pub place: String,
    /// Byte offset of that part in the text that was written.
    pub offset: usize,
    /// What is wrong.
    pub problem: String,
    /// What to write instead.
    pub remedy: String,
}

impl Schedule {
    /// Parses.
    pub fn parse(_def: &ScheduleDefinition, _job: &str, _zones: &jiff::tz::TimeZoneDatabase) -> Result<Self, ScheduleError> {
        Ok(Self {})
    }
    /// The first slot strictly after `after`.
    pub fn next(&self, _after: Moment) -> Option<Slot> {
        None
    }
    /// The last slot at or before `at`.
    pub fn last(&self, _at: Moment) -> Option<Slot> {
        None
    }
}

/// A slot to open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Due {
    /// The slot.
    pub at: Moment,
    /// It was missed and is caught up: overlap does not skip it.
    pub catch_up: bool,
}

/// Slots to record as skipped, in one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SkippedRange {
    /// The oldest slot.
    pub from: Moment,
    /// The newest slot.
    pub to: Moment,
    /// How many; unknown when counting would need an unbounded walk.
    pub count: Option<u64>,
    /// Why.
    pub reason: SkipReason,
}

/// What one pass of planning does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Oldest first.
    pub open: Vec<Due>,
    /// Oldest first.
    pub skip: Vec<SkippedRange>,
    /// Where planning goes on: everything up to here is accounted for.
    pub cursor: Moment,
    /// The next known slot after the cursor.
    pub next: Option<Moment>,
}

/// Plans.
pub fn plan(_schedules: &[Schedule], cursor: Moment, now: Moment, _missed: Missed, _missed_window: Duration) -> Planned {
    Planned { open: Vec::new(), skip: Vec::new(), cursor: cursor.max(now), next: None }
}
