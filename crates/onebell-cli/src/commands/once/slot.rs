//! `--slot EXPR`: hosts that start within a minute of each other mean the same slot.

use std::time::Duration;

use onebell::model::Moment;
use onebell::model::job::{Dst, ScheduleDefinition, When};
use onebell::model::schedule::Schedule;
use onebell::replica::ZoneData;

use crate::answer::Failure;
use crate::args::Once;

/// A host whose cron is so early means the slot to come.
const NEAR: Duration = Duration::from_secs(60);

/// `KEY@SLOT`.
pub(super) fn key(args: &Once, expression: &str, now: Moment) -> Result<String, Failure> {
    let when = When::Cron { expression: expression.to_owned(), seconds: false };
    let time_zone = args.time_zone.clone().unwrap_or_else(|| "UTC".to_owned());
    let definition = ScheduleDefinition { when, time_zone, dst: Dst::default() };
    let schedule = Schedule::parse(&definition, &args.key, ZoneData::newest().zones());
    let schedule = schedule.map_err(|error| Failure::usage(format!("--slot: {error}")))?;
    let slot = nearest(&schedule, now).ok_or_else(|| Failure::usage("--slot: the expression names no slot before now"))?;
    Ok(format!("{}@{slot}", args.key))
}

/// The slot nearest to `now` within a minute, else the last one.
fn nearest(schedule: &Schedule, now: Moment) -> Option<Moment> {
    let last = schedule.last(now).map(|slot| slot.at);
    let next = schedule.next(now).map(|slot| slot.at).filter(|next| next.since(now) <= NEAR);
    match (last, next) {
        (Some(last), Some(next)) if now.since(last) <= next.since(now) => Some(last),
        (_, Some(next)) => Some(next),
        (last, None) => last,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Moment {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    fn slot_of(expression: &str, now: &str) -> String {
        let when = When::Cron { expression: expression.to_owned(), seconds: false };
        let definition = ScheduleDefinition { when, time_zone: "UTC".to_owned(), dst: Dst::default() };
        let schedule = Schedule::parse(&definition, "k", ZoneData::newest().zones()).unwrap_or_else(|error| panic!("{error}"));
        nearest(&schedule, at(now)).map(|slot| slot.to_string()).unwrap_or_default()
    }

    #[test]
    fn hosts_that_are_early_or_late_by_seconds_mean_one_slot() {
        for now in ["2026-11-30T01:59:31Z", "2026-11-30T01:59:59.9Z", "2026-11-30T02:00:00Z", "2026-11-30T02:04:00Z"] {
            assert_eq!(slot_of("0 2 * * *", now), "2026-11-30T02:00:00Z", "{now}");
        }
        assert_eq!(slot_of("0 2 * * *", "2026-11-30T01:58:59Z"), "2026-11-29T02:00:00Z", "more than a minute before it");
    }

    #[test]
    fn of_a_minutely_expression_the_nearer_slot_is_meant() {
        assert_eq!(slot_of("* * * * *", "2026-11-30T02:00:29Z"), "2026-11-30T02:00:00Z");
        assert_eq!(slot_of("* * * * *", "2026-11-30T02:00:30Z"), "2026-11-30T02:00:00Z");
        assert_eq!(slot_of("* * * * *", "2026-11-30T02:00:31Z"), "2026-11-30T02:01:00Z");
    }
}
