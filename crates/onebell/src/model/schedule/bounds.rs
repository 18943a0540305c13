//! Between which instants, and on which days not, a job's schedules count. Days are those of the schedule's zone.

use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::super::job::Limits;
use super::{Dst, Moment, ScheduleError, once};

/// Limits as instants.
#[derive(Debug, Clone, Default)]
pub(super) struct Bounds {
    from: Option<Moment>,
    until: Option<Moment>,
    /// Begin and end of each excluded stretch, the end not in it; in order, none touching another.
    excluded: Vec<(Moment, Moment)>,
}

/// More days than fit into a century are a mistake in a file of dates, and would be kept in every run's definition.
const DAYS_MAX: usize = 36_525;

impl Bounds {
    pub(super) fn read(limits: &Limits, zone: &TimeZone) -> Result<Self, ScheduleError> {
        let from = limits.from.as_deref().map(|text| edge("from", text, zone, |date| begins(date, zone))).transpose()?;
        let until = limits.until.as_deref().map(|text| edge("until", text, zone, |date| last_of(date, zone))).transpose()?;
        if let (Some(from), Some(until)) = (from, until)
            && from > until
        {
            return Err(ScheduleError::new("until", "it lies before from", "write a later one"));
        }
        if limits.except.len() > DAYS_MAX {
            return Err(ScheduleError::new(
                "except",
                format!("more than {DAYS_MAX} entries"),
                "write ranges: \"2026-12-24..2027-01-02\"",
            ));
        }
        let mut days = limits.except.iter().map(|text| days(text)).collect::<Result<Vec<_>, _>>()?;
        days.sort_unstable();
        let mut excluded: Vec<(Moment, Moment)> = Vec::new();
        for (first, last) in days {
            let (begin, end) = (begins(first, zone)?, ends(last, zone)?);
            match excluded.last_mut() {
                Some((_, before)) if *before >= begin => *before = end.max(*before),
                _ => excluded.push((begin, end)),
            }
        }
        Ok(Self { from, until, excluded })
    }

    /// `after`, or just before the first instant that counts.
    pub(super) fn not_before(&self, after: Moment) -> Moment {
        self.from.map_or(after, |from| after.max(Moment::from_micros(from.micros().saturating_sub(1))))
    }

    /// `at`, or the last instant that counts.
    pub(super) fn not_after(&self, at: Moment) -> Moment {
        self.until.map_or(at, |until| at.min(until))
    }

    /// The first and the last instant that count, where both are limited.
    pub(super) fn edges(&self) -> (Moment, Moment) {
        (self.from.unwrap_or_default(), self.until.unwrap_or_default())
    }

    pub(super) fn cover(&self, at: Moment) -> bool {
        self.from.is_none_or(|from| from <= at) && self.until.is_none_or(|until| at <= until)
    }

    pub(super) fn exclude(&self, at: Moment) -> bool {
        let next = self.excluded.partition_point(|(begin, _)| *begin <= at);
        next.checked_sub(1).is_some_and(|index| at < self.excluded[index].1)
    }
}

/// A date, or what `at` takes.
fn edge(
    key: &str,
    text: &str,
    zone: &TimeZone,
    of_date: impl Fn(Date) -> Result<Moment, ScheduleError>,
) -> Result<Moment, ScheduleError> {
    if let Some(date) = day(text) {
        return of_date(date);
    }
    once::read(text, zone, Dst::Vixie).map(|slot| slot.at).map_err(|error| ScheduleError {
        place: format!("{key} {text:?}"),
        remedy: "write a date such as \"2026-12-01\", a local time, or an instant".to_owned(),
        ..error
    })
}

/// A day and nothing beside it: a time would be passed over.
fn day(text: &str) -> Option<Date> {
    let text = text.trim();
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'))
}

/// `2026-12-25`, or `2026-12-24..2027-01-02` with both ends.
fn days(text: &str) -> Result<(Date, Date), ScheduleError> {
    let wrong = |problem: &str| {
        let remedy = "write a day such as \"2026-12-25\", or days such as \"2026-12-24..2027-01-02\"";
        ScheduleError::new(format!("except {text:?}"), problem, remedy)
    };
    let read = |text: &str| day(text).ok_or_else(|| wrong("not a date"));
    let (first, last) = match text.split_once("..") {
        Some((first, last)) => (read(first)?, read(last)?),
        None => (read(text)?, read(text)?),
    };
    if first > last { Err(wrong("it ends before it begins")) } else { Ok((first, last)) }
}

/// The first instant of a day; where the clock skips midnight, the first one after it.
fn begins(date: Date, zone: &TimeZone) -> Result<Moment, ScheduleError> {
    let midnight = date.to_datetime(jiff::civil::Time::midnight());
    once::read(&midnight.to_string(), zone, Dst::Vixie).map(|slot| slot.at).map_err(|_| outside(date))
}

fn ends(date: Date, zone: &TimeZone) -> Result<Moment, ScheduleError> {
    begins(date.tomorrow().map_err(|_| outside(date))?, zone)
}

fn last_of(date: Date, zone: &TimeZone) -> Result<Moment, ScheduleError> {
    Ok(Moment::from_micros(ends(date, zone)?.micros() - 1))
}

fn outside(date: Date) -> ScheduleError {
    ScheduleError::new(format!("{date}"), "outside the years that can be written", "write another date")
}
