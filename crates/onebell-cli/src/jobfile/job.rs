//! `[jobs.NAME]`: its schedule, its steps and how they refer to each other.

use std::collections::BTreeSet;
use std::ops::Range;

use onebell::model::JobDefinition;
use toml::de::DeValue;

use super::fields::{Fields, Flaws, Node, Read, expected, instead};
use super::keys;
use super::kind::KINDS;
use super::ping::{self, PingConfig};
use super::problem::Flaw;
use super::step::{self, Around, ReadStep, Reference};
use super::values::{name, text};
use super::{kind, notify, schedule};
use crate::steps::spec::MESSAGE;

/// A job as far as it could be read; to be used only if nothing was wrong.
pub(super) struct ReadJob {
    pub(super) definition: JobDefinition,
    /// The name in the header.
    pub(super) span: Range<usize>,
    pub(super) formerly: Option<Range<usize>>,
    /// Where its pings go.
    pub(super) ping: Option<PingConfig>,
}

pub(super) fn read<'t>(job: &str, at: Range<usize>, node: &'t Node<'t>, around: &Around<'t>) -> ReadJob {
    let mut definition = JobDefinition::new(job);
    let (mut formerly, mut ping) = (None, None);
    match Fields::open(node, &keys::JOB, around.flaws) {
        Err(flaw) => around.flaws.push(flaw.under(job)),
        Ok(fields) => {
            if job.trim().is_empty() {
                around.flaws.push(Flaw::new(at.clone(), "a job without a name", "write [jobs.NAME]"));
            }
            definition.description = fields.read("description", text).unwrap_or_default();
            definition.formerly = fields.read("formerly", |node| {
                formerly = Some(node.span());
                name(node)
            });
            schedule::read(&fields, around, &mut definition);
            notify::read(&fields, around, &mut definition);
            ping = ping::read(&fields, &mut definition);
            steps(&fields, &at, around, &mut definition);
            fields.finish();
        }
    }
    // What the engine relies on; what is checked above with a better place is found there first.
    if around.flaws.is_empty()
        && let Err(error) = definition.validate()
    {
        around.flaws.push(Flaw::new(at.clone(), error.problem, ""));
    }
    ReadJob { definition, span: at, formerly, ping }
}

fn steps<'t>(fields: &Fields<'t>, at: &Range<usize>, around: &Around<'t>, job: &mut JobDefinition) {
    let read = match fields.read("steps", array_of_tables) {
        Some(nodes) => {
            refuse_step_keys(fields, around.flaws);
            several(&nodes, around)
        }
        None if fields.has("steps") => return,
        None if KINDS.iter().any(|(kind, _)| fields.has(kind)) => {
            vec![step::read(fields, None, around)]
        }
        None => {
            refuse_step_keys(fields, around.flaws);
            kind::offer(fields);
            let remedy = format!("write command, http, sql, apply or message, or steps under [[jobs.{}.steps]]", job.name);
            around.flaws.push(Flaw::new(at.clone(), format!("job {:?} has no step", job.name), remedy));
            return;
        }
    };
    check_references(&read, around.flaws);
    job.steps = read.into_iter().map(|step| step.definition).collect();
    check_circle(job, at, around.flaws);
}

fn array_of_tables<'t>(node: &'t Node<'t>) -> Read<Vec<&'t Node<'t>>> {
    match node.get_ref() {
        DeValue::Array(array) if !array.is_empty() => Ok(array.iter().collect()),
        DeValue::Table(_) => Err(Flaw::new(
            node.span(),
            "expected an array of tables, found one table",
            "write it with two brackets: [[jobs.NAME.steps]]",
        )),
        other => Err(expected("steps under [[jobs.NAME.steps]]", other, node.span())),
    }
}

fn several<'t>(nodes: &[&'t Node<'t>], around: &Around<'t>) -> Vec<ReadStep> {
    let mut previous: Option<String> = None;
    let mut read = Vec::new();
    for (at, node) in nodes.iter().enumerate() {
        let Some(fields) = around.flaws.keep(Fields::open(node, &keys::STEP, around.flaws).map_err(|flaw| a_step(flaw))) else {
            continue;
        };
        // A step among several is referred to by its name: it needs one.
        if !fields.has("name") {
            around.flaws.push(Flaw::new(fields.span.clone(), "name is missing", "write name = \"…\""));
        }
        let mut step = step::read(&fields, previous.as_deref(), around);
        fields.finish();
        if !fields.has("name") {
            // Not the same as another one that has none either.
            step.definition.name = format!("step {}", at + 1);
        }
        previous = Some(step.definition.name.clone());
        read.push(step);
    }
    read
}

fn a_step(flaw: Flaw) -> Flaw {
    Flaw {
        remedy: "write { name = \"…\", command = [\"…\"] }, or [[jobs.NAME.steps]] with its keys below".to_owned(), ..flaw
    }
    .under("steps")
}

/// A step's key on a job with several steps would apply to none of them.
fn refuse_step_keys(fields: &Fields<'_>, flaws: &Flaws) {
    for key in keys::STEP.keys() {
        if let Some(at) = fields.key_span(key.name) {
            fields.get(key.name);
            flaws.push(Flaw::new(at, format!("{} belongs to a step", key.name), "move it below [[jobs.NAME.steps]]"));
        }
    }
}

fn check_references(steps: &[ReadStep], flaws: &Flaws) {
    let names: Vec<&str> = steps.iter().map(|step| step.definition.name.as_str()).collect();
    let mut seen = BTreeSet::new();
    for step in steps {
        let own = step.definition.name.as_str();
        if !seen.insert(own) {
            flaws.push(Flaw::new(step.span.clone(), format!("two steps are named {own:?}"), "rename one"));
        }
        let unknown = |reference: &&Reference| !names.contains(&reference.step.as_str());
        for reference in step.after.iter().chain(&step.rows_of).filter(unknown) {
            let others: Vec<&str> = names.iter().copied().filter(|name| *name != own).collect();
            let message = format!("{}: {:?} is no step of this job", reference.key, reference.step);
            let remedy = match others.is_empty() {
                true => "jobs do not wait for each other: make them steps of one job".to_owned(),
                false => instead(&reference.step, &others),
            };
            flaws.push(Flaw::new(reference.span.clone(), message, remedy));
        }
        for reference in step.rows_of.iter().filter(|reference| !unknown(reference)) {
            if let Some((problem, remedy)) = rows_missing(reference, step, steps) {
                flaws.push(Flaw::new(reference.span.clone(), format!("{}: {problem}", reference.key), remedy));
            }
        }
    }
}

/// Why the step that `reference` names has no rows for `step`.
fn rows_missing(reference: &Reference, step: &ReadStep, steps: &[ReadStep]) -> Option<(String, String)> {
    let source = steps.iter().find(|step| step.definition.name == reference.step)?;
    if source.definition.handler == MESSAGE {
        return Some((
            format!("{:?} sends messages and writes no rows", reference.step),
            "name a command or sql step".to_owned(),
        ));
    }
    let mut before = BTreeSet::new();
    let mut open: Vec<&str> = step.definition.after.iter().map(String::as_str).collect();
    while let Some(name) = open.pop() {
        if before.insert(name) {
            let earlier = steps.iter().filter(|step| step.definition.name == name);
            open.extend(earlier.flat_map(|step| step.definition.after.iter().map(String::as_str)));
        }
    }
    // An undo may take the rows of the very step that it undoes.
    let own_undo = reference.step == step.definition.name && step.definition.undo.is_some();
    let late = !before.contains(reference.step.as_str()) && !own_undo;
    late.then(|| {
        (
            format!("{:?} is not done before {:?}", reference.step, step.definition.name),
            format!("write after = [{:?}]", reference.step),
        )
    })
}

fn check_circle(job: &JobDefinition, at: &Range<usize>, flaws: &Flaws) {
    let known = |name: &String| job.step(name).is_some();
    if !job.steps.iter().all(|step| step.after.iter().all(known)) {
        return;
    }
    let ranks = job.ranks();
    let circle: Vec<String> =
        job.steps.iter().filter(|step| !ranks.contains_key(step.name.as_str())).map(|step| format!("{:?}", step.name)).collect();
    if !circle.is_empty() {
        let message = format!("steps {} wait for each other in a circle", circle.join(", "));
        flaws.push(Flaw::new(at.clone(), message, "change `after` of one of them"));
    }
}
