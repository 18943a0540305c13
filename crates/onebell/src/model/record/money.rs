//! Amounts of money as text: exact, in minor units, or refused. What two people could read differently is refused too:
//! `1.234` is a thousand to one and a little more than one to another.

/// Most decimal places a currency may have here.
pub const SCALE_MAX: u8 = 18;

/// Why a text is no amount, and what to write instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// No text.
    #[error("an amount cannot be empty; write 0 if it is nothing")]
    Empty,
    /// `+100`.
    #[error("an amount has no +; leave it out")]
    Plus,
    /// A blank, anywhere.
    #[error("an amount has no blanks; write the digits together, such as -1000.50")]
    Blank,
    /// `1.234,56`, `9,99`.
    #[error("an amount has no comma; write a point before the decimals and nothing between thousands, such as 1234.56")]
    Comma,
    /// `1e3`.
    #[error("an amount has no exponent; write all its digits")]
    Exponent,
    /// Anything else that is no digit.
    #[error("an amount is digits, with a - before and a point between where needed; it cannot have {0:?}")]
    Character(char),
    /// `.47`.
    #[error("an amount needs a digit before the point, such as 0.47")]
    NoWhole,
    /// `12.`.
    #[error("an amount needs a digit after the point; leave the point out if there are no decimals")]
    NoFraction,
    /// `12.345` of a currency with two places.
    #[error("an amount has at most {scale} decimals here, not {found}; round it where it comes from, or name another scale")]
    Decimals {
        /// Those of the text.
        found: usize,
        /// Those that may be.
        scale: u8,
    },
    /// Beyond 64 bits.
    #[error("an amount is at most {} minor units; split it", i64::MAX)]
    OutOfRange,
    /// More than [`SCALE_MAX`].
    #[error("an amount has at most {SCALE_MAX} decimals; name a smaller scale than {0}")]
    Scale(u8),
}

/// The amount in minor units: `-?digits(.digits)?` with at most `scale` decimals, and nothing else.
///
/// ```
/// use onebell::model::record::minor_units;
/// assert_eq!(minor_units("-110.7", 2), Ok(-11070));
/// assert!(minor_units("1,50", 2).is_err());
/// ```
///
/// # Errors
/// [`MoneyError`], with what to write instead.
pub fn minor_units(text: &str, scale: u8) -> Result<i64, MoneyError> {
    if scale > SCALE_MAX {
        return Err(MoneyError::Scale(scale));
    }
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let negative = unsigned.len() < text.len();
    let (whole, fraction) = match unsigned.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (unsigned, None),
    };
    let decimals = fraction.unwrap_or_default();
    if let Some(wrong) = text.chars().find_map(wrong).filter(|_| !digits(whole) || !digits(decimals)) {
        return Err(wrong);
    }
    if text.is_empty() {
        return Err(MoneyError::Empty);
    }
    // A second sign or point.
    if let Some(odd) = whole.chars().chain(decimals.chars()).find(|found| !found.is_ascii_digit()) {
        return Err(MoneyError::Character(odd));
    }
    if whole.is_empty() {
        return Err(if fraction.is_some() { MoneyError::NoWhole } else { MoneyError::Character('-') });
    }
    if fraction == Some("") {
        return Err(MoneyError::NoFraction);
    }
    if decimals.len() > usize::from(scale) {
        return Err(MoneyError::Decimals { found: decimals.len(), scale });
    }
    let filled = usize::from(scale) - decimals.len();
    let all = whole.bytes().chain(decimals.bytes()).chain(std::iter::repeat_n(b'0', filled));
    // Counted downwards: the least amount has no positive counterpart.
    let below = all.map(|digit| i64::from(digit - b'0')).try_fold(0_i64, |sum, digit| sum.checked_mul(10)?.checked_sub(digit));
    let amount = if negative { below } else { below.and_then(i64::checked_neg) };
    amount.ok_or(MoneyError::OutOfRange)
}

fn digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// What is wrong with a character that no amount has.
fn wrong(found: char) -> Option<MoneyError> {
    match found {
        '0'..='9' | '-' | '.' => None,
        '+' => Some(MoneyError::Plus),
        ',' => Some(MoneyError::Comma),
        'e' | 'E' => Some(MoneyError::Exponent),
        blank if blank.is_whitespace() => Some(MoneyError::Blank),
        other => Some(MoneyError::Character(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::MoneyError::*;
    use super::*;

    #[test]
    fn k11_10_an_amount_is_read_by_one_grammar_or_refused() {
        for (text, scale, expected) in [
            ("-3.000", 0, Err(Decimals { found: 3, scale: 0 })),
            ("-3.000", 3, Ok(-3000)),
            ("1.234,56", 2, Err(Comma)),
            ("9,99", 2, Err(Comma)),
            ("-110.7", 2, Ok(-11070)),
            ("1 000", 2, Err(Blank)),
            ("1\u{a0}000", 2, Err(Blank)),
            (" 1", 2, Err(Blank)),
            ("1\n", 2, Err(Blank)),
            ("+100", 2, Err(Plus)),
            (".47", 2, Err(NoWhole)),
            ("-.47", 2, Err(NoWhole)),
            (".", 2, Err(NoWhole)),
            ("47.", 2, Err(NoFraction)),
            ("1e3", 2, Err(Exponent)),
            ("1E3", 0, Err(Exponent)),
            ("NaN", 2, Err(Character('N'))),
            ("inf", 2, Err(Character('i'))),
            ("", 2, Err(Empty)),
            ("-", 2, Err(Character('-'))),
            ("--1", 2, Err(Character('-'))),
            ("1-", 2, Err(Character('-'))),
            ("1.2.3", 4, Err(Character('.'))),
            ("\u{663}", 2, Err(Character('\u{663}'))),
            ("\u{2212}1", 2, Err(Character('\u{2212}'))),
            ("12.345", 2, Err(Decimals { found: 3, scale: 2 })),
            ("0x10", 0, Err(Character('x'))),
            ("1_000", 0, Err(Character('_'))),
            ("-0", 2, Ok(0)),
            ("-0.00", 2, Ok(0)),
            ("007", 0, Ok(7)),
            ("0", 0, Ok(0)),
            ("12", 18, Err(OutOfRange)),
            ("9.2", 18, Ok(9_200_000_000_000_000_000)),
            ("1", 19, Err(Scale(19))),
        ] {
            assert_eq!(minor_units(text, scale), expected, "{text:?} with {scale} decimals");
        }
    }

    #[test]
    fn k11_11_no_amount_passes_through_a_float_and_none_wraps() {
        for (text, scale, expected) in [
            ("19.99", 2, Ok(1999)),
            ("1.15", 2, Ok(115)),
            ("4.35", 2, Ok(435)),
            ("-0.01", 2, Ok(-1)),
            ("92233720368547758.07", 2, Ok(i64::MAX)),
            ("92233720368547758.08", 2, Err(OutOfRange)),
            ("-92233720368547758.08", 2, Ok(i64::MIN)),
            ("-92233720368547758.09", 2, Err(OutOfRange)),
            ("9223372036854775807", 0, Ok(i64::MAX)),
            ("9223372036854775808", 0, Err(OutOfRange)),
            ("92233720368547758070", 0, Err(OutOfRange)),
            ("00000000000000000000000000000000000001", 0, Ok(1)),
        ] {
            assert_eq!(minor_units(text, scale), expected, "{text:?} with {scale} decimals");
        }
    }
}
