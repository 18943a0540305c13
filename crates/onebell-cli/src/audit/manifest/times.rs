//! The schedule of a CronJob, by the library that the controller reads it with: five fields, names, `@every`; no L, W, # nor Sunday
//! as 7, and a day field with a step is no star.

use std::time::Duration;

use onebell::model::job::When;

use super::super::codes;
use super::super::expression;
use super::super::finding::Finding;
use super::super::found::{Timing, Zone};

/// Fills in `timing`; `zoned`: timeZone names a zone.
pub(super) fn read(schedule: &str, zoned: bool, timing: &mut Timing, told: &mut Vec<Finding>) {
    let rest = without_zone(schedule, zoned, timing, told);
    let times = rest.trim();
    if let Some(interval) = times.strip_prefix("@every ") {
        return match go_duration(interval.trim()) {
            Some(period) => {
                timing.whens.push(When::Every(period));
                told.push(codes::COUNTED.says(format!("{times:?} is counted from when the CronJob was created or ran last")));
            }
            None => refuse(timing, told, &format!("{times:?} has no duration"), "write one such as @every 1h30m"),
        };
    }
    timing.by_calendar = true;
    if times.starts_with('@') {
        return match expression::named(times) {
            Some(fields) => timing.whens.push(cron(fields.to_owned())),
            None => refuse(
                timing,
                told,
                &format!("there is no {times:?}"),
                "write @hourly, @daily, @weekly, @monthly, @yearly or five fields",
            ),
        };
    }
    let fields: Vec<&str> = times.split_whitespace().collect();
    let [_, _, day, _, weekday] = fields[..] else {
        let message = format!("{} fields instead of 5 in {times:?}", fields.len());
        return refuse(timing, told, &message, "write: minute hour day-of-month month day-of-week");
    };
    if let Some(wrong) = fields.iter().enumerate().find_map(|(index, field)| refused(index, field)) {
        let fix = if wrong == "7" {
            "write 0 for Sunday"
        } else {
            "write numbers, names of months and weekdays, *, ranges, lists and steps"
        };
        return refuse(timing, told, &format!("{wrong:?} in {times:?}"), fix);
    }
    timing.whens.push(cron(expression::plain(&ours(&fields))));
    if stepped_star(day) != stepped_star(weekday) && !is_star(day) && !is_star(weekday) {
        let message =
            format!("day-of-month {day:?} or day-of-week {weekday:?}: for Kubernetes one of them is enough, cron wants both");
        told.push(codes::STAR_STEP.says(message));
    }
}

/// What stands behind `TZ=…`, which older servers took.
fn without_zone<'s>(schedule: &'s str, zoned: bool, timing: &mut Timing, told: &mut Vec<Finding>) -> &'s str {
    let trimmed = schedule.trim_start();
    let Some((word, rest)) = ["CRON_TZ=", "TZ="].iter().find_map(|word| Some((*word, trimmed.strip_prefix(word)?))) else {
        return schedule;
    };
    let (zone, rest) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let message = format!("{word}{zone} in the schedule is refused by current API servers");
    told.push(codes::ZONE_IN_SCHEDULE.with(message, format!("remove it, and write timeZone: {zone}")));
    if !zoned {
        timing.zone = Zone::Named(zone.to_owned());
    }
    rest
}

fn cron(expression: String) -> When {
    When::Cron { expression, seconds: false }
}

fn refuse(timing: &mut Timing, told: &mut Vec<Finding>, what: &str, fix: &str) {
    timing.refused = true;
    told.push(codes::SCHEDULE_REFUSED.with(format!("{what}: the API server refuses the schedule"), fix));
}

/// The part of a field that the controller's library does not read, as far as it differs from our own.
fn refused(index: usize, field: &str) -> Option<String> {
    field.split(',').find_map(|part| {
        let names = part.split(|c: char| !c.is_ascii_alphabetic()).filter(|name| !name.is_empty());
        let signs = part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '*' | '?' | '-' | '/'));
        let names_fit = names.into_iter().all(|name| index >= 3 && name.len() == 3);
        let base = part.split('/').next().unwrap_or_default();
        let seven = index == 4 && base.split('-').any(|value| value == "7");
        match (signs && names_fit && !part.is_empty(), seven) {
            (_, true) => Some("7".to_owned()),
            (false, _) => Some(part.to_owned()),
            _ => None,
        }
    })
}

/// A day field that begins with a star and has a step is no star here: written so that ours takes it for none.
fn ours(fields: &[&str]) -> String {
    let field = |(index, field): (usize, &&str)| {
        let field = field.replace('?', "*");
        match (index, field.strip_prefix("*/")) {
            (2, Some(step)) if step != "1" => format!("1-31/{step}"),
            (4, Some(step)) if step != "1" => format!("0-6/{step}"),
            _ => field,
        }
    };
    fields.iter().enumerate().map(field).collect::<Vec<_>>().join(" ")
}

fn is_star(field: &str) -> bool {
    matches!(field, "*" | "?" | "*/1" | "?/1")
}

fn stepped_star(field: &str) -> bool {
    field.starts_with(['*', '?']) && !is_star(field)
}

/// `1h30m`, `90s`, `1.5h`; less than a second counts as one.
fn go_duration(text: &str) -> Option<Duration> {
    let mut seconds = 0.0_f64;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|at| *at > 0)?;
        let number: f64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let (unit, worth) = [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0)]
            .into_iter()
            .find(|(unit, _)| rest.starts_with(unit))?;
        seconds += number * worth;
        rest = &rest[unit.len()..];
    }
    // A century: what is longer is a slip.
    let fits = !text.is_empty() && seconds.is_finite() && seconds < 3.1e9;
    fits.then(|| Duration::from_secs_f64(seconds.max(1.0).trunc()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(schedule: &str) -> (Timing, Vec<&'static str>) {
        let (mut timing, mut told) = (Timing::default(), Vec::new());
        read(schedule, false, &mut timing, &mut told);
        (timing, told.into_iter().map(|finding| finding.code).collect())
    }

    #[test]
    fn what_the_controller_takes_is_said_in_our_words() {
        let cron = |schedule: &str| match of(schedule).0.whens.as_slice() {
            [When::Cron { expression, .. }] => expression.clone(),
            other => format!("{other:?}"),
        };
        assert_eq!(cron("*/5 * * * *"), "*/5 * * * *");
        assert_eq!(cron(" 0\t2 ? jan-Mar 1-5 \n"), "0 2 * jan-Mar 1-5");
        assert_eq!(cron("@daily"), "0 0 * * *");
        assert_eq!(cron("0 0 */2 * 1"), "0 0 1-31/2 * 1");
        assert_eq!(of("0 0 */2 * 1").1, ["star-step"]);
        assert_eq!(of("0 0 */2 * *").1, Vec::<&str>::new());
        assert_eq!(of("@every 1h30m").0.whens, [When::Every(Duration::from_secs(5400))]);
        assert_eq!(of("CRON_TZ=Asia/Ho_Chi_Minh 0 2 * * *").0.zone, Zone::Named("Asia/Ho_Chi_Minh".to_owned()));
    }

    #[test]
    fn what_it_refuses_is_refused() {
        for schedule in [
            "0 0 * * 7",
            "0 0 * * 5-7",
            "0 0 L * *",
            "0 0 0 * * *",
            "0 0 * *",
            "@reboot",
            "@Daily",
            "@every x",
            "0 0 * * mon#1",
            "",
            "H 0 * * *",
        ] {
            assert_eq!(of(schedule).1, ["schedule-refused"], "{schedule}");
        }
        assert_eq!(of("0 */7 * * */7").1, Vec::<&str>::new());
    }
}
