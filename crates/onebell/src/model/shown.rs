//! Foreign text where people read it: on a terminal, in a mail, on a page, in a comment.

/// Text on one line that cannot act where it is shown: what would move the cursor, end a line, turn the reading direction or stay
/// invisible is spelled out.
///
/// ```
/// use onebell::model::shown::shown;
/// assert_eq!(shown("công nợ\u{202e}\u{1b}[2J"), "công nợ\\u{202e}\\u{1b}[2J");
/// ```
pub fn shown(text: &str) -> String {
    spelled(text, acts)
}

/// The same for text of several lines: line ends and tabs stay.
///
/// ```
/// use onebell::model::shown::shown_lines;
/// assert_eq!(shown_lines("a\n\tb\r\n\u{7}"), "a\n\tb\\r\n\\u{7}");
/// ```
pub fn shown_lines(text: &str) -> String {
    spelled(text, |c| acts(c) && !matches!(c, '\n' | '\t'))
}

fn spelled(text: &str, is_spelled: impl Fn(char) -> bool) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            c if !is_spelled(c) => plain.push(c),
            '\n' => plain.push_str("\\n"),
            '\t' => plain.push_str("\\t"),
            '\r' => plain.push_str("\\r"),
            c => plain.extend(c.escape_unicode()),
        }
    }
    plain
}

/// A text as one word of a shell's line. One that would act where it is shown is written as bash, ksh and zsh have it.
///
/// ```
/// use onebell::model::shown::shell_word;
/// assert_eq!(["a/17", "it's", "a\u{202e}b"].map(shell_word), ["a/17", "'it'\\''s'", "$'a\\u202eb'"]);
/// ```
pub fn shell_word(text: &str) -> String {
    let harmless = |found: char| found.is_alphanumeric() || "-_./:@=+,".contains(found);
    if !text.is_empty() && text.chars().all(harmless) {
        return text.to_owned();
    }
    if !text.chars().any(acts) {
        return format!("'{}'", text.replace('\'', "'\\''"));
    }
    let spelled = text.chars().map(|c| match c {
        '\'' | '\\' => format!("\\{c}"),
        c if c.is_ascii_control() => format!("\\{:03o}", u32::from(c)),
        c if acts(c) && u32::from(c) > 0xffff => format!("\\U{:08x}", u32::from(c)),
        c if acts(c) => format!("\\u{:04x}", u32::from(c)),
        c => c.to_string(),
    });
    format!("$'{}'", spelled.collect::<String>())
}

/// Whether a character is a control, a line separator, a direction mark or has no width.
pub fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_act_is_spelled_out_and_letters_of_all_scripts_stay() {
        assert_eq!(shown("công nợ 日本 עברית"), "công nợ 日本 עברית");
        assert_eq!(shown("a\u{202e}b\u{1b}[2J\u{2066}\n\0"), "a\\u{202e}b\\u{1b}[2J\\u{2066}\\n\\u{0}");
        assert_eq!(shown_lines("a\u{9b}31m\tb\r\nc"), "a\\u{9b}31m\tb\\r\nc");
    }
}
