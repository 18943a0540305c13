//! The engine against a walk that shares no code with it: it looks at every UTC minute, asks the zone for
//! its offset, computes the civil date by itself and evaluates the expression as it was drawn, not as text.
#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

mod calendar;
mod draw;
mod minutes;

use std::collections::HashMap;

use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};
use onebell::model::Moment;
use onebell::model::job::{Dst, ScheduleDefinition, When};
use onebell::model::schedule::{Note, Schedule};

use calendar::{Civil, Expression, civil};
use draw::{Draw, draw_day, draw_field, draw_minute, draw_weekday};
use minutes::{Minute, walk};

const ZONES: [&str; 20] = [
    "Europe/Berlin",
    "Europe/Warsaw",
    "Europe/Dublin",
    "Europe/London",
    "America/New_York",
    "America/Santiago",
    "America/Sao_Paulo",
    "America/Havana",
    "America/St_Johns",
    "America/Scoresbysund",
    "Africa/Cairo",
    "Africa/Casablanca",
    "Asia/Gaza",
    "Asia/Tehran",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Australia/Sydney",
    "Pacific/Chatham",
    "Pacific/Apia",
    "Antarctica/Troll",
];
const EXPRESSIONS: usize = 4_400;
/// Minutes before and after a transition.
const BEFORE: i64 = 1_500;
const AFTER: i64 = 1_700;

/// What each policy names, by the words of the design.
fn expected(expression: &Expression, minutes: &[Minute], dst: Dst, named: &[bool]) -> Vec<(i64, Option<Note>)> {
    let fixed = expression.fixed();
    let mut slots = Vec::new();
    for (minute, named) in minutes.iter().zip(named) {
        let swallowed = minute.second_pass && fixed && dst != Dst::Wall;
        if *named && !swallowed {
            let note = if minute.second_pass { Some(Note::FoldSecond) } else { minute.first_pass.then_some(Note::FoldFirst) };
            slots.push((minute.utc, note));
            continue;
        }
        let Some(from) = minute.missing_from else { continue };
        let named_in_gap = (from..minute.local).any(|local| expression.names(civil(local)));
        match dst {
            Dst::Vixie if named_in_gap && fixed => slots.push((minute.utc, Some(Note::GapShifted))),
            Dst::Skip if named_in_gap => slots.push((minute.utc, Some(Note::GapSkipped))),
            _ => {}
        }
    }
    slots
}

fn forwards(schedule: &Schedule, from: i64, to: i64) -> Vec<(i64, Option<Note>)> {
    let mut after = Moment::from_micros(from * 60_000_000 - 1);
    let mut slots = Vec::new();
    while let Some(slot) = schedule.next(after) {
        assert!(slot.at > after, "next(t) > t");
        if slot.at.micros() >= to * 60_000_000 {
            break;
        }
        slots.push((slot.at.micros() / 60_000_000, slot.note));
        after = slot.at;
    }
    slots
}

fn backwards(schedule: &Schedule, from: i64, to: i64) -> Vec<(i64, Option<Note>)> {
    let mut at = Moment::from_micros(to * 60_000_000 - 1);
    let mut slots = Vec::new();
    while let Some(slot) = schedule.last(at) {
        assert!(slot.at <= at, "last(t) <= t");
        if slot.at.micros() < from * 60_000_000 {
            break;
        }
        slots.push((slot.at.micros() / 60_000_000, slot.note));
        at = Moment::from_micros(slot.at.micros() - 1);
    }
    slots.reverse();
    slots
}

fn transitions(zone: &TimeZone) -> Vec<i64> {
    let start = "2017-06-01T00:00:00Z".parse::<Timestamp>().unwrap();
    let end = "2028-01-01T00:00:00Z".parse::<Timestamp>().unwrap();
    let found: Vec<i64> =
        zone.following(start).map(|change| change.timestamp()).take_while(|at| *at < end).map(|at| at.as_second() / 60).collect();
    // A zone without any is walked too.
    if found.is_empty() { vec![start.as_second() / 60] } else { found }
}

#[test]
fn every_policy_names_what_a_walk_over_real_minutes_names() {
    let zones = TimeZoneDatabase::bundled();
    let mut draw = Draw(20_261_129);
    let rounds: Vec<(&str, i64)> =
        ZONES.iter().flat_map(|name| transitions(&zones.get(name).unwrap()).into_iter().map(move |at| (*name, at))).collect();
    assert!(rounds.len() > 150, "{}", rounds.len());
    let (mut compared, mut slots, mut noted) = (0, 0, HashMap::new());
    for (round, (name, transition)) in rounds.iter().enumerate() {
        let zone = zones.get(name).unwrap();
        let minutes = walk(&zone, *transition);
        let civils: Vec<Civil> = minutes.iter().map(|minute| civil(minute.local)).collect();
        let shown = civil(minutes[usize::try_from(BEFORE).unwrap() - 1].local);
        let (from, to) = (minutes[0].utc, minutes[minutes.len() - 1].utc + 1);
        let mut left = EXPRESSIONS / rounds.len() + usize::from(round < EXPRESSIONS % rounds.len());
        while left > 0 {
            let expression = Expression([
                draw_minute(&mut draw),
                draw_field(&mut draw, 0, 23, Some(shown.hour + 1), 25),
                draw_day(&mut draw, shown.day),
                draw_field(&mut draw, 1, 12, Some(shown.month), 85),
                draw_weekday(&mut draw, shown.weekday),
            ]);
            let text = expression.text();
            let named: Vec<bool> = civils.iter().map(|civil| expression.names(*civil)).collect();
            let read = |dst| {
                let definition = ScheduleDefinition {
                    when: When::Cron { expression: text.clone(), seconds: false },
                    time_zone: (*name).to_owned(),
                    dst,
                };
                Schedule::parse(&definition, "oracle", &zones)
            };
            match read(Dst::Vixie) {
                Ok(_) => left -= 1,
                Err(error) if error.problem.starts_with("never fires") => continue,
                Err(error) => panic!("{text}: {error}"),
            }
            for &dst in Dst::ALL {
                let Ok(schedule) = read(dst) else { continue };
                let wanted = expected(&expression, &minutes, dst, &named);
                assert_eq!(forwards(&schedule, from, to), wanted, "{text:?} {name} {dst} forwards round minute {transition}");
                assert_eq!(backwards(&schedule, from, to), wanted, "{text:?} {name} {dst} backwards round minute {transition}");
                compared += 1;
                slots += wanted.len();
                for (_, note) in wanted {
                    *noted.entry(format!("{note:?}")).or_insert(0) += 1;
                }
            }
        }
    }
    println!("{compared} schedules, {slots} slots, {noted:?}");
    assert!(compared >= 3 * 4_000, "{compared}");
    assert!(noted.len() == 5 && noted.values().all(|count| *count > 100), "every note was met: {noted:?}");
}

#[test]
fn next_is_later_than_its_argument_and_never_goes_back_for_a_later_one() {
    let zones = TimeZoneDatabase::bundled();
    let mut draw = Draw(7);
    for name in ZONES {
        let transitions = transitions(&zones.get(name).unwrap());
        for expression in ["30 2 * * *", "0,30 0-3 * * *", "*/7 * * * *", "15 */2 * * *", "0 0 29 2 *", "59 23 L * *"] {
            for &dst in Dst::ALL {
                let definition = ScheduleDefinition {
                    when: When::Cron { expression: expression.into(), seconds: false },
                    time_zone: name.into(),
                    dst,
                };
                let schedule = Schedule::parse(&definition, "oracle", &zones).unwrap();
                let near = transitions[usize::try_from(draw.below(i64::try_from(transitions.len()).unwrap())).unwrap()];
                let mut moments: Vec<i64> =
                    (0..60).map(|_| near * 60_000_000 + draw.between(-3 * 86_400_000_000, 3 * 86_400_000_000)).collect();
                moments.sort_unstable();
                let mut before = Moment::from_micros(i64::MIN);
                for at in moments.into_iter().map(Moment::from_micros) {
                    let slot = schedule.next(at).unwrap();
                    assert!(slot.at > at && slot.at >= before, "{expression} {name} {dst} at {at}");
                    assert!(
                        schedule.last(at).is_none_or(|last| last.at <= at && schedule.next(last.at) == Some(slot)),
                        "nothing lies between last and next"
                    );
                    assert_eq!(schedule.last(slot.at), Some(slot), "a slot is its own last one");
                    before = slot.at;
                }
            }
        }
    }
}

#[test]
fn a_second_opinion_on_days_agrees() {
    use croner::parser::{CronParser, Seconds};
    let mut draw = Draw(3);
    let zones = TimeZoneDatabase::bundled();
    for _ in 0..600 {
        let (day, weekday) = (draw_day(&mut draw, 15), draw_weekday(&mut draw, 3));
        let text = format!("0 0 {} * {}", day.text, weekday.text);
        let both = day.star || weekday.star;
        let croner = CronParser::builder()
            .seconds(Seconds::Disallowed)
            .dom_and_dow(both)
            .sloppy_ranges(true)
            .build()
            .parse(&text)
            .unwrap();
        let definition = ScheduleDefinition {
            when: When::Cron { expression: text.clone(), seconds: false },
            time_zone: "UTC".into(),
            dst: Dst::Vixie,
        };
        let Ok(schedule) = Schedule::parse(&definition, "oracle", &zones) else { continue };
        for local in (21_000..21_500).map(|days| days * 1440) {
            let at = civil(local);
            let weekday = croner::time::Weekday::Sunday.shift(i32::try_from(at.weekday).unwrap());
            let number = |value: i64| u32::try_from(value).unwrap();
            let theirs =
                croner.pattern.day_match(i32::try_from(at.year).unwrap(), number(at.month), number(at.day), weekday).unwrap();
            let slot = schedule.next(Moment::from_micros(local * 60_000_000 - 1)).unwrap();
            assert_eq!(slot.at.micros() == local * 60_000_000, theirs, "{text} on {}-{}-{}", at.year, at.month, at.day);
        }
    }
}
