//! A rule of the business over the fields of a record: `amount_cents < 0`.
//!
//! It is sure or it says why not: a comparison with a field that is missing or of another kind is neither true nor false, and
//! the record is rejected. It computes nothing; numbers are compared as exact decimals.

mod decimal;
mod parse;

use super::{Field, FieldKind};
use decimal::Decimal;

/// Deepest nesting of parentheses and `not`.
pub const RULE_DEPTH_MAX: usize = 64;

/// A parsed rule: `FIELD OP LITERAL`, joined by `and`, `or`, `not` and parentheses.
///
/// ```
/// use onebell::model::record::{Field, FieldKind, Rule};
/// let rule = Rule::parse("amount < 0 and not kind = 'refund'").unwrap();
/// let fields = [("amount", "-0.01"), ("kind", "sale")].map(|(name, value)| Field { name, value, kind: FieldKind::Text });
/// assert_eq!(rule.holds(&fields), Ok(true));
/// assert!(rule.holds(&fields[..1]).is_err(), "kind is missing");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    text: String,
    root: Node,
}

/// Why a text is no rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("column {column}: {message}")]
pub struct RuleError {
    /// From 1, in characters.
    pub column: usize,
    /// What is wrong and what to write instead.
    pub message: String,
}

/// Chains are lists, so that only parentheses and `not` nest.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    Compare { field: String, op: Op, literal: Literal },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Literal {
    /// Spelled as a plain decimal.
    Number(String),
    Text(String),
    Bool(bool),
    Null,
}

impl Rule {
    /// Reads a rule.
    ///
    /// # Errors
    /// [`RuleError`] with the column and the remedy.
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        Ok(Self { text: text.trim().to_owned(), root: parse::rule(text)? })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The fields that it names, each once.
    pub fn fields(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.root.names(&mut names);
        names.sort_unstable();
        names.dedup();
        names
    }

    /// Whether it holds for a record with these fields. What decides is looked at from left to right, and no further.
    ///
    /// # Errors
    /// Why it cannot be said: a field is missing, or its value is of another kind than what it is compared with.
    pub fn holds(&self, fields: &[Field<'_>]) -> Result<bool, String> {
        self.root.holds(fields)
    }
}

impl Node {
    fn names<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.names(names)),
            Self::Not(part) => part.names(names),
            Self::Compare { field, .. } => names.push(field),
        }
    }

    fn holds(&self, fields: &[Field<'_>]) -> Result<bool, String> {
        match self {
            Self::All(parts) => first(parts, fields, false),
            Self::Any(parts) => first(parts, fields, true),
            Self::Not(part) => part.holds(fields).map(|holds| !holds),
            Self::Compare { field, op, literal } => {
                let found = fields.iter().find(|found| found.name == field);
                let found = found.ok_or_else(|| format!("the field {field:?} is missing, which a rule names"))?;
                compare(found, *op, literal)
            }
        }
    }
}

/// Goes through `parts` until one is `decisive`.
fn first(parts: &[Node], fields: &[Field<'_>], decisive: bool) -> Result<bool, String> {
    for part in parts {
        if part.holds(fields)? == decisive {
            return Ok(decisive);
        }
    }
    Ok(!decisive)
}

fn compare(field: &Field<'_>, op: Op, literal: &Literal) -> Result<bool, String> {
    let no = |what: &str| {
        let shown: String = field.value.chars().take(40).collect();
        format!("the field {:?} is {shown:?}, no {what}, which a rule compares it with", field.name)
    };
    let equal = match literal {
        Literal::Number(number) => {
            let order = match field.kind {
                FieldKind::Other => None,
                kind => decimal::order(field.value, kind, number),
            };
            return Ok(op.accepts(order.ok_or_else(|| no("number"))?));
        }
        Literal::Text(text) if field.kind == FieldKind::Text => field.value == text,
        Literal::Text(_) => return Err(no("text")),
        // Everything that is there is null or is not.
        Literal::Null => field.kind == FieldKind::Other && field.value == "null",
        Literal::Bool(wanted) => match (field.kind, field.value) {
            (FieldKind::Text | FieldKind::Other, "true") => *wanted,
            (FieldKind::Text | FieldKind::Other, "false") => !*wanted,
            _ => return Err(no("true or false")),
        },
    };
    Ok(equal == (op == Op::Equal))
}

impl Op {
    fn accepts(self, order: std::cmp::Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
            Self::Equal => order.is_eq(),
            Self::NotEqual => order.is_ne(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text<'a>(name: &'a str, value: &'a str) -> Field<'a> {
        Field { name, value, kind: FieldKind::Text }
    }

    fn holds(rule: &str, fields: &[Field<'_>]) -> Result<bool, String> {
        Rule::parse(rule).unwrap().holds(fields)
    }

    #[test]
    fn numbers_are_compared_as_exact_decimals_however_they_are_spelled() {
        for (value, rule, expected) in [
            ("-1", "a < 0", true),
            ("-0", "a < 0", false),
            ("0.30", "a = 0.3", true),
            ("007", "a == 7", true),
            ("9007199254740993", "a > 9007199254740992", true),
            ("0.1", "a <> 0.10000000000000000001", true),
            ("10", "a > 9", true),
            ("-10", "a < -9", true),
            ("-0.45", "a > -0.5", true),
            ("0.45", "a <= 0.5", true),
            ("1.5", "a >= 1.50", true),
            ("100", "a != 100.0", false),
        ] {
            assert_eq!(holds(rule, &[text("a", value)]), Ok(expected), "{value}: {rule}");
        }
        let number = Field { name: "a", value: "1.5e3", kind: FieldKind::Number };
        assert_eq!(holds("a = 1500", &[number]), Ok(true));
        assert!(holds("a = 1500", &[text("a", "1.5e3")]).is_err(), "a text with an exponent is no plain number");
    }

    #[test]
    fn what_cannot_be_compared_is_an_error_and_not_false() {
        let null = Field { name: "a", value: "null", kind: FieldKind::Other };
        for (rule, field, says) in [
            ("b < 0", text("a", "1"), "\"b\" is missing"),
            ("a < 0", text("a", "x"), "no number"),
            ("a < 0", text("a", ""), "no number"),
            ("a != 0", null.clone(), "no number"),
            ("a = 'x'", null.clone(), "no text"),
            ("a = true", text("a", "yes"), "no true or false"),
            ("not a < 0", text("a", "1,5"), "no number"),
        ] {
            let why = holds(rule, &[field]).unwrap_err();
            assert!(why.contains(says), "{rule}: {why}");
        }
        assert_eq!(holds("a = null or a < 0", &[null]), Ok(true), "what decides is looked at first");
    }

    #[test]
    fn and_binds_tighter_than_or_and_not_tighter_than_both() {
        let fields = [text("a", "1"), text("b", "2"), text("kind", "it's")];
        for (rule, expected) in [
            ("a = 1 or a = 2 and b = 3", true),
            ("(a = 1 or a = 2) and b = 3", false),
            ("not a = 2 and b = 2", true),
            ("not (a = 1 and b = 2)", false),
            ("NOT NOT a = 1 AND b = 2", true),
            ("kind = 'it''s'", true),
            ("\"kind\" <> 'its'", true),
        ] {
            assert_eq!(holds(rule, &fields), Ok(expected), "{rule}");
        }
        let other = Field { name: "größe-in.cm", value: "true", kind: FieldKind::Other };
        assert_eq!(holds("größe-in.cm = true", std::slice::from_ref(&other)), Ok(true));
        assert_eq!(holds("größe-in.cm != null", &[other]), Ok(true));
        assert_eq!(Rule::parse("b=1 and (a=2 or b=3)").unwrap().fields(), ["a", "b"]);
    }

    #[test]
    fn what_is_no_rule_is_told_with_its_column_and_a_remedy() {
        for (rule, column, says) in [
            ("", 1, "a field's name"),
            ("a", 2, "one of <"),
            ("a <", 4, "a number"),
            ("a < b", 5, "single quotes"),
            ("a < 'x'", 3, "only = and !="),
            ("a > null", 3, "only = and !="),
            ("a = .5", 5, "0.5"),
            ("a = 1.", 5, "digit after the point"),
            ("a = 1e3", 5, "all its digits"),
            ("a = +1", 5, "a number"),
            ("a = 'x", 5, "never closed"),
            ("\"a = 1", 1, "never closed"),
            ("a = 1 b = 2", 7, "and or or"),
            ("(a = 1", 7, "closing parenthesis"),
            ("a = 1)", 6, "and or or"),
            ("é = 1 & b = 2", 7, "and or or"),
            ("a => 1", 3, ">="),
            ("and = 1", 1, "double quotes"),
        ] {
            let error = Rule::parse(rule).unwrap_err();
            assert_eq!(error.column, column, "{rule}: {error}");
            assert!(error.message.contains(says), "{rule}: {error}");
        }
    }

    #[test]
    fn a_rule_nests_so_deep_and_no_deeper() {
        let nested = |depth: usize| format!("{}a = 1{}", "(".repeat(depth), ")".repeat(depth));
        assert!(Rule::parse(&nested(RULE_DEPTH_MAX)).is_ok());
        assert!(Rule::parse(&nested(100_000)).unwrap_err().message.contains("64"));
        assert!(Rule::parse(&format!("{}a = 1", "not ".repeat(100_000))).is_err());
        let chain = vec!["a = 1"; 50_000].join(" and ");
        assert_eq!(holds(&chain, &[text("a", "1")]), Ok(true));
    }
}
