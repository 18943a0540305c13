//! A shell's line, cut into its commands and their words: quotes are removed, redirections left out, of a pipeline only the first
//! command is kept. Nothing is expanded.

use std::iter::Peekable;
use std::str::Chars;

/// A line of a shell.
#[derive(Debug, Default)]
pub(super) struct Text {
    /// Words of each command, in their order.
    pub(super) commands: Vec<Vec<String>>,
    /// It ends with `&`.
    pub(super) background: bool,
}

#[derive(Default)]
struct Cutter {
    text: Text,
    words: Vec<String>,
    word: Option<String>,
    /// The next word is where a redirection goes to.
    target: bool,
    /// What follows is a later command of a pipeline.
    piped: bool,
}

pub(super) fn read(line: &str) -> Text {
    let mut cutter = Cutter::default();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        cutter.take(c, &mut chars);
    }
    cutter.end_command(false);
    cutter.text
}

impl Cutter {
    fn take(&mut self, c: char, chars: &mut Peekable<Chars<'_>>) {
        match c {
            '\'' => self.word().extend(chars.by_ref().take_while(|c| *c != '\'')),
            '"' => self.double_quoted(chars),
            '\\' => {
                let escaped = chars.next();
                self.word().extend(escaped);
            }
            '`' => self.word().extend(chars.by_ref().take_while(|c| *c != '`')),
            '$' if chars.peek() == Some(&'(') => self.substitution(chars),
            '#' if self.word.is_none() => while chars.next_if(|c| *c != '\n').is_some() {},
            '>' | '<' => self.redirection(chars),
            '&' if chars.next_if_eq(&'&').is_some() => self.end_command(false),
            '&' if chars.next_if_eq(&'>').is_some() => self.redirection(chars),
            '|' if chars.next_if_eq(&'|').is_some() => self.end_command(false),
            '|' => self.end_command(true),
            '&' => {
                self.end_command(false);
                self.text.background = true;
            }
            ';' | '\n' => self.end_command(false),
            '(' | ')' => self.end_word(),
            c if c.is_whitespace() => self.end_word(),
            c => self.word().push(c),
        }
    }

    fn word(&mut self) -> &mut String {
        self.text.background = false;
        self.word.get_or_insert_default()
    }

    fn double_quoted(&mut self, chars: &mut Peekable<Chars<'_>>) {
        let word = self.word();
        while let Some(c) = chars.next() {
            match c {
                '"' => return,
                '\\' => word.extend(chars.next()),
                c => word.push(c),
            }
        }
    }

    /// `$(…)` is one word, whatever is in it.
    fn substitution(&mut self, chars: &mut Peekable<Chars<'_>>) {
        let word = self.word();
        word.push('$');
        let mut depth = 0_usize;
        for c in chars.by_ref() {
            word.push(c);
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn redirection(&mut self, chars: &mut Peekable<Chars<'_>>) {
        // The number in `2>` is no word.
        if self.word.as_ref().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        while chars.next_if(|c| matches!(c, '>' | '<' | '&' | '|')).is_some() {}
        self.target = true;
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if !std::mem::take(&mut self.target) && word != "{" && word != "}" {
            self.words.push(word);
        }
    }

    fn end_command(&mut self, piped: bool) {
        self.end_word();
        self.target = false;
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() && !self.piped {
            self.text.commands.push(words);
        }
        self.piped = piped;
    }
}
