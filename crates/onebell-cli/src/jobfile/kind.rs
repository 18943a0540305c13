//! The kinds of steps: `command`, `http`, `sql`, `message`, `apply`.

mod apply;
mod body;
mod command;
mod http;
mod message;

pub(super) use body::headers;
pub(super) use http::METHODS;

use std::collections::BTreeSet;

use onebell::model::job::OnMessageFailed;

use super::fields::Fields;
use super::keys;
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
pub(super) const KINDS: &[(&str, &keys::Section)] = &[
    (COMMAND, &keys::COMMAND_KEYS),
    (HTTP, &keys::HTTP_KEYS),
    (SQL, &keys::SQL_KEYS),
    (APPLY, &keys::APPLY_KEYS),
    (MESSAGE, &keys::MESSAGE_KEYS),
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
    for (kind, _) in KINDS.iter().filter(|(kind, _)| fields.may_have(kind)) {
        fields.get(kind);
    }
}

fn nothing(handler: &'static str) -> Kind {
    Kind { handler, spec: "null".to_owned(), rows_of: Vec::new(), on_message_failed: OnMessageFailed::default() }
}

fn refuse_keys_of_others(kind: &str, fields: &Fields<'_>) {
    let has = |section: &keys::Section, name: &str| section.keys.iter().any(|key| key.name == name);
    let owners_of = |name: &str| KINDS.iter().filter(|(_, section)| has(section, name)).map(|(owner, _)| *owner).collect();
    let of_kinds = KINDS.iter().flat_map(|(_, section)| section.keys).map(|key| key.name);
    for key in of_kinds.collect::<BTreeSet<&'static str>>() {
        let owners: Vec<&str> = owners_of(key);
        if !owners.contains(&kind)
            && let Some(at) = fields.refuse(key)
        {
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
