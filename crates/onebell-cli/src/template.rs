//! Templates of the job file: keys, addresses, subjects and texts of messages.
//!
//! A template sees `row`, `run` (`id`, `scheduled_for`, `input`), `job` and `step`, and nothing else: no file, no clock, no
//! environment, no other template. The same row always gives the same text, which is what makes a key a key. A field that is
//! missing or null is an error that names it, never an empty word in somebody's mail. Whoever works on all rows at once sees
//! `rows` in place of `row`.

pub(crate) mod exact;
mod scope;
mod written;

use std::sync::Arc;

use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, Value};

pub use scope::{RunFacts, Scope};

use scope::Trace;

/// Instructions that one rendering may take: far above any real text, far below a visible pause.
const FUEL: u64 = 2_000_000;

/// A template that cannot be read, or cannot be rendered for this row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct TemplateError {
    /// Which one, such as `subject`.
    pub template: String,
    /// Line of the template, from 1.
    pub line: Option<usize>,
    /// What is wrong.
    pub problem: TemplateProblem,
}

impl std::fmt::Display for TemplateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "template {:?}", self.template)?;
        // A template of one line needs no number.
        if let Some(line) = self.line.filter(|line| *line > 1) {
            write!(f, " line {line}")?;
        }
        write!(f, ": {}", self.problem)
    }
}

/// What is wrong with a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TemplateProblem {
    /// It cannot be read.
    Syntax(String),
    /// It names what is not there.
    Missing {
        /// As written, such as `row.period`.
        path: String,
        /// What is there beside it.
        present: Vec<String>,
    },
    /// It prints a field that is null.
    Null {
        /// As written.
        path: String,
    },
    /// Anything else, in the engine's words.
    Other(String),
}

impl std::fmt::Display for TemplateProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Syntax(problem) | Self::Other(problem) => f.write_str(problem),
            Self::Missing { path, present } => {
                let parent = path.rsplit_once('.').map_or("a template", |(parent, _)| parent);
                write!(f, "{path} does not exist; {parent} has {}", listed(present))
            }
            Self::Null { path } => write!(f, "{path} is null; write {{{{ {path} or \"\" }}}} if it may be empty"),
        }
    }
}

/// The first names of a list, for people.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 12;
    match names.len() {
        0 => "no fields".to_owned(),
        n if n > SHOWN => format!("{} and {} more", names[..SHOWN].join(", "), n - SHOWN),
        _ => names.join(", "),
    }
}

/// Named templates, read once and rendered for each row.
#[derive(Debug)]
pub struct Templates {
    environment: Environment<'static>,
    trace: Arc<Trace>,
}

impl Default for Templates {
    fn default() -> Self {
        Self::new()
    }
}

impl Templates {
    /// None yet.
    pub fn new() -> Self {
        let trace = Arc::new(Trace::default());
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(FUEL));
        environment.set_auto_escape_callback(|name| match name {
            "html" => AutoEscape::Html,
            written::JSON | written::URL => AutoEscape::Custom(name.to_owned().into()),
            _ => AutoEscape::None,
        });
        let seen = Arc::clone(&trace);
        environment.set_formatter(move |out, state, value| {
            let rule = if let AutoEscape::Custom(rule) = state.auto_escape() { rule.as_ref() } else { "" };
            if rule == written::JSON {
                return written::json(out, value, &seen);
            }
            if value.is_none() {
                return Err(minijinja::Error::new(ErrorKind::BadSerialization, NULL));
            }
            if rule == written::URL {
                return written::url(out, value, &seen);
            }
            match seen.number(value) {
                Some(text) => minijinja::escape_formatter(out, state, &Value::from(text)),
                None => minijinja::escape_formatter(out, state, value),
            }
        });
        Self { environment, trace }
    }

    /// Reads a template. One named `html` escapes what it prints; one named `json` prints each value as JSON, with its quotes;
    /// one named `url` percent-encodes what it prints.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn add(&mut self, name: &str, source: &str) -> Result<(), TemplateError> {
        let added = self.environment.add_template_owned(name.to_owned(), source.to_owned());
        added.map_err(|error| TemplateError {
            template: name.to_owned(),
            line: error.line(),
            problem: TemplateProblem::Syntax(words_of(&error)),
        })
    }

    /// Renders the template `name` for one row.
    ///
    /// # Errors
    /// When it names what is missing, prints null, or computes what cannot be.
    pub fn render(&mut self, name: &str, scope: &Scope) -> Result<String, TemplateError> {
        self.trace.clear();
        let rendered = self.environment.get_template(name).and_then(|template| template.render(scope.value(&self.trace)));
        rendered.map_err(|error| TemplateError { template: name.to_owned(), line: error.line(), problem: self.explained(&error) })
    }

    fn explained(&self, error: &minijinja::Error) -> TemplateProblem {
        let null = error.kind() == ErrorKind::BadSerialization && error.detail() == Some(NULL);
        match (error.kind(), self.trace.last()) {
            (ErrorKind::UndefinedError, Some(last)) if last.missing => {
                TemplateProblem::Missing { path: last.path, present: last.present }
            }
            (_, Some(last)) if null && !last.missing => TemplateProblem::Null { path: last.path },
            _ if null => TemplateProblem::Other("it prints null".to_owned()),
            _ => TemplateProblem::Other(words_of(error)),
        }
    }
}

/// The formatter's own word for a null, told apart from the engine's errors.
const NULL: &str = "null has no text";

fn words_of(error: &minijinja::Error) -> String {
    let detail = error.detail().map(|detail| format!(": {detail}")).unwrap_or_default();
    match error.kind() {
        ErrorKind::OutOfFuel => "it takes too long; make it simpler".to_owned(),
        kind => format!("{kind}{detail}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn render(source: &str, row: &str) -> Result<String, TemplateError> {
        let mut templates = Templates::new();
        templates.add("t", source)?;
        let run = RunFacts { id: "r-1".into(), scheduled_for: Some("2026-11-29T19:00:00Z".into()), input: None };
        templates.render("t", &Scope::new("job", "step", &run, row))
    }

    fn refused(source: &str, row: &str) -> String {
        render(source, row).unwrap_err().to_string()
    }

    #[test]
    fn a_template_sees_row_run_job_and_step() {
        let text = render(
            "{{ row.a }}/{{ row.b.c }}/{{ run.id }}/{{ run.scheduled_for }}/{{ job }}/{{ step }}",
            r#"{"a":"x","b":{"c":1}}"#,
        );
        assert_eq!(text.unwrap(), "x/1/r-1/2026-11-29T19:00:00Z/job/step");
    }

    #[test]
    fn a_missing_field_is_named_with_what_is_there_and_never_printed_as_nothing() {
        assert_eq!(
            refused("{{ row.period }}", r#"{"id":1,"email":"e"}"#),
            "template \"t\": row.period does not exist; row has email, id"
        );
        assert_eq!(
            refused("a\n{{ row.b.c }}", r#"{"b":{}}"#),
            "template \"t\" line 2: row.b.c does not exist; row.b has no fields"
        );
        assert_eq!(refused("{{ rwo.id }}", "{}"), "template \"t\": rwo does not exist; a template has job, row, run, step");
        assert_eq!(refused("{{ row['x y'] }}", r#"{"id":1}"#), "template \"t\": row.x y does not exist; row has id");
        assert!(refused("{% if row.x %}a{% endif %}", "{}").contains("row.x does not exist"));
    }

    #[test]
    fn a_null_is_refused_unless_the_template_says_what_to_print() {
        assert_eq!(
            refused("{{ row.a }}", r#"{"a":null}"#),
            "template \"t\": row.a is null; write {{ row.a or \"\" }} if it may be empty"
        );
        assert_eq!(render("{{ row.a or '-' }}", r#"{"a":null}"#).unwrap(), "-");
        assert_eq!(render("{{ row.a | default('-') }}", "{}").unwrap(), "-");
        assert_eq!(render("{% if row.a is defined %}{{ row.a }}{% endif %}!", "{}").unwrap(), "!");
    }

    #[test]
    fn numbers_print_as_they_were_written() {
        for number in ["1", "-7", "9007199254740993", "170141183460469231731687303715884105728", "1.50", "100.00", "0.1", "1e3"] {
            assert_eq!(render("{{ row.n }}", &format!(r#"{{"n":{number}}}"#)).unwrap(), number);
        }
        let long = "3.14159265358979323846264338327950288";
        assert_eq!(render("{{ row.n }}", &format!(r#"{{"n":{long}}}"#)).unwrap(), long);
        let huge = "9".repeat(60);
        assert_eq!(render("{{ row.n }}", &format!(r#"{{"n":{huge}}}"#)).unwrap(), huge);
    }

    #[test]
    fn numbers_compute_and_compare() {
        assert_eq!(
            render("{{ row.cents // 100 }}.{{ '%02d' | format(row.cents % 100) }}", r#"{"cents":123405}"#).unwrap(),
            "1234.05"
        );
        assert_eq!(render("{{ 'a' if row.n > 100 else 'b' }}", r#"{"n":250.50}"#).unwrap(), "a");
        assert_eq!(render("{{ row.n + row.m }}", r#"{"n":1.50,"m":0.25}"#).unwrap(), "1.75");
    }

    #[test]
    fn an_endless_template_is_ended_and_other_templates_cannot_be_read() {
        let loops = "{% for a in range(9999) %}{% for b in range(9999) %}{{ a }}{% endfor %}{% endfor %}";
        assert!(refused(loops, "{}").contains("takes too long"));
        assert!(refused("{% include 'x' %}", "{}").contains("unknown statement"));
        assert!(refused("{{ row.a", "{}").contains("syntax error"));
    }

    #[test]
    fn only_html_is_escaped() {
        let mut templates = Templates::new();
        templates.add("html", "{{ row.a }}").unwrap();
        templates.add("text", "{{ row.a }}").unwrap();
        let scope = Scope::new("job", "step", &RunFacts::default(), r#"{"a":"<b>"}"#);
        assert_eq!(templates.render("html", &scope).unwrap(), "&lt;b&gt;");
        assert_eq!(templates.render("text", &scope).unwrap(), "<b>");
    }
}
