//! Foreign text on a terminal, in a comment or on a page.

/// Text that cannot act where it is shown: what would move the cursor, end a line, turn the reading direction or stay invisible is
/// spelled out.
pub fn shown(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => plain.push_str("\\n"),
            '\t' => plain.push_str("\\t"),
            '\r' => plain.push_str("\\r"),
            c if acts(c) => plain.extend(c.escape_unicode()),
            c => plain.push(c),
        }
    }
    plain
}

/// Controls, line separators, direction marks and characters without a width.
pub(super) fn acts(c: char) -> bool {
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
    }
}
