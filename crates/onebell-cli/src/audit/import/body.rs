//! One job as its table.

use std::collections::BTreeMap;
use std::time::Duration;

use onebell::model::job::When;

use super::super::command;
use super::super::found::{Found, Kind, Meanwhile, Step, Work, Zone};
use super::Importing;
use super::names::Names;
use super::toml::{comment, key, list, text};
use crate::jobfile::spelled;

/// What is longer is no limit.
const TIMEOUT_MAX: Duration = Duration::from_secs(366 * 86_400);
/// For work that nothing bounds.
const UNBOUNDED: &str = "1d";

pub(super) fn job(job: &Found, name: &str, how: Importing<'_>) -> String {
    let mut lines = comment(&format!("From {}", job.place()));
    for left in &job.left_behind {
        lines.push_str(&comment(&format!("not carried over: {left}")));
    }
    if command::told(&job.steps).once {
        lines.push_str(&comment("`onebell once` in front of the command is not needed here"));
    }
    for step in &job.steps {
        lines.push_str(&percent(step, how));
    }
    lines.push_str(&format!("[jobs.{}]\n", key(name)));
    lines.push_str(&due(job, name, how));
    if let [only] = job.steps.as_slice() {
        lines.push_str(&step(job, only, how));
        return lines;
    }
    let mut names = Names::default();
    for part in &job.steps {
        let called = names.of(part.name.as_deref().unwrap_or_default());
        lines.push_str(&format!("\n[[jobs.{}.steps]]\nname = {}\n", key(name), text(&called)));
        lines.push_str(&step(job, part, how));
    }
    lines
}

/// What cron makes of a percent sign, or what was meant by it.
fn percent(step: &Step, how: Importing<'_>) -> String {
    match &step.work {
        Work::Shell { stdin: Some(_), text, .. } if how.intended_percent => {
            comment(&format!("cron ran only `{text}`, with the rest on its standard input; here the whole line runs"))
        }
        Work::Shell { intended: Some(intended), .. } => comment(&format!(
            "cron ends the command at its first %: this is what it ran. If `{intended}` is meant, import with --intended-percent"
        )),
        _ => String::new(),
    }
}

/// Schedule and policies.
fn due(job: &Found, name: &str, how: Importing<'_>) -> String {
    let mut lines = schedule(job);
    if lines.is_empty() || job.timing.refused {
        let why = if job.timing.text.is_empty() {
            "it has no schedule".to_owned()
        } else {
            format!("{} is no schedule here", job.timing.text)
        };
        return comment(&format!("{why}: it runs on request, onebell trigger {name}"));
    }
    let by_the_clock = job.timing.whens.iter().any(|when| !matches!(when, When::Every(_)));
    match (&job.timing.zone, how.host_zone) {
        _ if !by_the_clock => {}
        (Zone::Named(zone), _) => lines.push(format!("time_zone = {}", text(zone))),
        (Zone::Host, Some(zone)) => lines.push(format!("time_zone = {}", text(zone))),
        (Zone::Host, None) => lines.push("time_zone = \"UTC\"  # the host's zone: write which one that is".to_owned()),
        (Zone::Controller, _) => lines.push("time_zone = \"UTC\"  # the controller's zone, usually this".to_owned()),
    }
    lines.push(match job.platform.meanwhile {
        Meanwhile::Starts => {
            "overlap = \"skip\"  # where it comes from, a second run starts beside a slow one: \"allow\"".to_owned()
        }
        Meanwhile::Skips => "overlap = \"skip\"".to_owned(),
        Meanwhile::Replaces => "overlap = \"replace\"".to_owned(),
    });
    lines.push(format!("missed = \"{}\"", if job.platform.catches_up { "latest" } else { "skip" }));
    if let Some(late) = job.platform.late.filter(|late| !late.is_zero() && *late < TIMEOUT_MAX) {
        lines.push(format!("missed_window = \"{}\"", spelled(late)));
    }
    if !job.paused {
        return lines.join("\n") + "\n";
    }
    lines.push(format!("paused = true  # as where it comes from, until: onebell resume {name}"));
    lines.join("\n") + "\n"
}

fn schedule(job: &Found) -> Vec<String> {
    let whens = &job.timing.whens;
    let with_seconds = whens.iter().any(|when| matches!(when, When::Cron { seconds: true, .. }));
    let mut lines = Vec::new();
    let crons: Vec<String> = whens
        .iter()
        .filter_map(|when| match when {
            When::Cron { expression, seconds } if with_seconds && !seconds => Some(format!("0 {expression}")),
            When::Cron { expression, .. } => Some(expression.clone()),
            _ => None,
        })
        .collect();
    match crons.as_slice() {
        [] => {}
        [only] => lines.push(format!("schedule = {}", text(only))),
        several => lines.push(format!("schedule = {}", list(several))),
    }
    if with_seconds {
        lines.push("seconds = true".to_owned());
    }
    let every = whens.iter().find_map(|when| if let When::Every(period) = when { Some(*period) } else { None });
    lines.extend(every.map(|period| format!("every = \"{}\"", spelled(period))));
    let rules: Vec<String> = whens
        .iter()
        .filter_map(|when| match when {
            When::Rrule { rule, start } => Some(format!("{{ rule = {}, start = {} }}", text(rule), text(start))),
            _ => None,
        })
        .collect();
    match rules.as_slice() {
        [] => {}
        [only] => lines.push(format!("rrule = {only}")),
        several => lines.push(format!("rrule = [{}]", several.join(", "))),
    }
    let mut at = whens.iter().filter_map(|when| if let When::At(at) = when { Some(at) } else { None });
    lines.extend(at.next().map(|at| format!("at = {}", text(at))));
    lines.extend(at.map(|at| format!("# a job has one `at`; also at {at}")));
    lines
}

fn step(job: &Found, step: &Step, how: Importing<'_>) -> String {
    let mut lines = Vec::new();
    match &step.work {
        Work::Shell { shell, text: command, stdin, intended } => {
            let command = match (stdin, intended) {
                (Some(_), Some(intended)) if how.intended_percent => intended.clone(),
                (Some(stdin), _) => fed(shell.as_deref().filter(|shell| !shell.is_empty()).unwrap_or("/bin/sh"), command, stdin),
                (None, _) => command.clone(),
            };
            match shell {
                Some(shell) if !shell.is_empty() => {
                    lines.push(format!("command = {}", list(&[shell.clone(), "-c".to_owned(), command])))
                }
                _ => lines.push(format!("command = {}\nshell = true", text(&command))),
            }
        }
        Work::Argv(argv) => lines.push(format!("command = {}", list(argv))),
        Work::Elsewhere(_) => {}
    }
    lines.extend(environment(&step.env));
    lines.extend(step.cwd.as_ref().filter(|cwd| !cwd.contains('\0')).map(|cwd| format!("cwd = {}", text(cwd))));
    lines.push(timeout(job));
    lines.push(retry(job));
    lines.join("\n") + "\n"
}

/// As cron does it: the text and a line end.
fn fed(shell: &str, command: &str, stdin: &str) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "'\\''"));
    format!("printf '%s\\n' {} | {} -c {}", quoted(stdin), quoted(shell), quoted(command))
}

fn environment(env: &[(String, String)]) -> Vec<String> {
    let fits = |name: &str, value: &str| {
        !name.is_empty() && !name.contains(['=', '\0']) && !value.contains('\0') && !name.starts_with("ONEBELL_")
    };
    let (taken, refused): (Vec<_>, Vec<_>) = env.iter().partition(|(name, value)| fits(name, value));
    let mut lines: Vec<String> = refused
        .iter()
        .map(|(name, _)| comment(&format!("not carried over: the variable {name}")).trim_end().to_owned())
        .collect();
    // The last one counts.
    let by_name: BTreeMap<&String, &String> = taken.iter().map(|(name, value)| (name, value)).collect();
    if !by_name.is_empty() {
        let all: Vec<String> = by_name.iter().map(|(name, value)| format!("{} = {}", key(name), text(value))).collect();
        lines.push(format!("env = {{ {} }}", all.join(", ")));
    }
    lines
}

fn timeout(job: &Found) -> String {
    // The command's own limit is to strike first.
    let own = command::told(&job.steps).bound.map(|bound| bound.saturating_add(Duration::from_secs(60)));
    let bound = job.platform.bound.as_ref().map(|(bound, _)| *bound).filter(|bound| bound.as_millis() > 0);
    match bound.or(own).filter(|bound| *bound < TIMEOUT_MAX) {
        Some(bound) => format!("timeout = \"{}\"", spelled(bound)),
        None => format!("timeout = \"{UNBOUNDED}\"  # nothing bounds it where it comes from: write how long it may take"),
    }
}

/// As often as where it comes from.
fn retry(job: &Found) -> String {
    let repeats = job.platform.repeats.map_or(0, |(repeats, _)| repeats).min(999_999);
    let raise =
        if repeats == 0 && job.platform.kind != Kind::Kubernetes { "  # raise it where a second try does no harm" } else { "" };
    format!("retry = {{ attempts = {} }}{raise}", repeats + 1)
}
