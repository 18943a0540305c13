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

use minijinja::value::ValueKind;
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
            if matches!(value.kind(), ValueKind::Seq | ValueKind::Map | ValueKind::Iterable) {
                return Err(minijinja::Error::new(ErrorKind::BadSerialization, LIST));
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

    /// What a template names and no run will ever have: a misspelt `run.id`, a filter that does not exist. `roots` are the names that
    /// it is given. What rows have is not known before they are there.
    ///
    /// # Errors
    /// The first of them, as rendering would tell it.
    pub fn check(&self, name: &str, roots: &[&str]) -> Result<(), TemplateError> {
        let Ok(template) = self.environment.get_template(name) else { return Ok(()) };
        let missing = |path: &str, present: &[&str]| TemplateError {
            template: name.to_owned(),
            line: None,
            problem: TemplateProblem::Missing {
                path: path.to_owned(),
                present: present.iter().map(|word| (*word).to_owned()).collect(),
            },
        };
        let mut named: Vec<String> = template.undeclared_variables(false).into_iter().collect();
        named.sort();
        for path in &named {
            let root = path.split('.').next().unwrap_or_default();
            if self.environment.globals().any(|(global, _)| global == root) {
                continue;
            }
            if !roots.contains(&root) {
                return Err(missing(root, roots));
            }
        }
        if let Some(field) = fields_of_run(template.source()).find(|field| !RunFacts::FIELDS.contains(field)) {
            return Err(missing(&format!("run.{field}"), &RunFacts::FIELDS));
        }
        // Nothing is there, so what it computes means nothing; that a filter does not exist is known all the same.
        let mut environment = self.environment.clone();
        environment.set_undefined_behavior(UndefinedBehavior::Chainable);
        let tried = environment.get_template(name).and_then(|template| template.render(()));
        match tried {
            Err(error)
                if matches!(error.kind(), ErrorKind::UnknownFilter | ErrorKind::UnknownTest | ErrorKind::UnknownFunction) =>
            {
                Err(TemplateError {
                    template: name.to_owned(),
                    line: error.line(),
                    problem: TemplateProblem::Other(words_of(&error)),
                })
            }
            _ => Ok(()),
        }
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
        let said = |word| error.kind() == ErrorKind::BadSerialization && error.detail() == Some(word);
        let (null, listed) = (said(NULL), said(LIST));
        match (error.kind(), self.trace.last()) {
            (ErrorKind::UndefinedError, Some(last)) if last.missing => {
                TemplateProblem::Missing { path: last.path, present: last.present }
            }
            (_, Some(last)) if null && !last.missing => TemplateProblem::Null { path: last.path },
            // A slice of null is an empty list.
            (_, Some(last)) if listed && !last.missing => TemplateProblem::Null { path: last.path },
            _ if listed => {
                TemplateProblem::Other("it prints an array or an object; write one of its fields, or | join(\", \")".to_owned())
            }
            _ if null => TemplateProblem::Other("it prints null".to_owned()),
            _ => TemplateProblem::Other(words_of(error)),
        }
    }
}

/// What is asked of `run`. The engine's own analysis leaves out what is sliced.
fn fields_of_run(source: &str) -> impl Iterator<Item = &str> {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let expressions = source.split("{{").skip(1).filter_map(|rest| rest.split("}}").next());
    let statements = source.split("{%").skip(1).filter_map(|rest| rest.split("%}").next());
    expressions.chain(statements).flat_map(move |code| {
        code.match_indices("run.").filter_map(move |(at, _)| {
            let (before, after) = (&code[..at], &code[at + 4..]);
            let whole = !before.ends_with(|letter: char| is_word(letter) || letter == '.');
            let quoted = before.matches(['"', '\'']).count() % 2 == 1;
            let field = &after[..after.find(|letter: char| !is_word(letter)).unwrap_or(after.len())];
            (whole && !quoted && !field.is_empty()).then_some(field)
        })
    })
}

/// The formatter's own word for a null, told apart from the engine's errors.
const NULL: &str = "null has no text";
/// And for what is no text, number or flag.
const LIST: &str = "a list has no text";

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
    fn what_no_run_will_ever_have_is_known_before_there_is_one() {
        let check = |source: &str| {
            let mut templates = Templates::new();
            templates.add("t", source).unwrap();
            templates.check("t", &["job", "row", "run", "step"]).map_err(|error| error.to_string())
        };
        for good in [
            "{{ row.a.b }}{{ run.id }}{{ run.scheduled_for or '' }}{{ run.input.x }}{{ job }}/{{ step }}",
            "{% for n in row.list %}{{ n.x }}{{ loop.index }}{% endfor %}{% set x = row.a %}{{ x }}",
            "{{ row.a | upper | default('-') }}{{ row.n // 100 }}{{ '%02d' | format(row.n) }}{% for i in range(3) %}{{ i }}{% endfor %}",
            "{% if row.a is defined and row.b is none %}x{% endif %}{{ row['x y'] }}{{ dict(a=1) }}",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for (bad, says) in [
            ("{{ run.month }}", "run.month does not exist; run has id, input, scheduled_for"),
            ("{% if row.x %}{{ run.sheduled_for[:7] }}{% endif %}", "run.sheduled_for does not exist"),
            ("{{ env.TOKEN }}", "env does not exist; a template has job, row, run, step"),
            ("{{ customer }}", "customer does not exist"),
            ("{{ rows }}", "rows does not exist"),
            ("{{ run.scheduled_for | strftime('%Y') }}", "unknown filter: filter strftime is unknown"),
            ("{{ now() }}", "now does not exist"),
        ] {
            assert!(check(bad).is_err_and(|error| error.contains(says)), "{bad}: {:?}", check(bad));
        }
    }

    #[test]
    fn a_list_is_not_printed_and_a_slice_of_null_is_null() {
        assert!(refused("{{ row.a }}", r#"{"a":[1,2]}"#).contains("it prints an array or an object"));
        assert!(refused("{{ row.a }}", r#"{"a":{"b":1}}"#).contains("join"));
        assert_eq!(render("{{ row.a | join(', ') }}", r#"{"a":[1,2]}"#).unwrap(), "1, 2");
        assert!(refused("{{ row.a[:7] }}", r#"{"a":null}"#).contains("row.a is null"));
        assert!(refused("{{ run.input[:7] }}", "{}").contains("run.input is null"));
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
