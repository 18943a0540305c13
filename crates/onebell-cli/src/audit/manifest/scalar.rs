//! What a plain word is, by YAML 1.1 as Kubernetes reads it.

use super::tree::{Scalar, Style};

/// A value with its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Typed<'s> {
    Null,
    /// And whether it is one of the words that YAML 1.2 takes for texts.
    Flag(bool, bool),
    Whole(i64),
    /// A number with a leading 0, with its value in base 8.
    Octal(i64),
    Text(&'s str),
    /// Numbers that are not whole.
    Other,
}

pub(super) fn typed(scalar: &Scalar) -> Typed<'_> {
    let text = scalar.text.as_str();
    if scalar.style != Style::Plain {
        return Typed::Text(text);
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Typed::Null,
        "true" | "True" | "TRUE" => Typed::Flag(true, false),
        "false" | "False" | "FALSE" => Typed::Flag(false, false),
        "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Typed::Flag(true, true),
        "no" | "No" | "NO" | "off" | "Off" | "OFF" => Typed::Flag(false, true),
        text => number(text).unwrap_or(Typed::Text(text)),
    }
}

fn number(text: &str) -> Option<Typed<'static>> {
    let plain = text.replace('_', "");
    let (sign, digits) = match plain.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, plain.strip_prefix('+').unwrap_or(&plain)),
    };
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let whole = |digits: &str, radix| i64::from_str_radix(digits, radix).ok().map(|value| sign * value);
    let based = [("0x", 16), ("0b", 2), ("0o", 8)].iter().find_map(|(prefix, radix)| {
        digits.strip_prefix(prefix).filter(|rest| !rest.starts_with(['+', '-'])).and_then(|rest| whole(rest, *radix))
    });
    if let Some(value) = based {
        return Some(Typed::Whole(value));
    }
    if digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|byte| matches!(byte, b'0'..=b'7')) {
        return whole(digits, 8).map(Typed::Octal);
    }
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(whole(digits, 10).map_or(Typed::Other, Typed::Whole));
    }
    digits.parse::<f64>().is_ok().then_some(Typed::Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_the_types_of_yaml_1_1() {
        let of = |text: &str| format!("{:?}", typed(&Scalar { text: text.to_owned(), style: Style::Plain }));
        for (text, expected) in [
            ("", "Null"),
            ("~", "Null"),
            ("yes", "Flag(true, true)"),
            ("false", "Flag(false, false)"),
            ("010", "Octal(8)"),
            ("-010", "Octal(-8)"),
            ("0", "Whole(0)"),
            ("1_000", "Whole(1000)"),
            ("0x1F", "Whole(31)"),
            ("089", "Whole(89)"),
            ("1.5", "Other"),
            ("1e3", "Other"),
            ("99999999999999999999", "Other"),
            ("0 2 * * *", "Text(\"0 2 * * *\")"),
            ("12:30", "Text(\"12:30\")"),
            ("-", "Text(\"-\")"),
            ("inf", "Text(\"inf\")"),
        ] {
            assert_eq!(of(text), expected, "{text}");
        }
        assert_eq!(typed(&Scalar { text: "false".to_owned(), style: Style::Quoted }), Typed::Text("false"));
    }
}
