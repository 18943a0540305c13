//! The kinds of steps: `command`, `http`, `sql`, `message`, `apply`.

mod apply;
mod body;
mod command;
mod http;
mod message;

pub(super) use body::headers;

use std::collections::BTreeSet;

use onebell::model::job::OnMessageFailed;

use super::fields::Fields;
use super::problem::Flaw;
use super::step::{Around, Reference};
use super::texts;
pub(super) use message::patience;

use crate::steps::spec::{APPLY, COMMAND, HTTP, MESSAGE, SQL, SqlStep};

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
    (HTTP, &["input"]),
    (SQL, &[]),
    (APPLY, &[]),
    (MESSAGE, &["for_each", "on_in_doubt", "on_message_failed"]),
];
/// Reads the kind's keys out of a step.
pub(super) fn read<'t>(fields: &Fields<'t>, around: &Around<'t>) -> Kind {
    let there: Vec<&'static str> = KINDS.iter().map(|(kind, _)| *kind).filter(|kind| fields.has(kind)).collect();
    let kind = match there.as_slice() {
        [kind] => kind,
        [] => {
            offer(fields);
            around.flaws.push(Flaw::new(
                fields.span.clone(),
                "nothing to do",
                "write one of command, http, sql, message and apply",
            ));
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
        HTTP => http::read(fields, around),
        APPLY => apply::read(fields, around),
        MESSAGE => message::read(fields, around),
        _ => Kind { spec: sql(fields, around), ..nothing(SQL) },
    }
}

/// What is not there may be there misspelt: then the right word is offered.
pub(super) fn offer(fields: &Fields<'_>) {
    for (kind, _) in KINDS {
        fields.get(kind);
    }
}

fn nothing(handler: &'static str) -> Kind {
    Kind { handler, spec: "null".to_owned(), rows_of: Vec::new(), on_message_failed: OnMessageFailed::default() }
}

fn refuse_keys_of_others(kind: &str, fields: &Fields<'_>) {
    let keys_of = |wanted: &str| KINDS.iter().find(|(kind, _)| *kind == wanted).map_or(&[][..], |(_, keys)| keys);
    let foreign: BTreeSet<&'static str> = KINDS.iter().flat_map(|(_, keys)| keys.iter().copied()).collect();
    for key in foreign.into_iter().filter(|key| !keys_of(kind).contains(key)) {
        if let Some(at) = fields.key_span(key) {
            fields.get(key);
            let owners: Vec<&str> = KINDS.iter().filter(|(_, keys)| keys.contains(&key)).map(|(owner, _)| *owner).collect();
            let message = format!("{key} belongs to a {}, this is a {kind} step", owners.join(" or "));
            fields.flaws.push(Flaw::new(at, message, "remove it"));
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
