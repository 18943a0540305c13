//! Recurrence rules: the specification's own examples, another library's opinion on random rules, clock changes, and refusals.

use jiff::tz::TimeZoneDatabase;
use onebell::model::Moment;
use onebell::model::job::{Dst, ScheduleDefinition, When};
use onebell::model::schedule::{Schedule, ScheduleError};

fn read(rule: &str, start: &str, zone: &str, dst: Dst) -> Result<Schedule, ScheduleError> {
    let when = When::Rrule { rule: rule.to_owned(), start: start.to_owned() };
    Schedule::parse(&ScheduleDefinition { when, time_zone: zone.to_owned(), dst }, "a-job", &TimeZoneDatabase::bundled())
}

/// The next `count` local times, the first one at or after `start`.
fn local(schedule: &Schedule, count: usize) -> Vec<String> {
    let mut after: Moment = jiff::Timestamp::MIN.into();
    let mut found = Vec::new();
    while found.len() < count
        && let Some(slot) = schedule.next(after)
    {
        assert!(slot.at > after);
        after = slot.at;
        found.push(schedule.zone().to_datetime(slot.at.timestamp()).to_string());
    }
    found
}

fn named(rule: &str, start: &str, count: usize) -> Vec<String> {
    local(&read(rule, start, "UTC", Dst::Vixie).unwrap_or_else(|error| panic!("{rule}: {error}")), count)
}

fn refusal(rule: &str) -> String {
    match read(rule, "2026-12-01T09:00", "Europe/Berlin", Dst::Vixie) {
        Ok(_) => panic!("{rule} was accepted"),
        Err(error) => error.to_string(),
    }
}

/// RFC 5545, 3.8.5.3: all of them begin on 2 September 1997 at nine, in New York, unless another start is named.
#[test]
fn the_examples_of_the_specification_name_what_it_says() {
    for (rule, start, dates) in [
        ("FREQ=DAILY;COUNT=10", "", "0902 0903 0904 0905 0906 0907 0908 0909 0910 0911"),
        ("FREQ=DAILY;INTERVAL=10;COUNT=5", "", "0902 0912 0922 1002 1012"),
        ("FREQ=WEEKLY;COUNT=10", "", "0902 0909 0916 0923 0930 1007 1014 1021 1028 1104"),
        ("FREQ=WEEKLY;INTERVAL=2;WKST=SU", "", "0902 0916 0930 1014 1028 1111 1125"),
        ("FREQ=WEEKLY;UNTIL=19971007T000000Z;WKST=SU;BYDAY=TU,TH", "", "0902 0904 0909 0911 0916 0918 0923 0925 0930 1002"),
        ("FREQ=WEEKLY;INTERVAL=2;COUNT=8;WKST=SU;BYDAY=TU,TH", "", "0902 0904 0916 0918 0930 1002 1014 1016"),
        ("FREQ=MONTHLY;COUNT=4;BYDAY=1FR", "1997-09-05", "0905 1003 1107 1205"),
        ("FREQ=MONTHLY;COUNT=3;BYDAY=-2MO", "1997-09-22", "0922 1020 1117"),
        ("FREQ=MONTHLY;BYMONTHDAY=-3", "1997-09-28", "0928 1029 1128 1229"),
        ("FREQ=MONTHLY;COUNT=6;BYMONTHDAY=2,15", "", "0902 0915 1002 1015 1102 1115"),
        ("FREQ=MONTHLY;COUNT=3;BYDAY=TU,WE,TH;BYSETPOS=3", "1997-09-04", "0904 1007 1106"),
        ("FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=-2", "1997-09-29", "0929 1030 1127 1230"),
        ("FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=MO", "1997-08-05", "0805 0810 0819 0824"),
        ("FREQ=WEEKLY;INTERVAL=2;COUNT=4;BYDAY=TU,SU;WKST=SU", "1997-08-05", "0805 0817 0819 0831"),
    ] {
        let start = format!("{}T09:00:00", if start.is_empty() { "1997-09-02" } else { start });
        let expected: Vec<String> = dates.split(' ').map(|date| format!("1997-{}-{}T09:00:00", &date[..2], &date[2..])).collect();
        let schedule = read(rule, &start, "America/New_York", Dst::Vixie).unwrap();
        let ends = rule.contains("COUNT") || rule.contains("UNTIL");
        assert_eq!(local(&schedule, expected.len() + usize::from(ends)), expected, "{rule}");
    }
    for (rule, start, expected) in [
        ("FREQ=MONTHLY;BYDAY=FR;BYMONTHDAY=13", "1997-09-02", "1998-02-13 1998-03-13 1998-11-13 1999-08-13 2000-10-13"),
        ("FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8", "1996-11-05", "1996-11-05 2000-11-07 2004-11-02"),
        ("FREQ=YEARLY;BYDAY=20MO", "1997-05-19", "1997-05-19 1998-05-18 1999-05-17"),
        ("FREQ=YEARLY;BYWEEKNO=20;BYDAY=MO", "1997-05-12", "1997-05-12 1998-05-11 1999-05-17"),
        (
            "FREQ=YEARLY;INTERVAL=3;COUNT=10;BYYEARDAY=1,100,200",
            "1997-01-01",
            "1997-01-01 1997-04-10 1997-07-19 2000-01-01 2000-04-09",
        ),
        (
            "FREQ=MONTHLY;INTERVAL=18;COUNT=10;BYMONTHDAY=10,11,12,13,14,15",
            "1997-09-10",
            "1997-09-10 1997-09-11 1997-09-12 1997-09-13 1997-09-14 1997-09-15 1999-03-10",
        ),
        (
            "FREQ=MONTHLY;BYDAY=SA;BYMONTHDAY=7,8,9,10,11,12,13",
            "1997-09-13",
            "1997-09-13 1997-10-11 1997-11-08 1997-12-13 1998-01-10",
        ),
        ("FREQ=MONTHLY;BYMONTHDAY=15,30;COUNT=5", "2007-01-15", "2007-01-15 2007-01-30 2007-02-15 2007-03-15 2007-03-30"),
    ] {
        let expected: Vec<String> = expected.split(' ').map(|date| format!("{date}T09:00:00")).collect();
        let schedule = read(rule, &format!("{start}T09:00"), "America/New_York", Dst::Vixie).unwrap();
        assert_eq!(local(&schedule, expected.len()), expected, "{rule}");
    }
    let minutes = "FREQ=MINUTELY;INTERVAL=90;COUNT=4";
    let expected = ["1997-09-02T09:00:00", "1997-09-02T10:30:00", "1997-09-02T12:00:00", "1997-09-02T13:30:00"];
    assert_eq!(named(minutes, "1997-09-02T09:00", 5), expected);
    assert_eq!(
        named("FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T170000Z", "1997-09-02T09:00", 5),
        ["1997-09-02T09:00:00", "1997-09-02T12:00:00", "1997-09-02T15:00:00"]
    );
}

/// `data/recurrence.py` writes the file.
#[test]
fn another_library_reads_random_rules_alike() {
    let mut count = 0;
    for line in include_str!("data/recurrence.tsv").lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        let [rule, start, expected @ ..] = &cells[..] else { panic!("{line}") };
        match read(rule, start, "UTC", Dst::Vixie) {
            Ok(schedule) => {
                let mut found = local(&schedule, 6);
                found.retain(|at| at.as_str() < "2060");
                assert_eq!(found, expected, "{rule} from {start}");
            }
            // Which names nothing at all.
            Err(error) => assert!(expected.is_empty() && error.problem.starts_with("never fires"), "{rule}: {error}"),
        }
        count += 1;
    }
    assert!(count >= 500, "{count}");
}

#[test]
fn what_came_last_and_what_comes_next_agree() {
    for line in include_str!("data/recurrence.tsv").lines() {
        let cells: Vec<&str> = line.split('\t').collect();
        let Ok(schedule) = read(cells[0], cells[1], "Europe/Berlin", Dst::Vixie) else { continue };
        let begin = schedule.interval(cells[1], cells[1]).unwrap().0 - std::time::Duration::from_secs(1);
        let mut before = None;
        let mut after = begin;
        for _ in 0..8 {
            let Some(slot) = schedule.next(after) else { break };
            assert!(slot.at > after, "{}", cells[0]);
            assert_eq!(schedule.last(slot.at), Some(slot), "{}", cells[0]);
            assert_eq!(schedule.last(slot.at - std::time::Duration::from_secs(1)).map(|slot| slot.at), before, "{}", cells[0]);
            (before, after) = (Some(slot.at), slot.at);
        }
    }
}

#[test]
fn clock_changes_follow_the_jobs_policy() {
    let slots = |dst, start: &str, rule: &str| {
        let schedule = read(rule, start, "America/New_York", dst).unwrap();
        let mut after = schedule.interval(start, start).unwrap().0 - std::time::Duration::from_secs(1);
        let mut found = Vec::new();
        for _ in 0..3 {
            let slot = schedule.next(after).unwrap();
            after = slot.at;
            found.push(format!("{}{}", slot.at, slot.note.map(|note| format!(" {note}")).unwrap_or_default()));
        }
        found
    };
    let gap = |dst| slots(dst, "2026-03-07T02:30", "FREQ=DAILY")[1].clone();
    assert_eq!(gap(Dst::Vixie), "2026-03-08T07:00:00Z gap: first instant after it");
    assert_eq!(gap(Dst::Skip), "2026-03-08T07:00:00Z gap: skipped");
    assert_eq!(gap(Dst::Wall), "2026-03-09T06:30:00Z");
    // Once a day is once, an hourly rhythm goes on.
    assert_eq!(
        slots(Dst::Vixie, "2026-11-01T01:30", "FREQ=DAILY")[..2],
        ["2026-11-01T05:30:00Z fold: first pass", "2026-11-02T06:30:00Z"]
    );
    assert_eq!(
        slots(Dst::Vixie, "2026-11-01T00:30", "FREQ=HOURLY"),
        ["2026-11-01T04:30:00Z", "2026-11-01T05:30:00Z fold: first pass", "2026-11-01T06:30:00Z fold: second pass"]
    );
}

#[test]
fn a_rule_that_says_little_means_its_start() {
    assert_eq!(named("FREQ=YEARLY", "2028-02-29T07:05:09", 2), ["2028-02-29T07:05:09", "2032-02-29T07:05:09"]);
    assert_eq!(named("freq=weekly", "2026-12-01T09:00", 2), ["2026-12-01T09:00:00", "2026-12-08T09:00:00"]);
    assert_eq!(named("RRULE:FREQ=MONTHLY", "2026-01-31T09:00", 2), ["2026-01-31T09:00:00", "2026-03-31T09:00:00"]);
    // Far away, and far apart.
    assert_eq!(named("FREQ=YEARLY;INTERVAL=4000", "2026-01-01T00:00", 3), ["2026-01-01T00:00:00", "6026-01-01T00:00:00"]);
    assert_eq!(named("FREQ=DAILY;COUNT=1", "9000-01-01T00:00", 2), ["9000-01-01T00:00:00"]);
}

#[test]
fn what_cannot_be_meant_is_refused_with_what_to_write() {
    for (rule, words) in [
        ("", "write parts such as FREQ=WEEKLY"),
        ("BYDAY=MO", "begin with FREQ=DAILY"),
        ("FREQ=FORTNIGHTLY", "write YEARLY, MONTHLY, WEEKLY"),
        ("FREQ=SECONDLY", "write every = \"1s\""),
        ("FREQ=DAILY;FREQ=DAILY", "it comes twice"),
        ("FREQ=DAILY;COUNT=2;UNTIL=20270101", "keep one of them"),
        ("FREQ=DAILY;COUNT=0", "write 1 to 10000"),
        ("FREQ=DAILY;INTERVAL=-1", "write 1 to 10000"),
        ("FREQ=DAILY;UNTIL=2027-01-01", "write a date such as 20261231"),
        ("FREQ=DAILY;UNTIL=20270230", "write a date such as 20261231"),
        ("FREQ=DAILY;UNTIL=20200101", "never fires"),
        ("FREQ=DAILY;BYDAY=1MO", "FREQ=MONTHLY or YEARLY"),
        ("FREQ=WEEKLY;BYMONTHDAY=1", "or BYDAY"),
        ("FREQ=MONTHLY;BYWEEKNO=1", "write FREQ=YEARLY"),
        ("FREQ=MONTHLY;BYYEARDAY=1", "or BYMONTHDAY"),
        ("FREQ=MONTHLY;BYSETPOS=1", "add BYDAY or BYMONTHDAY"),
        ("FREQ=HOURLY;BYMINUTE=1,2;BYSETPOS=1", "FREQ=DAILY with BYHOUR"),
        ("FREQ=MONTHLY;BYMONTHDAY=0", "write 1 to 31"),
        ("FREQ=MONTHLY;BYMONTH=2;BYMONTHDAY=30", "never fires"),
        ("FREQ=MONTHLY;BYDAY=MONDAY", "write MO, TU"),
        ("FREQ=MONTHLY;BYDAY=ÜÜ", "write MO, TU"),
        ("FREQ=DAILY;BYEASTER=1", "no such part"),
        ("FREQ=DAILY;DTSTART=20270101T000000", "write start ="),
        ("FREQ=HOURLY;INTERVAL=24;BYHOUR=3", "never fires"),
        ("FREQ=YEARLY;INTERVAL=100;BYMONTH=2;BYMONTHDAY=29;COUNT=9999", "never fires"),
    ] {
        assert!(refusal(rule).contains(words), "{rule}: {}", refusal(rule));
    }
    let start = |text| read("FREQ=DAILY", text, "UTC", Dst::Vixie).unwrap_err().to_string();
    for text in ["", "tomorrow", "2026-12-01", "2026-12-01T09:00Z", "2026-12-01T09:00:00.5", "2026-12-01T09:00[UTC]"] {
        assert!(start(text).contains("write one such as \"2026-12-01T09:00\""), "{text}: {}", start(text));
    }
    let offset = read("FREQ=DAILY;BYDAY=XX", "2026-12-01T09:00", "UTC", Dst::Vixie).unwrap_err().offset;
    assert_eq!(offset, "FREQ=DAILY;".len());
}
