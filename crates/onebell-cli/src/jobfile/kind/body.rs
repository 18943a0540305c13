//! What a request or a webhook carries, and the headers beside it.

use std::collections::BTreeMap;

use super::super::fields::{Fields, Node, Read};
use super::super::problem::Flaw;
use super::super::step::Around;
use super::super::texts::{self, Written, check_template, inline};
use super::super::values::text;
use crate::http::{check_name, check_value};
use crate::steps::body::check;
use crate::steps::spec::Body;

/// The keys of a body.
pub(super) const KEYS: &[&str] = &["body", "body_file", "json", "json_file"];

/// One of `body`, `body_file`, `json` and `json_file`, with its `content_type`. Its template sees what is named.
pub(super) fn read<'t>(fields: &Fields<'t>, sees: &[&str], around: &Around<'t>) -> Option<Body> {
    let there: Vec<&str> = KEYS.iter().copied().filter(|key| fields.has(key)).collect();
    if let [first, second, ..] = there.as_slice() {
        let at = fields.key_span(second).unwrap_or(fields.span.clone());
        around.flaws.push(Flaw::new(at, format!("{second} beside {first}"), "keep one of the two"));
    }
    let checked = |name: &str, written: Written| check_template(name, &written, sees, around.source).map(|()| written.text);
    let here = |name: &'static str| fields.read(name, |node| inline(node).and_then(|written| checked(name, written)));
    let in_file = |key: &'static str, name: &'static str| {
        fields.read(key, |node| texts::file(node, around.folder).and_then(|written| checked(name, written)))
    };
    let plain = here("body").or(in_file("body_file", "body"));
    let json = here("json").or(in_file("json_file", "json"));
    let content_type = fields.read("content_type", content_type);
    let body = match (json, plain) {
        (Some(template), _) => {
            Some(Body { template, json: true, content_type: content_type.unwrap_or_else(|| "application/json".to_owned()) })
        }
        (None, Some(template)) => {
            let content_type = content_type.unwrap_or_else(|| "text/plain; charset=utf-8".to_owned());
            Some(Body { template, json: false, content_type })
        }
        (None, None) => None,
    };
    if let Some(Err(wrong)) = body.as_ref().filter(|body| is_literal(&body.template)).map(|body| check(body, &body.template)) {
        let at = fields.key_span("json").or(fields.key_span("json_file")).unwrap_or(fields.span.clone());
        around.flaws.push(Flaw::new(at, wrong, ""));
    }
    body
}

/// Whether it is printed as it is written, so that what is wrong with it is known now.
fn is_literal(template: &str) -> bool {
    !["{{", "{%", "{#"].iter().any(|begin| template.contains(begin))
}

fn content_type(node: &Node<'_>) -> Read<String> {
    let found = text(node)?;
    match check_value(&found) {
        Ok(()) if found.contains('/') => Ok(found),
        Ok(()) => Err(Flaw::new(node.span(), format!("{found:?} is no media type"), "write one such as \"application/json\"")),
        Err(wrong) => Err(Flaw::new(node.span(), wrong, "write one such as \"application/json\"")),
    }
}

/// A header's template that prints nothing of its own is judged at once; any other, when it is printed.
pub(super) fn check_line(template: &str) -> Result<(), String> {
    if is_literal(template) { check_value(template) } else { Ok(()) }
}

/// Headers by name, each value read by `read`.
pub(in crate::jobfile) fn headers<'t, T>(
    node: &'t Node<'t>,
    flaws: &'t super::super::fields::Flaws,
    read: impl Fn(&str, &'t Node<'t>) -> Read<T>,
) -> Read<BTreeMap<String, T>> {
    let fields = Fields::by_name(node, flaws)?;
    let mut headers: BTreeMap<String, T> = BTreeMap::new();
    for (key, at, node) in fields.entries() {
        if let Err(wrong) = check_name(key) {
            flaws.push(Flaw::new(at, wrong, ""));
        } else if headers.keys().any(|other| other.eq_ignore_ascii_case(key)) {
            flaws.push(Flaw::new(at, format!("{key} is there twice"), "a header's case means nothing; keep one"));
        } else if let Some(value) = flaws.keep(read(key, node).map_err(|flaw| flaw.under(key))) {
            headers.insert(key.to_owned(), value);
        }
    }
    Ok(headers)
}
