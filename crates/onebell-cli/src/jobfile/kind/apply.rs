//! `apply`: records of files, of a step before, or of what an address, a command or a query gives, once each.

use std::path::PathBuf;

use toml::de::DeValue;

use super::super::fields::{Fields, Node, Read, expected};
use super::super::keys;
use super::super::problem::Flaw;
use super::super::step::{Around, Reference};
use super::super::texts;
use super::super::values::{flag, name, number, text, texts as names, word};
use super::command::argv;
use super::{Kind, json, nothing};
use crate::apply::{Plan, Stream, Wrong};
use crate::steps::spec::{APPLY, ApplyStep};

pub(super) fn read<'t>(fields: &Fields<'t>, around: &Around<'t>) -> Kind {
    let mut rows_of = Vec::new();
    let spec = fields.read(APPLY, |node| step(node, around, &mut rows_of));
    Kind { spec: spec.as_ref().map_or_else(|| "null".to_owned(), json), rows_of, ..nothing(APPLY) }
}

fn step<'t>(node: &'t Node<'t>, around: &Around<'t>, rows_of: &mut Vec<Reference>) -> Read<ApplyStep> {
    let fields = Fields::open(node, &keys::RECORDS, around.flaws)?;
    let output_of = fields.read("output_of", |node| Ok(Reference { step: name(node)?, span: node.span(), key: "output_of" }));
    let file = fields.read("file", name);
    let streams = [
        fields.read("url", text).map(Stream::Url),
        fields.read("command", |node| argv(node, false)).map(Stream::Command),
        fields.read("query", |node| texts::sql(node, around.folder, around.flaws)).map(Stream::Query),
    ];
    if sources(&fields) != 1 {
        let remedy = "write file = \"in/*.csv\", url = \"https://…\", command = [\"./fetch\"], query = \"SELECT …\", or output_of = \"fetch\"";
        let problem = "records come from exactly one of file, url, command, query and output_of";
        around.flaws.push(Flaw::new(fields.span.clone(), problem, remedy));
    }
    let plan = Plan {
        file: file.map(PathBuf::from),
        stream: streams.into_iter().flatten().next(),
        source: fields.read("source", name),
        amount: fields.read("amount", name),
        scale: fields.read("scale", number(0, 18)).unwrap_or(0),
        sql: fields.read("sql", |node| texts::sql(node, around.folder, around.flaws)),
        fail_if: fields.read("fail_if", text),
        chunk: fields.read("chunk", number(1, 100_000)).unwrap_or(1_000),
        atomic: fields.read("atomic", flag).unwrap_or(false),
        max_rejected: fields.read("max_rejected", number(0, i64::MAX)),
        format: fields.read("format", word(&["csv", "ndjson"])).map(str::to_owned),
        delimiter: fields.read("delimiter", character),
        accept_last_line: fields.read("accept_last_line", flag).unwrap_or(false),
        ..Plan::new(
            fields.need("scope", "\"payments\"", name).unwrap_or_default(),
            fields.need("id", "\"event_id\"", identity).unwrap_or_default(),
        )
    };
    let allow_no_file = fields.read("allow_no_file", flag).unwrap_or(false);
    let is_pattern = plan.file.as_ref().is_some_and(|file| file.to_string_lossy().contains(['*', '?', '[']));
    if let Some(at) = fields.key_span("allow_no_file").filter(|_| allow_no_file && !is_pattern && sources(&fields) == 1) {
        let problem = "allow_no_file without a pattern: one file is there or is missing";
        around.flaws.push(Flaw::new(at, problem, "write file = \"in/*.csv\", or remove it"));
    }
    let step = ApplyStep { plan, output_of: output_of.as_ref().map(|reference| reference.step.clone()), allow_no_file };
    check(&step, &fields, around);
    fields.finish();
    rows_of.extend(output_of);
    Ok(step)
}

/// How many are there, whether they could be read or not.
fn sources(fields: &Fields<'_>) -> usize {
    ["file", "url", "command", "query", "output_of"].into_iter().filter(|key| fields.has(key)).count()
}

/// What is right by itself may not fit together. Files are looked at when the step runs.
fn check(step: &ApplyStep, fields: &Fields<'_>, around: &Around<'_>) {
    let has_source = step.plan.file.is_some() || step.plan.stream.is_some() || step.output_of.is_some();
    // Of what is missing or cannot be read something was said already.
    if !has_source || !fields.has("scope") || !fields.has("id") || sources(fields) != 1 {
        return;
    }
    let plan = step.readable();
    let stream = plan.stream.as_ref().and_then(|stream| stream.check().err());
    let wrong = [stream, plan.scope().err(), plan.shape().err().or_else(|| plan.written().err())];
    for Wrong { part, message } in wrong.into_iter().flatten() {
        let at = fields.key_span(part).unwrap_or(fields.span.clone());
        around.flaws.push(Flaw::new(at, format!("{part}: {message}"), ""));
    }
}

fn identity(node: &Node<'_>) -> Read<Vec<String>> {
    match node.get_ref() {
        DeValue::String(_) => Ok(vec![name(node)?]),
        DeValue::Array(_) => names(node),
        other => Err(expected("the name of a field, or an array of names", other, node.span())),
    }
}

fn character(node: &Node<'_>) -> Read<char> {
    let found = text(node)?;
    let mut all = found.chars();
    match (all.next(), all.next()) {
        (Some(one), None) => Ok(one),
        _ => Err(Flaw::new(node.span(), "one character stands between fields", "write delimiter = \";\"")),
    }
}
