//! Numbers as exact decimals: `1.0`, `1.00` and `10e-1` are all `1`; nothing passes through a float.

use std::borrow::Cow;

use super::canonical::Refusal;

/// Most digits that a number may be written with, leading and trailing zeros included.
pub const DIGITS_MAX: usize = 500;
/// Largest exponent that may be written, of either sign.
pub const EXPONENT_MAX: i32 = 999;
/// Highest place of a digit other than zero: 10^308, as in the largest double.
pub const PLACE_MAX: i32 = 308;
/// Lowest place of a digit other than zero: 10^-324, as in the smallest double.
pub const PLACE_MIN: i32 = -324;

/// Digits that are within every bound above, whatever they are.
const SHORT: usize = 300;

/// The length of the number at the start of `text` and its canonical form.
///
/// The form has no exponent, so that a database's own decimal type prints the same.
/// An error carries the offset, from the start of the number.
pub(super) fn read(json: &str) -> Result<(usize, Cow<'_, str>), (usize, Refusal)> {
    let text = json.as_bytes();
    let negative = text.first() == Some(&b'-');
    let whole_from = usize::from(negative);
    let whole = digits(text, whole_from);
    let mut end = whole_from + whole.len();
    if whole.is_empty() {
        return Err((end, Refusal::Syntax("a digit")));
    }
    if whole.len() > 1 && whole.starts_with(b"0") {
        return Err((whole_from, Refusal::LeadingZero));
    }
    let mut fraction: &[u8] = &[];
    if text.get(end) == Some(&b'.') {
        fraction = digits(text, end + 1);
        end += 1 + fraction.len();
        if fraction.is_empty() {
            return Err((end, Refusal::Syntax("a digit")));
        }
    }
    if whole.len() + fraction.len() > DIGITS_MAX {
        return Err((0, Refusal::TooManyDigits));
    }
    let mut exponent = 0;
    let exponential = matches!(text.get(end), Some(b'e' | b'E'));
    // Most numbers are written as their form is.
    let short = whole.len() + fraction.len() <= SHORT && !exponential && fraction.last() != Some(&b'0');
    if short && (whole != b"0" || !fraction.is_empty()) {
        return Ok((end, Cow::Borrowed(&json[..end])));
    }
    if exponential {
        (end, exponent) = read_exponent(text, end + 1)?;
    }
    let written: Vec<u8> = whole.iter().chain(fraction).copied().collect();
    let fraction_len = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
    let form = plain(negative, &written, exponent - fraction_len).ok_or((0, Refusal::OutOfRange))?;
    Ok((end, Cow::Owned(form)))
}

fn digits(text: &[u8], from: usize) -> &[u8] {
    let rest = text.get(from..).unwrap_or_default();
    let len = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    &rest[..len]
}

fn read_exponent(text: &[u8], from: usize) -> Result<(usize, i32), (usize, Refusal)> {
    let sign = text.get(from).copied().filter(|byte| matches!(byte, b'+' | b'-'));
    let digits_from = from + usize::from(sign.is_some());
    let written = digits(text, digits_from);
    let end = digits_from + written.len();
    if written.is_empty() {
        return Err((end, Refusal::Syntax("a digit of the exponent")));
    }
    let size = written.iter().fold(0_i32, |sum, digit| sum.saturating_mul(10).saturating_add(i32::from(digit - b'0')));
    if size > EXPONENT_MAX {
        return Err((0, Refusal::OutOfRange));
    }
    Ok((end, if sign == Some(b'-') { -size } else { size }))
}

/// `written` × 10^`scale` without exponent and superfluous zeros, or nothing when a place is out of bounds.
fn plain(negative: bool, written: &[u8], scale: i32) -> Option<String> {
    let Some(first) = written.iter().position(|digit| *digit != b'0') else {
        return Some("0".to_owned());
    };
    let last = written.iter().rposition(|digit| *digit != b'0')?;
    let place = |index: usize| Some(scale + i32::try_from(written.len() - 1 - index).ok()?);
    let (highest, lowest) = (place(first)?, place(last)?);
    if highest > PLACE_MAX || lowest < PLACE_MIN {
        return None;
    }
    let digit_at = |at: i32| {
        if (lowest..=highest).contains(&at) {
            char::from(written[first + usize::try_from(highest - at).unwrap_or(0)])
        } else {
            '0'
        }
    };
    let mut form = String::new();
    if negative {
        form.push('-');
    }
    form.extend((0..=highest.max(0)).rev().map(digit_at));
    if lowest < 0 {
        form.push('.');
        form.extend((lowest..0).rev().map(digit_at));
    }
    Some(form)
}
