//! JSON text as template values, numbers included: a parser in between would round them.

use std::collections::BTreeMap;
use std::sync::Arc;

use minijinja::Value;
use serde_json::Deserializer;
use serde_json::de::StrRead;

use super::scope::{Node, Trace};

/// The value of one JSON text. `path` is how a template names it.
pub(super) fn value(text: &str, path: &str, trace: &Arc<Trace>) -> Option<Value> {
    let text = text.trim_start();
    Some(match text.as_bytes().first()? {
        b'{' => Value::from_object(Node::new(path, object(text, path, trace)?, trace)),
        b'[' => Value::from(elements(text)?.into_iter().map(|part| value(part, path, trace)).collect::<Option<Vec<_>>>()?),
        b'"' => Value::from(serde_json::from_str::<String>(text).ok()?),
        b't' => Value::from(true),
        b'f' => Value::from(false),
        b'n' => Value::from(()),
        _ => number(text.trim_end(), trace),
    })
}

fn number(text: &str, trace: &Trace) -> Value {
    if let Ok(whole) = text.parse::<i128>() {
        return i64::try_from(whole).map_or_else(|_| Value::from(whole), Value::from);
    }
    if let Ok(whole) = text.parse::<u128>() {
        return Value::from(whole);
    }
    match text.parse::<f64>() {
        Ok(float) if is_exact(text, float) => {
            trace.remember(float, text);
            Value::from(float)
        }
        // What no float can hold is kept as text: it prints exactly, and computing with it is an error.
        _ => Value::from(text),
    }
}

/// Whether the float, printed, is the number that was written.
fn is_exact(text: &str, float: f64) -> bool {
    let canonical = onebell::model::fingerprint::canonical;
    float.is_finite() && matches!((canonical(text), canonical(&float.to_string())), (Ok(a), Ok(b)) if a == b)
}

fn object(text: &str, path: &str, trace: &Arc<Trace>) -> Option<BTreeMap<String, Value>> {
    let read = |(key, field): (String, &str)| Some((key.clone(), value(field, &format!("{path}.{key}"), trace)?));
    members(text)?.into_iter().map(read).collect()
}

/// The members of a JSON object, each value as its own text.
pub(crate) fn members(text: &str) -> Option<Vec<(String, &str)>> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start().strip_prefix('{')?.trim_start();
    while !rest.starts_with('}') {
        let (key, after) = first(rest)?;
        let (field, after) = first(after.trim_start().strip_prefix(':')?.trim_start())?;
        parts.push((serde_json::from_str(key).ok()?, field));
        rest = after.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    Some(parts)
}

/// The elements of a JSON array, each as its own text.
pub(crate) fn elements(text: &str) -> Option<Vec<&str>> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start().strip_prefix('[')?.trim_start();
    while !rest.starts_with(']') {
        let (part, after) = first(rest)?;
        parts.push(part);
        rest = after.trim_start();
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    Some(parts)
}

/// The first JSON value of `text`, and what follows it.
fn first(text: &str) -> Option<(&str, &str)> {
    let mut stream: serde_json::StreamDeserializer<'_, StrRead<'_>, serde::de::IgnoredAny> =
        Deserializer::from_str(text).into_iter();
    stream.next()?.ok()?;
    let end = stream.byte_offset();
    Some((text.get(..end)?, text.get(end..)?))
}
