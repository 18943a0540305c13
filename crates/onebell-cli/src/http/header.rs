use hyper::header::{HeaderName, HeaderValue};

/// Headers that are written here, or that are between two neighbours and not for the receiver.
const TAKEN: &[&str] = &[
    "host",
    "content-length",
    "content-type",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "upgrade",
    "expect",
    "te",
    "trailer",
    "idempotency-key",
    "onebell-attempt",
];

/// A header that the user may add.
///
/// # Errors
/// What is wrong with the name and what to write instead.
pub fn check_name(name: &str) -> Result<(), String> {
    let lower = name.to_ascii_lowercase();
    if HeaderName::from_bytes(lower.as_bytes()).is_err() {
        return Err(format!("{name:?} is no header name; use letters, digits and dashes"));
    }
    if lower == "content-type" {
        return Err("Content-Type has a key of its own; write content_type = \"…\"".to_owned());
    }
    if TAKEN.contains(&lower.as_str()) || lower.starts_with("webhook-") || lower.starts_with("proxy-") {
        return Err(format!("{name} is set by onebell; remove it"));
    }
    Ok(())
}

/// A value that stays within its line.
///
/// # Errors
/// What is wrong with it. The value itself is not repeated: it may be a secret.
pub fn check_value(value: &str) -> Result<(), String> {
    match value.chars().find(|found| found.is_control() && *found != '\t') {
        Some('\r' | '\n') => Err("it contains a line break, which would begin another header; write it on one line".to_owned()),
        Some(found) => Err(format!("it contains the control character U+{:04X}; remove it", u32::from(found))),
        None => HeaderValue::from_bytes(value.as_bytes()).map(drop).map_err(|_| "no header can carry it".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_channel_writes_itself_and_what_would_begin_another_header_is_refused() {
        for name in ["Host", "content-length", "Idempotency-Key", "webhook-id", "Proxy-Authorization", "a b", "", "Ngày", "a:b"]
        {
            assert!(check_name(name).is_err(), "{name}");
        }
        assert!(check_name("Content-Type").unwrap_err().contains("content_type"));
        assert!(check_name("Authorization").is_ok() && check_name("X-Ref").is_ok());
        for value in ["a\r\nX: b", "a\nb", "a\0b", "a\rb"] {
            assert!(check_value(value).is_err(), "{value:?}");
        }
        assert!(check_value("Kỳ 11\t").is_ok());
    }
}
