//! The percent sign: the first one ends the command, the rest is its standard input with a line end for each further one; `\%` is a
//! percent sign.

/// A command as cron takes it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Read {
    /// What the shell gets.
    pub(super) text: String,
    /// What it gets on its standard input.
    pub(super) stdin: Option<String>,
    /// What it would be if `%` were a character like others.
    pub(super) intended: String,
}

pub(super) fn read(command: &str) -> Read {
    let mut read = Read { text: String::new(), stdin: None, intended: String::new() };
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = c == '\\' && chars.next_if_eq(&'%').is_some();
        let c = if escaped { '%' } else { c };
        read.intended.push(c);
        match (&mut read.stdin, c) {
            (None, '%') if !escaped => read.stdin = Some(String::new()),
            (None, c) => read.text.push(c),
            (Some(stdin), '%') if !escaped => stdin.push('\n'),
            (Some(stdin), c) => stdin.push(c),
        }
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_percent_sign_ends_the_command_and_an_escaped_one_is_a_character() {
        let of = |command| {
            let Read { text, stdin, intended } = read(command);
            (text, stdin, intended)
        };
        let owned =
            |text: &str, stdin: Option<&str>, intended: &str| (text.to_owned(), stdin.map(str::to_owned), intended.to_owned());
        assert_eq!(of("a $(date +%F).sql"), owned("a $(date +", Some("F).sql"), "a $(date +%F).sql"));
        assert_eq!(of("date \"+\\%H\""), owned("date \"+%H\"", None, "date \"+%H\""));
        assert_eq!(of("mail x%Hi,%%bye\\%"), owned("mail x", Some("Hi,\n\nbye%"), "mail x%Hi,%%bye%"));
        assert_eq!(of("a \\n b\\"), owned("a \\n b\\", None, "a \\n b\\"));
    }
}
