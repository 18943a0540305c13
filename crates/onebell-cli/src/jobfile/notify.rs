//! `notify` and the spans it goes by: what of a job is told, on which channel; what is late, too short or overdue.

use std::collections::{BTreeMap, BTreeSet};

use onebell::model::JobDefinition;
use onebell::model::alarm::{AFTER_SKIPS_MAX, AlarmKind, Form, Notify};

use super::fields::{Fields, Flaws, Node, Read};
use super::keys;
use super::kind::patience;
use super::problem::Flaw;
use super::settings::{ChannelConfig, known_channel};
use super::step::Around;
use super::values::{list, name, number, span, word};
use crate::smtp::{Mail, render_check};

/// The channels of the file, as far as they could be read.
#[derive(Clone, Copy)]
pub(super) struct Channels<'c> {
    /// Nothing when they could not be: then no name can be judged.
    pub(super) read: Option<&'c BTreeMap<String, ChannelConfig>>,
    /// Those that are there but wrong are no unknown ones.
    pub(super) names: &'c [&'c str],
}

/// The table as it is written: a job takes from `[defaults]` what it leaves out.
#[derive(Debug, Clone, Default)]
pub(super) struct Written {
    channel: Option<String>,
    to: Option<String>,
    on: Option<BTreeSet<AlarmKind>>,
    after_skips: Option<u32>,
}

impl Written {
    fn over(self, base: &Self) -> Self {
        Self {
            channel: self.channel.or_else(|| base.channel.clone()),
            to: self.to.or_else(|| base.to.clone()),
            on: self.on.or_else(|| base.on.clone()),
            after_skips: self.after_skips.or(base.after_skips),
        }
    }

    fn asks_for(&self, kind: AlarmKind) -> bool {
        self.on.as_ref().is_some_and(|on| on.contains(&kind))
    }
}

/// `notify` of `[defaults]`: whole, so that it can stand for every job.
pub(super) fn of_defaults<'t>(node: &'t Node<'t>, channels: Channels<'_>, flaws: &'t Flaws) -> Read<Written> {
    let fields = Fields::open(node, &keys::NOTIFY, flaws)?;
    let written = table(&fields, channels, &Written::default());
    fields.finish();
    Ok(written)
}

/// The keys of a job.
pub(super) fn read<'t>(fields: &Fields<'t>, around: &Around<'t>, job: &mut JobDefinition) {
    let channels = Channels { read: around.channels, names: around.channel_names };
    job.start_within = fields.read("start_within", span);
    job.finish_within = fields.read("finish_within", span);
    job.runs_at_least = fields.read("runs_at_least", span);
    job.expect_within = fields.read("expect_within", span);
    let base = around.defaults.notify.clone().unwrap_or_default();
    let own = fields.read("notify", |node| {
        let table_fields = Fields::open(node, &keys::NOTIFY, around.flaws)?;
        let written = table(&table_fields, channels, &base);
        table_fields.finish();
        // Only what could be read says what is missing.
        if around.flaws.is_empty() {
            never_told(&table_fields, &written, job);
        }
        Ok(written)
    });
    let written = own.unwrap_or(base);
    job.notify = definition(&written, channels);
    if !around.flaws.is_empty() {
        return;
    }
    if let Some(at) = fields.key_span("start_within").filter(|_| job.schedules.is_empty()) {
        let remedy = "remove it, or write schedule, every or at: what is asked for starts when it can";
        around.flaws.push(Flaw::new(at, "start_within without a schedule", remedy));
    }
    let told =
        [("finish_within", AlarmKind::LateFinish), ("runs_at_least", AlarmKind::TooShort), ("expect_within", AlarmKind::Overdue)];
    for (key, kind) in told {
        if let Some(at) = fields.key_span(key).filter(|_| !written.asks_for(kind)) {
            let remedy = format!("write notify = {{ channel = \"…\", on = [{:?}] }}, or remove it", kind.as_str());
            around.flaws.push(Flaw::new(at, format!("{key} tells nobody"), remedy));
        }
    }
}

/// A key that does nothing would be a lie.
fn never_told(fields: &Fields<'_>, written: &Written, job: &JobDefinition) {
    let asks = |kind| written.asks_for(kind);
    if let Some(at) = fields.key_span("after_skips").filter(|_| !asks(AlarmKind::Skipped)) {
        fields.flaws.push(Flaw::new(at, "after_skips counts nothing", "add \"skipped\" to on, or remove it"));
    }
    let own_on = fields.key_span("on");
    let spans = [
        (AlarmKind::LateStart, "start_within", "10m", job.start_within.is_some()),
        (AlarmKind::LateFinish, "finish_within", "10m", job.finish_within.is_some()),
        (AlarmKind::TooShort, "runs_at_least", "30s", job.runs_at_least.is_some()),
        (AlarmKind::Overdue, "expect_within", "26h", job.expect_within.is_some()),
    ];
    for (kind, key, example, there) in spans {
        if let Some(at) = own_on.clone().filter(|_| asks(kind) && !there) {
            let remedy = format!("write {key} = {example:?}, or remove {:?}", kind.as_str());
            fields.flaws.push(Flaw::new(at, format!("{kind} is never told without {key}"), remedy));
        }
    }
    let ended = [AlarmKind::Failed, AlarmKind::Parked, AlarmKind::Overdue];
    if let Some(at) = own_on.filter(|_| asks(AlarmKind::Recovered) && !ended.iter().any(|kind| asks(*kind))) {
        let remedy = "add \"failed\" and \"parked\", or remove it";
        fields.flaws.push(Flaw::new(at, "recovered follows what was told, and nothing is", remedy));
    }
}

/// The table over `base`: what both leave out is missing.
fn table(fields: &Fields<'_>, channels: Channels<'_>, base: &Written) -> Written {
    let on = |node: &Node<'_>| list(node, "an array of words such as \"failed\"", word(AlarmKind::ALL));
    let written = Written {
        channel: fields.read("channel", |node| known_channel(node, channels)),
        to: fields.read("to", to),
        on: fields.read("on", on).map(|on| on.into_iter().collect()),
        after_skips: fields.read("after_skips", number(1, i64::from(AFTER_SKIPS_MAX))),
    };
    let has_to = written.to.is_some();
    let whole = written.over(base);
    let missing = |key: &str, example: &str| {
        let flaw = Flaw::new(fields.span.clone(), format!("{key} is missing"), format!("write {key} = {example}"));
        fields.flaws.push(flaw);
    };
    if whole.on.is_none() && !fields.has("on") {
        missing("on", "[\"failed\", \"parked\", \"in_doubt\", \"skipped\"]");
    }
    let silent = whole.on.as_ref().is_some_and(BTreeSet::is_empty);
    if whole.channel.is_none() && !fields.has("channel") && !silent {
        missing("channel", "\"ops\"");
    }
    match whole.channel.as_ref().and_then(|channel| channels.read?.get(channel)) {
        Some(ChannelConfig::Smtp(_)) if whole.to.is_none() && !fields.has("to") => missing("to", "\"ops@example.com\""),
        Some(ChannelConfig::Http(_)) if has_to => {
            let at = fields.key_span("to").unwrap_or(fields.span.clone());
            fields.flaws.push(Flaw::new(at, "to is a word of mail", "remove it: a channel of kind http has its url"));
        }
        _ => {}
    }
    whole
}

/// One mailbox, as the channel for mail judges it.
fn to(node: &Node<'_>) -> Read<String> {
    let to = name(node)?;
    let mail = Mail { to, subject: "-".to_owned(), text: Some("-".to_owned()), ..Mail::default() };
    let payload = serde_json::to_string(&mail).unwrap_or_default();
    render_check(&payload).map_err(|wrong| Flaw::new(node.span(), wrong, "write one address, such as \"ops@example.com\""))?;
    Ok(mail.to)
}

/// What the definition says. Nothing is told when nothing is asked for, or when that could not be read.
fn definition(written: &Written, channels: Channels<'_>) -> Option<Notify> {
    let on = written.on.clone().filter(|on| !on.is_empty())?;
    let channel = written.channel.as_ref()?;
    let config = channels.read?.get(channel)?;
    let form = match config {
        ChannelConfig::Smtp(_) => Form::Mail { to: written.to.clone()? },
        ChannelConfig::Http(_) => Form::Webhook,
    };
    let usual = Notify::new(channel, on);
    Some(Notify {
        after_skips: written.after_skips.unwrap_or(usual.after_skips),
        form,
        on_in_doubt: config.default_in_doubt(),
        retry: patience(),
        ..usual
    })
}
