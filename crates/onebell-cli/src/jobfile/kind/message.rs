//! `message`: a message for each row.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use onebell::model::job::OnMessageFailed;
use onebell::model::message::InDoubtPolicy;
use onebell::model::retry::RetryPolicy;

use super::super::fields::{Fields, Node, Read};
use super::super::keys;
use super::super::notify::Channels;
use super::super::problem::Flaw;
use super::super::settings::known_channel;
use super::super::step::{Around, Reference};
use super::super::texts::{self, OF_ROW, Written, check_template, inline};
use super::super::values::{name, retry, text, word};
use super::{Kind, body, json, nothing};
use crate::jobfile::ChannelConfig;
use crate::steps::spec::{MESSAGE, MessageStep, Rows};

/// A mail server may be away for a night: the step's own budget is far too short for that.
pub(in crate::jobfile) fn patience() -> RetryPolicy {
    RetryPolicy {
        attempts: 100,
        backoff_min: Duration::from_secs(1),
        backoff_max: Duration::from_secs(15 * 60),
        within_us: Some(24 * 3600 * 1_000_000),
    }
}

pub(super) fn read<'t>(fields: &Fields<'t>, around: &Around<'t>) -> Kind {
    let mut rows_of = Vec::new();
    let rows = fields.read("for_each", |node| for_each(node, around, &mut rows_of));
    let on_in_doubt = fields.read("on_in_doubt", word(InDoubtPolicy::ALL));
    let on_message_failed = fields.read("on_message_failed", word(OnMessageFailed::ALL)).unwrap_or_default();
    // A mistake in it is said where the step reads its own.
    let quiet = super::super::fields::Flaws::default();
    let budget = fields.get("retry").and_then(|node| retry(node, &quiet, patience()).ok()).unwrap_or_else(patience);
    let spec = fields.read(MESSAGE, |node| message(node, around, rows, on_in_doubt, budget));
    Kind { spec: spec.as_ref().map_or_else(|| "null".to_owned(), json), rows_of, on_message_failed, ..nothing(MESSAGE) }
}

fn message<'t>(
    node: &'t Node<'t>,
    around: &Around<'t>,
    rows: Option<Rows>,
    on_in_doubt: Option<InDoubtPolicy>,
    retry: RetryPolicy,
) -> Read<MessageStep> {
    let fields = Fields::open(node, &keys::MESSAGE, around.flaws)?;
    let channels = Channels { read: around.channels, names: around.channel_names };
    let channel = fields.need("channel", "\"mail\"", |node| known_channel(node, channels)).unwrap_or_default();
    // Written into the definition, so that a run keeps the policy that it was opened with.
    let config = around.channels.and_then(|channels| channels.get(&channel));
    let on_in_doubt = on_in_doubt.or(config.map(ChannelConfig::default_in_doubt));
    let example = match rows {
        Some(_) => "\"reminder/{{ row.customer_id }}/{{ row.period }}\"",
        None => "\"report/{{ run.scheduled_for or run.id }}\"",
    };
    let key = fields.need("key", example, |node| template("key", node, around)).unwrap_or_default();
    let empty = MessageStep {
        channel,
        rows,
        key,
        to: String::new(),
        subject: String::new(),
        text: None,
        html: None,
        reply_to: None,
        body: None,
        headers: BTreeMap::new(),
        on_in_doubt,
        retry,
    };
    // Of a channel that could not be read nothing is known but what the message looks like.
    let webhook = match config {
        Some(config) => matches!(config, ChannelConfig::Http(_)),
        None => body::KEYS.iter().any(|key| fields.has(key)),
    };
    let spec = if webhook { self::webhook(&fields, around, empty) } else { mail(&fields, around, empty) };
    fields.finish();
    Ok(spec)
}

fn mail<'t>(fields: &Fields<'t>, around: &Around<'t>, empty: MessageStep) -> MessageStep {
    refuse(fields, &["body", "body_file", "json", "json_file", "content_type"], "webhooks", "write text = \"…\" or html = \"…\"");
    let spec = MessageStep {
        to: fields.need("to", "\"{{ row.email }}\"", |node| template("to", node, around)).unwrap_or_default(),
        subject: fields.need("subject", "\"…\"", |node| template("subject", node, around)).unwrap_or_default(),
        text: text_or_file(fields, ("text", "text_file"), around),
        html: text_or_file(fields, ("html", "html_file"), around),
        reply_to: fields.read("reply_to", |node| template("reply_to", node, around)),
        headers: fields.read("headers", |node| headers(node, around)).unwrap_or_default(),
        ..empty
    };
    // Also beside HTML: not everybody reads it.
    if !fields.has("text") && !fields.has("text_file") {
        let flaw = Flaw::new(fields.span.clone(), "text is missing", "write text = \"…\" or text_file = \"reminder.txt\"");
        around.flaws.push(flaw);
    }
    spec
}

fn webhook<'t>(fields: &Fields<'t>, around: &Around<'t>, empty: MessageStep) -> MessageStep {
    let words = &["to", "subject", "text", "text_file", "html", "html_file", "reply_to"];
    let remedy =
        "a channel of kind http has its url; write what it is sent as json = '{\"name\": {{ row.name }}}' or body = \"…\"";
    refuse(fields, words, "mail", remedy);
    let body = body::read(fields, OF_ROW, around);
    if !body::KEYS.iter().any(|key| fields.has(key)) {
        let remedy = "write json = '{\"name\": {{ row.name }}}', body = \"…\", or the same with json_file or body_file";
        around.flaws.push(Flaw::new(fields.span.clone(), "json or body is missing", remedy));
    }
    let headers = fields.read("headers", |node| body::headers(node, around.flaws, |key, node| header(key, node, around)));
    MessageStep { body, headers: headers.unwrap_or_default(), ..empty }
}

fn header<'t>(key: &str, node: &'t Node<'t>, around: &Around<'t>) -> Read<String> {
    let written = template(key, node, around)?;
    body::check_line(&written).map(|()| written).map_err(|wrong| Flaw::new(node.span(), wrong, ""))
}

/// Words of the other kind of message.
fn refuse(fields: &Fields<'_>, keys: &[&'static str], whose: &str, remedy: &str) {
    let mut remedy = remedy;
    for key in keys {
        if let Some(at) = fields.refuse(key) {
            fields.flaws.push(Flaw::new(at, format!("{key} is a word of {whose}"), remedy));
            remedy = "remove it";
        }
    }
}

fn template(template: &str, node: &Node<'_>, around: &Around<'_>) -> Read<String> {
    let written = inline(node)?;
    check_template(template, &written, OF_ROW, around.source)?;
    Ok(written.text)
}

/// `text` or `text_file`, `html` or `html_file`.
fn text_or_file<'t>(fields: &Fields<'t>, (here, in_file): (&'static str, &'static str), around: &Around<'t>) -> Option<String> {
    if fields.has(here) && fields.has(in_file) {
        let at = fields.key_span(in_file).unwrap_or(fields.span.clone());
        around.flaws.push(Flaw::new(at, format!("{in_file} beside {here}"), "keep one of the two"));
    }
    let checked = |written: Written| check_template(here, &written, OF_ROW, around.source).map(|()| written.text);
    let from_file = fields.read(in_file, |node| texts::file(node, around.folder).and_then(checked));
    fields.read(here, |node| inline(node).and_then(checked)).or(from_file)
}

fn headers<'t>(node: &'t Node<'t>, around: &Around<'t>) -> Read<BTreeMap<String, String>> {
    let fields = Fields::by_name(node, around.flaws)?;
    let mut headers = BTreeMap::new();
    for (key, at, node) in fields.entries() {
        let is_name = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':');
        let reserved = ["from", "to", "subject", "reply-to", "message-id", "date"].contains(&key.to_lowercase().as_str());
        if !is_name || reserved {
            let remedy = if reserved { "it is set by onebell; remove it" } else { "use letters, digits and dashes" };
            around.flaws.push(Flaw::new(at, format!("{key:?} is no header of yours"), remedy));
        } else if let Some(value) = around.flaws.keep(template(key, node, around).map_err(|flaw| flaw.under(key))) {
            headers.insert(key.to_owned(), value);
        }
    }
    Ok(headers)
}

fn for_each<'t>(node: &'t Node<'t>, around: &Around<'t>, rows_of: &mut Vec<Reference>) -> Read<Rows> {
    let fields = Fields::open(node, &keys::ROWS, around.flaws)?;
    let sources = ["output_of", "csv", "ndjson", "sql"];
    let there = sources.iter().filter(|key| fields.has(key)).count();
    let output_of = fields.read("output_of", |node| {
        rows_of.push(Reference { step: text(node)?, span: node.span(), key: "output_of" });
        text(node).map(Rows::OutputOf)
    });
    let csv = fields.read("csv", name).map(|path| Rows::Csv(PathBuf::from(path)));
    let ndjson = fields.read("ndjson", name).map(|path| Rows::Ndjson(PathBuf::from(path)));
    let sql = fields.read("sql", |node| texts::sql(node, around.folder, around.flaws)).map(Rows::Sql);
    fields.finish();
    let misspelt = there == 0 && !fields.entries().is_empty();
    if there != 1 && !misspelt {
        let message = if there == 0 { "no source of rows" } else { "more than one source of rows" };
        return Err(Flaw::new(node.span(), message, "write one of output_of, csv, ndjson and sql"));
    }
    // What was wrong with the one source was said; the step is not used.
    Ok(output_of.or(csv).or(ndjson).or(sql).unwrap_or(Rows::OutputOf(String::new())))
}
