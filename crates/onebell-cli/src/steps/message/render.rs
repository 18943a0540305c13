//! Rows to messages. Pure: the same rows give the same messages, with the same keys.

use std::collections::BTreeMap;

use onebell::handler::Done;
use onebell::model::Key;
use onebell::model::message::NewMessage;
use onebell::store::StepOutput;
use serde::Serialize;

use super::super::around::Around;
use super::super::body;
use super::super::rows::RowSet;
use super::super::spec::MessageStep;
use super::ChannelFacts;
use crate::http::Webhook;
use crate::template::{Scope, TemplateError, TemplateProblem, Templates};

/// What a mail channel gets.
#[derive(Serialize)]
struct Payload {
    to: String,
    subject: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<String, String>,
}

/// All messages of all rows, or what is wrong with the first wrong one.
pub(super) fn all(step: &MessageStep, rows: &RowSet, facts: ChannelFacts, around: &Around) -> Result<Done, String> {
    let mut templates = templates(step).map_err(|error| error.to_string())?;
    let mut first_with: BTreeMap<Key, usize> = BTreeMap::new();
    let mut messages: Vec<NewMessage> = Vec::new();
    let mut repeated = 0_usize;
    let mut row_of = Vec::new();
    for (index, row) in rows.rows.iter().enumerate() {
        let scope = around.row(&row.json);
        let message =
            one(step, &mut templates, &scope, facts).map_err(|wrong| format!("{}: {}", rows.label(index), wrong.words(rows)))?;
        match first_with.get(&message.key) {
            None => {
                first_with.insert(message.key.clone(), messages.len());
                messages.push(message);
                row_of.push(index);
            }
            Some(at) if messages.get(*at).is_some_and(|first| first.fingerprint == message.fingerprint) => repeated += 1,
            Some(at) => {
                let first = row_of.get(*at).map(|index| rows.label(*index)).unwrap_or_default();
                let second = rows.label(index);
                return Err(format!(
                    "{first} and {second} have the key {:?} and different messages; make the key name what differs",
                    message.key.as_str()
                ));
            }
        }
    }
    let output = StepOutput { summary: summary(messages.len(), repeated), ..StepOutput::default() };
    Ok(Done { messages, output, ..Done::default() })
}

fn summary(count: usize, repeated: usize) -> String {
    let messages = if count == 1 { "1 message".to_owned() } else { format!("{count} messages") };
    match repeated {
        0 => messages,
        1 => format!("{messages}; 1 row repeated another"),
        _ => format!("{messages}; {repeated} rows repeated others"),
    }
}

/// Why a row gives no message.
enum Wrong {
    Template(TemplateError),
    Other(String),
}

impl Wrong {
    /// In a CSV file a missing field is a missing column.
    fn words(&self, rows: &RowSet) -> String {
        match (self, &rows.columns) {
            (Self::Template(TemplateError { template, problem: TemplateProblem::Missing { path, .. }, .. }), Some(columns)) => {
                match path.strip_prefix("row.") {
                    Some(column) => {
                        format!(
                            "template {template:?}: there is no column {column:?} in {}; its columns are {}",
                            rows.source,
                            columns.join(", ")
                        )
                    }
                    None => self.words_alone(),
                }
            }
            _ => self.words_alone(),
        }
    }

    fn words_alone(&self) -> String {
        match self {
            Self::Template(error) => error.to_string(),
            Self::Other(text) => text.clone(),
        }
    }
}

impl From<TemplateError> for Wrong {
    fn from(error: TemplateError) -> Self {
        Self::Template(error)
    }
}

fn header_name(header: &str) -> String {
    format!("header {header}")
}

fn templates(step: &MessageStep) -> Result<Templates, TemplateError> {
    let mut templates = Templates::new();
    templates.add("key", &step.key)?;
    match &step.body {
        Some(body) => templates.add(body::name(body), &body.template)?,
        None => {
            templates.add("to", &step.to)?;
            templates.add("subject", &step.subject)?;
        }
    }
    for (name, source) in [("text", &step.text), ("html", &step.html), ("reply_to", &step.reply_to)] {
        if let Some(source) = source {
            templates.add(name, source)?;
        }
    }
    for (header, source) in &step.headers {
        templates.add(&header_name(header), source)?;
    }
    Ok(templates)
}

fn one(step: &MessageStep, templates: &mut Templates, scope: &Scope, facts: ChannelFacts) -> Result<NewMessage, Wrong> {
    let key = Key::new(&templates.render("key", scope)?).map_err(|error| Wrong::Other(format!("key: {error}")))?;
    let mut headers = BTreeMap::new();
    for header in step.headers.keys() {
        headers.insert(header.clone(), templates.render(&header_name(header), scope)?);
    }
    let payload = match &step.body {
        Some(body) => {
            let text = templates.render(body::name(body), scope)?;
            body::check(body, &text).map_err(Wrong::Other)?;
            text_of(&Webhook { body: text, content_type: body.content_type.clone(), headers })?
        }
        None => text_of(&mail(step, templates, scope, headers)?)?,
    };
    (facts.check)(&payload).map_err(Wrong::Other)?;
    let message = NewMessage::new(key, &step.channel, payload);
    let mut message = message.map_err(|error| Wrong::Other(error.refusal.to_string()))?;
    message.on_in_doubt = step.on_in_doubt.unwrap_or(facts.default_in_doubt);
    message.retry = step.retry;
    Ok(message)
}

fn mail(
    step: &MessageStep,
    templates: &mut Templates,
    scope: &Scope,
    headers: BTreeMap<String, String>,
) -> Result<Payload, Wrong> {
    let mut optional = |name: &str, there: &Option<String>| there.as_ref().map(|_| templates.render(name, scope)).transpose();
    let (text, html, reply_to) =
        (optional("text", &step.text)?, optional("html", &step.html)?, optional("reply_to", &step.reply_to)?);
    Ok(Payload {
        to: templates.render("to", scope)?,
        subject: templates.render("subject", scope)?,
        text,
        html,
        reply_to,
        headers,
    })
}

fn text_of(payload: &impl Serialize) -> Result<String, Wrong> {
    serde_json::to_string(payload).map_err(|error| Wrong::Other(error.to_string()))
}
