//! The JSON Schema (draft 2020-12) of the job file, made of what [`super::keys`] describes. It knows shapes and words; what depends
//! on another value, on a file or on a schedule only the reader knows.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::keys::{FILE, Key, Shape, Table, Without};

const DURATION: &str = "^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$";

/// The schema.
pub fn schema() -> Value {
    let mut tables = BTreeMap::new();
    let file = table(&FILE, &mut tables);
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "onebell.toml",
        "description": "The job file of Onebell",
    });
    if let (Value::Object(schema), Value::Object(file)) = (&mut schema, file) {
        schema.extend(file);
        schema.insert("$defs".to_owned(), json!(tables));
    }
    schema
}

/// The tables that were described so far, by name.
type Tables = BTreeMap<&'static str, Value>;

fn table(described: &'static Table, tables: &mut Tables) -> Value {
    let mut properties = Map::new();
    for key in described.keys() {
        properties.insert(key.name.to_owned(), property(key, tables));
    }
    let needed: Vec<&str> = described.keys().filter(|key| key.without == Without::Refused).map(|key| key.name).collect();
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !needed.is_empty() {
        schema["required"] = json!(needed);
    }
    if !described.one_of.is_empty() {
        schema["oneOf"] = described.one_of.iter().map(|key| json!({ "required": [key] })).collect();
    }
    schema
}

fn property(key: &'static Key, tables: &mut Tables) -> Value {
    let mut schema = shape(&key.shape, tables);
    schema["description"] = json!(key.meaning.replace('`', ""));
    schema["examples"] = json!([value(key.example)]);
    if let Without::Same(usual) = key.without {
        schema["default"] = value(usual);
    }
    schema
}

fn shape(of: &'static Shape, tables: &mut Tables) -> Value {
    match of {
        Shape::Text => json!({ "type": "string" }),
        Shape::Name => json!({ "type": "string", "pattern": "\\S" }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Whole(least, i64::MAX) => json!({ "type": "integer", "minimum": least }),
        Shape::Whole(least, most) => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Shape::Duration => json!({ "type": "string", "minLength": 2, "pattern": DURATION }),
        // TOML's own dates reach a validator as texts.
        Shape::Date => json!({ "type": "string", "minLength": 1 }),
        Shape::Word(words) => json!({ "enum": words() }),
        Shape::List(items, least) => json!({ "type": "array", "items": shape(items, tables), "minItems": least }),
        Shape::ByName(values) => json!({ "type": "object", "additionalProperties": shape(values, tables) }),
        Shape::Table(described) => {
            if !tables.contains_key(described.name) {
                // Its place is taken first, should it name itself.
                tables.insert(described.name, Value::Null);
                let schema = table(described, tables);
                tables.insert(described.name, schema);
            }
            json!({ "$ref": format!("#/$defs/{}", described.name) })
        }
        Shape::Either(shapes) => json!({ "anyOf": shapes.iter().map(|one| shape(one, tables)).collect::<Vec<_>>() }),
    }
}

/// A value that is written as TOML.
fn value(text: &str) -> Value {
    let read = toml::from_str::<toml::Table>(&format!("value = {text}")).ok().and_then(|mut table| table.remove("value"));
    read.map_or(Value::Null, |value| json!(value))
}
