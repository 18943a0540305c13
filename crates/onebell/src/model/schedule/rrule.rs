//! Reads a recurrence rule of RFC 5545: its parts, and what is wrong with them. What it names is `recurrence`.

use jiff::civil::{DateTime, Weekday};
use jiff::tz::TimeZone;

use super::ScheduleError;
use super::recurrence::{Clock, Days, Every, Period, Recurrence};
use super::wall::Civil;

/// The parts of a rule as they are written.
#[derive(Debug, Default)]
struct Parts {
    frequency: Option<Frequency>,
    interval: Option<i64>,
    count: Option<i64>,
    until: Option<DateTime>,
    week_start: Option<Weekday>,
    months: Vec<i64>,
    weeks: Vec<i64>,
    year_days: Vec<i64>,
    month_days: Vec<i64>,
    weekdays: Vec<(i64, Weekday)>,
    hours: Vec<i64>,
    minutes: Vec<i64>,
    seconds: Vec<i64>,
    positions: Vec<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Frequency {
    Minutely,
    Hourly,
    Daily,
    Weekly,
    Monthly,
    Yearly,
}

/// What is wrong and what to write instead.
type Wrong = (String, String);

/// The most that `INTERVAL` and `COUNT` may say.
const MOST: i64 = 10_000;

/// Reads `rule`, which begins at `start`, a local time of `zone`.
pub(super) fn read(rule: &str, start: &str, zone: &TimeZone) -> Result<Recurrence, ScheduleError> {
    let start = local(start).ok_or_else(|| {
        ScheduleError::new(format!("start {start:?}"), "not a local time", "write one such as \"2026-12-01T09:00\"")
    })?;
    let parts = parts(rule, zone)?;
    let whole = |(problem, remedy): Wrong| ScheduleError::new(format!("rrule {rule:?}"), problem, remedy);
    let frequency = parts.frequency.ok_or_else(|| whole(wrong("FREQ is missing", "begin with FREQ=DAILY")))?;
    parts.agree(frequency).map_err(whole)?;
    let (count, until) = (parts.count, parts.until);
    let mut recurrence = parts.over(frequency, start);
    recurrence.until = until.unwrap_or(DateTime::MAX);
    if let Some(count) = count {
        let rare = || whole(wrong("too rare to be counted", "write UNTIL instead of COUNT"));
        recurrence = recurrence.counted(count).ok_or_else(rare)?;
    }
    if recurrence.next(start).is_none() {
        return Err(whole(wrong(
            "never fires: no day within 400 years is named by all of its parts",
            "correct the BY… parts or UNTIL",
        )));
    }
    Ok(recurrence)
}

fn wrong(problem: impl Into<String>, remedy: impl Into<String>) -> Wrong {
    (problem.into(), remedy.into())
}

fn parts(rule: &str, zone: &TimeZone) -> Result<Parts, ScheduleError> {
    let text = rule.trim();
    let text = text.get(..6).filter(|head| head.eq_ignore_ascii_case("RRULE:")).map_or(text, |_| &text[6..]);
    let mut parts = Parts::default();
    let mut seen = Vec::new();
    for part in text.split(';') {
        let place = |(problem, remedy): Wrong| {
            let offset = part.as_ptr() as usize - rule.as_ptr() as usize;
            ScheduleError::new(format!("rrule part {part:?}"), problem, remedy).at(offset)
        };
        let Some((name, value)) = part.split_once('=') else {
            return Err(place(wrong("not NAME=VALUE", "write parts such as FREQ=WEEKLY;BYDAY=MO, with ; between them")));
        };
        let (name, value) = (name.trim().to_ascii_uppercase(), value.trim().to_ascii_uppercase());
        if seen.contains(&name) {
            return Err(place(wrong("it comes twice", "keep one of them")));
        }
        parts.take(&name, &value, zone).map_err(place)?;
        seen.push(name);
    }
    Ok(parts)
}

impl Parts {
    fn take(&mut self, name: &str, value: &str, zone: &TimeZone) -> Result<(), Wrong> {
        match name {
            "FREQ" => self.frequency = Some(frequency(value)?),
            "INTERVAL" => self.interval = Some(number(value, 1, MOST)?),
            "COUNT" => self.count = Some(number(value, 1, MOST)?),
            "UNTIL" => self.until = Some(until(value, zone)?),
            "WKST" => self.week_start = Some(weekday(value).ok_or_else(no_weekday)?),
            "BYMONTH" => self.months = numbers(value, 1, 12, false)?,
            "BYWEEKNO" => self.weeks = numbers(value, 1, 53, true)?,
            "BYYEARDAY" => self.year_days = numbers(value, 1, 366, true)?,
            "BYMONTHDAY" => self.month_days = numbers(value, 1, 31, true)?,
            "BYDAY" => self.weekdays = value.split(',').map(|text| nth_weekday(text.trim())).collect::<Result<_, _>>()?,
            "BYHOUR" => self.hours = numbers(value, 0, 23, false)?,
            "BYMINUTE" => self.minutes = numbers(value, 0, 59, false)?,
            "BYSECOND" => self.seconds = numbers(value, 0, 59, false)?,
            "BYSETPOS" => self.positions = numbers(value, 1, 366, true)?,
            "DTSTART" => return Err(wrong("the start stands beside the rule", "write start = \"2026-12-01T09:00\"")),
            _ => {
                let remedy = "write FREQ, INTERVAL, COUNT, UNTIL, WKST, BYMONTH, BYWEEKNO, BYYEARDAY, BYMONTHDAY, BYDAY, BYHOUR, \
                              BYMINUTE, BYSECOND or BYSETPOS";
                return Err(wrong("no such part", remedy));
            }
        }
        Ok(())
    }

    /// What the specification does not let stand together.
    fn agree(&self, frequency: Frequency) -> Result<(), Wrong> {
        use Frequency::{Daily, Monthly, Weekly, Yearly};
        let none = |what: &str, remedy: &str| Err(wrong(what, remedy));
        if self.count.is_some() && self.until.is_some() {
            return none("COUNT and UNTIL together", "keep one of them");
        }
        if !self.weeks.is_empty() && frequency != Yearly {
            return none("BYWEEKNO without FREQ=YEARLY", "write FREQ=YEARLY, or leave it out");
        }
        if !self.year_days.is_empty() && matches!(frequency, Daily | Weekly | Monthly) {
            return none("BYYEARDAY with FREQ=DAILY, WEEKLY or MONTHLY", "write FREQ=YEARLY, or BYMONTHDAY");
        }
        if !self.month_days.is_empty() && frequency == Weekly {
            return none("BYMONTHDAY with FREQ=WEEKLY", "write FREQ=MONTHLY, or BYDAY");
        }
        let counted = self.weekdays.iter().any(|(nth, _)| *nth != 0);
        if counted && (!matches!(frequency, Monthly | Yearly) || !self.weeks.is_empty()) {
            return none(
                "BYDAY with a number counts in a month or a year",
                "write FREQ=MONTHLY or YEARLY without BYWEEKNO, or the day alone",
            );
        }
        if !self.positions.is_empty() && frequency < Daily {
            return none("BYSETPOS with FREQ=HOURLY or MINUTELY", "write FREQ=DAILY with BYHOUR and BYMINUTE");
        }
        let others = [&self.months, &self.weeks, &self.year_days, &self.month_days, &self.hours, &self.minutes, &self.seconds];
        if !self.positions.is_empty() && self.weekdays.is_empty() && others.iter().all(|list| list.is_empty()) {
            return none("BYSETPOS picks from what other BY… parts name, and there are none", "add BYDAY or BYMONTHDAY");
        }
        Ok(())
    }

    /// With what `start` says where the rule says nothing.
    fn over(mut self, frequency: Frequency, start: DateTime) -> Recurrence {
        let interval = self.interval.unwrap_or(1);
        let no_day = self.month_days.is_empty() && self.weekdays.is_empty() && self.year_days.is_empty();
        match frequency {
            Frequency::Yearly if no_day && !self.weeks.is_empty() => self.weekdays = vec![(0, start.weekday())],
            Frequency::Yearly if no_day => {
                self.month_days = vec![i64::from(start.day())];
                if self.months.is_empty() {
                    self.months = vec![i64::from(start.month())];
                }
            }
            Frequency::Monthly if no_day => self.month_days = vec![i64::from(start.day())],
            Frequency::Weekly if no_day => self.weekdays = vec![(0, start.weekday())],
            _ => {}
        }
        let week_start = self.week_start.unwrap_or(Weekday::Monday);
        let (period, every) = match frequency {
            Frequency::Yearly => (Period::Year, None),
            Frequency::Monthly => (Period::Month, None),
            Frequency::Weekly => (Period::Week(week_start), None),
            Frequency::Daily => (Period::Day, None),
            Frequency::Hourly => (Period::Day, Some(Every { minutes: 60, interval, since: start })),
            Frequency::Minutely => (Period::Day, Some(Every { minutes: 1, interval, since: start })),
        };
        let or = |list: Vec<i64>, all: bool, most: i64, own: i8| match list {
            list if !list.is_empty() => list,
            _ if all => (0..=most).collect(),
            _ => vec![i64::from(own)],
        };
        let rhythm = self.hours.is_empty() && every.is_some() || self.minutes.is_empty() && frequency == Frequency::Minutely;
        let clock = Clock {
            hours: or(self.hours, every.is_some(), 23, start.hour()),
            minutes: or(self.minutes, frequency == Frequency::Minutely, 59, start.minute()),
            seconds: or(self.seconds, false, 59, start.second()),
            every,
        };
        let days = Days {
            in_year: frequency == Frequency::Yearly && self.months.is_empty(),
            months: self.months,
            weeks: self.weeks,
            week_start,
            year_days: self.year_days,
            month_days: self.month_days,
            weekdays: self.weekdays,
        };
        let interval = if every.is_some() { 1 } else { interval };
        let (positions, fixed) = (self.positions, !rhythm);
        Recurrence { start, until: DateTime::MAX, period, interval, days, clock, positions, fixed }
    }
}

/// A local time to the second.
fn local(text: &str) -> Option<DateTime> {
    let text = text.trim();
    let plain = text.contains(['T', 't', ' ']) && !text.contains(['[', 'Z', 'z', '+']);
    text.parse().ok().filter(|local: &DateTime| plain && local.subsec_nanosecond() == 0)
}

fn frequency(value: &str) -> Result<Frequency, Wrong> {
    Ok(match value {
        "YEARLY" => Frequency::Yearly,
        "MONTHLY" => Frequency::Monthly,
        "WEEKLY" => Frequency::Weekly,
        "DAILY" => Frequency::Daily,
        "HOURLY" => Frequency::Hourly,
        "MINUTELY" => Frequency::Minutely,
        "SECONDLY" => return Err(wrong("every second is an interval", "write every = \"1s\" instead of rrule")),
        _ => return Err(wrong("no such frequency", "write YEARLY, MONTHLY, WEEKLY, DAILY, HOURLY or MINUTELY")),
    })
}

fn number(text: &str, least: i64, most: i64) -> Result<i64, Wrong> {
    let plain = text.strip_prefix('+').unwrap_or(text);
    let value = plain.parse().ok().filter(|value| (least..=most).contains(value) && !plain.starts_with('+'));
    value.ok_or_else(|| wrong(format!("{text:?} is not a number from {least} to {most}"), format!("write {least} to {most}")))
}

/// A list, in order and without doubles; `back`: also from the end, as negative numbers.
fn numbers(value: &str, least: i64, most: i64, back: bool) -> Result<Vec<i64>, Wrong> {
    let one = |text: &str| match text.trim().strip_prefix('-') {
        Some(rest) if back && rest.starts_with(|digit: char| digit.is_ascii_digit()) => {
            number(rest, least, most).map(|value| -value)
        }
        _ => number(text.trim(), least, most),
    };
    let mut list = value.split(',').map(one).collect::<Result<Vec<_>, _>>()?;
    list.sort_unstable();
    list.dedup();
    Ok(list)
}

fn weekday(text: &str) -> Option<Weekday> {
    Some(match text {
        "MO" => Weekday::Monday,
        "TU" => Weekday::Tuesday,
        "WE" => Weekday::Wednesday,
        "TH" => Weekday::Thursday,
        "FR" => Weekday::Friday,
        "SA" => Weekday::Saturday,
        "SU" => Weekday::Sunday,
        _ => return None,
    })
}

fn no_weekday() -> Wrong {
    wrong("no such day", "write MO, TU, WE, TH, FR, SA or SU")
}

/// `FR`, `1FR`, `-1FR`: a number of zero means each of them.
fn nth_weekday(text: &str) -> Result<(i64, Weekday), Wrong> {
    let at = text.len().checked_sub(2).filter(|at| text.is_char_boundary(*at)).ok_or_else(no_weekday)?;
    let (nth, day) = text.split_at(at);
    let day = weekday(day).ok_or_else(no_weekday)?;
    match nth {
        "" => Ok((0, day)),
        nth => numbers(nth, 1, 53, true).map(|list| (list[0], day)),
    }
}

/// A date (to its end), a local time, or an instant with `Z`, as the local time that the clock then shows.
fn until(value: &str, zone: &TimeZone) -> Result<DateTime, Wrong> {
    let failed =
        || wrong("not a time", "write a date such as 20261231, a local time such as 20261231T090000, or one with Z in UTC");
    let basic = |text: &str| {
        text.len() == 15 && text.bytes().enumerate().all(|(at, byte)| if at == 8 { byte == b'T' } else { byte.is_ascii_digit() })
    };
    let last = |day: jiff::civil::Date| day.at(23, 59, 59, 0);
    if value.len() == 8 && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return value.parse().map(last).map_err(|_| failed());
    }
    match value.strip_suffix('Z') {
        Some(utc) if basic(utc) => {
            let utc: DateTime = utc.parse().map_err(|_| failed())?;
            let at = TimeZone::UTC.to_timestamp(utc).map_err(|_| failed())?;
            Ok(zone.to_datetime(at))
        }
        None if basic(value) => value.parse().map_err(|_| failed()),
        _ => Err(failed()),
    }
}
