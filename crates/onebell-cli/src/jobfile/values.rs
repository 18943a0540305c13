//! The small values of a job file: words, numbers, durations, budgets.

use std::time::Duration;

use onebell::model::retry::RetryPolicy;
use toml::de::DeValue;

use super::fields::{Fields, Flaws, Node, Read, expected, instead};
use super::keys;
use super::problem::Flaw;

/// The form of a duration, for remedies.
const DURATION_FORM: &str = "write whole numbers with d, h, m, s or ms, such as \"90s\", \"15m\", \"1h30m\", \"2d\" or \"500ms\"";

pub(super) fn text(node: &Node<'_>) -> Read<String> {
    match node.get_ref() {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        other => Err(expected("a string", other, node.span())),
    }
}

/// A string with something in it.
pub(super) fn name(node: &Node<'_>) -> Read<String> {
    let text = text(node)?;
    if text.trim().is_empty() {
        return Err(Flaw::new(node.span(), "it is empty", "give it a name"));
    }
    Ok(text)
}

pub(super) fn flag(node: &Node<'_>) -> Read<bool> {
    match node.get_ref() {
        DeValue::Boolean(value) => Ok(*value),
        other => Err(expected("true or false", other, node.span())),
    }
}

/// A whole number between the bounds.
pub(super) fn number<T: TryFrom<i64>>(least: i64, most: i64) -> impl Fn(&Node<'_>) -> Read<T> {
    move |node| {
        let what = format!("a whole number from {least} to {most}");
        let DeValue::Integer(number) = node.get_ref() else { return Err(expected(&what, node.get_ref(), node.span())) };
        let value = i64::from_str_radix(number.as_str(), number.radix()).ok();
        let value = value.filter(|value| (least..=most).contains(value)).and_then(|value| T::try_from(value).ok());
        value.ok_or_else(|| expected(&what, node.get_ref(), node.span()))
    }
}

/// An array, each element read by `read`.
pub(super) fn list<'t, T>(node: &'t Node<'t>, what: &str, read: impl Fn(&'t Node<'t>) -> Read<T>) -> Read<Vec<T>> {
    match node.get_ref() {
        DeValue::Array(array) => array.iter().map(read).collect(),
        other => Err(expected(what, other, node.span())),
    }
}

/// An array of strings.
pub(super) fn texts(node: &Node<'_>) -> Read<Vec<String>> {
    list(node, "an array of strings", text)
}

/// One of a fixed set of words.
pub(super) fn word<T: Copy + std::fmt::Display>(all: &'static [T]) -> impl Fn(&Node<'_>) -> Read<T> {
    move |node| {
        let found = text(node)?;
        all.iter().find(|value| value.to_string() == found).copied().ok_or_else(|| {
            let words: Vec<String> = all.iter().map(ToString::to_string).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            Flaw::new(node.span(), format!("{found:?} is not a choice here"), instead(&found, &words))
        })
    }
}

pub(super) fn duration(node: &Node<'_>) -> Read<Duration> {
    match node.get_ref() {
        DeValue::String(text) => parse_duration(text).ok_or_else(|| Flaw::new(node.span(), not_a_duration(text), DURATION_FORM)),
        other => {
            let mut flaw = expected("a duration", other, node.span());
            flaw.remedy = DURATION_FORM.to_owned();
            Err(flaw)
        }
    }
}

/// A duration longer than zero.
pub(super) fn span(node: &Node<'_>) -> Read<Duration> {
    match duration(node)? {
        Duration::ZERO => Err(Flaw::new(node.span(), "it is zero", "write a duration longer than zero, such as \"5m\"")),
        span => Ok(span),
    }
}

fn not_a_duration(text: &str) -> String {
    format!("{text:?} is not a duration")
}

/// A duration as the job file and the command line write it.
///
/// # Errors
/// What is wrong and what to write.
///
/// ```
/// use std::time::Duration;
/// use onebell_cli::jobfile::duration;
/// assert_eq!(duration("1h30m"), Ok(Duration::from_secs(5400)));
/// assert!(duration("5 minutes").is_err());
/// ```
pub fn duration_of(text: &str) -> Result<Duration, String> {
    parse_duration(text).ok_or_else(|| format!("{}; {DURATION_FORM}", not_a_duration(text)))
}

/// `90s`, `1h30m`, `2d`, `500ms`: units from large to small, each once.
fn parse_duration(text: &str) -> Option<Duration> {
    const UNITS: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)];
    let mut rest = text.trim();
    let mut units = UNITS.iter();
    let mut millis = 0_u64;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        let count: u64 = rest.get(..digits)?.parse().ok()?;
        let unit_len = rest[digits..].bytes().take_while(u8::is_ascii_alphabetic).count();
        let unit = &rest[digits..digits + unit_len];
        let (_, worth) = units.find(|(name, _)| *name == unit)?;
        millis = millis.checked_add(count.checked_mul(*worth)?)?;
        rest = &rest[digits + unit_len..];
    }
    // A century: what is longer is a slip, and fits no timestamp arithmetic.
    (millis <= 36_525 * 86_400_000).then(|| Duration::from_millis(millis))
}

/// Budget of a step: keys that are not written keep what `base` says.
pub(super) fn retry<'t>(node: &'t Node<'t>, flaws: &'t Flaws, base: RetryPolicy) -> Read<RetryPolicy> {
    let fields = Fields::open(node, &keys::RETRY, flaws)?;
    let mut policy = base;
    if let Some(attempts) = fields.read("attempts", number(1, 1_000_000)) {
        policy.attempts = attempts;
    }
    if let Some((least, most)) = fields.read("backoff", backoff) {
        (policy.backoff_min, policy.backoff_max) = (least, most);
    }
    if let Some(within) = fields.read("within", span) {
        policy.within_us = u64::try_from(within.as_micros()).ok();
    }
    fields.finish();
    Ok(policy)
}

/// `"1s..1m"`, or one duration for a wait that does not grow.
fn backoff(node: &Node<'_>) -> Read<(Duration, Duration)> {
    let found = text(node)?;
    let (least, most) = found.split_once("..").unwrap_or((&found, &found));
    let wrong = |message: String| {
        Flaw::new(node.span(), message, "write the first wait and the longest one, such as \"1s..1m\", or \"5s\"")
    };
    match (parse_duration(least), parse_duration(most)) {
        (Some(least), Some(most)) if least <= most => Ok((least, most)),
        (Some(_), Some(_)) => Err(wrong(format!("{found:?} runs backwards"))),
        _ => Err(wrong(format!("{found:?} is not a backoff"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_whole_numbers_with_units_from_large_to_small() {
        let millis = |text| parse_duration(text).map(|span| span.as_millis());
        let good =
            [("90s", 90_000), ("15m", 900_000), ("1h30m", 5_400_000), ("24h", 86_400_000), ("2d", 172_800_000), ("500ms", 500)];
        for (text, expected) in good {
            assert_eq!(millis(text), Some(expected), "{text}");
        }
        assert_eq!(millis("1d2h3m4s5ms"), Some(93_784_005));
        for text in ["", "5", "s", "1.5h", "-1s", "30m1h", "1m1m", "5 m", "1w", "99999999999999999999s", "40000d", "1é"] {
            assert_eq!(millis(text), None, "{text}");
        }
    }
}
