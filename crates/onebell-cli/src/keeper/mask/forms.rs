//! The forms in which programs write a secret down.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// What is shorter is not looked for in parts or in base64: so few characters stand anywhere.
const PART_MIN: usize = 6;
/// The longest escape: two of UTF-16 for one character.
pub(super) const ESCAPE_MAX: usize = 12;

/// What is looked for: each secret, what of it is one by itself, and the base64 of those at every place of a longer text.
pub(super) fn needles(secrets: &[String]) -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = Vec::new();
    let mut add = |needle: Vec<u8>| {
        if !needle.is_empty() && !all.contains(&needle) {
            all.push(needle);
        }
    };
    for secret in secrets {
        let trimmed = secret.trim();
        // A key of several lines may be printed with something before each.
        let lines = trimmed.lines().map(str::trim);
        let token = trimmed.split_once(' ').map(|(_, token)| token).or_else(|| trimmed.strip_prefix("whsec_"));
        let parts = lines.chain(token).filter(|part| part.len() > PART_MIN);
        for value in [secret.as_str(), trimmed].into_iter().chain(parts) {
            add(value.as_bytes().to_vec());
            if value.contains(' ') {
                add(value.replace(' ', "+").into_bytes());
            }
            if value.len() >= PART_MIN {
                (0..3).for_each(|before| in_base64(value.as_bytes(), before).into_iter().for_each(&mut add));
            }
        }
    }
    all
}

/// What is sure of its base64 behind `before` other bytes: characters that are shared with neighbours are left out.
fn in_base64(value: &[u8], before: usize) -> [Vec<u8>; 2] {
    let text = [&[0; 2][..before], value].concat();
    let shared_start = [0, 2, 3][before];
    let shared_end = usize::from(text.len() % 3 != 0);
    [STANDARD_NO_PAD.encode(&text), URL_SAFE_NO_PAD.encode(&text)]
        .map(|encoded| encoded.as_bytes()[shared_start..encoded.len() - shared_end].to_vec())
}

/// Bytes as a reader takes them who resolves escapes, and where each of them was written.
pub(super) struct Read {
    pub(super) bytes: Vec<u8>,
    /// Where each begins, and the end.
    places: Vec<usize>,
}

impl Read {
    /// As they are, and as URLs and strings of programs have them if there are such escapes. `cut`: an escape at the end may be
    /// half of one.
    pub(super) fn all_of(bytes: &[u8], cut: bool) -> Vec<Self> {
        let plain = Self { bytes: bytes.to_vec(), places: (0..=bytes.len()).collect() };
        let escaped = [(b'%', of_url as Escape), (b'\\', of_string)].into_iter();
        let escaped = escaped.filter(|(mark, _)| memchr::memchr(*mark, bytes).is_some());
        std::iter::once(plain).chain(escaped.map(|(mark, escape)| Self::resolved(bytes, mark, escape, cut))).collect()
    }

    fn resolved(bytes: &[u8], mark: u8, escape: Escape, cut: bool) -> Self {
        let mut read = Self { bytes: Vec::with_capacity(bytes.len()), places: Vec::new() };
        let mut at = 0;
        while let Some(byte) = bytes.get(at) {
            let (taken, meant) = match (*byte == mark).then(|| escape(&bytes[at + 1..])) {
                Some(Some((length, meant))) => (1 + length, meant),
                // Whatever it would have become: it belongs to what stands before it.
                Some(None) if cut && bytes.len() - at < ESCAPE_MAX => break,
                _ => (1, vec![*byte]),
            };
            read.places.extend(std::iter::repeat_n(at, meant.len()));
            read.bytes.extend(meant);
            at += taken;
        }
        read.places.push(bytes.len());
        read
    }

    /// Where the bytes `from..to` were written, whole escapes with them.
    pub(super) fn span(&self, from: usize, to: usize) -> Range<usize> {
        let begin = self.places[from];
        let end = self.places[to..].iter().copied().find(|place| *place > self.places[to - 1]);
        begin..end.unwrap_or(self.places[self.places.len() - 1])
    }
}

/// What stands behind the mark: how long it is, and the bytes it means.
type Escape = fn(&[u8]) -> Option<(usize, Vec<u8>)>;

fn of_url(rest: &[u8]) -> Option<(usize, Vec<u8>)> {
    Some((2, vec![u8::try_from(number(rest.get(..2)?, 16)?).ok()?]))
}

/// JSON, and what shells, Python and Rust write.
fn of_string(rest: &[u8]) -> Option<(usize, Vec<u8>)> {
    let one = |byte: u8| Some((1, vec![byte]));
    match *rest.first()? {
        b'n' => one(b'\n'),
        b'r' => one(b'\r'),
        b't' => one(b'\t'),
        b'x' => Some((3, vec![u8::try_from(number(rest.get(1..3)?, 16)?).ok()?])),
        b'u' if rest.get(1) == Some(&b'{') => {
            let length = rest.iter().take(9).position(|byte| *byte == b'}')?;
            Some((length + 1, utf8(number(rest.get(2..length)?, 16)?)?))
        }
        b'u' => of_utf16(rest),
        b'0'..=b'3' if number(rest.get(..3)?, 8).is_some() => Some((3, vec![u8::try_from(number(&rest[..3], 8)?).ok()?])),
        byte if byte.is_ascii_punctuation() => one(byte),
        _ => None,
    }
}

/// `u00df`, or two of them for what one cannot hold.
fn of_utf16(rest: &[u8]) -> Option<(usize, Vec<u8>)> {
    let first = number(rest.get(1..5)?, 16)?;
    if !(0xd800..0xdc00).contains(&first) {
        return Some((5, utf8(first)?));
    }
    let second = number(rest.get(5..11)?.strip_prefix(b"\\u")?, 16).filter(|second| (0xdc00..0xe000).contains(second))?;
    Some((11, utf8(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))?))
}

fn utf8(code: u32) -> Option<Vec<u8>> {
    char::from_u32(code).map(|c| c.to_string().into_bytes())
}

fn number(digits: &[u8], radix: u32) -> Option<u32> {
    let all = !digits.is_empty() && digits.iter().all(|digit| char::from(*digit).is_digit(radix));
    all.then(|| u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok())?
}
