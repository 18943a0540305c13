//! From text to rule, by descent; depth is bounded.

use super::{Decimal, Literal, Node, Op, RULE_DEPTH_MAX, RuleError};

const OPS: &[(&str, Op)] = &[
    ("<=", Op::LessOrEqual),
    (">=", Op::GreaterOrEqual),
    ("<>", Op::NotEqual),
    ("!=", Op::NotEqual),
    ("==", Op::Equal),
    ("<", Op::Less),
    (">", Op::Greater),
    ("=", Op::Equal),
];

const RESERVED: &[&str] = &["and", "or", "not", "true", "false", "null"];

pub(super) fn rule(text: &str) -> Result<Node, RuleError> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let root = parser.any()?;
    parser.skip_space();
    if parser.at < text.len() {
        return Err(parser.wrong("expected and or or here; join comparisons as in a < 0 and b = 'x'"));
    }
    Ok(root)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn wrong(&self, message: impl Into<String>) -> RuleError {
        RuleError { column: self.text[..self.at].chars().count() + 1, message: message.into() }
    }

    /// The bare word that begins here; empty if none does.
    fn word(&mut self) -> &'a str {
        self.skip_space();
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))).unwrap_or(rest.len());
        &rest[..end]
    }

    /// Takes `keyword` if it is the next word.
    fn take_word(&mut self, keyword: &str) -> bool {
        let found = self.word().eq_ignore_ascii_case(keyword);
        self.at += if found { keyword.len() } else { 0 };
        found
    }

    fn take(&mut self, mark: char) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(mark);
        self.at += if found { mark.len_utf8() } else { 0 };
        found
    }

    fn any(&mut self) -> Result<Node, RuleError> {
        self.chain("or", Self::all, Node::Any)
    }

    fn all(&mut self) -> Result<Node, RuleError> {
        self.chain("and", Self::one, Node::All)
    }

    fn chain(
        &mut self,
        word: &str,
        part: fn(&mut Self) -> Result<Node, RuleError>,
        made: fn(Vec<Node>) -> Node,
    ) -> Result<Node, RuleError> {
        let first = part(self)?;
        let mut parts = vec![first];
        while self.take_word(word) {
            parts.push(part(self)?);
        }
        match parts.pop() {
            Some(only) if parts.is_empty() => Ok(only),
            last => {
                parts.extend(last);
                Ok(made(parts))
            }
        }
    }

    fn one(&mut self) -> Result<Node, RuleError> {
        if self.take_word("not") {
            return self.deeper(Self::one).map(|part| Node::Not(Box::new(part)));
        }
        if self.take('(') {
            let part = self.deeper(Self::any)?;
            if !self.take(')') {
                return Err(self.wrong("expected a closing parenthesis, or and or or"));
            }
            return Ok(part);
        }
        self.comparison()
    }

    fn deeper(&mut self, read: fn(&mut Self) -> Result<Node, RuleError>) -> Result<Node, RuleError> {
        if self.depth == RULE_DEPTH_MAX {
            return Err(self.wrong(format!("nested deeper than {RULE_DEPTH_MAX} levels; leave parentheses out")));
        }
        self.depth += 1;
        let part = read(self)?;
        self.depth -= 1;
        Ok(part)
    }

    fn comparison(&mut self) -> Result<Node, RuleError> {
        let field = self.field()?;
        self.skip_space();
        let op_at = self.at;
        let rest = self.rest();
        if rest.starts_with("=<") || rest.starts_with("=>") {
            return Err(self.wrong("write <= or >="));
        }
        let Some((written, op)) = OPS.iter().find(|(written, _)| rest.starts_with(written)) else {
            return Err(self.wrong("expected one of < <= > >= = != after the field's name"));
        };
        self.at += written.len();
        let literal = self.literal()?;
        if !matches!(literal, Literal::Number(_)) && !matches!(op, Op::Equal | Op::NotEqual) {
            self.at = op_at;
            return Err(self.wrong("only = and != compare with what is no number; a number is written without quotes"));
        }
        Ok(Node::Compare { field, op: *op, literal })
    }

    fn field(&mut self) -> Result<String, RuleError> {
        let word = self.word();
        if self.rest().starts_with('"') {
            return self.quoted('"');
        }
        if RESERVED.iter().any(|reserved| word.eq_ignore_ascii_case(reserved)) {
            return Err(self.wrong(format!("expected a field's name; put {word:?} into double quotes if it is one")));
        }
        if word.is_empty() {
            return Err(self.wrong("expected a field's name, such as amount_cents < 0; odd names go into double quotes"));
        }
        self.at += word.len();
        Ok(word.to_owned())
    }

    /// A text between marks, where the mark itself stands twice.
    fn quoted(&mut self, mark: char) -> Result<String, RuleError> {
        let mut value = String::new();
        let mut chars = self.rest().char_indices().skip(1).peekable();
        while let Some((offset, found)) = chars.next() {
            if found != mark {
                value.push(found);
            } else if chars.next_if(|(_, next)| *next == mark).is_some() {
                value.push(mark);
            } else {
                self.at += offset + mark.len_utf8();
                return Ok(value);
            }
        }
        Err(self.wrong(format!("a text that begins with {mark} is never closed")))
    }

    fn literal(&mut self) -> Result<Literal, RuleError> {
        let word = self.word();
        if self.rest().starts_with('\'') {
            return self.quoted('\'').map(Literal::Text);
        }
        let literal = match word.to_ascii_lowercase().as_str() {
            "true" => Literal::Bool(true),
            "false" => Literal::Bool(false),
            "null" => Literal::Null,
            _ if Decimal::of(word).is_some() => Literal::Number(word.to_owned()),
            _ => return Err(self.wrong(no_literal(word))),
        };
        self.at += word.len();
        Ok(literal)
    }
}

fn no_literal(word: &str) -> String {
    let unsigned = word.strip_prefix('-').unwrap_or(word);
    if unsigned.starts_with('.') {
        "a number needs a digit before the point, such as 0.5".to_owned()
    } else if unsigned.ends_with('.') {
        "a number needs a digit after the point; leave the point out if there are no decimals".to_owned()
    } else if unsigned.starts_with(|c: char| c.is_ascii_digit()) {
        format!("{word:?} is no plain decimal number; write all its digits, such as -1000.50")
    } else if word.is_empty() {
        "expected a number, a text in single quotes, true, false or null".to_owned()
    } else {
        format!("{word:?} is no number; write a text in single quotes, such as '{word}'")
    }
}
