//! Keys that identify effects, messages and requests, made comparable in one place.
//!
//! Case is kept, spaces are kept: only spellings that Unicode itself calls the same become one key.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

/// The longest key, in bytes of its NFC form: it has to fit into an index entry of both databases.
pub const KEY_MAX_BYTES: usize = 512;

/// An identity given by a user: NFC-normalised, not empty, at most [`KEY_MAX_BYTES`], without control characters.
///
/// ```
/// use onebell::model::Key;
/// assert_eq!(Key::new("caf\u{65}\u{301}").unwrap(), Key::new("caf\u{e9}").unwrap());
/// assert!(Key::new("").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Key(String);

/// Why a text is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Nothing to tell apart.
    #[error("the key is empty; give it the name of what it identifies")]
    Empty,
    /// Longer than [`KEY_MAX_BYTES`].
    #[error("the key is longer than {KEY_MAX_BYTES} bytes; shorten it, or use a hash of it")]
    TooLong,
    /// It contains a control character, which no log or header shows.
    #[error("the key contains the control character U+{:04X} at byte {offset}; remove it", u32::from(*found))]
    Control {
        /// The character.
        found: char,
        /// Where it stands in the key's NFC form.
        offset: usize,
    },
}

impl Key {
    /// Normalises `text` and checks it.
    ///
    /// # Errors
    /// [`KeyError`] when it is empty, too long or contains a control character.
    pub fn new(text: &str) -> Result<Self, KeyError> {
        // Most keys are ASCII, which is its own NFC; the loop below says what is wrong with the others.
        if (1..=KEY_MAX_BYTES).contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
            return Ok(Self(text.to_owned()));
        }
        let mut key = String::with_capacity(text.len().min(KEY_MAX_BYTES));
        for found in text.nfc() {
            if found.is_control() {
                return Err(KeyError::Control { found, offset: key.len() });
            }
            key.push(found);
            if key.len() > KEY_MAX_BYTES {
                return Err(KeyError::TooLong);
            }
        }
        if key.is_empty() { Err(KeyError::Empty) } else { Ok(Self(key)) }
    }

    /// The key as text, in NFC.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Key {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Key {
    type Err = KeyError;
    fn from_str(text: &str) -> Result<Self, KeyError> {
        Self::new(text)
    }
}

impl TryFrom<String> for Key {
    type Error = KeyError;
    fn try_from(text: String) -> Result<Self, KeyError> {
        Self::new(&text)
    }
}

impl From<Key> for String {
    fn from(key: Key) -> Self {
        key.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_spellings_of_one_text_are_one_key_and_case_is_kept() {
        assert_eq!(Key::new("Nguye\u{302}\u{303}n").unwrap().as_str(), "Nguy\u{1ec5}n");
        assert_ne!(Key::new("inv-1").unwrap(), Key::new("INV-1").unwrap());
        assert_ne!(Key::new("a").unwrap(), Key::new("a ").unwrap());
    }

    #[test]
    fn a_key_is_measured_in_bytes_after_normalisation() {
        assert!(Key::new(&"k".repeat(512)).is_ok());
        assert_eq!(Key::new(&"k".repeat(513)), Err(KeyError::TooLong));
        assert!(Key::new(&"e\u{301}".repeat(256)).is_ok(), "768 bytes as given, 512 in NFC");
        assert_eq!(Key::new(&"\u{958}".repeat(200)), Err(KeyError::TooLong), "600 bytes, although 200 characters");
    }

    #[test]
    fn an_empty_key_and_a_control_character_are_refused() {
        assert_eq!(Key::new(""), Err(KeyError::Empty));
        for text in ["a\nb", "a\u{0}b", "a\u{7f}b", "a\u{85}b"] {
            assert!(matches!(Key::new(text), Err(KeyError::Control { offset: 1, .. })), "{text:?}");
        }
    }
}
