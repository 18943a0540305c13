//! Time spans of systemd: `15min`, `1h 30min`, `90`, `infinity`.

use std::time::Duration;

const UNITS: &[(&str, f64)] = &[
    ("usec", 1e-6),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("msec", 1e-3),
    ("ms", 1e-3),
    ("seconds", 1.0),
    ("second", 1.0),
    ("sec", 1.0),
    ("s", 1.0),
    ("", 1.0),
    ("minutes", 60.0),
    ("minute", 60.0),
    ("min", 60.0),
    ("m", 60.0),
    ("hours", 3600.0),
    ("hour", 3600.0),
    ("hr", 3600.0),
    ("h", 3600.0),
    ("days", 86_400.0),
    ("day", 86_400.0),
    ("d", 86_400.0),
    ("weeks", 604_800.0),
    ("week", 604_800.0),
    ("w", 604_800.0),
    ("months", 2_629_800.0),
    ("month", 2_629_800.0),
    ("M", 2_629_800.0),
    ("years", 31_557_600.0),
    ("year", 31_557_600.0),
    ("y", 31_557_600.0),
];

/// The span; inside, nothing stands for one without an end. Nothing outside: it cannot be read.
pub(super) fn read(text: &str) -> Option<Option<Duration>> {
    let text = text.trim();
    if text == "infinity" {
        return Some(None);
    }
    let mut seconds = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        let (_, worth) = UNITS.iter().find(|(unit, _)| *unit == &rest[..letters])?;
        seconds += number * worth;
        rest = rest[letters..].trim_start();
    }
    // A century: what is longer has no end for anybody.
    if text.is_empty() || !seconds.is_finite() {
        return None;
    }
    Some((seconds < 3.1e9).then(|| Duration::from_secs_f64(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_sums_of_numbers_with_units() {
        let seconds = |text| read(text).flatten().map(|span| span.as_secs());
        for (text, expected) in [
            ("15min", 900),
            ("1h 30min", 5400),
            ("1h30min", 5400),
            ("90", 90),
            ("2 weeks", 1_209_600),
            ("1.5h", 5400),
            ("1y", 31_557_600),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        assert_eq!(read("infinity"), Some(None));
        for text in ["", "x", "5 parsecs", "1h -2m", "1..2s"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
