//! systemd timers, each with its service and the drop-ins of both, where they lie beside it.

mod calendar;
mod exec;
mod rule;
mod service;
mod span;
mod unit;

use onebell::model::job::When;

use super::Part;
use super::codes;
use super::file::File;
use super::found::{Found, Kind, Meanwhile, Step, Work, Zone};
use super::next::rule_of;
use unit::Unit;

pub(super) fn read(file: &File) -> Part {
    let (text, _) = file.text();
    let (mut timer, wrong) = Unit::read(&text);
    let mut found = Found::new(file, 1, Kind::Systemd);
    found.findings.extend(wrong);
    if !timer.has_section("Timer") {
        found.is_job = false;
        found.findings.push(codes::NOTHING_FOUND.says("it has no [Timer] section; a service is read with its timer"));
        return Part { jobs: if file.named { vec![found] } else { Vec::new() }, unread: false };
    }
    let base = file.base();
    let name = base.strip_suffix(".timer").unwrap_or(base);
    name.clone_into(&mut found.name);
    // A person who pastes both units into one text has them together.
    let pasted = timer.has_section("Service").then(|| timer.clone());
    add_drop_ins(file, base, &mut timer, &mut found);
    found.platform.meanwhile = Meanwhile::Skips;
    due(&timer, &mut found);
    let started = timer.last("Timer", "Unit").map_or_else(|| format!("{name}.service"), |(unit, _)| unit.to_owned());
    let service = file.companions.iter().find(|companion| companion.base() == started).map(|companion| {
        let (mut service, wrong) = Unit::read(&companion.text().0);
        found.findings.extend(wrong);
        add_drop_ins(file, &started, &mut service, &mut found);
        service
    });
    match service.or(pasted) {
        Some(service) => service::read(&service, &started, &mut found),
        None => {
            found.findings.push(codes::UNIT_MISSING.says(format!("{started} is not beside it, so what it runs was not judged")));
            found.steps.push(Step::new(Work::Elsewhere(format!("{started} was not there"))));
        }
    }
    if name.ends_with('@') || name.contains("@.") {
        found.findings.push(codes::INSTANCES.says("a template unit: one job for each instance that is enabled"));
    }
    let unread = found.steps.iter().any(|step| matches!(step.work, Work::Elsewhere(_)));
    Part { jobs: vec![found], unread }
}

/// Later ones go before earlier ones, by name, as systemd orders them.
fn add_drop_ins(file: &File, unit: &str, to: &mut Unit, found: &mut Found) {
    let folder = format!("{unit}.d");
    let mut drop_ins: Vec<&File> = file.companions.iter().filter(|companion| companion.folder() == folder).collect();
    drop_ins.sort_by_key(|companion| companion.base().to_owned());
    for drop_in in drop_ins {
        let (more, wrong) = Unit::read(&drop_in.text().0);
        found.findings.extend(wrong);
        found.findings.push(codes::DROP_IN.says(format!("{} changes {unit}", drop_in.name)));
        to.add(more);
    }
}

/// Timers that count from something that happened.
const COUNTED: &[&str] = &["OnUnitActiveSec", "OnUnitInactiveSec", "OnActiveSec", "OnBootSec", "OnStartupSec"];

fn due(timer: &Unit, found: &mut Found) {
    found.timing.dst = rule_of(Kind::Systemd);
    let calendars = timer.list("Timer", "OnCalendar");
    let counted: Vec<(&str, &str, usize)> =
        COUNTED.iter().flat_map(|key| timer.list("Timer", key).into_iter().map(|(value, line)| (*key, value, line))).collect();
    let first = calendars.first().map(|(_, line)| *line).or(counted.first().map(|(.., line)| *line));
    found.line = first.unwrap_or(1).max(1);
    let written = calendars.iter().map(|(value, _)| (*value).to_owned());
    let written = written.chain(counted.iter().map(|(key, value, _)| format!("{key}={value}")));
    found.timing.text = written.collect::<Vec<_>>().join(", ");
    if first.is_none() {
        found.findings.push(codes::SCHEDULE_MISSING.says("the timer has no OnCalendar= and no On…Sec=, so it never elapses"));
        found.timing.refused = true;
    }
    found.platform.catches_up = timer.flag("Timer", "Persistent");
    on_calendar(&calendars, found);
    after_events(&counted, !calendars.is_empty(), found);
    if let Some((delay, _)) = timer.last("Timer", "RandomizedDelaySec").filter(|(delay, _)| *delay != "0") {
        found.findings.push(codes::SPREAD.says(format!("RandomizedDelaySec={delay}: each start is put off by up to so much")));
        found.left_behind.push(format!("RandomizedDelaySec={delay}: it starts at its slot here"));
    }
    for key in ["AccuracySec", "WakeSystem", "OnClockChange", "OnTimezoneChange", "FixedRandomDelay"] {
        if let Some((value, _)) = timer.last("Timer", key) {
            found.left_behind.push(format!("{key}={value}"));
        }
    }
}

fn on_calendar(calendars: &[(&str, usize)], found: &mut Found) {
    let mut zones = Vec::new();
    for (value, line) in calendars {
        match calendar::read(value) {
            Ok(read) => {
                zones.push(read.zone);
                found.timing.whens.extend(read.whens);
            }
            Err(calendar::Wrong::Unread) => {
                let message = format!("line {line}: systemd cannot read OnCalendar={value} and ignores it");
                found.findings.push(codes::SCHEDULE_REFUSED.with(message, "try it with: systemd-analyze calendar"));
                found.timing.refused = true;
            }
            Err(calendar::Wrong::Unsaid) => {
                let message = format!("line {line}: OnCalendar={value} cannot be said here");
                found.findings.push(codes::CALENDAR_UNSAID.says(message));
                found.timing.refused = true;
            }
        }
    }
    found.timing.by_calendar = !calendars.is_empty();
    zones.dedup();
    match zones.as_slice() {
        [Some(zone)] => found.timing.zone = Zone::Named(zone.clone()),
        [] | [None] => {}
        _ => {
            found.findings.push(codes::CALENDAR_UNSAID.says("its OnCalendar= lines name different zones, and a job has one"));
            found.timing.refused = true;
        }
    }
}

fn after_events(counted: &[(&str, &str, usize)], has_calendar: bool, found: &mut Found) {
    for (key, value, line) in counted {
        match (*key, span::read(value)) {
            (_, None) => {
                let message = format!("line {line}: systemd cannot read {key}={value} and ignores it");
                found.findings.push(codes::SCHEDULE_REFUSED.with(message, "write a time span such as 15min or 1h 30min"));
            }
            ("OnUnitActiveSec" | "OnUnitInactiveSec", Some(Some(period))) => {
                found.findings.push(codes::COUNTED.says(format!("{key}={value} is counted from the last run")));
                if has_calendar {
                    found.left_behind.push(format!("{key}={value}, beside OnCalendar="));
                } else if !period.is_zero() && found.timing.whens.is_empty() {
                    found.timing.whens.push(When::Every(period.max(std::time::Duration::from_secs(1))));
                } else {
                    found.left_behind.push(format!("{key}={value}: a second interval"));
                }
            }
            _ => {
                let message = format!("{key}={value}: every host runs it so long after its own start");
                found.findings.push(codes::AT_BOOT.says(message));
                found.left_behind.push(format!("{key}={value}: a start of one host is no event for several replicas"));
            }
        }
    }
}
