//! Strings: escapes resolved on the way in, the fewest escapes on the way out.

use std::borrow::Cow;

use super::canonical::Refusal;

/// The length of the string at the start of `text`, which begins with its quote, and its value: borrowed unless it has
/// escapes. An error carries the offset, from that quote.
pub(super) fn read(text: &str) -> Result<(usize, Cow<'_, str>), (usize, Refusal)> {
    let bytes = text.as_bytes();
    let mut value = Cow::Borrowed("");
    let mut at = 1;
    loop {
        let plain = bytes[at..].iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1f)).count();
        match &mut value {
            Cow::Borrowed("") => value = Cow::Borrowed(&text[at..at + plain]),
            _ => value.to_mut().push_str(&text[at..at + plain]),
        }
        at += plain;
        match bytes.get(at) {
            Some(b'"') => return Ok((at + 1, value)),
            Some(b'\\') => {
                let (len, found) = escape(&bytes[at..]).map_err(|refusal| (at, refusal))?;
                value.to_mut().push(found);
                at += len;
            }
            Some(_) => return Err((at, Refusal::BareControl)),
            None => return Err((at, Refusal::Syntax("the end of the string"))),
        }
    }
}

/// The length of the escape at the start of `bytes` and what it stands for.
fn escape(bytes: &[u8]) -> Result<(usize, char), Refusal> {
    let found = match bytes.get(1) {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode(bytes),
        _ => return Err(Refusal::UnknownEscape),
    };
    Ok((2, found))
}

fn unicode(bytes: &[u8]) -> Result<(usize, char), Refusal> {
    let first = hex(bytes)?;
    if first == 0 {
        return Err(Refusal::Nul);
    }
    if !(0xd800..0xe000).contains(&first) {
        return char::from_u32(first).map(|found| (6, found)).ok_or(Refusal::LoneSurrogate);
    }
    let second = if bytes.get(6..8) == Some(b"\\u") { hex(&bytes[6..])? } else { 0 };
    if first >= 0xdc00 || !(0xdc00..0xe000).contains(&second) {
        return Err(Refusal::LoneSurrogate);
    }
    let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
    char::from_u32(code).map(|found| (12, found)).ok_or(Refusal::LoneSurrogate)
}

/// The four digits after `\u`.
fn hex(bytes: &[u8]) -> Result<u32, Refusal> {
    let digits = bytes.get(2..6).ok_or(Refusal::UnknownEscape)?;
    digits.iter().try_fold(0, |sum, digit| Some(sum * 16 + char::from(*digit).to_digit(16)?)).ok_or(Refusal::UnknownEscape)
}

/// Appends `value` as PostgreSQL's `to_json(text)` writes it.
pub(super) fn write(value: &str, out: &mut String) {
    out.push('"');
    // What needs no escape is copied in one go: most strings are one such run.
    let mut rest = value;
    while let Some(at) = rest.bytes().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f)) {
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            8 => out.push_str("\\b"),
            0xc => out.push_str("\\f"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            control => out.push_str(&format!("\\u{control:04x}")),
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
}
