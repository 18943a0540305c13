//! Exact decimals of any length, compared without computing.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::model::fingerprint::canonical;
use crate::model::record::FieldKind;

/// A plain decimal without superfluous zeros.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decimal<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
}

impl<'a> Decimal<'a> {
    /// `-?digits(.digits)?`, and nothing else.
    pub(super) fn of(text: &'a str) -> Option<Self> {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !digits(whole) || !digits(fraction) {
            return None;
        }
        let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
        let zero = whole.is_empty() && fraction.is_empty();
        Some(Self { negative: unsigned.len() < text.len() && !zero, whole, fraction })
    }

    fn compare(&self, other: &Self) -> Ordering {
        // Without zeros at its end, a fraction's order is that of its text.
        let size = (self.whole.len(), self.whole, self.fraction).cmp(&(other.whole.len(), other.whole, other.fraction));
        match (self.negative, other.negative) {
            (false, false) => size,
            (true, true) => size.reverse(),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

/// How a field's value stands to a plain decimal; none: it is no number.
pub(super) fn order(value: &str, kind: FieldKind, plain: &str) -> Option<Ordering> {
    // A JSON number may have an exponent; its canonical form has none.
    let exponential = kind == FieldKind::Number && value.contains(['e', 'E']);
    let value = if exponential { Cow::Owned(canonical(value).ok()?) } else { Cow::Borrowed(value) };
    Some(Decimal::of(&value)?.compare(&Decimal::of(plain)?))
}
