//! One step: what all kinds have in common, and what its kind needs.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use onebell::model::StepDefinition;
use onebell::model::job::{OnLost, UndoDefinition};
use onebell::model::retry::RetryPolicy;

use super::fields::{Fields, Flaws, Node, Read};
use super::keys;
use super::kind::{self, Kind};
use super::problem::{Flaw, Source};
use super::settings::{ChannelConfig, Defaults};
use super::values::{list, name, number, retry, span, text, word};

/// What reading a step needs to know of the rest of the file.
pub(super) struct Around<'t> {
    pub(super) source: &'t Source<'t>,
    pub(super) folder: &'t Path,
    pub(super) defaults: &'t Defaults,
    /// Nothing when they could not be read: then no name can be judged.
    pub(super) channels: Option<&'t BTreeMap<String, ChannelConfig>>,
    /// Channels that are there but wrong are no unknown ones.
    pub(super) channel_names: &'t [&'t str],
    /// Whether replicas can be called back.
    pub(super) callable: bool,
    pub(super) flaws: &'t Flaws,
}

/// A name that has to be another step's.
pub(super) struct Reference {
    pub(super) step: String,
    pub(super) span: Range<usize>,
    pub(super) key: &'static str,
}

/// A step as far as it could be read.
pub(super) struct ReadStep {
    pub(super) definition: StepDefinition,
    pub(super) span: Range<usize>,
    pub(super) after: Vec<Reference>,
    /// Steps whose rows it takes: they have to come before it.
    pub(super) rows_of: Vec<Reference>,
}

/// Reads the step that stands in `fields`, which may be the job's own. `previous` is the step before it.
pub(super) fn read<'t>(fields: &Fields<'t>, previous: Option<&str>, around: &Around<'t>) -> ReadStep {
    let kind = kind::read(fields, around);
    let written_name = fields.read("name", name);
    let mut step = StepDefinition::new(written_name.unwrap_or_else(|| kind.handler.to_owned()), kind.handler);
    let after: Option<Vec<Reference>> = fields.read("after", |node| {
        list(node, "an array of step names", |node| Ok(Reference { step: text(node)?, span: node.span(), key: "after" }))
    });
    step.after = match &after {
        Some(after) => after.iter().map(|reference| reference.step.clone()).collect(),
        None => previous.map(str::to_owned).into_iter().collect(),
    };
    (step.timeout, step.hard_limit) = limits(fields);
    step.retry = fields.read("retry", |node| retry(node, around.flaws, around.defaults.retry)).unwrap_or(around.defaults.retry);
    step.on_lost = fields.read("on_lost", word(OnLost::ALL)).unwrap_or_default();
    step.queue = fields.read("queue", name).unwrap_or(step.queue);
    step.priority = fields.read("priority", number(-1_000_000, 1_000_000)).unwrap_or(0);
    step.on_message_failed = kind.on_message_failed;
    let mut rows_of = kind.rows_of;
    step.spec = kind.spec;
    let undo = fields.read("undo", |node| undo(node, around));
    if let Some((undo, rows)) = undo {
        step.undo = Some(undo);
        rows_of.extend(rows);
    }
    ReadStep {
        definition: step,
        span: fields.key_span("name").unwrap_or(fields.span.clone()),
        after: after.unwrap_or_default(),
        rows_of,
    }
}

fn undo<'t>(node: &'t Node<'t>, around: &Around<'t>) -> Read<(UndoDefinition, Vec<Reference>)> {
    let fields = Fields::open(node, &keys::UNDO, around.flaws)?;
    if fields.has("message") {
        return Err(Flaw::new(
            node.span(),
            "an undo cannot be a message: nothing takes a mail back",
            "write command, http or sql",
        ));
    }
    let Kind { handler, spec, rows_of, .. } = kind::read(&fields, around);
    let (timeout, hard_limit) = limits(&fields);
    let base = RetryPolicy { ..around.defaults.retry };
    let retry = fields.read("retry", |node| retry(node, around.flaws, base)).unwrap_or(base);
    fields.finish();
    Ok((UndoDefinition { handler: handler.to_owned(), spec, timeout, hard_limit, retry }, rows_of))
}

/// `timeout` and `hard_limit`.
fn limits(fields: &Fields<'_>) -> (Duration, Duration) {
    let timeout = fields.read("timeout", span).unwrap_or(Duration::from_secs(300));
    let hard_limit = fields.read("hard_limit", |node| {
        let limit = span(node)?;
        if limit < timeout {
            return Err(Flaw::new(node.span(), "shorter than timeout", "raise it, or leave it out (10 × timeout)"));
        }
        Ok(limit)
    });
    (timeout, hard_limit.unwrap_or(timeout * 10))
}
