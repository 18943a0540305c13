//! Cron expressions: which civil dates and times match. No zone, no instants.

use jiff::civil::{Date, DateTime, Time};

use super::field::{Field, Kind};
use super::wall::Civil;
use super::{ScheduleError, duration};

/// Months of 400 years: after them the calendar repeats, weekdays included.
const MONTHS_MAX: usize = 4_800;

/// A cron expression that was read.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    seconds: u64,
    minutes: u64,
    hours: u64,
    days: Field,
    months: u64,
    weekdays: Field,
    /// Neither minute nor hour begins with `*`.
    fixed: bool,
}

/// What an expression turned out to be.
pub(super) enum Read {
    Pattern(Pattern),
    Every(std::time::Duration),
}

const MACROS: [(&str, &str); 7] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

pub(super) fn read(expression: &str, seconds: bool, job: &str) -> Result<Read, ScheduleError> {
    if expression.trim_start().starts_with('@') {
        return read_macro(expression, job);
    }
    pattern(expression, seconds, job).map(Read::Pattern)
}

fn read_macro(expression: &str, job: &str) -> Result<Read, ScheduleError> {
    let name = expression.trim();
    if let Some(interval) = name.strip_prefix("@every ") {
        return duration::read(interval.trim()).map(Read::Every);
    }
    if let Some((_, fields)) = MACROS.iter().find(|(known, _)| *known == name) {
        return pattern(fields, false, job).map(Read::Pattern);
    }
    let word = name.split_ascii_whitespace().next().unwrap_or(name);
    let (problem, remedy) = if word == "@reboot" {
        (
            "has no meaning for a job of several replicas: none of them is *the* machine",
            "trigger it on deployment: onebell trigger JOB --key VERSION".to_owned(),
        )
    } else if let Some((known, _)) = MACROS.iter().find(|(known, _)| known.eq_ignore_ascii_case(word)) {
        ("cannot be read", format!("write {known} and nothing after it"))
    } else {
        ("is no known name", "write @hourly, @daily, @weekly, @monthly, @yearly, @every 5m, or five fields".to_owned())
    };
    Err(ScheduleError::new(format!("cron {name:?}"), problem, remedy).at(expression.len() - expression.trim_start().len()))
}

fn pattern(expression: &str, seconds: bool, job: &str) -> Result<Pattern, ScheduleError> {
    let fields = split(expression);
    let kinds: &[Kind] = if seconds { &Kind::ALL } else { &Kind::ALL[1..] };
    if fields.len() != kinds.len() {
        return Err(wrong_count(expression, &fields, kinds.len()));
    }
    let mut read = kinds.iter().zip(&fields).map(|(kind, (offset, text))| Field::read(*kind, text, *offset, job));
    let mut field = || read.next().unwrap_or_else(|| Ok(Field::default()));
    let seconds = if seconds { field()?.values } else { 1 };
    let (minutes, hours, days, months, weekdays) = (field()?, field()?, field()?, field()?, field()?);
    let fixed = !minutes.star && !hours.star;
    let pattern = Pattern { seconds, minutes: minutes.values, hours: hours.values, days, months: months.values, weekdays, fixed };
    if pattern.next(DateTime::constant(2000, 1, 1, 0, 0, 0, 0)).is_none() {
        let problem = "never fires: no year has a day that all of its day and month fields name";
        return Err(ScheduleError::new(
            format!("cron {expression:?}"),
            problem,
            "correct the day-of-month, month or day-of-week field",
        ));
    }
    Ok(pattern)
}

/// The fields with their byte offsets. Only space and tab separate, as in crontab.
fn split(expression: &str) -> Vec<(usize, &str)> {
    let start = |field: &str| field.as_ptr() as usize - expression.as_ptr() as usize;
    expression.split([' ', '\t']).filter(|field| !field.is_empty()).map(|field| (start(field), field)).collect()
}

fn wrong_count(expression: &str, fields: &[(usize, &str)], wanted: usize) -> ScheduleError {
    let problem = match fields.len() {
        1 => format!("one field instead of {wanted}"),
        many => format!("{many} fields instead of {wanted}"),
    };
    let first = fields.first().map_or("", |(_, text)| *text);
    let remedy = if first.starts_with("CRON_TZ=") || first.starts_with("TZ=") {
        "write the zone as time_zone"
    } else if fields.len() > wanted && fields[wanted].1.contains(['/', '.']) && fields[wanted].1.contains(char::is_alphabetic) {
        "the command stands by itself: command = [\"…\"]"
    } else if first.eq_ignore_ascii_case("every") {
        "write every = \"15m\" instead of schedule"
    } else if ["manual", "never", "none"].iter().any(|word| first.eq_ignore_ascii_case(word)) {
        "leave schedule out: then it runs on request only"
    } else if fields.len() == 6 && wanted == 5 {
        "leave out the first one, or write seconds = true if it means seconds"
    } else if wanted == 6 {
        "write: second minute hour day-of-month month day-of-week"
    } else {
        "write: minute hour day-of-month month day-of-week"
    };
    ScheduleError::new(format!("cron {expression:?}"), problem, remedy)
}

impl Civil for Pattern {
    fn next(&self, from: DateTime) -> Option<DateTime> {
        let from = if from.subsec_nanosecond() > 0 { from.checked_add(jiff::SignedDuration::from_secs(1)).ok()? } else { from };
        if self.on_date(from.date())
            && let Some(time) = self.time_from(from.time())
        {
            return Some(from.date().to_datetime(time));
        }
        let mut date = from.date().tomorrow().ok()?;
        for _ in 0..MONTHS_MAX {
            if self.in_month(date) {
                let days = date.day()..=date.days_in_month();
                if let Some(day) =
                    days.filter_map(|day| Date::new(date.year(), date.month(), day).ok()).find(|day| self.on_date(*day))
                {
                    return Some(day.to_datetime(self.time_from(Time::MIN)?));
                }
            }
            date = date.last_of_month().tomorrow().ok()?;
        }
        None
    }

    fn last(&self, upto: DateTime) -> Option<DateTime> {
        if self.on_date(upto.date())
            && let Some(time) = self.time_upto(upto.time())
        {
            return Some(upto.date().to_datetime(time));
        }
        let mut date = upto.date().yesterday().ok()?;
        for _ in 0..MONTHS_MAX {
            if self.in_month(date) {
                let days = (1..=date.day()).rev();
                if let Some(day) =
                    days.filter_map(|day| Date::new(date.year(), date.month(), day).ok()).find(|day| self.on_date(*day))
                {
                    return Some(day.to_datetime(self.time_upto(Time::MAX)?));
                }
            }
            date = date.first_of_month().yesterday().ok()?;
        }
        None
    }

    fn matches(&self, local: DateTime) -> bool {
        self.on_date(local.date()) && self.time_from(local.time()) == Some(local.time())
    }

    fn fixed(&self) -> bool {
        self.fixed
    }
}

impl Pattern {
    fn in_month(&self, date: Date) -> bool {
        has(self.months, date.month())
    }

    /// Vixie's rule: both day fields when one of them begins with `*`, else either.
    fn on_date(&self, date: Date) -> bool {
        if !self.in_month(date) {
            return false;
        }
        if self.days.star || self.weekdays.star {
            self.days.names_day(date) && self.weekdays.names_weekday(date)
        } else {
            self.days.names_day(date) || self.weekdays.names_weekday(date)
        }
    }

    fn time_from(&self, time: Time) -> Option<Time> {
        let (hour, minute, second) = (time.hour(), time.minute(), time.second());
        if has(self.hours, hour) {
            if has(self.minutes, minute)
                && let Some(second) = first(self.seconds, second)
            {
                return Time::new(hour, minute, second, 0).ok();
            }
            if let Some(minute) = first(self.minutes, minute + 1) {
                return Time::new(hour, minute, first(self.seconds, 0)?, 0).ok();
            }
        }
        Time::new(first(self.hours, hour + 1)?, first(self.minutes, 0)?, first(self.seconds, 0)?, 0).ok()
    }

    fn time_upto(&self, time: Time) -> Option<Time> {
        let (hour, minute, second) = (time.hour(), time.minute(), time.second());
        if has(self.hours, hour) {
            if has(self.minutes, minute)
                && let Some(second) = last(self.seconds, second)
            {
                return Time::new(hour, minute, second, 0).ok();
            }
            if let Some(minute) = last(self.minutes, minute - 1) {
                return Time::new(hour, minute, last(self.seconds, 59)?, 0).ok();
            }
        }
        Time::new(last(self.hours, hour - 1)?, last(self.minutes, 59)?, last(self.seconds, 59)?, 0).ok()
    }
}

pub(super) fn has(values: u64, value: i8) -> bool {
    u32::try_from(value).is_ok_and(|value| values & (1 << value) != 0)
}

/// The smallest of `values` at or above `from`.
fn first(values: u64, from: i8) -> Option<i8> {
    let left = values & (u64::MAX << u32::try_from(from).ok()?);
    (left != 0).then(|| i8::try_from(left.trailing_zeros()).ok())?
}

/// The largest of `values` at or below `upto`.
fn last(values: u64, upto: i8) -> Option<i8> {
    let left = values & (u64::MAX >> (63 - u32::try_from(upto).ok()?));
    (left != 0).then(|| i8::try_from(63 - left.leading_zeros()).ok())?
}
