//! What people get wrong in expressions that can be read: they mean something else than they say. Advice changes nothing.

use super::super::job::{ScheduleDefinition, When};

/// What may surprise whoever wrote `definition`, one sentence each, with what to write instead. For one that can be read.
pub fn advice(definition: &ScheduleDefinition) -> Vec<String> {
    let mut found = Vec::new();
    if let When::Cron { expression, seconds } = &definition.when {
        let fields: Vec<&str> = expression.split_ascii_whitespace().skip(usize::from(*seconds)).collect();
        if let [minute, hour, day, month, weekday] = fields[..] {
            found.extend(every_minute(minute, hour));
            found.extend(day_fields(day, weekday));
            found.extend(late_day(day, month));
            for (text, unit) in [(minute, &MINUTES), (hour, &HOURS), (day, &DAYS), (month, &MONTHS), (weekday, &WEEKDAYS)] {
                found.extend(text.split(',').filter_map(|part| uneven(part, unit)));
            }
        }
    }
    found.extend(zone(&definition.time_zone));
    found
}

struct Unit {
    first: u32,
    count: u32,
    name: &'static str,
    around: &'static str,
}

const MINUTES: Unit = Unit { first: 0, count: 60, name: "minutes", around: "hour" };
const HOURS: Unit = Unit { first: 0, count: 24, name: "hours", around: "day" };
const DAYS: Unit = Unit { first: 1, count: 31, name: "days", around: "month" };
const MONTHS: Unit = Unit { first: 1, count: 12, name: "months", around: "year" };
const WEEKDAYS: Unit = Unit { first: 0, count: 7, name: "weekdays", around: "week" };

fn every_minute(minute: &str, hour: &str) -> Option<String> {
    let all = minute == "*" || minute == "*/1";
    (all && !hour.starts_with('*'))
        .then(|| format!("fires sixty times in each hour that {hour:?} names; write 0 as the minute for once"))
}

/// Vixie's rule, which nobody expects.
fn day_fields(day: &str, weekday: &str) -> Option<String> {
    let free = |field: &str| field == "*" || field == "?";
    if free(day) || free(weekday) {
        return None;
    }
    Some(if day.starts_with('*') || weekday.starts_with('*') {
        format!("fires only on days that day-of-month {day:?} and day-of-week {weekday:?} both name, because one begins with *")
    } else {
        format!(
            "fires on days that day-of-month {day:?} or day-of-week {weekday:?} names, not only where both do; for the first Friday write * and FRI#1"
        )
    })
}

fn late_day(day: &str, month: &str) -> Option<String> {
    let late = ["29", "30", "31"].contains(&day) && month.starts_with('*');
    late.then(|| format!("leaves out months without a day {day}; L is the last day of every month"))
}

/// A step that does not divide its unit starts anew at the next one.
fn uneven(part: &str, unit: &Unit) -> Option<String> {
    let step: u32 = part.strip_prefix("*/")?.parse().ok().filter(|step| *step > 0)?;
    let Unit { first, count, name, around } = unit;
    let named: Vec<String> = (*first..first + count).step_by(step as usize).map(|value| value.to_string()).collect();
    (count % step != 0)
        .then(|| format!("{part:?} is not every {step} {name}: it names {} and starts anew each {around}", shortened(&named)))
}

fn shortened(named: &[String]) -> String {
    match named {
        [first, second, .., last] if named.len() > 4 => format!("{first}, {second}, … {last}"),
        all => all.join(", "),
    }
}

fn zone(name: &str) -> Option<String> {
    if let Some(offset) = name.strip_prefix("Etc/GMT").filter(|offset| offset.starts_with(['+', '-'])) {
        let side = if offset.starts_with('-') { "ahead of" } else { "behind" };
        return Some(format!("{name} is {} hours {side} Greenwich, the other way round than it reads", &offset[1..]));
    }
    let better = match name {
        "EST" => "America/New_York",
        "MST" => "America/Denver",
        "HST" => "Pacific/Honolulu",
        _ => return None,
    };
    Some(format!("{name} is the same offset all year; write {better} if summer time is meant"))
}

#[cfg(test)]
mod tests {
    use super::super::super::job::Dst;
    use super::*;

    fn of(expression: &str, zone: &str) -> String {
        let when = When::Cron { expression: expression.into(), seconds: false };
        advice(&ScheduleDefinition { when, time_zone: zone.into(), dst: Dst::Vixie }).join(" | ")
    }

    #[test]
    fn what_says_what_it_means_gets_no_advice() {
        for expression in
            ["0 2 * * *", "*/15 * * * *", "0 */6 1 * *", "0 9 * * MON-FRI", "* * * * *", "0 9 L * *", "0 9 * */3 *", "@daily"]
        {
            assert_eq!(of(expression, "Europe/Berlin"), "", "{expression}");
        }
    }

    #[test]
    fn what_means_something_else_is_told_with_what_to_write() {
        let says =
            |expression, words: &str| assert!(of(expression, "UTC").contains(words), "{expression}: {}", of(expression, "UTC"));
        says("* 2 * * *", "sixty times in each hour that \"2\" names");
        says("0 8 13 * 5", "day-of-month \"13\" or day-of-week \"5\"");
        says("0 8 */2 * 1", "both name");
        says("0 10 1 */5 *", "names 1, 6, 11 and starts anew each year");
        says("*/7 * * * *", "names 0, 7, … 56 and starts anew each hour");
        says("0 8 31 * *", "leaves out months without a day 31");
        assert!(of("0 9 * * *", "EST").contains("America/New_York"));
        assert!(of("0 9 * * *", "Etc/GMT-7").contains("7 hours ahead"));
    }
}
