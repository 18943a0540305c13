//! What a pass opens and skips after an absence of any length.
#![expect(clippy::unwrap_used, reason = "helpers of a test fail by panicking")]

use std::time::Duration;

use jiff::tz::TimeZoneDatabase;
use onebell::model::Moment;
use onebell::model::job::{Dst, Limits, Missed, ScheduleDefinition, When};
use onebell::model::overlap::SkipReason;
use onebell::model::schedule::{Due, OPEN_MAX, Planned, Schedule, SkippedRange, WALK_MAX, plan, skipped_range};

const DAY: Duration = Duration::from_secs(86_400);
const MINUTE: Duration = Duration::from_secs(60);

fn read(when: When, zone: &str, dst: Dst) -> Schedule {
    let definition = ScheduleDefinition { when, time_zone: zone.to_owned(), dst };
    Schedule::parse(&definition, "j", &TimeZoneDatabase::bundled()).unwrap()
}

fn cron(expression: &str) -> Vec<Schedule> {
    vec![read(When::Cron { expression: expression.to_owned(), seconds: false }, "UTC", Dst::Vixie)]
}

fn at(text: &str) -> Moment {
    text.parse().unwrap()
}

fn opened(planned: &Planned) -> Vec<String> {
    planned.open.iter().map(|due| due.at.to_string()).collect()
}

fn range(from: &str, to: &str, count: Option<u64>, reason: SkipReason) -> SkippedRange {
    SkippedRange { from: at(from), to: at(to), count, reason }
}

#[test]
fn i11_a_slot_that_just_came_due_is_opened_under_every_policy() {
    for missed in [Missed::Latest, Missed::Skip, Missed::All(5), Missed::All(0)] {
        let planned = plan(&cron("*/5 * * * *"), at("2026-11-29T11:59:58Z"), at("2026-11-29T12:00:01Z"), missed, DAY);
        assert_eq!(planned.open, [Due { at: at("2026-11-29T12:00:00Z"), catch_up: false }], "{missed:?}");
        assert!(planned.skip.is_empty());
        assert_eq!(planned.cursor, at("2026-11-29T12:00:01Z"));
        assert_eq!(planned.next, Some(at("2026-11-29T12:05:00Z")));
    }
}

#[test]
fn a_slot_exactly_at_now_is_due_and_one_exactly_at_the_cursor_is_not() {
    let planned = plan(&cron("0 * * * *"), at("2026-11-29T11:00:00Z"), at("2026-11-29T12:00:00Z"), Missed::Latest, DAY);
    assert_eq!(opened(&planned), ["2026-11-29T12:00:00Z"]);
    assert!(planned.skip.is_empty());
}

#[test]
fn k02_02_after_three_days_latest_runs_once_and_the_others_are_one_row() {
    let planned = plan(&cron("*/5 * * * *"), at("2026-11-27T00:00:00Z"), at("2026-11-30T00:00:30Z"), Missed::Latest, DAY);
    assert_eq!(planned.open, [Due { at: at("2026-11-30T00:00:00Z"), catch_up: false }]);
    assert_eq!(planned.skip, [range("2026-11-27T00:05:00Z", "2026-11-29T23:55:00Z", Some(863), SkipReason::Missed)]);
    assert_eq!(planned.next, Some(at("2026-11-30T00:05:00Z")));
}

#[test]
fn k02_02_all_runs_the_newest_oldest_first_and_names_why_the_others_do_not() {
    let planned = plan(&cron("*/5 * * * *"), at("2026-11-27T00:00:00Z"), at("2026-11-30T00:00:30Z"), Missed::All(10), DAY);
    assert_eq!(planned.open.len(), 10);
    assert_eq!(planned.open[0], Due { at: at("2026-11-29T23:15:00Z"), catch_up: true });
    assert_eq!(planned.open[9], Due { at: at("2026-11-30T00:00:00Z"), catch_up: true });
    assert_eq!(
        planned.skip,
        [
            range("2026-11-27T00:05:00Z", "2026-11-29T00:00:00Z", Some(576), SkipReason::OutsideWindow),
            range("2026-11-29T00:05:00Z", "2026-11-29T23:10:00Z", Some(278), SkipReason::Missed),
        ]
    );
}

#[test]
fn k02_02_skip_runs_only_what_is_on_time() {
    let late = plan(&cron("0 * * * *"), at("2026-11-29T09:30:00Z"), at("2026-11-29T12:01:01Z"), Missed::Skip, DAY);
    assert!(late.open.is_empty());
    assert_eq!(late.skip, [range("2026-11-29T10:00:00Z", "2026-11-29T12:00:00Z", Some(3), SkipReason::Missed)]);
    let on_time = plan(&cron("0 * * * *"), at("2026-11-29T09:30:00Z"), at("2026-11-29T12:01:00Z"), Missed::Skip, DAY);
    assert_eq!(opened(&on_time), ["2026-11-29T12:00:00Z"]);
    assert_eq!(on_time.skip, [range("2026-11-29T10:00:00Z", "2026-11-29T11:00:00Z", Some(2), SkipReason::Missed)]);
}

#[test]
fn k02_07_every_slot_of_a_stall_is_accounted_for() {
    let planned = plan(&cron("* * * * *"), at("2026-11-29T10:00:10Z"), at("2026-11-29T10:02:20Z"), Missed::Latest, DAY);
    assert_eq!(opened(&planned), ["2026-11-29T10:02:00Z"]);
    assert_eq!(planned.skip, [range("2026-11-29T10:01:00Z", "2026-11-29T10:01:00Z", Some(1), SkipReason::Missed)]);
}

#[test]
fn what_is_older_than_the_window_is_never_opened() {
    for missed in [Missed::Latest, Missed::All(3)] {
        let planned = plan(&cron("0 2 1 * *"), at("2026-10-15T00:00:00Z"), at("2026-11-03T02:00:00Z"), missed, DAY);
        assert!(planned.open.is_empty(), "{missed:?}");
        assert_eq!(planned.skip, [range("2026-11-01T02:00:00Z", "2026-11-01T02:00:00Z", Some(1), SkipReason::OutsideWindow)]);
        let inside = plan(&cron("0 2 1 * *"), at("2026-10-15T00:00:00Z"), at("2026-11-02T02:00:00Z"), missed, DAY);
        assert_eq!(opened(&inside), ["2026-11-01T02:00:00Z"], "the edge of the window lies inside");
    }
}

#[test]
fn i10_ten_years_of_minutes_are_planned_without_walking_them() {
    let (cursor, now) = (at("2016-11-29T00:00:00Z"), at("2026-11-29T12:00:30Z"));
    let decade = Duration::from_secs(3_650 * 86_400);
    for (missed, window, opens) in [
        (Missed::Latest, DAY, 1),
        (Missed::Latest, decade, 1),
        (Missed::Skip, DAY, 1),
        (Missed::All(10), DAY, 10),
        (Missed::All(10), decade, 10),
        (Missed::All(u32::MAX), decade, OPEN_MAX),
    ] {
        let planned = plan(&cron("* * * * *"), cursor, now, missed, window);
        assert_eq!(planned.open.len(), opens, "{missed:?}");
        assert!(planned.skip.len() <= 2);
        assert_eq!(planned.skip[0].from, at("2016-11-29T00:01:00Z"));
        assert_eq!(planned.skip[0].count, None);
    }
}

#[test]
fn i11_ranges_and_opened_slots_meet_without_a_hole_after_a_long_outage() {
    let (cursor, now) = (at("2016-11-29T00:00:00Z"), at("2026-11-29T12:00:30Z"));
    for window in [DAY, Duration::from_secs(100 * 86_400), Duration::from_secs(3_651 * 86_400)] {
        for missed in [Missed::Latest, Missed::Skip, Missed::All(10), Missed::All(2_000)] {
            let planned = plan(&cron("* * * * *"), cursor, now, missed, window);
            let mut reached = cursor;
            for range in &planned.skip {
                assert_eq!(range.from, reached + MINUTE, "{missed:?} {window:?}");
                reached = range.to;
            }
            for due in &planned.open {
                assert_eq!(due.at, reached + MINUTE, "{missed:?} {window:?}");
                reached = due.at;
            }
            let left = next(&planned, now);
            assert_eq!(left, reached + MINUTE, "{missed:?} {window:?}");
        }
    }
}

/// The next slot; the cursor stands at now unless opening was cut short.
fn next(planned: &Planned, now: Moment) -> Moment {
    let next = planned.next.unwrap();
    assert!(planned.cursor == now || (planned.open.len() == OPEN_MAX && next <= now));
    next
}

#[test]
fn what_one_pass_could_not_open_is_opened_by_the_next_ones() {
    let now = at("2026-11-29T12:00:30Z");
    let mut cursor = at("2026-11-28T12:00:00Z");
    let (mut found, mut passes) = (Vec::new(), 0);
    loop {
        let planned = plan(&cron("* * * * *"), cursor, now, Missed::All(1_300), DAY + MINUTE);
        assert!(planned.open.iter().all(|due| due.catch_up));
        assert!(passes == 0 || planned.skip.is_empty());
        found.extend(planned.open);
        (cursor, passes) = (planned.cursor, passes + 1);
        if planned.next.unwrap() > now {
            break;
        }
    }
    assert_eq!((found.len(), passes), (1_300, 3));
    assert!(found.is_sorted_by(|one, two| one.at < two.at));
    assert_eq!(cursor, now);
}

#[test]
fn several_schedules_are_one_union_with_one_slot_per_instant() {
    let mut schedules = cron("0 * * * *");
    schedules.extend(cron("*/30 * * * *"));
    schedules.push(read(When::Every(Duration::from_secs(2_400)), "UTC", Dst::Vixie));
    let planned = plan(&schedules, at("2026-11-29T11:30:00Z"), at("2026-11-29T14:00:00Z"), Missed::All(100), DAY);
    assert_eq!(
        opened(&planned),
        ["12:00", "12:30", "12:40", "13:00", "13:20", "13:30", "14:00"].map(|time| format!("2026-11-29T{time}:00Z"))
    );
    assert!(planned.skip.is_empty());
    assert_eq!(planned.next, Some(at("2026-11-29T14:30:00Z")));
}

#[test]
fn a_slot_in_a_gap_under_skip_is_a_row_of_its_own_and_not_the_latest() {
    let warsaw =
        |expression: &str| read(When::Cron { expression: expression.to_owned(), seconds: false }, "Europe/Warsaw", Dst::Skip);
    let planned = plan(&[warsaw("40 2 * * *")], at("2027-03-26T12:00:00Z"), at("2027-03-28T01:00:05Z"), Missed::Latest, 2 * DAY);
    assert_eq!(opened(&planned), ["2027-03-27T01:40:00Z"]);
    assert_eq!(planned.skip, [range("2027-03-28T01:00:00Z", "2027-03-28T01:00:00Z", Some(1), SkipReason::DstGap)]);
    let met = plan(
        &[warsaw("40 2 * * *"), warsaw("0 3 * * *")],
        at("2027-03-28T00:00:00Z"),
        at("2027-03-28T01:00:05Z"),
        Missed::Latest,
        DAY,
    );
    assert_eq!(opened(&met), ["2027-03-28T01:00:00Z"], "another schedule has that instant");
    assert!(met.skip.is_empty());
}

#[test]
fn k02_01_a_clock_that_ran_back_opens_nothing_and_moves_no_cursor_back() {
    let planned = plan(&cron("*/10 * * * *"), at("2026-11-29T11:01:00Z"), at("2026-11-29T10:01:00Z"), Missed::Latest, DAY);
    assert_eq!(
        planned,
        Planned { open: vec![], skip: vec![], cursor: at("2026-11-29T11:01:00Z"), next: Some(at("2026-11-29T11:10:00Z")) }
    );
}

#[test]
fn k02_04_a_cursor_set_by_an_edit_fires_nothing_of_the_past() {
    let edited = at("2026-12-01T18:00:00Z");
    let planned = plan(&cron("0 14 * * *"), edited, edited + MINUTE, Missed::Latest, DAY);
    assert!(planned.open.is_empty() && planned.skip.is_empty());
    assert_eq!(planned.next, Some(at("2026-12-02T14:00:00Z")));
}

#[test]
fn a_job_without_schedules_or_without_further_slots_has_no_next_one() {
    let none = plan(&[], at("2026-11-29T00:00:00Z"), at("2026-11-30T00:00:00Z"), Missed::Latest, DAY);
    assert_eq!((none.open.len(), none.next), (0, None));
    let once = [read(When::At("2026-11-29T12:00:00Z".into()), "UTC", Dst::Vixie)];
    let planned = plan(&once, at("2026-11-29T00:00:00Z"), at("2026-11-29T13:00:00Z"), Missed::Latest, DAY);
    assert_eq!((opened(&planned), planned.next), (vec!["2026-11-29T12:00:00Z".to_owned()], None));
}

#[test]
fn a_pause_is_one_range_counted_as_far_as_the_walk_goes() {
    let hours = skipped_range(&cron("0 * * * *"), at("2026-11-29T00:00:00Z"), at("2026-11-29T12:30:00Z"), SkipReason::Paused);
    assert_eq!(hours, Some(range("2026-11-29T01:00:00Z", "2026-11-29T12:00:00Z", Some(12), SkipReason::Paused)));
    assert_eq!(
        skipped_range(&cron("0 0 1 * *"), at("2026-11-02T00:00:00Z"), at("2026-11-29T00:00:00Z"), SkipReason::Paused),
        None
    );
    let long =
        skipped_range(&cron("* * * * *"), at("2016-11-29T00:00:00Z"), at("2026-11-29T00:00:00Z"), SkipReason::Paused).unwrap();
    assert_eq!((long.count, long.to), (None, at("2026-11-29T00:00:00Z")));
    const { assert!(WALK_MAX >= 1_440, "a day of minutes is counted") };
}

fn limited(expression: &str, zone: &str, from: Option<&str>, until: Option<&str>, except: &[&str]) -> Result<Schedule, String> {
    let limits = Limits {
        from: from.map(str::to_owned),
        until: until.map(str::to_owned),
        except: except.iter().map(|text| (*text).to_owned()).collect(),
    };
    let schedule = read(When::Cron { expression: expression.to_owned(), seconds: false }, zone, Dst::Vixie);
    schedule.within(&limits).map_err(|error| error.to_string())
}

fn names(schedule: &Schedule, after: &str, count: usize) -> Vec<String> {
    let slots = std::iter::successors(schedule.next(at(after)), |slot| schedule.next(slot.at));
    slots.take(count).map(|slot| format!("{}{}", slot.at, slot.note.map_or(String::new(), |note| format!(" {note}")))).collect()
}

#[test]
fn a_day_in_a_limit_is_a_whole_day_of_the_schedules_zone() {
    let daily = limited("0 2 * * *", "Asia/Ho_Chi_Minh", Some("2026-12-24"), Some("2026-12-26"), &["2026-12-25"]).unwrap();
    let all = ["2026-12-23T19:00:00Z", "2026-12-24T19:00:00Z excluded", "2026-12-25T19:00:00Z"];
    assert_eq!(names(&daily, "2026-01-01T00:00:00Z", 9), all);
    assert_eq!(daily.last(at("2027-06-01T00:00:00Z")).unwrap().at, at("2026-12-25T19:00:00Z"), "nothing is due after it");
    assert_eq!(daily.last(at("2026-12-23T18:59:59Z")), None, "nor before");
    let to_the_second = limited("*/20 * * * *", "UTC", Some("2026-12-01T10:20"), Some("2026-12-01T11:00:00Z"), &[]).unwrap();
    assert_eq!(names(&to_the_second, "2026-01-01T00:00:00Z", 9).len(), 3, "both ends count");
    // Midnight does not exist in Santiago on that day: the day begins at one.
    let santiago = limited("0 1 * * *", "America/Santiago", Some("2026-09-06"), None, &[]).unwrap();
    assert_eq!(names(&santiago, "2026-09-05T00:00:00Z", 1), ["2026-09-06T04:00:00Z"]);
}

#[test]
fn excluded_days_that_touch_or_overlap_are_one_stretch_and_its_slots_one_row() {
    let minutely = [limited("* * * * *", "UTC", None, None, &["2026-12-24..2026-12-25", "2026-12-25", "2026-12-26"]).unwrap()];
    let planned = plan(&minutely, at("2026-12-23T23:58:00Z"), at("2026-12-24T00:30:00Z"), Missed::All(10), 30 * DAY);
    assert_eq!(opened(&planned), ["2026-12-23T23:59:00Z"]);
    assert_eq!(planned.skip, [range("2026-12-24T00:00:00Z", "2026-12-24T00:30:00Z", Some(31), SkipReason::Excluded)]);
    assert_eq!(planned.next, Some(at("2026-12-24T00:31:00Z")), "each is recorded when it is due");
    let after = plan(&minutely, at("2026-12-26T23:57:00Z"), at("2026-12-27T00:01:00Z"), Missed::All(10), DAY);
    assert_eq!(opened(&after), ["2026-12-27T00:00:00Z", "2026-12-27T00:01:00Z"]);
    assert_eq!(after.skip, [range("2026-12-26T23:58:00Z", "2026-12-26T23:59:00Z", Some(2), SkipReason::Excluded)]);
}

#[test]
fn i11_rows_of_excluded_slots_never_reach_over_a_slot_that_ran() {
    let daily = [limited("0 2 * * *", "UTC", None, None, &["2026-12-02", "2026-12-04"]).unwrap()];
    let planned = plan(&daily, at("2026-12-01T12:00:00Z"), at("2026-12-05T12:00:00Z"), Missed::All(10), 30 * DAY);
    assert_eq!(opened(&planned), ["2026-12-03T02:00:00Z", "2026-12-05T02:00:00Z"]);
    let one = |day: &str| range(&format!("{day}T02:00:00Z"), &format!("{day}T02:00:00Z"), Some(1), SkipReason::Excluded);
    assert_eq!(planned.skip, [one("2026-12-02"), one("2026-12-04")]);
    let latest = plan(&daily, at("2026-12-01T12:00:00Z"), at("2026-12-04T12:00:00Z"), Missed::Latest, 30 * DAY);
    assert_eq!(opened(&latest), ["2026-12-03T02:00:00Z"], "an excluded slot is not the latest");
}

#[test]
fn a_limit_that_cannot_be_read_names_itself_and_its_remedy() {
    let told = |from, until, except: &[&str]| limited("0 2 * * *", "UTC", from, until, except).unwrap_err();
    assert!(told(Some("soon"), None, &[]).starts_with("from \"soon\": not a date with a time; write a date such as"));
    assert!(told(None, Some("2026-13-01"), &[]).starts_with("until \"2026-13-01\""));
    assert!(told(Some("2026-12-02"), Some("2026-12-01"), &[]).contains("before from"));
    assert!(told(None, None, &["2026-02-30"]).starts_with("except \"2026-02-30\": not a date; write a day such as"));
    assert!(told(None, None, &["2026-12-25..2026-12-24"]).contains("ends before it begins"));
    assert!(told(None, None, &["9999-12-31"]).contains("outside the years"));
}
