//! How values are printed where other rules hold than in plain text: inside JSON and inside a URL.

use minijinja::value::ValueKind;
use minijinja::{Error, ErrorKind, Output, Value};

use super::scope::Trace;

/// Name of templates that are JSON.
pub(super) const JSON: &str = "json";
/// Name of templates that are URLs.
pub(super) const URL: &str = "url";

/// A value as JSON: texts with their quotes, numbers as they were written, null as null.
pub(super) fn json(out: &mut Output<'_>, value: &Value, trace: &Trace) -> Result<(), Error> {
    if value.is_safe() {
        return write(out, value.as_str().unwrap_or_default());
    }
    let mut text = String::new();
    spell(&mut text, value, trace)?;
    write(out, &text)
}

fn spell(into: &mut String, value: &Value, trace: &Trace) -> Result<(), Error> {
    match value.kind() {
        ValueKind::None => into.push_str("null"),
        ValueKind::Bool => into.push_str(if value.is_true() { "true" } else { "false" }),
        ValueKind::Number => into.push_str(&trace.number(value).unwrap_or_else(|| value.to_string())),
        ValueKind::String => quoted(into, value.as_str().unwrap_or_default())?,
        ValueKind::Seq | ValueKind::Iterable => {
            let mut between = "[";
            for element in value.try_iter()? {
                into.push_str(between);
                spell(into, &element, trace)?;
                between = ",";
            }
            into.push_str(if between == "[" { "[]" } else { "]" });
        }
        ValueKind::Map => {
            let mut between = "{";
            for key in value.try_iter()? {
                into.push_str(between);
                quoted(into, &key.to_string())?;
                into.push(':');
                spell(into, &value.get_item(&key)?, trace)?;
                between = ",";
            }
            into.push_str(if between == "{" { "{}" } else { "}" });
        }
        other => return Err(Error::new(ErrorKind::BadSerialization, format!("{other} has no JSON"))),
    }
    Ok(())
}

fn quoted(into: &mut String, text: &str) -> Result<(), Error> {
    let quoted = serde_json::to_string(text).map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))?;
    into.push_str(&quoted);
    Ok(())
}

/// A value as one part of a URL: it can end neither a path's part nor a parameter. What is marked `| safe` is printed as it is.
pub(super) fn url(out: &mut Output<'_>, value: &Value, trace: &Trace) -> Result<(), Error> {
    let text = trace.number(value).unwrap_or_else(|| value.to_string());
    if value.is_safe() { write(out, &text) } else { write(out, &crate::http::path_segment(&text)) }
}

fn write(out: &mut Output<'_>, text: &str) -> Result<(), Error> {
    out.write_str(text).map_err(|_| Error::new(ErrorKind::WriteFailure, "the text cannot be written"))
}

#[cfg(test)]
mod tests {
    use super::super::{RunFacts, Scope, Templates};

    fn render(name: &str, source: &str, row: &str) -> String {
        let mut templates = Templates::new();
        templates.add(name, source).unwrap();
        templates.render(name, &Scope::new("job", "step", &RunFacts::default(), row)).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn a_json_template_prints_values_that_no_text_can_break_out_of() {
        let row =
            r#"{"name":"\"},{\n\"x","cents":1.50,"id":12345678901234567890123,"note":null,"tags":["a",{"b":0.10}],"yes":true}"#;
        let source = r#"{"name": {{ row.name }}, "c": {{ row.cents }}, "id": {{ row.id }}, "n": {{ row.note }}, "t": {{ row.tags }}, "y": {{ row.yes }}, "s": {{ "Kỳ " ~ row.cents }}}"#;
        let text = render("json", source, row);
        assert!(
            text.contains(r#""c": 1.50, "id": 12345678901234567890123, "n": null, "t": ["a",{"b":0.10}], "y": true"#),
            "{text}"
        );
        let read: serde_json::Value = serde_json::from_str(&text).unwrap();
        let given: serde_json::Value = serde_json::from_str(row).unwrap();
        assert_eq!(read["name"], given["name"]);
        assert_eq!(render("json", "{{ row }}", r#"{"b":1.0,"a":[]}"#), r#"{"a":[],"b":1.0}"#);
        assert!(render("json", "{{ row.x }}", "{}").contains("row.x does not exist"));
    }

    #[test]
    fn what_is_printed_into_a_url_cannot_leave_its_place() {
        let row = r#"{"id":"a/../b?c=d&e#f","n":1.50,"path":"x/y"}"#;
        assert_eq!(render("url", "https://h/{{ row.id }}?n={{ row.n }}", row), "https://h/a%2F..%2Fb%3Fc%3Dd%26e%23f?n=1.50");
        assert_eq!(render("url", "https://h/{{ row.path | safe }}", row), "https://h/x/y");
    }
}
