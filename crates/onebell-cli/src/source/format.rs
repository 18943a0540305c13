//! What a file is, by its name: rows or lines, compressed or not.

use std::path::Path;

/// How records stand in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A header line, then rows with this delimiter.
    Csv {
        /// One ASCII character.
        delimiter: u8,
    },
    /// One JSON object per line.
    Ndjson,
}

/// How a file is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// Not at all, whatever its first bytes look like.
    Plain,
    /// gzip, one member after another.
    Gzip,
    /// zstd, one frame after another.
    Zstd,
}

impl Compression {
    /// For people.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// What the ends of a name say, in either case.
pub(super) fn by_name(path: &Path) -> (Option<Format>, Option<Compression>) {
    let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let (rest, compression) = match name.rsplit_once('.') {
        Some((rest, "gz")) => (rest, Some(Compression::Gzip)),
        Some((rest, "zst")) => (rest, Some(Compression::Zstd)),
        _ => (name.as_str(), None),
    };
    let format = match rest.rsplit_once('.').map(|(_, extension)| extension) {
        Some("csv") => Some(Format::Csv { delimiter: b',' }),
        Some("tsv") => Some(Format::Csv { delimiter: b'\t' }),
        Some("ndjson" | "jsonl" | "json") => Some(Format::Ndjson),
        _ => None,
    };
    (format, compression)
}

/// A delimiter from a command line: one character, or `\t`.
///
/// # Errors
/// What may be written instead.
pub fn delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [one] if usable(*one) => Ok(*one),
        _ => Err(format!("a delimiter is one ASCII character such as ; or \\t, and no quote, letter or digit; not {text:?}")),
    }
}

/// Whether fields can be told apart by it.
pub(super) fn usable(delimiter: u8) -> bool {
    delimiter.is_ascii() && !delimiter.is_ascii_alphanumeric() && !matches!(delimiter, b'"' | b'\r' | b'\n' | 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_a_file_is_or_nothing() {
        let csv = Some(Format::Csv { delimiter: b',' });
        for (name, expected) in [
            ("events.csv", (csv, None)),
            ("dir.gz/EVENTS.CSV.GZ", (csv, Some(Compression::Gzip))),
            ("events.tsv.zst", (Some(Format::Csv { delimiter: b'\t' }), Some(Compression::Zstd))),
            ("events.2026.jsonl", (Some(Format::Ndjson), None)),
            ("events.json", (Some(Format::Ndjson), None)),
            ("events.gz", (None, Some(Compression::Gzip))),
            ("events.txt", (None, None)),
            ("csv", (None, None)),
        ] {
            assert_eq!(by_name(Path::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn a_delimiter_is_one_character_that_no_value_begins_with() {
        assert_eq!(
            (delimiter(";"), delimiter("\\t"), delimiter("\t"), delimiter("|")),
            (Ok(b';'), Ok(b'\t'), Ok(b'\t'), Ok(b'|'))
        );
        for text in ["", ";;", "\"", "\n", "a", "7", "\u{a7}"] {
            assert!(delimiter(text).is_err(), "{text:?}");
        }
    }
}
