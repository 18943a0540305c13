//! The service that a timer starts: its commands, how long they may take, what else it says.

use super::super::codes;
use super::super::found::{Found, Step, Work};
use super::unit::Unit;
use super::{exec, span};

/// What a replica of Onebell has to have itself.
const SURROUNDINGS: &[&str] = &[
    "User",
    "Group",
    "DynamicUser",
    "EnvironmentFile",
    "PassEnvironment",
    "LoadCredential",
    "StandardInput",
    "StandardOutput",
    "StandardError",
    "UMask",
    "Nice",
    "IOSchedulingClass",
    "CPUQuota",
    "MemoryMax",
    "PrivateTmp",
    "ProtectSystem",
    "ReadWritePaths",
    "RuntimeDirectory",
    "StateDirectory",
    "ExecCondition",
    "ExecStop",
    "ExecStopPost",
    "KillMode",
    "SuccessExitStatus",
    "Slice",
];

/// No service has more commands.
const STEPS_MAX: usize = 100;

pub(super) fn read(service: &Unit, name: &str, found: &mut Found) {
    let kind = service.last("Service", "Type").map_or("simple", |(kind, _)| kind);
    bound(service, kind, found);
    let restart = service.last("Service", "Restart").map_or("no", |(word, _)| word);
    if !matches!(restart, "no" | "on-success") {
        let burst = service.last("Unit", "StartLimitBurst").and_then(|(burst, _)| burst.parse().ok()).unwrap_or(5);
        found.platform.repeats = Some((burst, true));
        found.left_behind.push(format!("Restart={restart}: see retry"));
    }
    for key in SURROUNDINGS {
        for (value, _) in service.list("Service", key) {
            found.left_behind.push(format!("{key}={value}"));
        }
    }
    steps(service, name, found);
    if found.steps.is_empty() {
        found.findings.push(codes::UNIT_MISSING.says(format!("{name} has no ExecStart=")));
        found.steps.push(Step::new(Work::Elsewhere(format!("{name} has no ExecStart="))));
    }
}

/// Only a start that takes the whole run is bounded by what bounds the start.
fn bound(service: &Unit, kind: &str, found: &mut Found) {
    let keys: &[&str] = if kind == "oneshot" { &["TimeoutStartSec", "TimeoutSec"] } else { &["RuntimeMaxSec"] };
    let said = keys.iter().find_map(|key| service.last("Service", key).map(|(value, line)| (*key, value, line)));
    let Some((key, value, line)) = said else { return };
    match span::read(value) {
        // 0 switches the limit off.
        Some(Some(limit)) if !limit.is_zero() => found.platform.bound = Some((limit, format!("{key}="))),
        Some(_) => {}
        None => {
            let message = format!("line {line} of the service: systemd cannot read {key}={value} and ignores it");
            found.findings.push(codes::UNIT_LINE.with(message, "write a time span such as 30min"));
        }
    }
}

fn steps(service: &Unit, name: &str, found: &mut Found) {
    let env: Vec<(String, String)> = service
        .list("Service", "Environment")
        .iter()
        .flat_map(|(value, _)| exec::words(value))
        .filter_map(|word| word.split_once('=').map(|(name, value)| (name.to_owned(), value.replace("%%", "%"))))
        .collect();
    let cwd = service.last("Service", "WorkingDirectory").map(|(cwd, _)| cwd.trim_start_matches('-'));
    let cwd = cwd.filter(|cwd| cwd.starts_with('/') && !cwd.contains('%')).map(str::to_owned);
    if let (None, Some((folder, _))) = (&cwd, service.last("Service", "WorkingDirectory")) {
        found.left_behind.push(format!("WorkingDirectory={folder}"));
    }
    for (key, called) in [("ExecStartPre", "before"), ("ExecStart", "start"), ("ExecStartPost", "after")] {
        let lines = service.list("Service", key);
        let several = lines.len() > 1;
        for (index, (line, _)) in lines.iter().enumerate().take(STEPS_MAX) {
            if line.trim_start_matches(['@', ':', '+', '!']).starts_with('-') {
                found.left_behind.push(format!("{key}={line}: its failure counts as none; here it counts"));
            }
            let step = if several { format!("{called}-{}", index + 1) } else { called.to_owned() };
            found.steps.push(Step { name: Some(step), work: exec::read(line, name), env: env.clone(), cwd: cwd.clone() });
        }
    }
    if let [only] = found.steps.as_mut_slice() {
        only.name = None;
    }
}
