//! `OnCalendar=`, turned into cron expressions where there are such, else into recurrence rules.

use onebell::model::job::When;

use super::rule;

/// What a calendar expression says.
#[derive(Debug, PartialEq)]
pub(super) struct Calendar {
    pub(super) whens: Vec<When>,
    pub(super) zone: Option<String>,
}

/// Why there is no such.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// systemd refuses it too.
    Unread,
    /// It is right, and nothing here says it.
    Unsaid,
}

const NAMES: &[(&str, &str)] = &[
    ("minutely", "*-*-* *:*:00"),
    ("hourly", "*-*-* *:00:00"),
    ("daily", "*-*-* 00:00:00"),
    ("monthly", "*-*-01 00:00:00"),
    ("weekly", "Mon *-*-* 00:00:00"),
    ("yearly", "*-01-01 00:00:00"),
    ("annually", "*-01-01 00:00:00"),
    ("quarterly", "*-01,04,07,10-01 00:00:00"),
    ("semiannually", "*-01,07-01 00:00:00"),
    ("semi-annually", "*-01,07-01 00:00:00"),
    ("biannually", "*-01,07-01 00:00:00"),
    ("bi-annually", "*-01,07-01 00:00:00"),
];

const WEEKDAYS: [&str; 7] = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

pub(super) fn read(text: &str) -> Result<Calendar, Wrong> {
    let mut words: Vec<&str> = text.split_whitespace().collect();
    let zone = words.pop_if(|word| is_zone(word)).map(str::to_owned);
    let named = |word: &str| NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, meaning)| *meaning);
    if let [only] = words[..]
        && let Some(meaning) = named(only)
    {
        words = meaning.split_whitespace().collect();
    }
    let mut words = words.into_iter().peekable();
    let weekdays = match words.next_if(|word| word.starts_with(|c: char| c.is_ascii_alphabetic())) {
        Some(word) => Some(weekdays(word).ok_or(Wrong::Unread)?),
        None => None,
    };
    let date = words.next_if(|word| !word.contains(':'));
    let time = words.next();
    let empty = weekdays.is_none() && date.is_none() && time.is_none();
    if empty || words.next().is_some() {
        return Err(Wrong::Unread);
    }
    let date = Date::read(date.unwrap_or("*-*-*")).ok_or(Wrong::Unread)?;
    let time = time.unwrap_or("00:00:00");
    // Parts of a second are systemd's alone.
    let wrong = if time.contains('.') { Wrong::Unsaid } else { Wrong::Unread };
    let [hour, minute, second] = clock(time).ok_or(wrong)?;
    let when = if date.year == "*" {
        match days(&date, weekdays.as_deref()) {
            Some((days, weekdays)) => {
                let months = &date.month;
                let fields = format!("{minute} {hour} {days} {months} {weekdays}");
                let seconds = second != "0";
                When::Cron { expression: if seconds { format!("{second} {fields}") } else { fields }, seconds }
            }
            None => rule::of(&date, weekdays.as_deref(), [&hour, &minute, &second]).ok_or(Wrong::Unsaid)?,
        }
    } else {
        once(&date, weekdays.is_some(), [&hour, &minute, &second])?
    };
    Ok(Calendar { whens: vec![when], zone })
}

/// A single instant of a single year; a year beside anything else cannot be said.
fn once(date: &Date, weekdays: bool, clock: [&str; 3]) -> Result<When, Wrong> {
    let number = |text: &str| text.parse::<u16>().map_err(|_| Wrong::Unsaid);
    if weekdays || date.from_end {
        return Err(Wrong::Unsaid);
    }
    let (year, month, day) = (number(&date.year)?, number(&date.month)?, number(&date.day)?);
    let [hour, minute, second] = clock;
    let (hour, minute, second) = (number(hour)?, number(minute)?, number(second)?);
    Ok(When::At(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")))
}

/// The fields for days and for weekdays; systemd wants both to fit, cron one of them. Nothing: cron has no words for it.
fn days(date: &Date, weekdays: Option<&[u8]>) -> Option<(String, String)> {
    let list = |weekdays: &[u8], suffix: &str| weekdays.iter().map(|day| format!("{day}{suffix}")).collect::<Vec<_>>().join(",");
    match (weekdays, date.from_end, date.day.as_str()) {
        (None, false, day) => Some((day.to_owned(), "*".to_owned())),
        (None, true, "1") => Some(("L".to_owned(), "*".to_owned())),
        (Some(weekdays), false, "*") => Some(("*".to_owned(), list(weekdays, ""))),
        (Some(weekdays), false, day) => {
            let nth = ["1-7", "8-14", "15-21", "22-28"].iter().position(|week| *week == day)?;
            Some(("*".to_owned(), list(weekdays, &format!("#{}", nth + 1))))
        }
        (Some(weekdays), true, "7/1") => Some(("*".to_owned(), list(weekdays, "L"))),
        _ => None,
    }
}

/// Years, months and days, each as a field of cron.
pub(super) struct Date {
    year: String,
    pub(super) month: String,
    pub(super) day: String,
    /// Days are counted from the end of the month.
    pub(super) from_end: bool,
}

impl Date {
    fn read(text: &str) -> Option<Self> {
        let (front, last) = text.rsplit_once(['-', '~'])?;
        let from_end = text[front.len()..].starts_with('~');
        let (year, month) = front.split_once('-').unwrap_or(("*", front));
        // Two digits mean this century.
        let century = |year: String| if year.len() <= 2 && year != "*" { format!("20{year:0>2}") } else { year };
        Some(Self { year: century(component(year)?), month: component(month)?, day: component(last)?, from_end })
    }
}

/// Hours, minutes and seconds.
fn clock(text: &str) -> Option<[String; 3]> {
    let mut parts = text.split(':');
    let (hour, minute, second) = (parts.next()?, parts.next()?, parts.next().unwrap_or("00"));
    if parts.next().is_some() {
        return None;
    }
    Some([component(hour)?, component(minute)?, component(second)?])
}

/// A list of values, ranges and steps as a field of cron.
fn component(text: &str) -> Option<String> {
    text.split(',').map(part).collect::<Option<Vec<_>>>().map(|parts| parts.join(","))
}

fn part(text: &str) -> Option<String> {
    let (base, step) = match text.split_once('/') {
        Some((base, step)) => (base, Some(number(step)?)),
        None => (text, None),
    };
    let base = match base.split_once("..") {
        Some((from, to)) => format!("{}-{}", number(from)?, number(to)?),
        None if base == "*" => "*".to_owned(),
        None => number(base)?,
    };
    Some(step.map_or_else(|| base.clone(), |step| format!("{base}/{step}")))
}

/// Without leading zeros, and of a fraction that is none.
fn number(text: &str) -> Option<String> {
    let whole = text
        .split_once('.')
        .map_or(text, |(whole, fraction)| if fraction.bytes().all(|digit| digit == b'0') { whole } else { text });
    whole.parse::<u16>().ok().filter(|_| whole.bytes().all(|byte| byte.is_ascii_digit())).map(|value| value.to_string())
}

fn weekdays(text: &str) -> Option<Vec<u8>> {
    let mut days = Vec::new();
    for part in text.trim_end_matches(',').split(',') {
        let range = part.split_once("..").or_else(|| part.split_once('-'));
        let (from, to) = match range {
            Some((from, to)) => (weekday(from)?, weekday(to)?),
            None => (weekday(part)?, weekday(part)?),
        };
        // The week begins on Monday, and no range goes past its end.
        let from_monday = |day: u8| (day + 6) % 7;
        if from_monday(from) > from_monday(to) {
            return None;
        }
        days.extend((from_monday(from)..=from_monday(to)).map(|day| (day + 1) % 7));
    }
    days.sort_unstable();
    days.dedup();
    Some(days)
}

fn weekday(text: &str) -> Option<u8> {
    let text = text.to_ascii_lowercase();
    let at = WEEKDAYS.iter().position(|name| *name == text || name.get(..3) == Some(text.as_str()))?;
    u8::try_from(at).ok()
}

fn is_zone(word: &str) -> bool {
    let is_name = NAMES.iter().any(|(name, _)| name.eq_ignore_ascii_case(word));
    word.starts_with(|c: char| c.is_ascii_alphabetic()) && !is_name && weekdays(word).is_none() && !word.contains(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cron(text: &str) -> String {
        match read(text) {
            Ok(Calendar { whens, .. }) => match &whens[0] {
                When::Cron { expression, .. } => expression.clone(),
                When::At(at) => format!("at {at}"),
                When::Rrule { rule, .. } => rule.clone(),
                When::Every(_) => unreachable!("no interval comes from a calendar"),
            },
            Err(wrong) => format!("{wrong:?}"),
        }
    }

    #[test]
    fn calendars_are_said_as_cron_says_them() {
        for (text, expected) in [
            ("daily", "0 0 * * *"),
            ("weekly", "0 0 * * 1"),
            ("quarterly", "0 0 1 1,4,7,10 *"),
            ("Mon..Fri 02:00", "0 2 * * 1,2,3,4,5"),
            ("Fri..Sun 02:00", "0 2 * * 0,5,6"),
            ("Mon,Wed *-*-* 9..17:0/15:00", "0/15 9-17 * * 1,3"),
            ("*-*-* 02:00:00 Europe/Berlin", "0 2 * * *"),
            ("02:30", "30 2 * * *"),
            ("*:0/10", "0/10 * * * *"),
            ("*-*-* *:*:0/30", "0/30 * * * * *"),
            ("*-*-1,15 04:00", "0 4 1,15 * *"),
            ("12-24 18:00", "0 18 24 12 *"),
            ("*-*~01 23:59", "59 23 L * *"),
            ("Mon *-*-1..7 08:00", "0 8 * * 1#1"),
            ("Fri *-*~07/1 17:00", "0 17 * * 5L"),
            ("2027-01-02 03:04:05", "at 2027-01-02T03:04:05"),
            ("Sun", "0 0 * * 0"),
            ("00:00:00.000", "0 0 * * *"),
            ("Mon *-*-13 08:00", "FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=MO;BYHOUR=8;BYMINUTE=0;BYSECOND=0"),
            ("*-02~1..3 8:0/30", "FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=-1,-2,-3;BYHOUR=8;BYMINUTE=0,30;BYSECOND=0"),
        ] {
            assert_eq!(cron(text), expected, "{text}");
        }
        assert_eq!(read("*-*-* 02:00:00 Europe/Berlin").unwrap().zone.as_deref(), Some("Europe/Berlin"));
        assert_eq!(read("daily UTC").unwrap().zone.as_deref(), Some("UTC"));
    }

    #[test]
    fn what_cron_cannot_say_is_told_apart_from_what_nobody_can() {
        for text in ["2027..2029-01-01", "2027-*-01 00:00", "Fri 2027-01-01", "00:00:00.5"] {
            assert_eq!(cron(text), "Unsaid", "{text}");
        }
        for text in [
            "",
            "Sat..Mon 02:00",
            "Europe/Berlin",
            "Mondag 02:00",
            "25",
            "1:2:3:4",
            "*-*-* 02:00 x y",
            "*-*-* 0a:00",
            "a-b-c",
            "02:00 daily",
        ] {
            assert_eq!(cron(text), "Unread", "{text}");
        }
    }
}
