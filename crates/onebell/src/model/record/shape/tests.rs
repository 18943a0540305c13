use super::*;
use crate::model::Effect;

const START: Position = Position { byte: 0, line: 1 };

fn shape(id: &[&str], amount: Option<(&str, u8)>) -> Shape {
    let id = id.iter().map(|name| (*name).to_owned()).collect();
    Shape { id, amount: amount.map(|(name, scale)| (name.to_owned(), scale)), fail_if: None }
}

fn columns(names: &[&str], shape: &Shape) -> Columns {
    Columns::new(names.iter().map(|name| (*name).to_owned()).collect(), shape).unwrap()
}

/// What the effect of a record is known by, computed by the effect itself.
fn as_effect(record: &Record) -> Fingerprint {
    let scope = Key::new("scope").unwrap();
    Effect::new(scope, record.key.clone(), record.amount, record.payload.clone()).unwrap().fingerprint
}

#[test]
fn a_record_has_the_fingerprint_that_its_effect_has() {
    let plain = shape(&["id"], None);
    let money = shape(&["id"], Some(("a", 2)));
    for json in [
        r#"{"id":"E1","a":100}"#,
        r#" { "z" : [1.0, {"y":null,"x":"\u00e9\n"}], "id" : "E1" , "a" : "-0.5" } "#,
        r#"{"id":7,"a":0,"ümlaut":"\"\\","empty":{},"b":1e2}"#,
        r#"{"a":-92233720368547758.08,"id":"least"}"#,
    ] {
        for shape in [&plain, &money] {
            let record = shape.of_json(START, json).unwrap();
            assert_eq!(record.fingerprint, as_effect(&record), "{json}");
            assert_eq!(record.payload, json.trim());
        }
    }
    for shape in [&plain, &money] {
        let columns = columns(&["id", "a", "\"q\"", "B"], shape);
        let record = shape.of_texts(START, &columns, &["E,1", "1.5", "line\nend \u{7f}\u{1}", "é"]).unwrap();
        assert_eq!(record.fingerprint, as_effect(&record));
        assert_eq!(record.payload, "{\"\\\"q\\\"\":\"line\\nend \u{7f}\\u0001\",\"B\":\"é\",\"a\":\"1.5\",\"id\":\"E,1\"}");
    }
}

#[test]
fn a_payload_nests_as_deep_as_its_effect_may() {
    let nested = |depth: usize| format!("{{\"id\":\"E1\",\"a\":1,\"x\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    for (shape, most) in [(shape(&["id"], None), 127), (shape(&["id"], Some(("a", 0))), 126)] {
        assert!(shape.of_json(START, &nested(most)).is_ok());
        assert!(shape.of_json(START, &nested(most + 1)).unwrap_err().reason.contains("nested deeper"));
    }
}

#[test]
fn an_id_is_a_text_or_the_spelling_of_a_number() {
    let shape = shape(&["id"], None);
    let key = |json: &str| shape.of_json(START, json).map(|record| record.key.as_str().to_owned());
    assert_eq!(key(r#"{"id":"E\u0031"}"#).unwrap(), "E1");
    assert_eq!(key(r#"{"id":1.0}"#).unwrap(), "1.0");
    assert_eq!(key(r#"{"id":1.00}"#).unwrap(), "1.00");
    assert_eq!(key(r#"{"id":"e\u0301"}"#).unwrap(), "\u{e9}");
    for (json, says) in [
        (r#"{"id":null}"#, "is null; an id is a text or a number"),
        (r#"{"id":true}"#, "is true"),
        (r#"{"id":["E1"]}"#, "is [\"E1\"]"),
        (r#"{"id":""}"#, "is empty"),
        (r#"{"ID":"E1"}"#, "\"id\" is missing"),
        (r#"{"id":"a\nb"}"#, "control character"),
    ] {
        let reason = key(json).unwrap_err().reason;
        assert!(reason.contains(says), "{json}: {reason}");
    }
    assert!(key(&format!("{{\"id\":\"{}\"}}", "k".repeat(513))).unwrap_err().reason.contains("longer than 512"));
}

#[test]
fn ids_of_several_fields_differ_when_any_of_them_does() {
    let shape = shape(&["x", "y"], None);
    let columns = columns(&["x", "y"], &shape);
    let key = |x: &str, y: &str| shape.of_texts(START, &columns, &[x, y]).unwrap().key.as_str().to_owned();
    assert_eq!(key("a", "b"), "a/b");
    assert_eq!(key("a/b", "c"), "a\\/b/c");
    let all = [key("a/b", "c"), key("a", "b/c"), key("a\\", "b/c"), key("a\\/b", "c"), key("a\\", "/c"), key("a", "\\/c")];
    for (at, one) in all.iter().enumerate() {
        assert!(!all[..at].contains(one), "{one} twice");
    }
}

#[test]
fn k08_04_what_has_no_canonical_form_is_no_record() {
    let shape = shape(&["id"], None);
    for (json, says) in [
        (r#"{"id":"E1","amount":100,"amount":900}"#, "column 25: the key \"amount\" is there twice"),
        (r#"{"id":"E1","a":1e400}"#, "out of range"),
        (r#"{"id":"E1","a":007}"#, "cannot begin with 0"),
        (r#"{"id":"E1"}{"id":"E2"}"#, "trailing characters at column 12"),
        (r#"  {"id":"é"} x"#, "trailing characters at column 14"),
        (r#"["E1"]"#, "column 1: expected an object"),
        (r#"{"id":"E1""#, "column 11: expected a comma"),
        ("", "column 1: expected an object"),
    ] {
        let unfit = shape.of_json(START, json).unwrap_err();
        assert!(unfit.reason.contains(says), "{json}: {}", unfit.reason);
        assert_eq!(unfit.key, None);
    }
    let of = |json: &str| shape.of_json(START, json).unwrap().fingerprint;
    assert_ne!(of(r#"{"id":1,"n":9007199254740993}"#), of(r#"{"id":1,"n":9007199254740992}"#));
    assert_eq!(of(r#"{"id":1,"n":0.001}"#), of(r#"{"id":1,"n":0.0010}"#));
}

#[test]
fn a_record_with_a_wrong_amount_is_refused_by_its_name() {
    let shape = shape(&["id"], Some(("a", 2)));
    let columns = columns(&["id", "a"], &shape);
    let unfit = shape.of_texts(START, &columns, &["E1", "1 000"]).unwrap_err();
    assert_eq!(unfit.key.as_deref(), Some("E1"));
    assert!(unfit.reason.starts_with("the amount field \"a\" is \"1 000\": an amount has no blanks"), "{}", unfit.reason);
    assert_eq!(shape.of_json(START, r#"{"id":"E1","a":1.1}"#).unwrap().amount, Some(110));
    for (json, says) in [
        (r#"{"id":"E1"}"#, "\"a\" is missing"),
        (r#"{"id":"E1","a":null}"#, "is null; an amount is a number"),
        (r#"{"id":"E1","a":1e2}"#, "no exponent"),
    ] {
        let unfit = shape.of_json(START, json).unwrap_err();
        assert!(unfit.reason.contains(says), "{json}: {}", unfit.reason);
        assert_eq!(unfit.key.as_deref(), Some("E1"));
    }
}

#[test]
fn a_rule_fails_a_record_and_one_that_cannot_be_judged_is_rejected() {
    let rule = Rule::parse("a < 0").unwrap();
    let shape = Shape { fail_if: Some(rule), ..shape(&["id"], None) };
    let columns = columns(&["id", "a"], &shape);
    let failed = |value: &str| shape.of_texts(START, &columns, &["E1", value]).map(|record| record.failed);
    assert_eq!(failed("-1"), Ok(Some("a < 0".to_owned())));
    assert_eq!(failed("1"), Ok(None));
    assert!(failed("").unwrap_err().reason.contains("no number"));
    assert_eq!(shape.of_json(START, r#"{"id":"E1","a":-0.1}"#).unwrap().failed.as_deref(), Some("a < 0"));
    assert!(shape.of_json(START, r#"{"id":"E1"}"#).unwrap_err().reason.contains("\"a\" is missing"));
    let missing = Columns::new(vec!["id".to_owned()], &shape).unwrap_err();
    assert_eq!(missing, ColumnsError::Missing("a".to_owned()));
}

#[test]
fn a_row_has_as_many_fields_as_the_header_names() {
    let shape = shape(&["id"], None);
    let columns = columns(&["id", "a"], &shape);
    let wrong = |values: &[&str]| shape.of_texts(START, &columns, values).unwrap_err().reason;
    assert_eq!(wrong(&["E1", "2", "3"]), "has 3 fields, the header names 2");
    assert_eq!(wrong(&["E1"]), "has 1 field, the header names 2");
    assert!(wrong(&["E1", "a\0"]).contains("U+0000"));
}
