//! When a job is due: `schedule`, `every`, `at`, `rrule`, and their policies. Judged by the model's own parser.

use std::ops::Range;
use std::time::Duration;

use onebell::model::JobDefinition;
use onebell::model::job::{Dst, Missed, Overlap, ScheduleDefinition, When};
use onebell::model::schedule::{Schedule, ScheduleError};
use toml::de::DeValue;

use super::fields::{Fields, Flaws, Node, Read, expected, instead};
use super::problem::Flaw;
use super::settings::{yes, zone};
use super::step::Around;
use super::values::{number, span, text, word};
use super::{keys, limits};

/// Reads schedules and policies of the job into `job`.
pub(super) fn read<'t>(fields: &Fields<'t>, around: &Around<'t>, job: &mut JobDefinition) {
    let named = fields.read("time_zone", zone);
    // A wrong zone was said once; the rest is judged without it.
    let time_zone =
        named.unwrap_or_else(|| if fields.has("time_zone") { "UTC".to_owned() } else { around.defaults.time_zone.clone() });
    let dst = fields.read("dst", word(Dst::ALL)).unwrap_or_default();
    let seconds = yes(fields, "seconds");
    let written = fields.read("schedule", |node| crons(node, seconds)).unwrap_or_default();
    let every = fields.read("every", |node| Ok((When::Every(span(node)?), node.span(), "every")));
    let at = fields.read("at", |node| Ok((When::At(instant(node)?), node.span(), "at")));
    let recurring = fields.read("rrule", |node| recurrences(node, around.flaws)).unwrap_or_default();
    job.begins_paused = yes(fields, "paused");
    job.limits = limits::read(fields, around);
    for (when, place, key) in written.into_iter().chain(every).chain(at).chain(recurring) {
        let definition = ScheduleDefinition { when, time_zone: time_zone.clone(), dst };
        match Schedule::parse(&definition, &job.name, onebell::replica::ZoneData::newest().zones()) {
            Ok(schedule) => {
                if let Err(error) = schedule.within(&job.limits) {
                    around.flaws.push(limit_flaw(fields, &error));
                }
                job.schedules.push(definition);
            }
            Err(error) => around.flaws.push(flaw(&error, place, around.source.text).under(key)),
        }
    }
    if job.schedules.is_empty() && !job.limits.are_none() && around.flaws.is_empty() {
        let at = ["from", "until", "except"].iter().find_map(|key| fields.key_span(key)).unwrap_or(fields.span.clone());
        around.flaws.push(Flaw::new(at, "a limit without a schedule", "remove it, or write schedule, every, at or rrule"));
    }
    let scheduled = ["schedule", "every", "at", "rrule"].iter().any(|key| fields.has(key));
    // Without slots there is nothing that a request could overlap in the sense of the policies.
    let usual = if scheduled { Overlap::default() } else { Overlap::Allow };
    job.overlap = fields.read("overlap", word(Overlap::ALL)).unwrap_or(usual);
    job.missed = fields.read("missed", |node| missed(node, around.flaws)).unwrap_or_default();
    job.missed_window = fields.read("missed_window", span).unwrap_or(Duration::from_secs(24 * 3600));
}

/// A schedule for people: `0 2 * * * (Asia/Ho_Chi_Minh)`, `every 15m`.
pub fn describe(schedule: &ScheduleDefinition) -> String {
    match &schedule.when {
        When::Cron { expression, .. } => format!("{expression} ({})", schedule.time_zone),
        When::Every(period) => format!("every {}", spelled(*period)),
        When::At(at) => format!("once at {at} ({})", schedule.time_zone),
        When::Rrule { rule, start } => format!("{rule} from {start} ({})", schedule.time_zone),
    }
}

/// A duration as the job file writes it: `1h30m`.
pub fn spelled(period: Duration) -> String {
    let mut rest = period.as_millis();
    let mut text = String::new();
    for (unit, worth) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)] {
        if rest >= worth {
            text.push_str(&format!("{}{unit}", rest / worth));
            rest %= worth;
        }
    }
    text
}

type Written = (When, Range<usize>, &'static str);

/// One cron expression, or several.
fn crons(node: &Node<'_>, seconds: bool) -> Read<Vec<Written>> {
    let one = |node: &Node<'_>| Ok((When::Cron { expression: text(node)?, seconds }, node.span(), "schedule"));
    match node.get_ref() {
        DeValue::String(_) => Ok(vec![one(node)?]),
        DeValue::Array(array) if !array.is_empty() => array.iter().map(one).collect(),
        other => Err(expected("a cron expression such as \"0 2 * * *\", or an array of them", other, node.span())),
    }
}

/// One recurrence rule, or several.
fn recurrences<'t>(node: &'t Node<'t>, flaws: &'t Flaws) -> Read<Vec<Written>> {
    let one = |node: &'t Node<'t>| {
        let fields = Fields::open(node, &keys::RRULE, flaws)?;
        // The place of a flaw in the rule: inside its text.
        let rule = fields.need("rule", "\"FREQ=MONTHLY;BYDAY=-1FR\"", |node| Ok((text(node)?, node.span())));
        let start = fields.need("start", "\"2026-12-01T09:00\"", instant);
        fields.finish();
        Ok(rule.zip(start).map(|((rule, at), start)| (When::Rrule { rule, start }, at, "rrule")))
    };
    match node.get_ref() {
        DeValue::Table(_) => Ok(one(node)?.into_iter().collect()),
        DeValue::Array(array) if !array.is_empty() => {
            let rules: Read<Vec<_>> = array.iter().map(one).collect();
            rules.map(|rules| rules.into_iter().flatten().collect())
        }
        other => Err(expected("a rule such as { rule = \"FREQ=DAILY\", start = \"2026-12-01T09:00\" }", other, node.span())),
    }
}

/// A string, or TOML's own date.
fn instant(node: &Node<'_>) -> Read<String> {
    match node.get_ref() {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        DeValue::Datetime(at) => Ok(at.to_string()),
        other => Err(expected("a time such as \"2026-12-01T02:00\"", other, node.span())),
    }
}

fn missed<'t>(node: &'t Node<'t>, flaws: &'t Flaws) -> Read<Missed> {
    match node.get_ref() {
        DeValue::String(word) => match &**word {
            "latest" => Ok(Missed::Latest),
            "skip" => Ok(Missed::Skip),
            "all" => Err(Flaw::new(node.span(), "\"all\" has no limit", "write { all = 10 }")),
            other => Err(Flaw::new(node.span(), format!("{other:?} is not a choice here"), instead(other, &["latest", "skip"]))),
        },
        DeValue::Table(_) => {
            let fields = Fields::open(node, &keys::MISSED, flaws)?;
            let all = fields.need("all", "10", number(1, 100_000));
            fields.finish();
            Ok(all.map_or(Missed::Latest, Missed::All))
        }
        other => Err(expected("\"latest\", \"skip\" or { all = 10 }", other, node.span())),
    }
}

/// At the key that the error's place begins with.
fn limit_flaw(fields: &Fields<'_>, error: &ScheduleError) -> Flaw {
    let key = error.place.split(' ').next().unwrap_or_default();
    let key = if fields.has(key) { key } else { "except" };
    let at = fields.key_span(key).unwrap_or(fields.span.clone());
    Flaw::new(at, format!("{}: {}", error.place, error.problem), error.remedy.clone())
}

/// The place inside the text, where the text stands in the file as it is.
fn flaw(error: &ScheduleError, span: Range<usize>, source: &str) -> Flaw {
    let raw = source.get(span.clone()).unwrap_or_default();
    let plain = raw.len() > 2 && !raw.contains('\\') && !raw.starts_with("\"\"\"") && !raw.starts_with("'''");
    let quoted = raw.starts_with(['"', '\'']);
    let at = span.start + 1 + error.offset;
    let narrow = if plain && quoted && error.offset > 0 && at < span.end { at..span.end - 1 } else { span };
    Flaw::new(narrow, format!("{}: {}", error.place, error.problem), error.remedy.clone())
}
