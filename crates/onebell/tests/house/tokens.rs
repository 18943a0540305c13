//! Rust source as tokens: enough to tell code from comments and strings, and where a test part begins and ends.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Kind {
    Word(String),
    /// The content of a string literal, escapes as written.
    Text(String),
    /// `::`
    Joint,
    Mark(char),
    /// A number, a character or a lifetime.
    Other,
}

#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) line: usize,
    /// Inside an item under `#[cfg(test)]`.
    pub(crate) test: bool,
    /// Inline modules around it.
    pub(crate) modules: Vec<String>,
}

impl Token {
    pub(crate) fn word(&self) -> Option<&str> {
        match &self.kind {
            Kind::Word(word) => Some(word),
            _ => None,
        }
    }

    pub(crate) fn is(&self, mark: char) -> bool {
        self.kind == Kind::Mark(mark)
    }

    pub(crate) fn is_word(&self, word: &str) -> bool {
        self.word() == Some(word)
    }
}

/// The tokens of a file.
pub(crate) fn tokens(text: &str) -> Vec<Token> {
    let mut scanner = Scanner { chars: text.chars().collect(), at: 0, line: 1 };
    let mut found = Vec::new();
    while let Some((kind, line)) = scanner.next_token() {
        found.push(Token { kind, line, test: false, modules: Vec::new() });
    }
    mark_modules(&mut found);
    mark_tests(&mut found);
    found
}

struct Scanner {
    chars: Vec<char>,
    at: usize,
    line: usize,
}

impl Scanner {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn bump(&mut self) -> char {
        let c = self.peek(0);
        self.at += 1;
        self.line += usize::from(c == '\n');
        c
    }

    fn next_token(&mut self) -> Option<(Kind, usize)> {
        self.skip_blank();
        if self.at >= self.chars.len() {
            return None;
        }
        let line = self.line;
        let kind = match self.peek(0) {
            c if c.is_alphabetic() || c == '_' => self.word_or_string(),
            c if c.is_ascii_digit() => self.number(),
            '"' => self.string(),
            '\'' => self.character_or_lifetime(),
            ':' if self.peek(1) == ':' => {
                self.at += 2;
                Kind::Joint
            }
            _ => Kind::Mark(self.bump()),
        };
        Some((kind, line))
    }

    fn skip_blank(&mut self) {
        loop {
            match (self.peek(0), self.peek(1)) {
                ('/', '/') => while self.at < self.chars.len() && self.bump() != '\n' {},
                ('/', '*') => self.skip_block(),
                (c, _) if c.is_whitespace() => _ = self.bump(),
                _ => return,
            }
        }
    }

    fn skip_block(&mut self) {
        let mut depth = 0;
        while self.at < self.chars.len() {
            match (self.bump(), self.peek(0)) {
                ('/', '*') => depth += 1,
                ('*', '/') => depth -= 1,
                _ => continue,
            }
            self.bump();
            if depth == 0 {
                return;
            }
        }
    }

    fn word_or_string(&mut self) -> Kind {
        let start = self.at;
        while self.peek(0).is_alphanumeric() || self.peek(0) == '_' {
            self.at += 1;
        }
        let word: String = self.chars[start..self.at].iter().collect();
        let hashes = (0..).take_while(|n| self.peek(*n) == '#').count();
        match (word.as_str(), self.peek(hashes)) {
            ("r" | "br" | "cr", '"') => self.raw_string(hashes),
            ("b" | "c", '"') if hashes == 0 => self.string(),
            ("b", '\'') if hashes == 0 => self.character_or_lifetime(),
            ("r", c) if hashes == 1 && (c.is_alphabetic() || c == '_') => {
                self.at += 1;
                self.word_or_string()
            }
            _ => Kind::Word(word),
        }
    }

    fn number(&mut self) -> Kind {
        while self.peek(0).is_alphanumeric() || self.peek(0) == '_' || (self.peek(0) == '.' && self.peek(1).is_ascii_digit()) {
            self.at += 1;
        }
        Kind::Other
    }

    fn string(&mut self) -> Kind {
        self.bump();
        let mut content = String::new();
        while self.at < self.chars.len() && self.peek(0) != '"' {
            if self.peek(0) == '\\' {
                content.push(self.bump());
            }
            content.push(self.bump());
        }
        self.bump();
        Kind::Text(content)
    }

    fn raw_string(&mut self, hashes: usize) -> Kind {
        self.at += hashes + 1;
        let mut content = String::new();
        while self.at < self.chars.len() && !(self.peek(0) == '"' && (1..=hashes).all(|n| self.peek(n) == '#')) {
            content.push(self.bump());
        }
        self.at += hashes + 1;
        Kind::Text(content)
    }

    fn character_or_lifetime(&mut self) -> Kind {
        self.bump();
        if self.peek(0) == '\\' || self.peek(1) == '\'' {
            if self.bump() == '\\' {
                self.bump();
            }
            while self.at < self.chars.len() && self.bump() != '\'' {}
        } else {
            while self.peek(0).is_alphanumeric() || self.peek(0) == '_' {
                self.at += 1;
            }
        }
        Kind::Other
    }
}

/// The index after the item or block that begins at `start`: its `;`, or the brace that closes its first one.
pub(crate) fn end_of_item(tokens: &[Token], start: usize) -> usize {
    let mut depth = 0_i32;
    for (index, token) in tokens.iter().enumerate().skip(start) {
        match token.kind {
            Kind::Mark('(' | '[' | '{') => depth += 1,
            Kind::Mark(')' | ']') => depth -= 1,
            Kind::Mark('}') => {
                depth -= 1;
                if depth <= 0 {
                    return index + 1;
                }
            }
            Kind::Mark(';') if depth == 0 => return index + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// The attribute whose `#` stands at `at`: its words' range inside the brackets.
pub(crate) fn attribute(tokens: &[Token], at: usize) -> Option<std::ops::Range<usize>> {
    let open = at + 1 + usize::from(tokens.get(at + 1).is_some_and(|t| t.is('!')));
    if !tokens[at].is('#') || !tokens.get(open).is_some_and(|t| t.is('[')) {
        return None;
    }
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate().skip(open) {
        depth += i32::from(token.is('[')) - i32::from(token.is(']'));
        if depth == 0 {
            return Some(open + 1..index);
        }
    }
    None
}

fn mark_modules(tokens: &mut [Token]) {
    // One entry per open brace: the module's name if it opens one.
    let mut open: Vec<Option<String>> = Vec::new();
    for index in 0..tokens.len() {
        tokens[index].modules = open.iter().flatten().cloned().collect();
        match tokens[index].kind {
            Kind::Mark('{') => {
                let named = index >= 2 && tokens[index - 2].is_word("mod");
                let name = tokens[index.saturating_sub(1)].word().filter(|_| named).map(str::to_owned);
                open.push(name);
            }
            Kind::Mark('}') => _ = open.pop(),
            _ => {}
        }
    }
}

fn mark_tests(tokens: &mut [Token]) {
    for index in 0..tokens.len() {
        let Some(inside) = attribute(tokens, index) else { continue };
        let words: Vec<&str> = tokens[inside.clone()].iter().filter_map(Token::word).collect();
        if words.first() != Some(&"cfg") || !words.contains(&"test") || words.contains(&"not") {
            continue;
        }
        let mut start = inside.end + 1;
        while let Some(next) = tokens.get(start).and_then(|_| attribute(tokens, start)) {
            start = next.end + 1;
        }
        let end = end_of_item(tokens, start);
        tokens[index..end].iter_mut().for_each(|token| token.test = true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        tokens(text).iter().filter_map(|t| t.word().map(str::to_owned)).collect()
    }

    #[test]
    fn comments_strings_characters_and_lifetimes_hide_nothing_and_show_nothing() {
        assert_eq!(words("a // b\n/* c /* d */ e */ f"), ["a", "f"]);
        assert_eq!(words(r####"a "b \" c" r#"d " e"# br"f" b"g" h"####), ["a", "h"]);
        assert_eq!(words(r"a 'b' '\'' '\u{1F}' b'c' '{' z"), ["a", "z"]);
        assert_eq!(words("fn f<'a>(x: &'a str) {} r#type"), ["fn", "f", "x", "str", "type"]);
        assert_eq!(words("0..n 1.5f64 0x1f self.0.len"), ["n", "self", "len"]);
    }

    #[test]
    fn a_test_part_ends_with_its_item() {
        let marked = |text: &str| -> Vec<String> {
            tokens(text).iter().filter(|t| t.test).filter_map(|t| t.word().map(str::to_owned)).collect()
        };
        assert_eq!(
            marked("fn a() {} #[cfg(test)] #[x] mod t { fn b() { {} } } fn c() {}"),
            ["cfg", "test", "x", "mod", "t", "fn", "b"]
        );
        assert_eq!(marked("#[cfg(test)] use a::b; fn c() {}"), ["cfg", "test", "use", "a", "b"]);
        assert!(marked("#[cfg(not(test))] mod t { fn b() {} }").is_empty());
    }

    #[test]
    fn inline_modules_are_known_inside_them_only() {
        let tokens = tokens("mod a { mod b { x } y } z");
        let around = |word: &str| tokens.iter().find(|t| t.is_word(word)).map(|t| t.modules.join("::")).unwrap();
        assert_eq!((around("x").as_str(), around("y").as_str(), around("z").as_str()), ("a::b", "a", ""));
    }

    #[test]
    fn lines_are_counted_through_strings() {
        assert_eq!(tokens("\"a\nb\"\n/*\n*/ c").last().unwrap().line, 4);
    }
}
