//! Slots of real expressions in real zones: the shared vectors, the three DST policies, the syntax and its refusals.
#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use std::time::Duration;

use jiff::tz::TimeZoneDatabase;
use onebell::model::Moment;
use onebell::model::job::{Dst, ScheduleDefinition, When};
use onebell::model::schedule::{Note, Schedule, ScheduleError};
use serde_json::Value;

/// Vectors that this product answers otherwise, each with its reason.
const OTHERWISE: [(&str, &str); 2] = [
    ("T-step60", "K01-22 lets us refuse: `*/60` means minute 0, which is not what was meant"),
    ("T-step25h", "K01-22 lets us refuse: `*/25` means hour 0, which is not what was meant"),
];

fn definition(when: When, zone: &str, dst: Dst) -> ScheduleDefinition {
    ScheduleDefinition { when, time_zone: zone.to_owned(), dst }
}

fn cron(expression: &str) -> When {
    When::Cron { expression: expression.to_owned(), seconds: false }
}

fn read(when: When, zone: &str, dst: Dst) -> Result<Schedule, ScheduleError> {
    Schedule::parse(&definition(when, zone, dst), "a-job", &TimeZoneDatabase::bundled())
}

fn at(text: &str) -> Moment {
    text.replace('Z', ":00Z").parse().unwrap()
}

/// The next `count` slots after `after`, as `2026-11-29T19:00Z` with the note behind.
fn slots(schedule: &Schedule, after: &str, count: usize) -> Vec<String> {
    let mut after = at(after);
    let mut found = Vec::new();
    while found.len() < count
        && let Some(slot) = schedule.next(after)
    {
        assert!(slot.at > after);
        after = slot.at;
        let note = slot.note.map(|note| format!(" {note}")).unwrap_or_default();
        found.push(format!("{}{note}", slot.at.to_string().replace(":00Z", "Z")));
    }
    found
}

fn fires(expression: &str, zone: &str, dst: Dst, after: &str, count: usize) -> Vec<String> {
    slots(&read(cron(expression), zone, dst).unwrap(), after, count)
}

fn refusal(expression: &str) -> String {
    match read(cron(expression), "UTC", Dst::Vixie) {
        Ok(_) => panic!("{expression} was accepted"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn every_shared_vector_is_answered() {
    let vectors: Vec<Value> = serde_json::from_str(include_str!("data/times.json")).unwrap();
    assert!(vectors.len() >= 50);
    for vector in vectors {
        let text = |name: &str| vector[name].as_str().unwrap();
        let (id, expression, zone) = (text("id"), text("expr"), text("zone"));
        let schedule = read(cron(expression), zone, Dst::Vixie);
        let Some(wanted) = vector["fires"].as_array() else {
            assert!(schedule.is_err(), "{id}: {expression} must be refused");
            continue;
        };
        if OTHERWISE.iter().any(|(gated, _)| *gated == id) {
            assert!(schedule.is_err(), "{id} is answered now: take it off the list");
            continue;
        }
        let schedule = schedule.unwrap_or_else(|error| panic!("{id}: {error}"));
        let mut after = at(text("after"));
        for wanted in wanted {
            let slot = schedule.next(after).unwrap_or_else(|| panic!("{id}: nothing after {after}"));
            assert_eq!(slot.at, at(wanted.as_str().unwrap()), "{id}: {expression} in {zone} after {after}");
            after = slot.at;
        }
    }
}

#[test]
fn a_slot_in_a_gap_fires_once_at_the_first_instant_after_it() {
    let vixie = fires("40 2 * * *", "Europe/Warsaw", Dst::Vixie, "2027-03-27T12:00Z", 2);
    assert_eq!(vixie, ["2027-03-28T01:00Z gap: first instant after it", "2027-03-29T00:40Z"]);
    let merged = fires("0,40 2,3 * * *", "Europe/Warsaw", Dst::Vixie, "2027-03-28T00:00Z", 2);
    assert_eq!(merged, ["2027-03-28T01:00Z", "2027-03-28T01:40Z"], "one slot for 02:00, 02:40 and 03:00");
}

#[test]
fn under_skip_a_slot_in_a_gap_is_named_to_be_recorded_and_not_opened() {
    let skip = fires("40 2 * * *", "Europe/Warsaw", Dst::Skip, "2027-03-27T12:00Z", 2);
    assert_eq!(skip, ["2027-03-28T01:00Z gap: skipped", "2027-03-29T00:40Z"]);
    let meets = fires("0 2,3 * * *", "Europe/Warsaw", Dst::Skip, "2027-03-28T00:00Z", 1);
    assert_eq!(meets, ["2027-03-28T01:00Z"], "03:00 exists and runs");
}

#[test]
fn under_wall_a_time_that_does_not_exist_is_none_and_one_that_comes_twice_fires_twice() {
    let gap = fires("40 2 * * *", "Europe/Warsaw", Dst::Wall, "2027-03-27T12:00Z", 1);
    assert_eq!(gap, ["2027-03-29T00:40Z"]);
    let fold = fires("15 2 * * *", "Europe/Berlin", Dst::Wall, "2026-10-24T12:00Z", 3);
    assert_eq!(fold, ["2026-10-25T00:15Z fold: first pass", "2026-10-25T01:15Z fold: second pass", "2026-10-26T01:15Z"]);
}

#[test]
fn a_fixed_time_in_a_fold_fires_on_the_first_pass_only() {
    for dst in [Dst::Vixie, Dst::Skip] {
        let fold = fires("15 2 * * *", "Europe/Berlin", dst, "2026-10-24T12:00Z", 2);
        assert_eq!(fold, ["2026-10-25T00:15Z fold: first pass", "2026-10-26T01:15Z"]);
        let asked_in_the_second_pass = fires("15 2 * * *", "Europe/Berlin", dst, "2026-10-25T01:10Z", 1);
        assert_eq!(asked_in_the_second_pass, ["2026-10-26T01:15Z"]);
    }
}

#[test]
fn a_rhythm_keeps_its_real_spacing_over_gap_and_fold() {
    let gap = fires("5 * * * *", "Europe/Warsaw", Dst::Vixie, "2027-03-28T00:00Z", 3);
    assert_eq!(gap, ["2027-03-28T00:05Z", "2027-03-28T01:05Z", "2027-03-28T02:05Z"]);
    let fold = fires("5 * * * *", "Europe/Berlin", Dst::Vixie, "2026-10-25T00:00Z", 3);
    assert_eq!(fold, ["2026-10-25T00:05Z fold: first pass", "2026-10-25T01:05Z fold: second pass", "2026-10-25T02:05Z"]);
}

#[test]
fn a_day_that_a_zone_left_out_is_a_gap_too() {
    let samoa = fires("0 12 30 12 *", "Pacific/Apia", Dst::Vixie, "2011-12-01T00:00Z", 2);
    assert_eq!(samoa, ["2011-12-30T10:00Z gap: first instant after it", "2012-12-29T22:00Z"]);
}

#[test]
fn seconds_are_read_only_when_asked_for() {
    let seconds = When::Cron { expression: "*/20 0 12 * * *".to_owned(), seconds: true };
    let schedule = read(seconds, "UTC", Dst::Vixie).unwrap();
    assert_eq!(slots(&schedule, "2026-11-29T12:00Z", 2), ["2026-11-29T12:00:20Z", "2026-11-29T12:00:40Z"]);
    assert!(refusal("0 0 12 * * *").contains("seconds = true"));
}

#[test]
fn last_days_and_nearest_workdays_follow_the_calendar() {
    let days = |expression: &str, after: &str, count| -> Vec<String> {
        fires(expression, "UTC", Dst::Vixie, after, count).iter().map(|slot| slot[..10].to_owned()).collect()
    };
    assert_eq!(days("0 9 L * *", "2027-01-31T12:00Z", 3), ["2027-02-28", "2027-03-31", "2027-04-30"]);
    assert_eq!(days("0 9 LW * *", "2027-01-31T12:00Z", 3), ["2027-02-26", "2027-03-31", "2027-04-30"]);
    assert_eq!(days("0 9 15W * *", "2027-04-20T00:00Z", 3), ["2027-05-14", "2027-06-15", "2027-07-15"]);
    assert_eq!(days("0 9 1W * *", "2027-04-20T00:00Z", 3), ["2027-05-03", "2027-06-01", "2027-07-01"]);
    assert_eq!(days("0 9 31W * *", "2027-01-01T00:00Z", 3), ["2027-01-29", "2027-03-31", "2027-05-31"]);
    assert_eq!(days("0 9 * * 5L", "2027-01-01T00:00Z", 3), ["2027-01-29", "2027-02-26", "2027-03-26"]);
    assert_eq!(days("0 9 * * SUNL", "2027-01-01T00:00Z", 2), ["2027-01-31", "2027-02-28"]);
    assert_eq!(days("0 9 ? * MON#1,7#2", "2027-01-01T00:00Z", 3), ["2027-01-04", "2027-01-10", "2027-02-01"]);
    assert_eq!(days("0 9 1,L * ?", "2027-01-01T12:00Z", 3), ["2027-01-31", "2027-02-01", "2027-02-28"]);
}

#[test]
fn a_leap_day_is_found_over_a_century_without_one() {
    assert_eq!(fires("0 9 29 2 *", "UTC", Dst::Vixie, "2097-01-01T00:00Z", 1), ["2104-02-29T09:00Z"]);
    assert_eq!(fires("0 9 29 2 */7", "UTC", Dst::Vixie, "2093-01-01T00:00Z", 1), ["2128-02-29T09:00Z"]);
}

#[test]
fn names_stand_for_their_fields_in_the_jobs_zone() {
    let next = |name: &str| fires(name, "Asia/Ho_Chi_Minh", Dst::Vixie, "2026-11-29T12:10Z", 1);
    assert_eq!(next("@hourly"), ["2026-11-29T13:00Z"]);
    assert_eq!(next("@daily"), ["2026-11-29T17:00Z"]);
    assert_eq!(next("@midnight"), next("@daily"));
    assert_eq!(next("@weekly"), ["2026-12-05T17:00Z"]);
    assert_eq!(next("@monthly"), ["2026-11-30T17:00Z"]);
    assert_eq!(next("@yearly"), ["2026-12-31T17:00Z"]);
    assert_eq!(next("@annually"), next("@yearly"));
    assert_eq!(next("@every 1h30m"), ["2026-11-29T13:30Z"]);
    assert_eq!(next(" @every  5m "), ["2026-11-29T12:15Z"]);
}

#[test]
fn an_interval_lies_on_a_grid_that_no_restart_moves() {
    let schedule = read(When::Every(Duration::from_secs(7 * 60)), "UTC", Dst::Vixie).unwrap();
    let slot = schedule.next(at("2026-11-29T12:00Z")).unwrap();
    assert_eq!(slot.at.micros() % (7 * 60 * 1_000_000), 0);
    assert_eq!(schedule.next(Moment::from_micros(-1)).unwrap().at, Moment::from_micros(0));
    assert_eq!(schedule.next(Moment::from_micros(0)).unwrap().at, Moment::from_micros(420_000_000));
    assert_eq!(schedule.last(Moment::from_micros(-1)).unwrap().at, Moment::from_micros(-420_000_000));
    assert_eq!(schedule.next(Moment::from_micros(i64::MAX)), None);
    for period in [Duration::ZERO, Duration::from_millis(999), Duration::MAX] {
        assert!(read(When::Every(period), "UTC", Dst::Vixie).is_err(), "{period:?}");
    }
}

#[test]
fn one_instant_is_read_with_its_offset_or_in_the_zone() {
    let once = |text: &str, zone: &str, dst| read(When::At(text.to_owned()), zone, dst);
    let first = |text: &str, zone: &str, dst| slots(&once(text, zone, dst).unwrap(), "2026-01-01T00:00Z", 2);
    assert_eq!(first("2026-12-01T02:00", "Asia/Ho_Chi_Minh", Dst::Vixie), ["2026-11-30T19:00Z"]);
    assert_eq!(first("2026-12-01T02:00:00+07:00", "UTC", Dst::Vixie), ["2026-11-30T19:00Z"]);
    assert_eq!(first("2026-11-30T19:00:00Z", "Asia/Tokyo", Dst::Vixie), ["2026-11-30T19:00Z"]);
    assert_eq!(first("2027-03-28T02:30", "Europe/Warsaw", Dst::Vixie), ["2027-03-28T01:00Z gap: first instant after it"]);
    assert_eq!(first("2027-03-28T02:00", "Europe/Warsaw", Dst::Skip), ["2027-03-28T01:00Z gap: skipped"]);
    assert_eq!(first("2026-10-25T02:15", "Europe/Berlin", Dst::Wall), ["2026-10-25T00:15Z fold: first pass"]);
    assert!(once("2027-03-28T02:30", "Europe/Warsaw", Dst::Wall).unwrap_err().to_string().contains("does not exist"));
    for text in ["", "tomorrow", "2026-12-01", "02:00", "2026-02-30T02:00", "2026-12-01T25:00", "2026-12-01T02:00[Asia/Tokyo]"] {
        assert!(once(text, "UTC", Dst::Vixie).is_err(), "{text:?}");
    }
    let past = once("2020-01-01T00:00:00Z", "UTC", Dst::Vixie).unwrap();
    assert_eq!(past.next(at("2026-01-01T00:00Z")), None);
}

#[test]
fn h_is_the_same_on_every_replica_and_spreads_jobs() {
    let minute = |job: &str, expression: &str| {
        let schedule =
            Schedule::parse(&definition(cron(expression), "UTC", Dst::Vixie), job, &TimeZoneDatabase::bundled()).unwrap();
        schedule.next(at("2026-11-29T00:00Z")).unwrap().at.micros() / 60_000_000 % 60
    };
    let drawn: std::collections::BTreeSet<i64> = (0..100).map(|job| minute(&format!("job-{job}"), "H * * * *")).collect();
    assert!(drawn.len() > 30, "{drawn:?}");
    assert_eq!(minute("backup", "H * * * *"), minute("backup", "H * * * *"));
    assert!((0..100).all(|job| (20..=25).contains(&minute(&format!("job-{job}"), "H(20-25) * * * *"))));
    let every_quarter = fires("H/15 * * * *", "UTC", Dst::Vixie, "2026-11-29T00:00Z", 9);
    assert_eq!(every_quarter[0][14..], every_quarter[4][14..]);
    assert!(
        (0..50).all(|job| minute(&format!("job-{job}"), "H H H H *") < 60 && minute(&format!("job-{job}"), "H H * * H") < 60)
    );
}

#[test]
fn what_cannot_be_read_names_its_place_and_its_remedy() {
    for (expression, place, remedy) in [
        ("61 * * * *", "minute field \"61\": 61 is out of range", "write 0 to 59"),
        ("* 24 * * *", "hour field \"24\"", "write 0 to 23"),
        ("* * 0 * *", "day-of-month field \"0\"", "write 1 to 31"),
        ("* * * 13 *", "month field \"13\"", "JAN to DEC"),
        ("* * * * 8", "day-of-week field \"8\"", "0 and 7 are Sunday"),
        ("* * * FOO *", "month field \"FOO\"", "JAN to DEC"),
        ("* * * * MONDAY", "day-of-week field \"MONDAY\"", "SUN to SAT"),
        ("*/60 * * * *", "it means minute 0 alone, not every 60", "write 0"),
        ("0 */25 * * *", "it means hour 0 alone", "write 0"),
        ("50/15 * * * *", "it means minute 50 alone", "write 50"),
        ("*/0 * * * *", "\"0\" is no step", "1 upwards"),
        ("*/x * * * *", "is no step", "1 upwards"),
        ("*/99999999999999999999 * * * *", "is no step", "1 upwards"),
        ("0 22-2 * * *", "goes backwards", "write 22-23,0-2"),
        ("0 4 * * FRI-MON", "goes backwards", "write 5-6,0-1"),
        ("0 4 * * sat-sun", "goes backwards", "write 6,0"),
        ("1,,2 * * * *", "something is missing", "write 0 to 59"),
        (", * * * *", "something is missing", "write 0 to 59"),
        ("1- * * * *", "something is missing", "write 0 to 59"),
        ("+5 * * * *", "minute field \"+5\"", "write 0 to 59"),
        ("\u{ff15} * * * *", "minute field", "write 0 to 59"),
        ("? * * * *", "minute field \"?\"", "write 0 to 59"),
        ("0 0 L-3 * *", "day-of-month field \"L-3\"", "LW"),
        ("0 0 * * L", "day-of-week field \"L\"", "SUN to SAT"),
        ("0 0 * * MON#6", "no occurrence", "MON#2"),
        ("H(5) * * * *", "cannot be read", "H(0-29)"),
        ("H(9-5) * * * *", "goes backwards", "write"),
        ("H/60 * * * *", "longer than the range", "write"),
        ("", "0 fields instead of 5", "minute hour"),
        ("0 2 * *", "4 fields instead of 5", "minute hour"),
        ("0 2 * * * * *", "7 fields", "minute hour"),
        ("CRON_TZ=UTC 0 2 * * *", "6 fields", "time_zone"),
        ("@reboot", "no meaning", "--key"),
        ("@Daily", "cannot be read", "write @daily"),
        ("@daily extra", "cannot be read", "nothing after"),
        ("@fortnightly", "no known name", "@weekly"),
        ("@every", "no known name", "@every 5m"),
        ("@every 0s", "not an interval", "@every 5m"),
        ("@every 5", "not an interval", "@every 5m"),
        ("@every 99999999999999999999h", "not an interval", "@every 5m"),
        ("0 0 31 2 *", "never fires", "correct the day-of-month"),
        ("0 0 31 4,6,9,11 *", "never fires", "correct"),
        ("0 0 30 2 */7", "never fires", "correct"),
        ("0 0 31W 2 *", "never fires", "correct"),
    ] {
        let error = refusal(expression);
        assert!(error.contains(place) && error.contains(remedy), "{expression:?}: {error}");
    }
    let error = read(cron("0 2 * JAN,FOO *"), "UTC", Dst::Vixie).unwrap_err();
    assert_eq!(error.offset, 10, "{error}");
}

#[test]
fn a_time_that_the_clock_always_skips_is_refused_under_wall_only() {
    let always_skipped = cron("30 2 * 3 0#2");
    assert!(read(always_skipped.clone(), "America/New_York", Dst::Wall).unwrap_err().to_string().contains("vixie"));
    assert!(read(always_skipped, "America/New_York", Dst::Vixie).is_ok());
}

#[test]
fn k01_13_the_bundled_rules_know_the_zones_that_moved_in_2026() {
    for (expression, zone, slot) in
        [("0 9 * * *", "America/Vancouver", "2026-11-29T16:00Z"), ("0 7 * * *", "Africa/Casablanca", "2026-11-30T07:00Z")]
    {
        assert_eq!(fires(expression, zone, Dst::Vixie, "2026-11-29T12:00Z", 1), [slot], "{zone}");
    }
}

#[test]
fn an_unknown_zone_is_refused_with_the_nearest_name() {
    for (zone, remedy) in [
        ("asia/kolkata", "write \"Asia/Kolkata\""),
        (" Asia/Ho_Chi_Minh", "write \"Asia/Ho_Chi_Minh\""),
        ("Europe/Berln", "did you mean \"Europe/Berlin\"?"),
        ("Asia/Hanoi", "write \"Asia/Ho_Chi_Minh\""),
        ("Ho Chi Minh", "write \"Asia/Ho_Chi_Minh\""),
        ("New York", "write \"America/New_York\""),
        ("UTC+7", "write \"Etc/GMT-7\""),
        ("+07:00", "write \"Etc/GMT-7\""),
        ("SE Asia Standard Time", "Windows"),
        ("", "IANA name"),
        ("Nowhere/Atlantis", "IANA name"),
    ] {
        let error = read(cron("0 2 * * *"), zone, Dst::Vixie).unwrap_err().to_string();
        assert!(error.contains(remedy), "{zone:?}: {error}");
    }
    for zone in ["Asia/Saigon", "EST", "EST5EDT", "Etc/GMT-7", "UTC"] {
        assert!(read(cron("0 2 * * *"), zone, Dst::Vixie).is_ok(), "{zone}");
    }
}

#[test]
fn notes_are_the_words_that_explain_prints() {
    assert_eq!(Note::FoldFirst.to_string(), "fold: first pass");
}
