//! Rows that the stand-in of a command writes: those that it is given, with what the templates name and nothing gives yet made up.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use minijinja::Environment;
use onebell::model::JobDefinition;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::cast::{is_outside, readers};
use super::receivers::FROM_DOMAIN;
use crate::answer::Failure;
use crate::jobfile::JobFile;
use crate::steps::spec::MessageStep;

/// Rows made up when a command is given none.
const MADE_UP: u64 = 20;
/// Runs with different rows never share a key below this many rows.
const APART: u64 = 100_000;

/// How a stand-in comes to its rows.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct RowPlan {
    /// Rows of the user's own, as they are.
    pub(super) given: Option<PathBuf>,
    /// Fields that templates name.
    pub(super) fields: BTreeMap<String, Made>,
}

/// What a field is made up as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Made {
    /// Somebody at chaos's own domain.
    Address,
    /// A number of the row.
    Number,
    /// A number of the row that changes every other run: part of a key.
    Identity,
}

/// The plans of all commands whose rows become messages, written into `folder`; `given`: the user's own rows, by `job/step` or step.
pub(super) fn plans(
    file: &JobFile,
    given: &BTreeMap<String, PathBuf>,
    folder: &Path,
) -> Result<BTreeMap<String, PathBuf>, Failure> {
    let mut plans = BTreeMap::new();
    let mut used = BTreeSet::new();
    for job in &file.jobs {
        for step in job.steps.iter().filter(|step| is_outside(&step.handler)) {
            let name = format!("{}/{}", job.name, step.name);
            let own = [&name, &step.name].into_iter().find(|key| given.contains_key(*key));
            used.extend(own.cloned());
            let mut plan = plan(job, &step.name);
            plan.given = own.and_then(|key| given.get(key)).cloned();
            if plan.given.is_none() && plan.fields.is_empty() && readers(job, &step.name).next().is_none() {
                continue;
            }
            let path = folder.join(format!("rows-{}.json", plans.len()));
            let text = serde_json::to_string(&plan).map_err(Failure::usage)?;
            std::fs::write(&path, text).map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))?;
            plans.insert(name, path);
        }
    }
    match given.keys().find(|key| !used.contains(*key)) {
        None => Ok(plans),
        Some(key) => {
            Err(Failure::usage(format!("--rows {key}: no command step of that name; write --rows STEP=FILE or JOB/STEP=FILE")))
        }
    }
}

fn plan(job: &JobDefinition, step: &str) -> RowPlan {
    let mut plan = RowPlan::default();
    for message in readers(job, step) {
        let keys = fields_of(&message.key);
        for text in texts(&message) {
            for field in fields_of(text) {
                let made = if is_address(&field, &message) {
                    Made::Address
                } else if keys.contains(&field) {
                    Made::Identity
                } else {
                    Made::Number
                };
                plan.fields.insert(field, made);
            }
        }
    }
    plan
}

fn texts(message: &MessageStep) -> impl Iterator<Item = &str> {
    let always = [&message.key, &message.to, &message.subject];
    let body = message.body.as_ref().map(|body| &body.template);
    let sometimes = [&message.text, &message.html, &message.reply_to].into_iter().flatten().chain(body);
    always.into_iter().chain(sometimes).chain(message.headers.values()).map(String::as_str)
}

/// The only field of an address, or one whose name says so.
fn is_address(field: &str, message: &MessageStep) -> bool {
    let to = fields_of(&message.to);
    field.to_lowercase().contains("mail") || (to.len() == 1 && to.contains(field))
}

/// Fields of `row` that a template names. One that cannot be read names none: it was refused with the job file.
fn fields_of(template: &str) -> BTreeSet<String> {
    let environment = Environment::new();
    let names = environment.template_from_str(template).map(|template| template.undeclared_variables(true)).unwrap_or_default();
    let fields = names.iter().filter_map(|name| name.strip_prefix("row."));
    fields.filter_map(|field| field.split('.').next()).chain(subscripts(template)).map(str::to_owned).collect()
}

/// `row['a field']`, which the engine's own list leaves out.
fn subscripts(template: &str) -> impl Iterator<Item = &str> {
    template.split("row[").skip(1).filter_map(|rest| {
        let quote = rest.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
        rest[1..].split_once(quote).map(|(field, _)| field)
    })
}

impl RowPlan {
    /// The rows of one run. `pair`: two runs in a row have the same one, so that keys have something to prevent.
    pub(super) fn rows(&self, pair: u64, input: Option<&str>) -> Result<Vec<Value>, String> {
        if let Some(path) = &self.given {
            let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
            return objects(&text).map_err(|why| format!("{}: {why}", path.display()));
        }
        let before = input.map(objects).transpose()?.unwrap_or_default();
        let rows = if before.is_empty() { (0..MADE_UP).map(|_| Value::Object(Map::new())).collect() } else { before };
        Ok(rows.into_iter().zip(1..).map(|(row, number)| self.filled(row, number, pair)).collect())
    }

    fn filled(&self, mut row: Value, number: u64, pair: u64) -> Value {
        if let Value::Object(fields) = &mut row {
            for (field, made) in &self.fields {
                fields.entry(field.clone()).or_insert_with(|| match made {
                    Made::Address => format!("row-{number}@{FROM_DOMAIN}").into(),
                    Made::Number => (1_000 + number).into(),
                    Made::Identity => (pair * APART + number).into(),
                });
            }
        }
        row
    }
}

/// Rows from a JSON array of objects, or one object per line.
pub(super) fn objects(text: &str) -> Result<Vec<Value>, String> {
    let rows: Vec<Value> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text).map_err(|error| error.to_string())?
    } else {
        let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
        let read = |(line, number): (&str, u64)| serde_json::from_str(line).map_err(|error| format!("line {number}: {error}"));
        lines.map(read).collect::<Result<_, String>>()?
    };
    match rows.iter().position(|row| !row.is_object()) {
        None => Ok(rows),
        Some(index) => Err(format!("row {} is no JSON object; write one like {{\"id\": 1}}", index + 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan_of(messages: &str) -> RowPlan {
        let text = format!(
            "[channels.mail]\nkind = \"smtp\"\nhost = \"localhost\"\nfrom = \"a@example.com\"\n\
             [[jobs.j.steps]]\nname = \"make\"\ncommand = [\"x\"]\n\
             [[jobs.j.steps]]\nname = \"send\"\nfor_each = {{ output_of = \"make\" }}\n[jobs.j.steps.message]\nchannel = \"mail\"\n{messages}"
        );
        let file = JobFile::parse(&text, Path::new("onebell.toml")).unwrap();
        plan(&file.jobs[0], "make")
    }

    #[test]
    fn every_field_that_a_template_names_is_there_and_those_of_the_key_tell_rows_and_runs_apart() {
        let plan = plan_of(
            "key = \"k/{{ row.id }}\"\nto = \"{{ row.who }}\"\nsubject = \"s\"\n\
             text = \"{{ row.cents | int // 100 }} {% if row.late %}late{% endif %} {{ row['due date'] }}\"",
        );
        let rows = plan.rows(3, None).unwrap();
        assert_eq!(rows.len(), 20);
        assert_eq!(
            rows[1],
            serde_json::json!({"id": 300_002, "who": "row-2@chaos.onebell.test", "cents": 1_002, "late": 1_002, "due date": 1_002})
        );
        assert_eq!(plan.rows(3, None).unwrap(), rows, "an attempt more writes the same");
        assert_ne!(plan.rows(4, None).unwrap()[1]["id"], rows[1]["id"]);
    }

    #[test]
    fn rows_that_a_command_is_given_go_through_and_keep_what_they_say() {
        let plan = plan_of("key = \"k/{{ row.id }}\"\nto = \"{{ row.email }}\"\nsubject = \"s {{ row.fee }}\"\ntext = \"t\"");
        let rows = plan.rows(1, Some("{\"id\": 7, \"email\": \"a@b.example\"}\n")).unwrap();
        assert_eq!(rows, [serde_json::json!({"id": 7, "email": "a@b.example", "fee": 1_001})]);
    }

    #[test]
    fn what_is_no_row_is_named_by_its_place() {
        assert_eq!(objects("[1]").unwrap_err(), "row 1 is no JSON object; write one like {\"id\": 1}");
        assert!(objects("{}\nx").unwrap_err().starts_with("line 2: "));
    }
}
