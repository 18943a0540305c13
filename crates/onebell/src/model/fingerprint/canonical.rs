//! The canonical form of a JSON text: no space, keys by code point, numbers as exact decimals,
//! strings as they are. Reads strictly: what two parsers could read differently is refused.

use std::borrow::Cow;
use std::ops::Range;

use super::{number, text};

/// Deepest nesting of arrays and objects.
pub const DEPTH_MAX: usize = 128;

/// What [`Refusal::Syntax`] expected when something follows a whole value.
pub(crate) const END: &str = "the end of the text";

/// A text without a canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("byte {offset}: {refusal}")]
pub struct CanonicalError {
    /// Where, in bytes from the start.
    pub offset: usize,
    /// Why, with the remedy where there is one.
    pub refusal: Refusal,
}

/// Why a text has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Not JSON: something else was expected here.
    #[error("expected {0}")]
    Syntax(&'static str),
    /// An object has this key twice; parsers differ in which one they keep.
    #[error("the key {0:?} is there twice; remove one")]
    DuplicateKey(String),
    /// Nested deeper than [`DEPTH_MAX`].
    #[error("nested deeper than {DEPTH_MAX} levels")]
    TooDeep,
    /// A number such as `007`.
    #[error("a number cannot begin with 0; remove the zeros, or write it as a string")]
    LeadingZero,
    /// More digits than [`number::DIGITS_MAX`].
    #[error("a number of more than {} digits; write it as a string", number::DIGITS_MAX)]
    TooManyDigits,
    /// A number with a place or an exponent outside what any double has.
    #[error("a number out of range (1e-324 to 1e308); write it as a string")]
    OutOfRange,
    /// An unescaped character below U+0020 in a string.
    #[error("a control character in a string must be escaped")]
    BareControl,
    /// A backslash followed by something that JSON does not know.
    #[error("an escape that JSON does not have")]
    UnknownEscape,
    /// Half of a surrogate pair: no character.
    #[error("half of a surrogate pair stands for no character")]
    LoneSurrogate,
    /// U+0000, which PostgreSQL can keep in no text.
    #[error("U+0000 cannot be stored")]
    Nul,
}

/// The canonical form of `json`, one JSON value with optional white space around it.
///
/// ```
/// use onebell::model::fingerprint::canonical;
/// assert_eq!(canonical(r#" { "b" : 1.0 , "a" : [ ] } "#).unwrap(), r#"{"a":[],"b":1}"#);
/// assert!(canonical(r#"{"a":1,"a":2}"#).is_err());
/// ```
///
/// # Errors
/// [`CanonicalError`] with the byte offset of what was refused.
pub fn canonical(json: &str) -> Result<String, CanonicalError> {
    let mut reader = Reader { json, at: 0, depth: 0 };
    let mut out = String::with_capacity(json.len());
    reader.skip_space();
    reader.value(&mut out)?;
    reader.ends()?;
    Ok(out)
}

/// What a member's value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Number,
    Other,
}

/// A member of an object.
#[derive(Debug)]
pub(crate) struct Member<'a> {
    pub(crate) name: Cow<'a, str>,
    /// A text without quotes and escapes; anything else as it is spelled.
    pub(crate) value: Cow<'a, str>,
    pub(crate) kind: Kind,
    offset: usize,
    /// Of its canonical form, in the buffer of its object.
    form: Range<usize>,
}

/// The members of the one object that `json` is, by name, after its canonical form was appended to `out`. It stands `depth`
/// levels deep in what it will be part of.
///
/// # Errors
/// As [`canonical`].
pub(crate) fn members<'a>(json: &'a str, depth: usize, out: &mut String) -> Result<Vec<Member<'a>>, CanonicalError> {
    let mut reader = Reader { json, at: 0, depth };
    reader.skip_space();
    if reader.peek() != Some(b'{') {
        return Err(reader.refuse(Refusal::Syntax("an object such as {\"id\": \"E1\"}")));
    }
    let members = reader.nested(out, Reader::object)?;
    reader.ends()?;
    Ok(members)
}

struct Reader<'a> {
    json: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn refuse(&self, refusal: Refusal) -> CanonicalError {
        CanonicalError { offset: self.at, refusal }
    }

    fn peek(&self) -> Option<u8> {
        self.json.as_bytes().get(self.at).copied()
    }

    fn ends(&mut self) -> Result<(), CanonicalError> {
        self.skip_space();
        if self.at < self.json.len() { Err(self.refuse(Refusal::Syntax(END))) } else { Ok(()) }
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, out: &mut String) -> Result<(), CanonicalError> {
        match self.peek() {
            Some(b'{') => self.nested(out, Self::object).map(drop),
            Some(b'[') => self.nested(out, Self::array),
            Some(b'"') => {
                text::write(&self.string()?, out);
                Ok(())
            }
            Some(b'-' | b'0'..=b'9') => self.number(out),
            _ => self.word(out),
        }
    }

    fn nested<T>(
        &mut self,
        out: &mut String,
        read: fn(&mut Self, &mut String) -> Result<T, CanonicalError>,
    ) -> Result<T, CanonicalError> {
        if self.depth == DEPTH_MAX {
            return Err(self.refuse(Refusal::TooDeep));
        }
        self.depth += 1;
        self.at += 1;
        self.skip_space();
        let found = read(self, out)?;
        self.depth -= 1;
        Ok(found)
    }

    fn array(&mut self, out: &mut String) -> Result<(), CanonicalError> {
        out.push('[');
        if !self.take(b']') {
            loop {
                self.value(out)?;
                if !self.goes_on(b']', "a comma or the end of the array")? {
                    break;
                }
                out.push(',');
            }
        }
        out.push(']');
        Ok(())
    }

    fn object(&mut self, out: &mut String) -> Result<Vec<Member<'a>>, CanonicalError> {
        let mut members: Vec<Member<'a>> = Vec::new();
        let mut forms = String::new();
        if !self.take(b'}') {
            loop {
                members.push(self.member(&mut forms)?);
                if !self.goes_on(b'}', "a comma or the end of the object")? {
                    break;
                }
            }
        }
        // The order of UTF-8 bytes is the order of code points.
        members.sort_unstable_by(|one, two| (&one.name, one.offset).cmp(&(&two.name, two.offset)));
        if let Some([_, two]) = members.array_windows().find(|[one, two]| one.name == two.name) {
            return Err(CanonicalError { offset: two.offset, refusal: Refusal::DuplicateKey(two.name.to_string()) });
        }
        out.push('{');
        for (index, member) in members.iter().enumerate() {
            if index > 0 {
                out.push(',');
            }
            text::write(&member.name, out);
            out.push(':');
            out.push_str(&forms[member.form.clone()]);
        }
        out.push('}');
        Ok(members)
    }

    /// One member; the canonical form of its value is appended to `forms`.
    fn member(&mut self, forms: &mut String) -> Result<Member<'a>, CanonicalError> {
        let offset = self.at;
        let name = self.string()?;
        self.skip_space();
        if !self.take(b':') {
            return Err(self.refuse(Refusal::Syntax("a colon")));
        }
        self.skip_space();
        let (json, from, form_from) = (self.json, self.at, forms.len());
        let (kind, value) = match self.peek() {
            Some(b'"') => {
                let value = self.string()?;
                text::write(&value, forms);
                (Kind::Text, value)
            }
            first => {
                self.value(forms)?;
                let number = matches!(first, Some(b'-' | b'0'..=b'9'));
                (if number { Kind::Number } else { Kind::Other }, Cow::Borrowed(&json[from..self.at]))
            }
        };
        Ok(Member { name, value, kind, offset, form: form_from..forms.len() })
    }

    /// Whether another member follows; `close` ends the list.
    fn goes_on(&mut self, close: u8, expected: &'static str) -> Result<bool, CanonicalError> {
        self.skip_space();
        if self.take(close) {
            return Ok(false);
        }
        if !self.take(b',') {
            return Err(self.refuse(Refusal::Syntax(expected)));
        }
        self.skip_space();
        Ok(true)
    }

    fn string(&mut self) -> Result<Cow<'a, str>, CanonicalError> {
        let json = self.json;
        if self.peek() != Some(b'"') {
            return Err(self.refuse(Refusal::Syntax("a string")));
        }
        let (len, value) = text::read(&json[self.at..]).map_err(|failed| self.inside(failed))?;
        self.at += len;
        Ok(value)
    }

    fn number(&mut self, out: &mut String) -> Result<(), CanonicalError> {
        let (len, form) = number::read(&self.json[self.at..]).map_err(|failed| self.inside(failed))?;
        self.at += len;
        out.push_str(&form);
        Ok(())
    }

    fn word(&mut self, out: &mut String) -> Result<(), CanonicalError> {
        let rest = &self.json[self.at..];
        let Some(word) = ["true", "false", "null"].into_iter().find(|word| rest.starts_with(word)) else {
            return Err(self.refuse(Refusal::Syntax("a value")));
        };
        self.at += word.len();
        out.push_str(word);
        Ok(())
    }

    fn inside(&self, (offset, refusal): (usize, Refusal)) -> CanonicalError {
        CanonicalError { offset: self.at + offset, refusal }
    }
}
