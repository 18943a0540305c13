//! When a job is due: cron, interval or one instant, in a zone, under the job's DST policy.
//!
//! It names slots. It opens none, knows no run and never asks a clock: what *now* is, is handed in.

mod advice;
mod bounds;
mod cron;
mod duration;
mod error;
mod field;
mod once;
mod planning;
#[cfg(feature = "rrule")]
mod recurrence;
#[cfg(feature = "rrule")]
mod rrule;
mod wall;
mod zone;

use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::Moment;
use super::job::{Dst, JobDefinition, Limits, ScheduleDefinition, When};

pub use advice::advice;
pub use error::ScheduleError;
pub use planning::{Due, OPEN_MAX, Planned, SkippedRange, WALK_MAX, next_slot, plan, skipped_range};

/// A schedule that was read and checked; it fires at least once.
///
/// ```
/// use onebell::model::job::{Dst, ScheduleDefinition, When};
/// use onebell::model::schedule::Schedule;
///
/// let definition = ScheduleDefinition {
///     when: When::Cron { expression: "0 2 * * *".into(), seconds: false },
///     time_zone: "Asia/Ho_Chi_Minh".into(),
///     dst: Dst::Vixie,
/// };
/// let schedule = Schedule::parse(&definition, "debt-reminders", jiff::tz::db()).unwrap();
/// let slot = schedule.next("2026-11-29T12:00:00Z".parse().unwrap()).unwrap();
/// assert_eq!(slot.at.to_string(), "2026-11-29T19:00:00Z");
/// ```
#[derive(Debug, Clone)]
pub struct Schedule {
    zone: TimeZone,
    rule: Rule,
    bounds: bounds::Bounds,
}

#[derive(Debug, Clone)]
enum Rule {
    /// Civil times that match, mapped to instants by the policy.
    Cron(cron::Pattern, Dst),
    /// The same, named by a recurrence rule.
    #[cfg(feature = "rrule")]
    Recurrence(Box<recurrence::Recurrence>, Dst),
    /// So many microseconds apart, one of them at the anchor.
    Every {
        period: i64,
        anchor: i64,
    },
    Once(Slot),
}

/// One instant named by a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// When it is due.
    pub at: Moment,
    /// What a change of the zone's clock did to it.
    pub note: Option<Note>,
}

impl Slot {
    /// Whether it is to be opened; else it is named only to be recorded as skipped.
    pub fn opens(&self) -> bool {
        !matches!(self.note, Some(Note::GapSkipped | Note::Excluded))
    }
}

/// What a change of the zone's clock, or the job's limits, did to a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// Its local time does not exist; it is due at the first instant after the gap.
    GapShifted,
    /// Its local time does not exist; it is to be recorded as skipped (`dst-gap`), never opened.
    GapSkipped,
    /// Its local time comes twice; this is the first.
    FoldFirst,
    /// Its local time comes twice; this is the second.
    FoldSecond,
    /// It lies on a day that the job excludes; it is to be recorded as skipped (`excluded`), never opened.
    Excluded,
}

impl Note {
    /// The note for people, as `explain` prints it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GapShifted => "gap: first instant after it",
            Self::GapSkipped => "gap: skipped",
            Self::FoldFirst => "fold: first pass",
            Self::FoldSecond => "fold: second pass",
            Self::Excluded => "excluded",
        }
    }
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Shortest interval, in microseconds: cron has no finer one either, and a pass stays bounded.
const PERIOD_MIN: i64 = 1_000_000;
/// After this instant zones follow their last rule for ever: what fires no more then, fires never.
const LAST_RULE: Moment = Moment::from_micros(4_102_444_800_000_000);

impl Schedule {
    /// The schedules of a job, within its limits.
    ///
    /// # Errors
    /// As [`Self::parse`]; or a limit that cannot be read.
    pub fn of_job(job: &JobDefinition, zones: &TimeZoneDatabase) -> Result<Vec<Self>, ScheduleError> {
        let anchor = job.anchor.unwrap_or_default();
        let one =
            |definition: &ScheduleDefinition| Self::parse(definition, &job.name, zones)?.anchored(anchor).within(&job.limits);
        job.schedules.iter().map(one).collect()
    }

    /// The same, with its interval counted from `at`.
    pub fn anchored(mut self, at: Moment) -> Self {
        if let Rule::Every { anchor, .. } = &mut self.rule {
            *anchor = at.micros();
        }
        self
    }

    /// The same within `limits`.
    ///
    /// # Errors
    /// [`ScheduleError`] when a limit cannot be read.
    pub fn within(self, limits: &Limits) -> Result<Self, ScheduleError> {
        let bounds = bounds::Bounds::read(limits, &self.zone)?;
        Ok(Self { bounds, ..self })
    }

    /// Reads `definition`. `job` is the job's name: `H` spreads jobs by it.
    ///
    /// # Errors
    /// [`ScheduleError`] when the text cannot be read, the zone is unknown, or it would never fire.
    pub fn parse(definition: &ScheduleDefinition, job: &str, zones: &TimeZoneDatabase) -> Result<Self, ScheduleError> {
        let zone = zone::find(&definition.time_zone, zones)?;
        let rule = match &definition.when {
            When::Cron { expression, seconds } => match cron::read(expression, *seconds, job)? {
                cron::Read::Pattern(pattern) => Rule::Cron(pattern, definition.dst),
                cron::Read::Every(period) => Rule::Every { period: period_micros(period)?, anchor: 0 },
            },
            When::Every(period) => Rule::Every { period: period_micros(*period)?, anchor: 0 },
            When::At(text) => Rule::Once(once::read(text, &zone, definition.dst)?),
            #[cfg(feature = "rrule")]
            When::Rrule { rule, start } => Rule::Recurrence(Box::new(rrule::read(rule, start, &zone)?), definition.dst),
            #[cfg(not(feature = "rrule"))]
            When::Rrule { rule, .. } => {
                let problem = "this program was built without recurrence rules";
                return Err(ScheduleError::new(format!("rrule {rule:?}"), problem, "build it with the feature rrule"));
            }
        };
        let schedule = Self { zone, rule, bounds: bounds::Bounds::default() };
        if let Some(key) = schedule.in_gaps_only() {
            return Err(ScheduleError::new(
                key,
                "never fires: every local time it names falls into the hour that the clock skips",
                "choose another time, or dst = \"vixie\"",
            ));
        }
        Ok(schedule)
    }

    /// Which key names local times that no day has, if this one's does.
    fn in_gaps_only(&self) -> Option<&'static str> {
        match &self.rule {
            Rule::Cron(..) => self.next(LAST_RULE).is_none().then_some("cron"),
            // It may have ended long ago.
            #[cfg(feature = "rrule")]
            Rule::Recurrence(..) => self.next(Moment::from(jiff::Timestamp::MIN)).is_none().then_some("rrule"),
            Rule::Every { .. } | Rule::Once(_) => None,
        }
    }

    /// The first slot strictly after `after`; nothing when it never fires again.
    pub fn next(&self, after: Moment) -> Option<Slot> {
        // Whatever a zone's data says: a slot is not named twice, and not before its time.
        self.bounded(self.rule_next(self.bounds.not_before(after)).filter(|slot| slot.at > after)?)
    }

    fn rule_next(&self, after: Moment) -> Option<Slot> {
        match &self.rule {
            Rule::Cron(pattern, dst) => wall::Wall { pattern, zone: &self.zone, dst: *dst, near: &mut None }.next(after),
            #[cfg(feature = "rrule")]
            Rule::Recurrence(pattern, dst) => {
                wall::Wall { pattern: &**pattern, zone: &self.zone, dst: *dst, near: &mut None }.next(after)
            }
            Rule::Every { period, anchor } => on_grid(index(after, *period, *anchor)?.checked_add(1)?, *period, *anchor),
            Rule::Once(slot) => (slot.at > after).then_some(*slot),
        }
    }

    /// The last slot at or before `at`; nothing when there is none.
    pub fn last(&self, at: Moment) -> Option<Slot> {
        self.last_near(at, &mut None)
    }

    /// As `last`, for calls in a row: `near` remembers where in the zone's history the one before stood.
    fn last_near(&self, at: Moment, near: &mut Option<wall::Stretch>) -> Option<Slot> {
        self.bounded(self.rule_last(self.bounds.not_after(at), near).filter(|slot| slot.at <= at)?)
    }

    /// Nothing outside the limits; what lies on an excluded day says so.
    fn bounded(&self, slot: Slot) -> Option<Slot> {
        let note = if self.bounds.exclude(slot.at) { Some(Note::Excluded) } else { slot.note };
        self.bounds.cover(slot.at).then_some(Slot { note, ..slot })
    }

    fn rule_last(&self, at: Moment, near: &mut Option<wall::Stretch>) -> Option<Slot> {
        match &self.rule {
            Rule::Cron(pattern, dst) => wall::Wall { pattern, zone: &self.zone, dst: *dst, near }.last(at),
            #[cfg(feature = "rrule")]
            Rule::Recurrence(pattern, dst) => wall::Wall { pattern: &**pattern, zone: &self.zone, dst: *dst, near }.last(at),
            Rule::Every { period, anchor } => on_grid(index(at, *period, *anchor)?, *period, *anchor),
            Rule::Once(slot) => (slot.at <= at).then_some(*slot),
        }
    }

    /// An interval as people write it in this schedule's zone: local times, instants, or dates, from the beginning of the first to
    /// the end of the last.
    ///
    /// # Errors
    /// [`ScheduleError`] when one cannot be read, or the end lies before the beginning.
    pub fn interval(&self, from: &str, to: &str) -> Result<(Moment, Moment), ScheduleError> {
        let limits = Limits { from: Some(from.to_owned()), until: Some(to.to_owned()), except: Vec::new() };
        bounds::Bounds::read(&limits, &self.zone).map(|bounds| bounds.edges())
    }

    /// The zone, to show local times in.
    pub fn zone(&self) -> &TimeZone {
        &self.zone
    }
}

/// Which interval since the anchor `at` lies in.
fn index(at: Moment, period: i64, anchor: i64) -> Option<i64> {
    Some(at.micros().checked_sub(anchor)?.div_euclid(period))
}

fn on_grid(index: i64, period: i64, anchor: i64) -> Option<Slot> {
    let at = Moment::from_micros(index.checked_mul(period)?.checked_add(anchor)?);
    // Past the years that can be written there is no slot.
    (Moment::from(at.timestamp()) == at).then_some(Slot { at, note: None })
}

fn period_micros(period: std::time::Duration) -> Result<i64, ScheduleError> {
    i64::try_from(period.as_micros())
        .ok()
        .filter(|micros| *micros >= PERIOD_MIN)
        .ok_or_else(|| ScheduleError::new("every", format!("an interval of {period:?}"), "write one second or more"))
}
