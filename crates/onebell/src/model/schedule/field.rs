//! One field of a cron expression: its grammar, what it names, and the advice when it is wrong.

use jiff::civil::{Date, Weekday};
use sha2::{Digest, Sha256};

use super::ScheduleError;
use super::cron::has;

/// Which field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Second,
    Minute,
    Hour,
    Day,
    Month,
    Weekday,
}

const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

impl Kind {
    pub(super) const ALL: [Self; 6] = [Self::Second, Self::Minute, Self::Hour, Self::Day, Self::Month, Self::Weekday];

    const fn name(self) -> &'static str {
        match self {
            Self::Second => "second",
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day-of-month",
            Self::Month => "month",
            Self::Weekday => "day-of-week",
        }
    }

    const fn bounds(self) -> (u8, u8) {
        match self {
            Self::Second | Self::Minute => (0, 59),
            Self::Hour => (0, 23),
            Self::Day => (1, 31),
            Self::Month => (1, 12),
            Self::Weekday => (0, 7),
        }
    }

    /// Where `H` draws from: days that every month has, each weekday once.
    const fn drawn(self) -> (u8, u8) {
        match self {
            Self::Day => (1, 28),
            Self::Weekday => (0, 6),
            _ => self.bounds(),
        }
    }

    /// The remedy for a value that is not one.
    fn allowed(self) -> String {
        let (min, max) = self.bounds();
        match self {
            Self::Day => format!("write {min} to {max}, L, LW or 15W"),
            Self::Month => format!("write {min} to {max}, or JAN to DEC"),
            Self::Weekday => format!("write {min} to {max}, or SUN to SAT (0 and 7 are Sunday)"),
            _ => format!("write {min} to {max}"),
        }
    }
}

/// What a field names.
#[derive(Debug, Clone, Default)]
pub(super) struct Field {
    /// One bit per value; Sunday is 0.
    pub(super) values: u64,
    /// It begins with `*` (or is `?`).
    pub(super) star: bool,
    specials: Vec<Special>,
}

/// Days that depend on the month.
#[derive(Debug, Clone, Copy)]
enum Special {
    /// `L`
    LastDay,
    /// `LW`
    LastWorkday,
    /// `15W`: Monday to Friday nearest to that day, within the month.
    Nearest(i8),
    /// `5L`
    LastWeekday(i8),
    /// `5#3`
    Nth(i8, i8),
}

impl Field {
    /// Reads the text of one field; `offset` is where it stands in the expression.
    pub(super) fn read(kind: Kind, text: &str, offset: usize, job: &str) -> Result<Self, ScheduleError> {
        let in_day_field = matches!(kind, Kind::Day | Kind::Weekday);
        let mut field = Self { star: text.starts_with('*') || (text == "?" && in_day_field), ..Self::default() };
        let reader = Reader { kind, job };
        for part in text.split(',') {
            let part_offset = offset + (part.as_ptr() as usize - text.as_ptr() as usize);
            let wrong = |(problem, remedy): Wrong| {
                ScheduleError::new(format!("{} field {part:?}", kind.name()), problem, remedy).at(part_offset)
            };
            if text == "?" && in_day_field {
                field.values = span(kind.bounds().0, kind.bounds().1, 1);
            } else if let Some(special) = reader.special(&part.to_ascii_uppercase()).map_err(wrong)? {
                field.specials.push(special);
            } else {
                field.values |= reader.values(&part.to_ascii_uppercase()).map_err(wrong)?;
            }
        }
        if kind == Kind::Weekday && has(field.values, 7) {
            field.values = field.values & !(1 << 7) | 1;
        }
        Ok(field)
    }

    /// As a day-of-month field.
    pub(super) fn names_day(&self, date: Date) -> bool {
        has(self.values, date.day())
            || self.specials.iter().any(|special| match *special {
                Special::LastDay => date.day() == date.days_in_month(),
                Special::LastWorkday => date == workday_near(date.last_of_month()),
                Special::Nearest(day) => Date::new(date.year(), date.month(), day).is_ok_and(|named| date == workday_near(named)),
                Special::LastWeekday(_) | Special::Nth(..) => false,
            })
    }

    /// As a day-of-week field.
    pub(super) fn names_weekday(&self, date: Date) -> bool {
        let weekday = date.weekday().to_sunday_zero_offset();
        has(self.values, weekday)
            || self.specials.iter().any(|special| match *special {
                Special::LastWeekday(named) => weekday == named && date.day() + 7 > date.days_in_month(),
                Special::Nth(named, nth) => weekday == named && (date.day() - 1) / 7 + 1 == nth,
                Special::LastDay | Special::LastWorkday | Special::Nearest(_) => false,
            })
    }
}

/// Monday to Friday nearest to `date`, in its month.
fn workday_near(date: Date) -> Date {
    let moved = match date.weekday() {
        Weekday::Saturday if date.day() == 1 => 2,
        Weekday::Saturday => -1,
        Weekday::Sunday if date.day() == date.days_in_month() => -2,
        Weekday::Sunday => 1,
        _ => 0,
    };
    Date::new(date.year(), date.month(), date.day() + moved).unwrap_or(date)
}

/// What is wrong and what to write instead.
type Wrong = (String, String);

struct Reader<'a> {
    kind: Kind,
    job: &'a str,
}

impl Reader<'_> {
    fn special(&self, part: &str) -> Result<Option<Special>, Wrong> {
        match self.kind {
            Kind::Day if part == "L" => Ok(Some(Special::LastDay)),
            Kind::Day if part == "LW" => Ok(Some(Special::LastWorkday)),
            Kind::Day if part.ends_with('W') => {
                self.value(&part[..part.len() - 1]).map(|day| Some(Special::Nearest(day.cast_signed())))
            }
            Kind::Weekday if part.ends_with('L') && part.len() > 1 => {
                self.value(&part[..part.len() - 1]).map(|day| Some(Special::LastWeekday((day % 7).cast_signed())))
            }
            Kind::Weekday => {
                let Some((day, nth)) = part.split_once('#') else { return Ok(None) };
                let day = self.value(day)?;
                match nth.parse::<i8>() {
                    Ok(nth @ 1..=5) => Ok(Some(Special::Nth((day % 7).cast_signed(), nth))),
                    _ => {
                        Err((format!("{nth:?} is no occurrence within a month"), "write # and 1 to 5, such as MON#2".to_owned()))
                    }
                }
            }
            _ => Ok(None),
        }
    }

    fn values(&self, part: &str) -> Result<u64, Wrong> {
        let (base, step) = match part.split_once('/') {
            Some((base, step)) => (base, Some(read_step(step)?)),
            None => (part, None),
        };
        let (min, max) = self.kind.bounds();
        if base.starts_with('H') {
            return self.drawn(base, step);
        }
        let (from, to) = match base.split_once('-') {
            Some((from, to)) => self.range(self.value(from)?, self.value(to)?)?,
            None if base == "*" => (min, max),
            None => {
                let value = self.value(base)?;
                (value, if step.is_some() { max } else { value })
            }
        };
        if let Some(step) = step
            && step > to - from
        {
            let unit = self.kind.name();
            return Err((
                format!("a step of {step} goes past the end: it means {unit} {from} alone, not every {step}"),
                format!("write {from}, or use `every`"),
            ));
        }
        Ok(span(from, to, step.unwrap_or(1)))
    }

    fn range(&self, from: u8, to: u8) -> Result<(u8, u8), Wrong> {
        if from <= to {
            return Ok((from, to));
        }
        let (min, max) = self.kind.bounds();
        let max = if self.kind == Kind::Weekday { 6 } else { max };
        let piece = |from, to| if from == to { format!("{from}") } else { format!("{from}-{to}") };
        Err((
            format!("the range goes backwards from {from} to {to}"),
            format!("write {},{}", piece(from, max.max(from)), piece(min, to)),
        ))
    }

    /// `H`, `H/15`, `H(0-29)`, `H(0-29)/10`: drawn from the job's name, so that jobs spread out and
    /// every replica draws alike.
    fn drawn(&self, base: &str, step: Option<u8>) -> Result<u64, Wrong> {
        let malformed = || (format!("{base:?} cannot be read"), "write H, H/15 or H(0-29)".to_owned());
        let (from, to) = match base[1..].strip_prefix('(').map(|rest| rest.strip_suffix(')')) {
            None if base == "H" => self.kind.drawn(),
            Some(Some(range)) => {
                let (from, to) = range.split_once('-').ok_or_else(malformed)?;
                self.range(self.value(from)?, self.value(to)?)?
            }
            _ => return Err(malformed()),
        };
        let digest = Sha256::digest(format!("{}\0{}", self.kind.name(), self.job));
        let number = digest.iter().take(8).fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        let draw = |below: u8| u8::try_from(number % u64::from(below.max(1))).unwrap_or(0);
        match step {
            None => Ok(1 << (from + draw(to - from + 1))),
            Some(step) if step > to - from => {
                Err((format!("a step of {step} is longer than the range {from}-{to}"), format!("write H({from}-{to})")))
            }
            Some(step) => Ok(span(from + draw(step), to, step)),
        }
    }

    fn value(&self, text: &str) -> Result<u8, Wrong> {
        let names: &[&str] = match self.kind {
            Kind::Month => &MONTHS,
            Kind::Weekday => &WEEKDAYS,
            _ => &[],
        };
        let (min, max) = self.kind.bounds();
        if let Some(index) = names.iter().position(|name| *name == text) {
            return Ok(min + u8::try_from(index).unwrap_or(0));
        }
        if text.is_empty() {
            return Err(("something is missing".to_owned(), self.kind.allowed()));
        }
        if !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err((format!("{text:?} cannot be read"), self.kind.allowed()));
        }
        text.parse()
            .ok()
            .filter(|value| (min..=max).contains(value))
            .ok_or_else(|| (format!("{text} is out of range"), self.kind.allowed()))
    }
}

fn read_step(text: &str) -> Result<u8, Wrong> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let step = text.parse::<u64>().ok().filter(|step| digits && *step > 0);
    step.map(|step| u8::try_from(step).unwrap_or(u8::MAX))
        .ok_or_else(|| (format!("{text:?} is no step"), "write a whole number from 1 upwards after /".to_owned()))
}

fn span(from: u8, to: u8, step: u8) -> u64 {
    (from..=to).step_by(usize::from(step.max(1))).fold(0, |values, value| values | 1 << value)
}
