use std::fmt;

/// How much of a server's words is kept for people.
const SHOWN_MAX: usize = 300;

/// A server's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reply {
    pub(super) code: u16,
    lines: Vec<String>,
}

/// One line of it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ReplyLine {
    code: u16,
    more: bool,
    text: String,
}

impl ReplyLine {
    /// Lenient in what carries no meaning (a bare `250`, text that is not UTF-8), strict in the code.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let digits = line.get(..3)?;
        if !matches!(digits[0], b'2'..=b'5') || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let more = match line.get(3) {
            None | Some(b' ') => false,
            Some(b'-') => true,
            Some(_) => return None,
        };
        let code = digits.iter().fold(0, |code, digit| code * 10 + u16::from(digit - b'0'));
        let text = String::from_utf8_lossy(line.get(4..).unwrap_or_default()).into_owned();
        Some(Self { code, more, text })
    }
}

impl Reply {
    /// The answer that these lines are; nothing while it is not complete. An error when the codes differ.
    pub(super) fn of(lines: &[ReplyLine]) -> Result<Option<Self>, ()> {
        let Some(last) = lines.last() else { return Ok(None) };
        if lines.iter().any(|line| line.code != last.code) {
            return Err(());
        }
        let whole = || Self { code: last.code, lines: lines.iter().map(|line| line.text.clone()).collect() };
        Ok((!last.more).then(whole))
    }

    /// 2 yes, 3 go on, 4 not now, 5 no.
    pub(super) fn class(&self) -> u16 {
        self.code / 100
    }

    /// The words of the extension line `keyword` in an answer to EHLO.
    pub(super) fn offer(&self, keyword: &str) -> Option<impl Iterator<Item = &str>> {
        self.lines.iter().skip(1).find_map(|line| {
            let mut words = line.split_whitespace();
            words.next().is_some_and(|word| word.eq_ignore_ascii_case(keyword)).then_some(words)
        })
    }

    /// The code and, if it begins the text, the enhanced code. For answers to secrets, which a server may repeat.
    pub(super) fn codes(&self) -> String {
        let word = self.lines.first().and_then(|line| line.split_whitespace().next()).unwrap_or_default();
        let parts: Vec<&str> = word.split('.').collect();
        let enhanced =
            parts.len() == 3 && parts.iter().all(|part| matches!(part.len(), 1..=3) && part.bytes().all(|b| b.is_ascii_digit()));
        if enhanced { format!("{} {word}", self.code) } else { self.code.to_string() }
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{} {}", self.code, self.lines.join(" "));
        let shown = text.trim_end().chars().map(|found| if found.is_control() { ' ' } else { found });
        shown.take(SHOWN_MAX).try_for_each(|found| write!(f, "{found}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(lines: &[&str]) -> Option<Result<Option<Reply>, ()>> {
        let lines: Option<Vec<ReplyLine>> = lines.iter().map(|line| ReplyLine::read(line.as_bytes())).collect();
        lines.map(|lines| Reply::of(&lines))
    }

    #[test]
    fn an_answer_ends_with_its_last_line_and_has_one_code() {
        assert_eq!(reply(&["250"]).unwrap().unwrap().unwrap().code, 250);
        assert_eq!(reply(&["250-a"]), Some(Ok(None)));
        assert_eq!(reply(&["250-a", "250 b"]).unwrap().unwrap().unwrap().to_string(), "250 a b");
        assert_eq!(reply(&["250-a", "550 b"]), Some(Err(())));
        for garbage in ["", "25", "2x0 ok", "150 ok", "650 ok", "250ok", "HTTP/1.1 200 OK"] {
            assert_eq!(reply(&[garbage]), None, "{garbage:?}");
        }
    }

    #[test]
    fn offers_are_read_without_regard_to_case() {
        let hello = reply(&["250-mail.example.com", "250-starttls", "250 AUTH LOGIN PLAIN"]).unwrap().unwrap().unwrap();
        assert!(hello.offer("STARTTLS").is_some() && hello.offer("SMTPUTF8").is_none());
        assert_eq!(hello.offer("AUTH").unwrap().collect::<Vec<_>>(), ["LOGIN", "PLAIN"]);
    }

    #[test]
    fn answers_to_secrets_show_codes_only_and_all_answers_are_bounded() {
        assert_eq!(reply(&["535 5.7.8 no: c2VjcmV0"]).unwrap().unwrap().unwrap().codes(), "535 5.7.8");
        assert_eq!(reply(&["535 c2VjcmV0"]).unwrap().unwrap().unwrap().codes(), "535");
        let long = reply(&[&format!("550 \x1b[31m{}", "x".repeat(5000))]).unwrap().unwrap().unwrap().to_string();
        assert!(long.chars().count() <= SHOWN_MAX && !long.contains('\x1b'));
    }
}
