//! Calendars that cron has no words for, as recurrence rules: weekdays and days of the month that both have to fit, days from the end.

use onebell::model::job::When;

use super::calendar::Date;

/// Nothing of the rule is left open, so it may begin on any day of the past.
const START: &str = "2000-01-01T00:00:00";
const WEEKDAYS: [&str; 7] = ["SU", "MO", "TU", "WE", "TH", "FR", "SA"];

/// The rule; nothing: a value is out of its range.
pub(super) fn of(date: &Date, weekdays: Option<&[u8]>, clock: [&str; 3]) -> Option<When> {
    let listed = |values: Vec<u16>, sign: &str| {
        let words: Vec<String> = values.iter().map(|value| format!("{sign}{value}")).collect();
        words.join(",")
    };
    let mut rule = "FREQ=MONTHLY".to_owned();
    if date.month != "*" {
        rule.push_str(&format!(";BYMONTH={}", listed(values(&date.month, 1, 12)?, "")));
    }
    if date.day != "*" {
        let sign = if date.from_end { "-" } else { "" };
        rule.push_str(&format!(";BYMONTHDAY={}", listed(values(&date.day, 1, 31)?, sign)));
    }
    if let Some(weekdays) = weekdays {
        let names: Vec<&str> = weekdays.iter().filter_map(|day| WEEKDAYS.get(usize::from(*day)).copied()).collect();
        rule.push_str(&format!(";BYDAY={}", names.join(",")));
    }
    for (part, field, most) in [("BYHOUR", clock[0], 23), ("BYMINUTE", clock[1], 59), ("BYSECOND", clock[2], 59)] {
        rule.push_str(&format!(";{part}={}", listed(values(field, 0, most)?, "")));
    }
    Some(When::Rrule { rule, start: START.to_owned() })
}

/// Every value that a field of cron names.
fn values(field: &str, least: u16, most: u16) -> Option<Vec<u16>> {
    let mut values = Vec::new();
    for part in field.split(',') {
        let (base, step) = match part.split_once('/') {
            Some((base, step)) => (base, Some(step.parse::<u16>().ok().filter(|step| *step > 0)?)),
            None => (part, None),
        };
        let (from, to) = match base.split_once('-') {
            Some((from, to)) => (from.parse().ok()?, to.parse().ok()?),
            None if base == "*" => (least, most),
            None => (base.parse().ok()?, if step.is_some() { most } else { base.parse().ok()? }),
        };
        if from < least || to > most || from > to {
            return None;
        }
        values.extend((from..=to).step_by(usize::from(step.unwrap_or(1))));
    }
    values.sort_unstable();
    values.dedup();
    Some(values)
}
