use std::time::Duration;

use hyper::header::{DATE, HeaderMap, RETRY_AFTER};
use jiff::fmt::rfc2822::DateTimeParser;
use onebell::time::host_now;

/// A receiver may not put a message off for longer: a slip of its clock would lose it.
const LONGEST: Duration = Duration::from_secs(3600);

/// The day of the week tells nothing that the date does not.
const DATES: DateTimeParser = DateTimeParser::new().relaxed_weekday(true);

/// What `Retry-After` asks for: seconds, or a date, which is read against the answer's own `Date`.
pub fn wait(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(text.parse().map_or(LONGEST, |seconds| Duration::from_secs(seconds).min(LONGEST)));
    }
    let date = |text: &str| DATES.parse_zoned_datetime(text).ok().map(|at| at.timestamp().as_second());
    let then = date(text)?;
    let now = headers.get(DATE).and_then(|at| at.to_str().ok()).and_then(|at| date(at.trim()));
    let now = now.unwrap_or_else(|| host_now().micros() / 1_000_000);
    Some(Duration::from_secs(u64::try_from(then - now).unwrap_or(0)).min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(headers: &[(&'static str, &str)]) -> Option<u64> {
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        wait(&headers.collect::<HeaderMap>()).map(|wait| wait.as_secs())
    }

    #[test]
    fn seconds_and_dates_are_understood_and_bounded() {
        assert_eq!(of(&[("retry-after", "120")]), Some(120));
        assert_eq!(of(&[("retry-after", " 0 ")]), Some(0));
        assert_eq!(of(&[("retry-after", "99999999999999999999999")]), Some(3600));
        let date = ("date", "Sun, 06 Nov 1994 08:49:07 GMT");
        assert_eq!(of(&[("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"), date]), Some(30));
        assert_eq!(of(&[("retry-after", "Sun, 06 Nov 1994 08:48:37 GMT"), date]), Some(0), "it has passed");
        assert_eq!(of(&[("retry-after", "Sun, 06 Nov 2094 08:49:37 GMT"), date]), Some(3600));
        for nothing in ["", "-1", "1.5", "soon", "\u{a0}"] {
            assert_eq!(of(&[("retry-after", nothing)]), None, "{nothing}");
        }
        assert_eq!(of(&[]), None);
    }
}
