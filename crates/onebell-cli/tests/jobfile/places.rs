//! For each table of the job file a good file around it, in which one key can be set.

use std::fs;
use std::path::PathBuf;

use onebell_cli::jobfile::keys::{self, Key, Section, Table};
use tempfile::TempDir;

/// Every table that a key can stand in.
pub(crate) static TABLES: &[&Table] = &[
    &keys::FILE,
    &keys::INCLUDED,
    &keys::DEFAULTS,
    &keys::REPLICA,
    &keys::SMTP,
    &keys::HOOK,
    &keys::JOB,
    &keys::STEP,
    &keys::UNDO,
    &keys::REQUEST,
    &keys::RECORDS,
    &keys::MAIL,
    &keys::WEBHOOK,
    &keys::ROWS,
    &keys::RETRY,
    &keys::NOTIFY,
    &keys::PING,
    &keys::SECRET,
    &keys::STATEMENTS,
    &keys::RRULE,
    &keys::MISSED,
    &keys::EXCEPT,
    &keys::EXIT_CODES,
];

/// A key at its place.
pub(crate) struct Place {
    pub(crate) table: &'static Table,
    pub(crate) section: &'static Section,
    pub(crate) key: &'static Key,
}

/// All of them.
pub(crate) fn places() -> Vec<Place> {
    let of = |table: &&'static Table| {
        let table = *table;
        let keys = |section: &'static Section| section.keys.iter().map(move |key| Place { table, section, key });
        table.sections.iter().copied().flat_map(keys).collect::<Vec<_>>()
    };
    TABLES.iter().flat_map(of).collect()
}

impl Place {
    pub(crate) fn name(&self) -> String {
        format!("{}.{}", self.table.name, self.key.name)
    }

    /// A file in which the key has this value, or is left out.
    pub(crate) fn file(&self, value: Option<&str>) -> String {
        let mut lines: Vec<(String, String)> = self.beside().into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        lines.retain(|(key, _)| key != self.key.name);
        lines.extend(value.map(|value| (self.key.name.to_owned(), value.to_owned())));
        let lines: String = lines.iter().map(|(key, value)| format!("{key:?} = {value}\n")).collect();
        let (before, header) = around(self.table);
        let channels = if self.key.name == "channels" { "" } else { CHANNELS };
        let before = if self.key.name == "callback" { CALLABLE.to_owned() + &before } else { before };
        if header.is_empty() { format!("{lines}{channels}") } else { format!("{channels}{before}{header}\n{lines}") }
    }

    /// What has to stand beside the key.
    fn beside(&self) -> Vec<(&'static str, &'static str)> {
        let is = |name: &str| self.key.name == name;
        match self.table.name {
            "smtp" if is("username") => [SMTP, &[("password", "{ env = \"P\" }")]].concat(),
            "smtp" => SMTP.to_vec(),
            "webhooks" => vec![("kind", "\"http\""), ("url", "\"https://ops.example.com/hooks\"")],
            "job" => self.job(),
            "step" => [&[("name", "\"tested\"")], self.kind()].concat(),
            "undo" => self.kind().to_vec(),
            "request" if is("callback") => vec![REQUEST, ("secret", "\"s\"")],
            "request" if is("content_type") => vec![REQUEST, ("body", "\"x\"")],
            "request" => vec![REQUEST],
            "records" => self.records(),
            "mail" if is("text_file") => MAIL[..4].to_vec(),
            "mail" => MAIL.to_vec(),
            "webhook" if ["json_file", "body", "body_file"].iter().any(|name| is(name)) => HOOK[..2].to_vec(),
            "webhook" => HOOK.to_vec(),
            "rrule" => vec![("rule", "\"FREQ=DAILY\""), ("start", "\"2026-12-01T09:00\"")],
            "notify" => vec![("channel", "\"mail\""), ("to", "\"a@example.com\""), ("on", "[\"failed\", \"skipped\"]")],
            "secret" if is("prefix") => vec![("env", "\"SMTP_PASSWORD\"")],
            _ => Vec::new(),
        }
    }

    fn job(&self) -> Vec<(&'static str, &'static str)> {
        let kind = if self.key.name == "steps" { &[] } else { self.kind() };
        let told =
            "{ channel = \"mail\", to = \"a@example.com\", on = [\"failed\", \"late_finish\", \"too_short\", \"overdue\"] }";
        let told = [
            ("schedule", "\"0 2 * * *\""),
            ("finish_within", "\"9h\""),
            ("runs_at_least", "\"1s\""),
            ("expect_within", "\"9h\""),
            ("notify", told),
        ];
        let schedule = match self.key.name {
            "seconds" => vec![("every", "\"1h\"")],
            "finish_within" | "runs_at_least" | "expect_within" => told.to_vec(),
            // A job without slots has a default of its own, and a step's rows come from a step.
            _ => vec![("schedule", "\"0 2 * * *\"")],
        };
        [kind, &schedule].concat()
    }

    /// The kind of step that the key belongs to; nothing when the key is the kind's own word.
    fn kind(&self) -> &'static [(&'static str, &'static str)] {
        let of = |section: &'static Section| std::ptr::eq(self.section, section);
        match self.key.name {
            "sql" | "apply" | "message" => &[],
            _ if of(&keys::HTTP_KEYS) => &[("http", "\"https://example.com\"")],
            _ if of(&keys::MESSAGE_KEYS) => &[("message", MESSAGE)],
            _ => &[("command", "[\"true\"]")],
        }
    }

    fn records(&self) -> Vec<(&'static str, &'static str)> {
        let mut beside = vec![("scope", "\"payments\""), ("id", "\"event_id\""), ("amount", "\"amount\"")];
        if !["file", "url", "command", "query", "output_of"].contains(&self.key.name) {
            beside.push(("file", "\"in/*.csv\""));
        }
        if ["url", "command"].contains(&self.key.name) {
            beside.push(("format", "\"ndjson\""));
        }
        beside
    }
}

const MESSAGE: &str = "{ channel = \"mail\", key = \"k\", to = \"a@example.com\", subject = \"s\", text = \"t\" }";
const CHANNELS: &str = "[channels.mail]\nkind = \"smtp\"\nhost = \"127.0.0.1\"\nfrom = \"a@example.com\"\n\
    [channels.ops]\nkind = \"http\"\nurl = \"https://ops.example.com/hooks\"\n";
const CALLABLE: &str = "[replica]\ncallback_url = \"https://jobs.example.com\"\n";
const SMTP: &[(&str, &str)] = &[("kind", "\"smtp\""), ("host", "\"mail.example.com\""), ("from", "\"a@example.com\"")];
const REQUEST: (&str, &str) = ("url", "\"https://ledger.example.com\"");
const MAIL: [(&str, &str); 5] = [
    ("channel", "\"mail\""),
    ("key", "\"k/{{ run.id }}\""),
    ("to", "\"a@example.com\""),
    ("subject", "\"s\""),
    ("text", "\"t\""),
];
const HOOK: [(&str, &str); 3] = [("channel", "\"ops\""), ("key", "\"k/{{ run.id }}\""), ("json", "'{}'")];

/// Steps that examples name.
const STEPS: &str = "[jobs.j]\n[[jobs.j.steps]]\nname = \"fetch\"\nsql = \"SELECT 1\"\n[[jobs.j.steps]]\nname = \"collect\"\n\
    sql = \"SELECT 1\"\n[[jobs.j.steps]]\nname = \"print\"\ncommand = [\"true\"]\n";

/// What stands before the table, and its header.
fn around(table: &Table) -> (String, &'static str) {
    let job = |rest: &str| format!("[jobs.j]\n{rest}\n");
    let tested = |rest: &str| format!("{STEPS}[[jobs.j.steps]]\nname = \"tested\"\n{rest}\n");
    match table.name {
        "file" | "included" => (String::new(), ""),
        "defaults" => (String::new(), "[defaults]"),
        "replica" => (String::new(), "[replica]"),
        "smtp" | "webhooks" => (String::new(), "[channels.tested]"),
        // Examples name other steps, which a job of one step has not.
        "job" => (String::new(), "[jobs.j]"),
        "step" => (STEPS.to_owned(), "[[jobs.j.steps]]"),
        "undo" => (tested("command = [\"true\"]"), "[jobs.j.steps.undo]"),
        "request" => (job(""), "[jobs.j.http]"),
        "records" => (tested(""), "[jobs.j.steps.apply]"),
        "mail" | "webhook" => (job(""), "[jobs.j.message]"),
        "rows" => (tested(&format!("message = {MESSAGE}")), "[jobs.j.steps.for_each]"),
        "retry" => (job("command = [\"true\"]"), "[jobs.j.retry]"),
        "notify" => (job("command = [\"true\"]"), "[jobs.j.notify]"),
        "ping" => (job("command = [\"true\"]"), "[jobs.j.ping]"),
        "secret" => (
            "[channels.tested]\nkind = \"smtp\"\nhost = \"m.example.com\"\nfrom = \"a@example.com\"\n".to_owned(),
            "[channels.tested.password]",
        ),
        "statements" => (job(""), "[jobs.j.sql]"),
        "rrule" => (job("command = [\"true\"]"), "[jobs.j.rrule]"),
        "missed" => (job("every = \"1h\"\ncommand = [\"true\"]"), "[jobs.j.missed]"),
        "except" => (job("every = \"1h\"\ncommand = [\"true\"]"), "[jobs.j.except]"),
        "exit_codes" => (job("command = [\"true\"]"), "[jobs.j.exit_codes]"),
        other => panic!("no place for {other}"),
    }
}

/// A folder with the files that examples name.
pub(crate) fn folder() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("jobs")).unwrap();
    for (name, text) in [
        ("pull.sql", "SELECT 1"),
        ("pay.sql", "SELECT 1"),
        ("reminder.txt", "Dear {{ row.name }}"),
        ("reminder.html", "<p>{{ row.name }}</p>"),
        ("hook.json", "{}"),
        ("hook.txt", "x"),
        ("jobs/a.toml", "[jobs.a]\ncommand = [\"true\"]\n"),
        ("holidays.ics", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART:20261225\nEND:VEVENT\nEND:VCALENDAR\n"),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    let path = folder.path().join("onebell.toml");
    (folder, path)
}
