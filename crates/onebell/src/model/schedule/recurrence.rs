//! Recurrence rules: which civil dates and times match. No zone, no instants, no text.
//!
//! A rule walks whole periods, and filters the days in them: so what comes next and what came last are the same question.

use jiff::ToSpan;
use jiff::civil::{Date, DateTime, Time, Weekday};

use super::wall::Civil;

/// The calendar repeats after 400 years, and whatever the interval is, all of its periods have been met by then.
const DATES_MAX: usize = 150_000;
/// While `COUNT` is counted.
const COUNTED_MAX: usize = 20 * DATES_MAX;
/// The first day of weeks and months is told by its distance from here.
const EPOCH: Date = Date::constant(1970, 1, 1);

/// What an interval counts in.
#[derive(Debug, Clone, Copy)]
pub(super) enum Period {
    Year,
    Month,
    Week(Weekday),
    Day,
}

/// A recurrence rule that was read. Lists are in order and without doubles.
#[derive(Debug, Clone)]
pub(super) struct Recurrence {
    pub(super) start: DateTime,
    pub(super) until: DateTime,
    pub(super) period: Period,
    pub(super) interval: i64,
    pub(super) days: Days,
    pub(super) clock: Clock,
    /// Which of a period's times count; none: all of them.
    pub(super) positions: Vec<i64>,
    /// A time of day is meant, not a rhythm.
    pub(super) fixed: bool,
}

/// Days within a period. An empty list names all; negative numbers count from the end.
#[derive(Debug, Clone)]
pub(super) struct Days {
    pub(super) months: Vec<i64>,
    pub(super) weeks: Vec<i64>,
    pub(super) week_start: Weekday,
    pub(super) year_days: Vec<i64>,
    pub(super) month_days: Vec<i64>,
    /// With which one is meant; zero: each.
    pub(super) weekdays: Vec<(i64, Weekday)>,
    /// Whether it is counted within the year; else within the month.
    pub(super) in_year: bool,
}

/// Times within a day.
#[derive(Debug, Clone)]
pub(super) struct Clock {
    pub(super) hours: Vec<i64>,
    pub(super) minutes: Vec<i64>,
    pub(super) seconds: Vec<i64>,
    /// One of so many units of so many minutes, counted from the rule's start.
    pub(super) every: Option<Every>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Every {
    pub(super) minutes: i64,
    pub(super) interval: i64,
    pub(super) since: DateTime,
}

impl Civil for Recurrence {
    fn next(&self, from: DateTime) -> Option<DateTime> {
        self.search(from, &mut { DATES_MAX })
    }

    fn last(&self, upto: DateTime) -> Option<DateTime> {
        let upto = upto.min(self.until);
        let mut left = DATES_MAX;
        let mut period = self.period.of(upto.date())?;
        period -= (period - self.period.of(self.start.date())?).rem_euclid(self.interval);
        loop {
            let days = self.period.days(period)?;
            if days.1 < self.start.date() {
                return None;
            }
            if let Some(found) = self.last_in(days, upto, &mut left)? {
                return (found >= self.start).then_some(found);
            }
            period = period.checked_sub(self.interval)?;
        }
    }

    fn matches(&self, local: DateTime) -> bool {
        self.next(local) == Some(local)
    }

    fn fixed(&self) -> bool {
        self.fixed
    }
}

impl Recurrence {
    /// Ends with the `count`th time. Nothing when those lie too far apart to be counted.
    pub(super) fn counted(mut self, count: i64) -> Option<Self> {
        let (mut left, mut from, mut last) = (COUNTED_MAX, self.start, None);
        for _ in 0..count {
            let Some(found) = self.search(from, &mut left) else {
                // The years that can be written end before the count does.
                return (left > 0).then_some(self);
            };
            last = Some(found);
            from = found.checked_add(1.second()).ok()?;
        }
        self.until = last?;
        Some(self)
    }

    /// The first match at or after `from`, looking at no more dates than are left.
    fn search(&self, from: DateTime, left: &mut usize) -> Option<DateTime> {
        let from = from.max(self.start);
        let mut period = self.period.of(from.date())?;
        period += (self.period.of(self.start.date())? - period).rem_euclid(self.interval);
        loop {
            let days = self.period.days(period)?;
            if days.0 > self.until.date() {
                return None;
            }
            if let Some(found) = self.first_in(days, from, left)? {
                return (found <= self.until).then_some(found);
            }
            period = period.checked_add(self.interval)?;
        }
    }

    /// The first in a period; the outer nothing: no date is left to look at.
    fn first_in(&self, (first, last): (Date, Date), from: DateTime, left: &mut usize) -> Option<Option<DateTime>> {
        if !self.positions.is_empty() {
            let mut chosen = self.chosen((first, last), left)?;
            return Some(chosen.find(|time| *time >= from));
        }
        let mut date = first.max(from.date());
        while date <= last {
            *left = left.checked_sub(1)?;
            let earliest = if date == from.date() { from.time() } else { Time::MIN };
            if self.days.name(date)
                && let Some(time) = self.clock.first(date, earliest)
            {
                return Some(Some(date.to_datetime(time)));
            }
            let Ok(next) = date.tomorrow() else { break };
            date = next;
        }
        Some(None)
    }

    /// The last in a period, as `first_in`.
    fn last_in(&self, (first, last): (Date, Date), upto: DateTime, left: &mut usize) -> Option<Option<DateTime>> {
        if !self.positions.is_empty() {
            return Some(self.chosen((first, last), left)?.rfind(|time| *time <= upto));
        }
        let mut date = last.min(upto.date());
        while date >= first {
            *left = left.checked_sub(1)?;
            let latest = if date == upto.date() { upto.time() } else { Time::MAX };
            if self.days.name(date)
                && let Some(time) = self.clock.last(date, latest)
            {
                return Some(Some(date.to_datetime(time)));
            }
            let Ok(before) = date.yesterday() else { break };
            date = before;
        }
        Some(None)
    }

    /// The times of a period that `positions` pick, in order. Only what has times of day is picked from.
    fn chosen(&self, (first, last): (Date, Date), left: &mut usize) -> Option<std::vec::IntoIter<DateTime>> {
        let mut dates = Vec::new();
        let mut date = first;
        while date <= last {
            *left = left.checked_sub(1)?;
            if self.days.name(date) {
                dates.push(date);
            }
            let Ok(next) = date.tomorrow() else { break };
            date = next;
        }
        let times = self.clock.count();
        let count = i64::try_from(dates.len()).ok()?.checked_mul(times)?;
        let mut found: Vec<DateTime> = self
            .positions
            .iter()
            .map(|position| if *position > 0 { position - 1 } else { count + position })
            .filter(|index| (0..count).contains(index))
            .filter_map(|index| Some(dates.get(usize::try_from(index / times).ok()?)?.to_datetime(self.clock.at(index % times)?)))
            .collect();
        found.sort_unstable();
        found.dedup();
        Some(found.into_iter())
    }
}

impl Period {
    /// The number of the period that contains `date`.
    fn of(self, date: Date) -> Option<i64> {
        let days = || (date - EPOCH).get_days();
        Some(match self {
            Self::Year => i64::from(date.year()),
            Self::Month => i64::from(date.year()) * 12 + i64::from(date.month()) - 1,
            Self::Week(start) => (i64::from(days()) + Self::shift(start)).div_euclid(7),
            Self::Day => i64::from(days()),
        })
    }

    /// The first and the last day of a period; nothing outside the years that can be written.
    fn days(self, period: i64) -> Option<(Date, Date)> {
        let at = |days: i64| EPOCH.checked_add(i32::try_from(days).ok()?.days()).ok();
        match self {
            Self::Year => {
                let first = Date::new(i16::try_from(period).ok()?, 1, 1).ok()?;
                Some((first, first.last_of_year()))
            }
            Self::Month => {
                let month = i8::try_from(period.rem_euclid(12) + 1).ok()?;
                let first = Date::new(i16::try_from(period.div_euclid(12)).ok()?, month, 1).ok()?;
                Some((first, first.last_of_month()))
            }
            Self::Week(start) => {
                let first = at(period * 7 - Self::shift(start))?;
                Some((first, first.checked_add(6.days()).ok()?))
            }
            Self::Day => at(period).map(|day| (day, day)),
        }
    }

    /// How far the epoch lies behind the beginning of its week.
    fn shift(start: Weekday) -> i64 {
        i64::from(EPOCH.weekday().since(start))
    }
}

impl Days {
    fn name(&self, date: Date) -> bool {
        let within = |list: &[i64], value: i64, count: i64| {
            list.is_empty() || list.contains(&value) || list.contains(&(value - count - 1))
        };
        let month_days = i64::from(date.days_in_month());
        within(&self.months, i64::from(date.month()), 12)
            && within(&self.month_days, i64::from(date.day()), month_days)
            && within(&self.year_days, i64::from(date.day_of_year()), i64::from(date.days_in_year()))
            && (self.weekdays.is_empty() || self.weekdays.iter().any(|(nth, day)| self.nth(date, *nth, *day)))
            && (self.weeks.is_empty() || self.week(date).is_some_and(|(week, count)| within(&self.weeks, week, count)))
    }

    fn nth(&self, date: Date, nth: i64, day: Weekday) -> bool {
        let (at, count) = if self.in_year {
            (i64::from(date.day_of_year()), i64::from(date.days_in_year()))
        } else {
            (i64::from(date.day()), i64::from(date.days_in_month()))
        };
        date.weekday() == day && (nth == 0 || nth == (at - 1) / 7 + 1 || nth == -((count - at) / 7) - 1)
    }

    /// The number of the week that `date` lies in, and how many weeks its year has.
    fn week(&self, date: Date) -> Option<(i64, i64)> {
        let number = |date: Date| {
            // A week belongs to the year that has most of it: its fourth day's.
            let fourth = date.checked_add((3 - i32::from(date.weekday().since(self.week_start))).days()).ok()?;
            Some((fourth.year(), i64::from((fourth.day_of_year() - 1) / 7 + 1)))
        };
        let (year, week) = number(date)?;
        let (_, count) = number(Date::new(year, 12, 28).ok()?)?;
        Some((week, count))
    }
}

impl Clock {
    fn first(&self, date: Date, from: Time) -> Option<Time> {
        let (hour, minute, second) = parts(from);
        for h in self.hours.iter().filter(|h| **h >= hour) {
            for m in self.minutes.iter().filter(|m| *h > hour || **m >= minute) {
                let least = if (*h, *m) == (hour, minute) { second } else { 0 };
                if let Some(s) = self.seconds.iter().find(|value| **value >= least)
                    && self.beats(date, *h, *m)
                {
                    return time(*h, *m, *s);
                }
            }
        }
        None
    }

    fn last(&self, date: Date, upto: Time) -> Option<Time> {
        let (hour, minute, second) = parts(upto);
        for h in self.hours.iter().rev().filter(|h| **h <= hour) {
            for m in self.minutes.iter().rev().filter(|m| *h < hour || **m <= minute) {
                let most = if (*h, *m) == (hour, minute) { second } else { 59 };
                if let Some(s) = self.seconds.iter().rfind(|value| **value <= most)
                    && self.beats(date, *h, *m)
                {
                    return time(*h, *m, *s);
                }
            }
        }
        None
    }

    /// Whether an interval of hours or minutes has this one.
    fn beats(&self, date: Date, hour: i64, minute: i64) -> bool {
        self.every.is_none_or(|every| {
            let unit = |date: Date, hour: i64, minute: i64| {
                (i64::from((date - EPOCH).get_days()) * 1440 + hour * 60 + minute).div_euclid(every.minutes)
            };
            let (since_hour, since_minute, _) = parts(every.since.time());
            let begun = unit(every.since.date(), since_hour, since_minute);
            (unit(date, hour, minute) - begun).rem_euclid(every.interval) == 0
        })
    }

    /// How many times each day has.
    fn count(&self) -> i64 {
        [&self.hours, &self.minutes, &self.seconds].iter().map(|list| i64::try_from(list.len()).unwrap_or(0)).product()
    }

    /// The time at `index` among those of a day.
    fn at(&self, index: i64) -> Option<Time> {
        let index = usize::try_from(index).ok()?;
        let (minutes, seconds) = (self.minutes.len(), self.seconds.len());
        time(*self.hours.get(index / seconds / minutes)?, self.minutes[index / seconds % minutes], self.seconds[index % seconds])
    }
}

fn parts(time: Time) -> (i64, i64, i64) {
    (i64::from(time.hour()), i64::from(time.minute()), i64::from(time.second()))
}

fn time(hour: i64, minute: i64, second: i64) -> Option<Time> {
    let small = |value: i64| i8::try_from(value).ok();
    Time::new(small(hour)?, small(minute)?, small(second)?, 0).ok()
}
