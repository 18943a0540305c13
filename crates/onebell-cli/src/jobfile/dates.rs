//! Files of days: one a line, or whole-day events of an iCalendar file (RFC 5545). Other events are refused, not passed over: a
//! holiday that is not seen is a job that runs on it.

use jiff::ToSpan;
use jiff::civil::Date;

/// What is wrong, and in which line, from 1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) line: usize,
    pub(super) problem: String,
    pub(super) remedy: &'static str,
}

fn wrong(line: usize, problem: impl Into<String>, remedy: &'static str) -> Wrong {
    Wrong { line, problem: problem.into(), remedy }
}

/// The days that a file of `except` names: an iCalendar file, or a day a line.
///
/// # Errors
/// The line, from 1, and what is wrong there.
pub fn days_of_file(text: &str, calendar: bool) -> Result<Vec<String>, (usize, String)> {
    let days = if calendar { of_calendar(text) } else { of_lines(text) };
    days.map_err(|wrong| (wrong.line, format!("{}; {}", wrong.problem, wrong.remedy)))
}

/// `2026-12-25` or `2026-12-24..2027-01-02` at the beginning of each line; what follows a blank, and a line that begins with #,
/// is for people.
pub(super) fn of_lines(text: &str) -> Result<Vec<String>, Wrong> {
    let mut days = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some(word) = line.split_whitespace().next().filter(|word| !word.starts_with('#')) else { continue };
        let (first, last) = word.split_once("..").unwrap_or((word, word));
        match (day(first), day(last)) {
            (Some(first), Some(last)) if first <= last => days.push(range(first, last)),
            _ => return Err(wrong(index + 1, format!("{word:?} is no day"), "write 2026-12-25, or 2026-12-24..2027-01-02")),
        }
    }
    Ok(days)
}

/// Nothing but a day: a time beside it would be passed over, and the whole day be excluded.
fn day(text: &str) -> Option<Date> {
    text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'))
}

fn range(first: Date, last: Date) -> String {
    if first == last { first.to_string() } else { format!("{first}..{last}") }
}

/// An event as far as it was read.
#[derive(Default)]
struct Event {
    line: usize,
    start: Option<Date>,
    end: Option<Date>,
    days: Option<i32>,
}

/// The days of all whole-day events.
pub(super) fn of_calendar(text: &str) -> Result<Vec<String>, Wrong> {
    let (mut days, mut event) = (Vec::new(), None::<Event>);
    // Calendars begun and ended, and what is open inside an event, such as its alarm: that has times of its own.
    let (mut begun, mut ended, mut inside) = (0_usize, 0_usize, 0_usize);
    for (line, content) in unfolded(text) {
        let (name, value) = content.split_once(':').unwrap_or((&content, ""));
        let key = name.split(';').next().unwrap_or_default().to_ascii_uppercase();
        match (key.as_str(), value.trim(), &mut event) {
            ("BEGIN", _, Some(_)) => inside += 1,
            ("END", _, Some(_)) if inside > 0 => inside -= 1,
            (_, _, Some(_)) if inside > 0 => {}
            ("BEGIN", what, _) if what.eq_ignore_ascii_case("VCALENDAR") => begun += 1,
            ("END", what, None) if what.eq_ignore_ascii_case("VCALENDAR") => ended += 1,
            ("BEGIN", what, _) if what.eq_ignore_ascii_case("VEVENT") => event = Some(Event { line, ..Event::default() }),
            ("END", what, Some(_)) if what.eq_ignore_ascii_case("VEVENT") => {
                days.extend(event.take().map(whole_days).transpose()?)
            }
            ("DTSTART", value, Some(event)) => event.start = Some(date(value, line)?),
            ("DTEND", value, Some(event)) => event.end = Some(date(value, line)?),
            ("DURATION", value, Some(event)) => event.days = Some(length(value, line)?),
            ("RRULE" | "RDATE", _, Some(_)) => {
                return Err(wrong(
                    line,
                    "an event that comes again is not read",
                    "write each of its days as an event of its own",
                ));
            }
            _ => {}
        }
    }
    if begun == 0 || begun != ended || event.is_some() {
        return Err(wrong(1, "not a whole calendar", "write an iCalendar file (BEGIN:VCALENDAR), or a day a line in a .txt"));
    }
    Ok(days)
}

/// A line that begins with a blank goes on from the one before it.
fn unfolded(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        match (line.strip_prefix([' ', '\t']), lines.last_mut()) {
            (Some(rest), Some((_, before))) => before.push_str(rest),
            _ => lines.push((index + 1, line.to_owned())),
        }
    }
    lines
}

fn date(value: &str, line: usize) -> Result<Date, Wrong> {
    let digits = value.len() == 8 && value.bytes().all(|byte| byte.is_ascii_digit());
    let parsed = digits.then(|| format!("{}-{}-{}", &value[..4], &value[4..6], &value[6..]).parse().ok()).flatten();
    parsed.ok_or_else(|| {
        wrong(line, format!("{value:?} is no day"), "keep only whole-day events, such as DTSTART;VALUE=DATE:20261225")
    })
}

/// `P1D`, `P2W`.
fn length(value: &str, line: usize) -> Result<i32, Wrong> {
    let number = |unit: char| value.strip_prefix('P')?.strip_suffix(unit)?.parse::<i32>().ok();
    let days = number('D').or_else(|| number('W').and_then(|weeks| weeks.checked_mul(7)));
    days.filter(|days| (1..=36_525).contains(days))
        .ok_or_else(|| wrong(line, format!("{value:?} is no number of days"), "write P1D"))
}

/// The end of an event is the first day after it.
fn whole_days(event: Event) -> Result<String, Wrong> {
    let remedy = "give it a DTSTART, and a DTEND after it";
    let Some(first) = event.start else { return Err(wrong(event.line, "an event without a day", remedy)) };
    let after = event.end.or_else(|| first.checked_add(event.days.unwrap_or(1).days()).ok());
    match after.and_then(|after| after.yesterday().ok()) {
        Some(last) if last >= first => Ok(range(first, last)),
        _ => Err(wrong(event.line, "an event that ends before it begins", remedy)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calendar(event: &str) -> Result<Vec<String>, Wrong> {
        of_calendar(&format!("BEGIN:VCALENDAR\r\nVERSION:2.0\r\nBEGIN:VEVENT\r\n{event}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"))
    }

    #[test]
    fn a_day_a_line_and_what_follows_is_for_people() {
        let text = "# holidays\n2026-12-25 Christmas\n\n2026-12-31..2027-01-01\tNew Year\n";
        assert_eq!(of_lines(text), Ok(vec!["2026-12-25".to_owned(), "2026-12-31..2027-01-01".to_owned()]));
        assert_eq!(of_lines("2026-12-25\n25.12.2026\n").unwrap_err().line, 2);
        assert_eq!(of_lines("2026-12-25T10:00 only the evening").unwrap_err().line, 1, "a time is no day");
        assert_eq!(of_lines("2026-12-26..2026-12-25").unwrap_err().line, 1);
    }

    #[test]
    fn an_event_of_whole_days_is_read_however_its_end_is_written() {
        let one = |event| calendar(event).unwrap().remove(0);
        assert_eq!(one("DTSTART;VALUE=DATE:20261225\r\nSUMMARY:Christmas: a day\r\n off"), "2026-12-25");
        assert_eq!(one("DTSTART:20261225\r\nDTEND:20261227"), "2026-12-25..2026-12-26");
        assert_eq!(one("dtstart;VALUE=DATE:2026\r\n 1225\r\nDURATION:P1W"), "2026-12-25..2026-12-31");
    }

    #[test]
    fn an_alarm_inside_an_event_tells_nothing_of_its_days() {
        let alarm = "DTSTART:20261225\r\nBEGIN:VALARM\r\nTRIGGER:-PT15M\r\nDURATION:PT5M\r\nEND:VALARM";
        assert_eq!(calendar(alarm).unwrap(), ["2026-12-25"]);
    }

    #[test]
    fn half_a_calendar_is_refused() {
        let event = |end: &str| format!("BEGIN:VEVENT\nDTSTART:20261225\n{end}");
        for half in [
            format!("BEGIN:VCALENDAR\n{}", event("END:VEVENT\n")),
            format!("BEGIN:VCALENDAR\n{}{}END:VCALENDAR\n", event(""), event("END:VEVENT\n")),
        ] {
            assert!(of_calendar(&half).unwrap_err().problem.contains("not a whole calendar"), "{half}");
        }
    }

    #[test]
    fn what_is_no_whole_day_is_refused_at_its_line_and_never_passed_over() {
        let line = |event| calendar(event).unwrap_err().line;
        assert_eq!(line("SUMMARY:x\r\nDTSTART:20261225T090000Z"), 5);
        assert_eq!(line("DTSTART:20261225\r\nRRULE:FREQ=YEARLY"), 5);
        assert_eq!(line("DTSTART:20261399"), 4);
        assert_eq!(line("SUMMARY:x"), 3);
        assert_eq!(line("DTSTART:20261225\r\nDTEND:20261225"), 3);
        assert_eq!(line("DTSTART:20261225\r\nDURATION:PT1H"), 5);
        assert!(
            of_calendar("2026-12-25\n").is_err() && of_calendar("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20261225\n").is_err()
        );
    }
}
