//! Header lines. lettre's own encoder leaves `=?…?=` in ASCII text as it is, so data could write encoded words of its own,
//! and its lines can pass 76 characters.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::person::Person;

/// RFC 2047: no line that holds an encoded word is longer.
const LINE_MAX: usize = 76;
const WORD_MAX: usize = 75;
const OPEN: &str = "=?utf-8?b?";
const CLOSE: &str = "?=";

/// The longest name that leaves room for an encoded word beside it.
pub(super) const NAME_MAX: usize = 50;

/// `Name: text`, encoded when the text is not short plain ASCII.
pub(super) fn text(name: &str, value: &str) -> String {
    let mut line = format!("{name}: ");
    let plain = is_plain(value) && !value.starts_with(' ') && !value.ends_with(' ') && line.len() + value.len() <= LINE_MAX;
    if plain {
        line.push_str(value);
    } else {
        push_words(&mut line, value);
    }
    line + "\r\n"
}

/// `Name: Display Name <address>`.
pub(super) fn person(name: &str, person: &Person) -> String {
    let mut line = format!("{name}: ");
    let Some(display) = person.name() else { return line + person.address() + "\r\n" };
    let quoted = format!("\"{}\"", display.replace('\\', "\\\\").replace('"', "\\\""));
    if is_plain(display) && line.len() + quoted.len() <= LINE_MAX {
        line.push_str(&quoted);
    } else {
        push_words(&mut line, display);
    }
    let address = format!("<{}>", person.address());
    let used = line.len() - line.rfind('\n').map_or(0, |at| at + 1);
    line.push_str(if used + 1 + address.len() <= LINE_MAX { " " } else { "\r\n " });
    line + &address + "\r\n"
}

fn is_plain(value: &str) -> bool {
    value.bytes().all(|byte| matches!(byte, b' '..=b'~')) && !value.contains("=?")
}

/// Encoded words, each whole in itself: no character is cut in two. Whitespace between them is not part of the text.
fn push_words(line: &mut String, mut rest: &str) {
    let mut used = line.len();
    while !rest.is_empty() {
        let room = (LINE_MAX - used).min(WORD_MAX) - OPEN.len() - CLOSE.len();
        let taken = rest.floor_char_boundary(room / 4 * 3);
        let (word, later) = rest.split_at(taken);
        line.push_str(OPEN);
        STANDARD.encode_string(word, line);
        line.push_str(CLOSE);
        rest = later;
        if !rest.is_empty() {
            line.push_str("\r\n ");
            used = 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes every word alone, as RFC 2047 demands it can be.
    fn decoded(line: &str, name: &str) -> String {
        for part in line.trim_end().split("\r\n") {
            assert!(part.len() <= LINE_MAX, "{} characters: {part}", part.len());
        }
        let words = line.trim_end().strip_prefix(&format!("{name}: ")).unwrap();
        words
            .split("\r\n ")
            .map(|word| {
                let inner = word.strip_prefix(OPEN).and_then(|word| word.strip_suffix(CLOSE)).unwrap();
                String::from_utf8(STANDARD.decode(inner).unwrap()).unwrap()
            })
            .collect()
    }

    #[test]
    fn k12_04_every_encoded_word_decodes_alone_on_lines_of_at_most_76() {
        let reminder =
            "Nhắc nợ kỳ 11/2026: khách hàng Nguyễn Thị Hạnh còn thiếu 1.250.000 ₫ – vui lòng thanh toán trước 30/11".to_owned();
        for subject in
            [reminder, format!("A{}", "ậ".repeat(40)), "🔔".repeat(50), "x".repeat(300), " a ".into(), "=?utf-8?q?x?=".into()]
        {
            assert_eq!(decoded(&text("Subject", &subject), "Subject"), subject);
        }
    }

    #[test]
    fn a_long_name_still_leaves_room_for_whole_characters() {
        let name = "X".repeat(NAME_MAX);
        assert_eq!(decoded(&text(&name, &"🔔".repeat(9)), &name), "🔔".repeat(9));
    }

    #[test]
    fn short_plain_text_is_readable_as_it_is() {
        assert_eq!(text("Subject", "Reminder 11/2026"), "Subject: Reminder 11/2026\r\n");
        assert_eq!(text("Subject", ""), "Subject: \r\n");
    }

    #[test]
    fn names_are_quoted_or_encoded_and_the_address_never_is() {
        let line = |who: &str| person("To", &who.parse().unwrap());
        assert_eq!(line("a@example.com"), "To: a@example.com\r\n");
        assert_eq!(line("Ann, Inc. <a@example.com>"), "To: \"Ann, Inc.\" <a@example.com>\r\n");
        assert_eq!(line("Công nợ <b@example.com>"), "To: =?utf-8?b?Q8O0bmcgbuG7ow==?= <b@example.com>\r\n");
        let long = line(&format!("{} <b@example.com>", "Nguyễn ".repeat(20)));
        assert!(long.ends_with(" <b@example.com>\r\n") && long.split("\r\n").all(|part| part.len() <= LINE_MAX), "{long}");
    }
}
