//! `onebell schema`: the job file's JSON Schema. It reads no file.

use crate::answer::{Answer, line};

/// What the schema is called where `init` writes it.
pub const FILE: &str = "onebell.schema.json";

/// Prints it.
pub fn schema() -> Answer {
    line(text());
    Ok(())
}

/// Laid out for people.
pub fn text() -> String {
    format!("{:#}", crate::jobfile::schema())
}
