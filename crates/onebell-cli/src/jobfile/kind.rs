//! The kinds of steps: `command`, `sql`, `message`.

mod command;
mod message;

use onebell::model::job::OnMessageFailed;

use super::fields::Fields;
use super::problem::Flaw;
use super::step::{Around, Reference};
use super::texts;
use crate::steps::spec::{COMMAND, MESSAGE, SQL, SqlStep};

/// What a kind gives to its step.
pub(super) struct Kind {
    pub(super) handler: &'static str,
    /// JSON text; `null` when it could not be read.
    pub(super) spec: String,
    pub(super) rows_of: Vec<Reference>,
    pub(super) on_message_failed: OnMessageFailed,
}

/// The kinds and the keys that only they have.
pub(super) const KINDS: &[(&str, &[&str])] = &[
    (COMMAND, &["shell", "env", "cwd", "exit_codes", "input", "output_cap"]),
    (SQL, &[]),
    (MESSAGE, &["for_each", "on_in_doubt", "on_message_failed"]),
];
/// Kinds of a later version.
pub(super) const LATER: &[&str] = &["http", "apply"];

/// Reads the kind's keys out of a step.
pub(super) fn read<'t>(fields: &Fields<'t>, around: &Around<'t>) -> Kind {
    for later in LATER {
        if let Some(at) = fields.key_span(later) {
            fields.get(later);
            around.flaws.push(Flaw::new(
                at,
                format!("steps of kind {later:?} are not available yet"),
                "use command, sql or message",
            ));
            return nothing("");
        }
    }
    let there: Vec<&'static str> = KINDS.iter().map(|(kind, _)| *kind).filter(|kind| fields.has(kind)).collect();
    let kind = match there.as_slice() {
        [kind] => kind,
        [] => {
            around.flaws.push(Flaw::new(fields.span.clone(), "nothing to do", "write one of command, sql and message"));
            return nothing("");
        }
        [first, second, ..] => {
            let at = fields.key_span(second).unwrap_or(fields.span.clone());
            let remedy = "one step does one thing; make it a step of its own";
            around.flaws.push(Flaw::new(at, format!("{second} beside {first}"), remedy));
            for kind in there {
                fields.get(kind);
            }
            return nothing("");
        }
    };
    refuse_keys_of_others(kind, fields);
    match *kind {
        COMMAND => command::read(fields, around),
        MESSAGE => message::read(fields, around),
        _ => Kind { spec: sql(fields, around), ..nothing(SQL) },
    }
}

fn nothing(handler: &'static str) -> Kind {
    Kind { handler, spec: "null".to_owned(), rows_of: Vec::new(), on_message_failed: OnMessageFailed::default() }
}

fn refuse_keys_of_others(kind: &str, fields: &Fields<'_>) {
    for (other, keys) in KINDS.iter().filter(|(other, _)| *other != kind) {
        for key in *keys {
            if let Some(at) = fields.key_span(key) {
                fields.get(key);
                fields.flaws.push(Flaw::new(at, format!("{key} belongs to a {other}, this is a {kind} step"), "remove it"));
            }
        }
    }
}

fn sql<'t>(fields: &Fields<'t>, around: &Around<'t>) -> String {
    let sql = fields.read(SQL, |node| texts::sql(node, around.folder, around.flaws));
    json(&SqlStep { sql: sql.unwrap_or_default() })
}

/// A spec as it is stored.
fn json<T: serde::Serialize>(spec: &T) -> String {
    serde_json::to_string(spec).unwrap_or_else(|_| "null".to_owned())
}
