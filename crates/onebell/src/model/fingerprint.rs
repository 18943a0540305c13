//! The fingerprint of a payload: SHA-256 of its canonical JSON text, so that two spellings of one
//! value are Already and any other value is Conflict.
//!
//! It reads text, never a parsed value: a parser in between would have rounded numbers and dropped
//! duplicate keys before anybody could object.

mod canonical;
mod number;
mod text;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

pub use canonical::{CanonicalError, DEPTH_MAX, Refusal, canonical};
pub(super) use canonical::{END, Kind, Member, members};
pub use number::{DIGITS_MAX, EXPONENT_MAX, PLACE_MAX, PLACE_MIN};

/// SHA-256 of a payload's canonical form.
///
/// ```
/// use onebell::model::Fingerprint;
/// let a = Fingerprint::of_json(r#"{"amount": 1.50, "to": "acct-7"}"#).unwrap();
/// let b = Fingerprint::of_json(r#"{"to":"acct-7","amount":15e-1}"#).unwrap();
/// assert_eq!(a, b);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Of one JSON value, given as text.
    ///
    /// # Errors
    /// [`CanonicalError`] when `json` has no canonical form; it says where and why.
    pub fn of_json(json: &str) -> Result<Self, CanonicalError> {
        Ok(Self(Sha256::digest(canonical(json)?.as_bytes()).into()))
    }

    /// Of a message: its channel and the payload, which is JSON text.
    ///
    /// # Errors
    /// As [`Self::of_json`].
    pub fn of_message(channel: &str, payload: &str) -> Result<Self, CanonicalError> {
        // By itself first: pasted between others, `1,"x":2` would read as JSON.
        canonical(payload)?;
        Self::of_json(&format!("{{\"channel\":{},\"payload\":{payload}}}", json_string(channel)))
    }

    /// From the 32 bytes of a fingerprint computed before.
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// A string as JSON writes it.
pub(super) fn json_string(text: &str) -> String {
    let mut written = String::new();
    write_json_string(text, &mut written);
    written
}

/// Appends a string as the canonical form has it.
pub(super) fn write_json_string(text: &str, out: &mut String) {
    text::write(text, out);
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: [char; 16] = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
        // Written once for each record of a file: not digit by digit.
        let digits = self.0.iter().flat_map(|byte| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        f.write_str(&digits.collect::<String>())
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

/// A text that is not 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a fingerprint is written as 64 hexadecimal digits")]
pub struct NotAFingerprint;

impl FromStr for Fingerprint {
    type Err = NotAFingerprint;

    fn from_str(text: &str) -> Result<Self, NotAFingerprint> {
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return Err(NotAFingerprint);
        }
        let mut bytes = [0; 32];
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            *byte = nibble(*high)? << 4 | nibble(*low)?;
        }
        Ok(Self(bytes))
    }
}

fn nibble(digit: u8) -> Result<u8, NotAFingerprint> {
    let value = char::from(digit).to_digit(16).ok_or(NotAFingerprint)?;
    u8::try_from(value).map_err(|_| NotAFingerprint)
}

impl Serialize for Fingerprint {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Fingerprint {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_that_is_json_only_between_others_is_refused() {
        let pasted = "1,\"x\":2";
        assert!(Fingerprint::of_message("mail", pasted).is_err());
        let key = |text| crate::model::Key::new(text).unwrap();
        assert!(crate::model::Effect::new(key("s"), key("k"), Some(5), pasted).is_err());
        assert!(crate::model::Effect::new(key("s"), key("k"), None, pasted).is_err());
    }

    #[test]
    fn a_fingerprint_survives_its_own_spelling() {
        let fingerprint = Fingerprint::of_json("{}").unwrap();
        assert_eq!(fingerprint.to_string(), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a");
        assert_eq!(fingerprint.to_string().parse(), Ok(fingerprint));
        assert_eq!(fingerprint.to_string().to_uppercase().parse(), Ok(fingerprint));
        assert_eq!(Fingerprint::from_bytes(*fingerprint.as_bytes()), fingerprint);
        for text in ["", "44", &"g".repeat(64), &"0".repeat(63), &"0".repeat(65), &"é".repeat(32)] {
            assert_eq!(text.parse::<Fingerprint>(), Err(NotAFingerprint), "{text:?}");
        }
    }
}
