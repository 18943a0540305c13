//! TOML as people write it. Every text comes from somebody else's file: nothing of it may end its quotes or its comment.

use onebell::model::shown::acts;

use super::super::shown;

/// A text in quotes, on one line.
pub(super) fn text(value: &str) -> String {
    let mut quoted = String::from("\"");
    for c in value.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if acts(c) => quoted.push_str(&format!("\\U{:08X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Several texts.
pub(super) fn list(values: &[String]) -> String {
    let texts: Vec<String> = values.iter().map(|value| text(value)).collect();
    format!("[{}]", texts.join(", "))
}

/// A key, in quotes where it needs them.
pub(super) fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if bare { name.to_owned() } else { text(name) }
}

/// A line that nothing reads.
pub(super) fn comment(words: &str) -> String {
    format!("# {}\n", shown(words))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_text_holds_it_is_read_back_as_it_was() {
        for value in ["", "a \"b\" \\ c", "line\nline\ttab\r", "\u{1b}[2J\u{7f}\u{85}", "\u{202e}nợ\u{e0041}", "'''\"\"\""] {
            let read: ::toml::Table = ::toml::from_str(&format!("{} = {}", key(value), text(value))).unwrap();
            assert_eq!(read[value].as_str(), Some(value));
        }
        assert_eq!(comment("a\nb\u{0}"), "# a\\nb\\u{0}\n");
    }
}
