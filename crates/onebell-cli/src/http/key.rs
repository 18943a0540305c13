use std::fmt::Write as _;

use sha2::{Digest, Sha256};

/// A key as a header carries it: `%` and whatever is no visible ASCII character as `%XX`. Two keys never become one.
pub fn header_value(key: &str) -> String {
    let mut value = String::with_capacity(key.len());
    for byte in key.bytes() {
        if byte.is_ascii_graphic() && byte != b'%' {
            value.push(char::from(byte));
        } else {
            let _ = write!(value, "%{byte:02X}");
        }
    }
    value
}

/// The key that a header carries, as [`header_value`] wrote it.
pub fn key_of(value: &str) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.as_bytes();
    while let [byte, after @ ..] = rest {
        let decoded = after.get(..2).filter(|_| *byte == b'%').and_then(|digits| std::str::from_utf8(digits).ok());
        match decoded.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(decoded) => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            None => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A key as one part of a URL's path.
pub(crate) fn path_segment(key: &str) -> String {
    let mut segment = String::with_capacity(key.len());
    for byte in key.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            segment.push(char::from(byte));
        } else {
            let _ = write!(segment, "%{byte:02X}");
        }
    }
    // A path that is all dots would be taken for a way up.
    if segment.bytes().all(|byte| byte == b'.') { segment.replace('.', "%2E") } else { segment }
}

/// The `webhook-id` of the message with this key: the same on every attempt. It has no full stop, which the signature's parts
/// are joined by.
pub fn webhook_id(key: &str) -> String {
    let digest = Sha256::digest(key.as_bytes());
    digest.iter().take(16).fold("msg_".to_owned(), |mut id, byte| {
        let _ = write!(id, "{byte:02x}");
        id
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_keys_are_never_one_header() {
        assert_eq!(header_value("reminder/17/2026-11"), "reminder/17/2026-11");
        assert_eq!(header_value("kỳ 11"), "k%E1%BB%B3%2011");
        for key in ["reminder/17/2026-11", "kỳ 11", "50%", "%41", ""] {
            assert_eq!(key_of(&header_value(key)), key);
        }
        assert_ne!(header_value("k%E1"), header_value("k\u{e1}"));
        assert_ne!(header_value("k%C3%A1"), header_value("k\u{e1}"));
    }

    #[test]
    fn a_key_cannot_leave_its_place_in_a_path() {
        assert_eq!(path_segment("../x?y#z%2F"), "..%2Fx%3Fy%23z%252F");
        assert_eq!(path_segment(".."), "%2E%2E");
    }

    #[test]
    fn the_id_depends_on_the_key_alone_and_has_no_full_stop() {
        assert_eq!(webhook_id("a.b"), webhook_id("a.b"));
        assert_ne!(webhook_id("a.b"), webhook_id("a.c"));
        assert!(webhook_id("a.b").len() == 36 && !webhook_id("a.b").contains('.'));
    }
}
