//! `onebell schema` takes what the reader takes, and refuses the usual mistakes where they are typed.

use std::path::{Path, PathBuf};

use boon::{Compiler, Draft, SchemaIndex, Schemas};
use onebell_cli::jobfile::JobFile;
use serde_json::Value;

/// Judges job files by the schema.
pub(crate) struct Judge {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Judge {
    pub(crate) fn new() -> Self {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.set_default_draft(Draft::V2020_12);
        compiler.add_resource("onebell.json", onebell_cli::jobfile::schema()).unwrap();
        // The schema itself is judged by the draft's own.
        let index = compiler.compile("onebell.json", &mut schemas).unwrap_or_else(|error| panic!("{error:#}"));
        Self { schemas, index }
    }

    pub(crate) fn of(&self, text: &str) -> Result<(), String> {
        let file: toml::Table = toml::from_str(text).map_err(|error| error.to_string())?;
        let file = json(toml::Value::Table(file));
        self.schemas.validate(&file, self.index).map_err(|error| format!("{error:#}"))
    }
}

/// As editors hand TOML to a validator: dates are texts.
fn json(value: toml::Value) -> Value {
    match value {
        toml::Value::Datetime(at) => Value::String(at.to_string()),
        toml::Value::Array(array) => array.into_iter().map(json).collect(),
        toml::Value::Table(table) => Value::Object(table.into_iter().map(|(key, value)| (key, json(value))).collect()),
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => number.into(),
        toml::Value::Boolean(flag) => flag.into(),
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The blocks of TOML in a page that say something of jobs, channels or replicas.
fn blocks(page: &str) -> Vec<String> {
    let blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split_once("\n```")).map(|(block, _)| block.to_owned());
    blocks
        .filter(|block| ["[jobs.", "[[jobs.", "[channels.", "[replica]", "[defaults]"].iter().any(|head| block.contains(head)))
        .collect()
}

#[test]
fn every_example_validates() {
    let judge = Judge::new();
    let mut seen = 0;
    for folder in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = folder.unwrap().path().join("onebell.toml");
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(judge.of(&text), Ok(()), "{}", path.display());
        seen += 1;
    }
    assert!(seen >= 4, "{seen}");
}

#[test]
fn every_job_file_of_the_documents_validates() {
    let judge = Judge::new();
    let mut seen = 0;
    for page in ["README.md", "docs/guide.md", "docs/operations.md"] {
        for block in blocks(&std::fs::read_to_string(root().join(page)).unwrap()) {
            // What is shown without the rest of its job is no job file; files that it names are not here.
            let read = JobFile::parse(&block, &root().join("onebell.toml"));
            if read.err().is_none_or(|report| report.problems.iter().all(|problem| problem.message.contains("cannot read"))) {
                assert_eq!(judge.of(&block), Ok(()), "{page}\n{block}");
                seen += 1;
            }
        }
    }
    assert!(seen >= 10, "{seen}");
}

#[test]
fn the_usual_mistakes_do_not_validate() {
    let judge = Judge::new();
    for wrong in [
        "[jobs.j]\nscedule = \"0 2 * * *\"\ncommand = [\"true\"]",
        "[job.j]\ncommand = [\"true\"]",
        "[jobs.j]\nschedule = \"0 2 * * *\"",
        "[jobs.j]\ncommand = [\"true\"]\nsql = \"SELECT 1\"",
        "[jobs.j]\ncommand = [\"true\"]\ntimeout = 30",
        "[jobs.j]\ncommand = [\"true\"]\ntimeout = \"5 minutes\"",
        "[jobs.j]\ncommand = [\"true\"]\noverlap = \"forbid\"",
        "[jobs.j]\ncommand = [\"true\"]\nmissed = \"all\"",
        "[jobs.j]\ncommand = [\"true\"]\nmissed = { all = 0 }",
        "[jobs.j]\ncommand = [\"true\"]\nretry = 3",
        "[jobs.j]\ncommand = [\"true\"]\nretry = { atempts = 3 }",
        "[jobs.j]\ncommand = []",
        "[jobs.j]\ncommand = [\"true\"]\nexit_codes = { permanent = [0] }",
        "[jobs.j]\nsteps = []",
        "[[jobs.j.steps]]\nname = \"a\"",
        "[jobs.j]\nsql = { fil = \"pull.sql\" }",
        "[jobs.j]\nmessage = { channel = \"mail\", key = \"k\", to = \"t\", subject = \"s\" }",
        "[jobs.j]\nmessage = { key = \"k\", to = \"t\", subject = \"s\", text = \"t\" }",
        "[channels.m]\nhost = \"m\"\nfrom = \"a@example.com\"",
        "[channels.m]\nkind = \"mail\"\nhost = \"m\"\nfrom = \"a@example.com\"",
        "[channels.m]\nkind = \"smtp\"\nhost = \"m\"\nfrom = \"a@example.com\"\nport = 70000",
        "[channels.m]\nkind = \"smtp\"\nhost = \"m\"\nfrom = \"a@example.com\"\npassword = { env = \"A\", file = \"b\" }",
        "[replica]\nconcurrency = 0",
        "[replica]\nqueues = \"default\"",
        "[defaults]\nschedule = \"0 2 * * *\"",
    ] {
        assert!(judge.of(wrong).is_err(), "{wrong}");
        assert!(JobFile::parse(wrong, Path::new("onebell.toml")).is_err(), "{wrong}");
    }
}
